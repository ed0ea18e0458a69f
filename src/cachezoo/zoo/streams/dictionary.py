"""From a chunk to its stream: FIOS's SID (Simplified Index Dictionary, Sec. III-B), ranges of chunks of one stream.

A range ends where the next begins, and the last has no end; chunks that were not learned lie in ranges of stream 0.
FIOS's BD (Base Dictionary) keeps half a byte for each chunk of the volume instead.
`StreamsServing` is the dictionary at work, on numpy alone.

`sid.bin`, little-endian: 8 bytes `MAGIC`, u32 bytes of a chunk, u32 streams K, u64 ranges r, u32 starts[r], u8
streams[r]; nothing behind that.
"""

import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from cachezoo.arrays import F32, I32, I64, U8, U32
from cachezoo.errors import BundleError, ConfigError, TrainingError
from cachezoo.serving.requests import RequestBatch
from cachezoo.traces.table import OP_WRITE

FILE = "sid.bin"
MAGIC = b"CZSID1\0\0"
HEADER = struct.Struct("<8sIIQ")
RANGE_BYTES = 5
CHUNK_BYTES = 32768
UNKNOWN_STREAM = 0
MOST_STREAMS = 256
MOST_CHUNKS = 1 << 32  # a start has 32 bits: 128 TiB
NOT_PLACED = -1  # a read: the drive writes nothing
AGAIN = "fit the model again, or copy the bundle again"


@dataclass(frozen=True)
class Dictionary:
    """Ranges of chunks of one stream; range i is [starts[i], starts[i + 1]), the last has no end."""

    starts: U32  # [r] chunk numbers (byte offset // `CHUNK_BYTES`), strictly ascending from 0
    streams: U8  # [r] each range's stream
    count: int  # K, how many streams there are; each of `streams` is below it

    @classmethod
    def of(cls, chunks: I64, streams: npt.NDArray[Any], count: int) -> "Dictionary":
        """The ranges of chunks that were learned; neighbours of one stream are joined, all else is stream 0.

        Args:
            chunks: int64[m] distinct chunk numbers, in any order.
            streams: int[m] the stream of each.
            count: K, streams.

        Raises:
            TrainingError: K that is none, a stream outside [0, K), a chunk that is negative, twice there, or beyond 128
                TiB.
        """
        known, stream = np.asarray(chunks, np.int64), np.asarray(streams)
        if len(known) == len(stream) and (known[1:] < known[:-1]).any():
            order = np.argsort(known, kind="stable")
            known, stream = known[order], stream[order]
        _check(known, stream, count)
        new = np.ones(len(known), np.bool_)
        new[1:] = (np.diff(known) != 1) | (stream[1:] != stream[:-1])
        first = known[new]
        behind = known[np.append(new[1:], True)[: len(known)]] + 1
        # A stretch of unknown chunks begins at 0, and behind each run of known ones that no other follows at once.
        starts = np.append(0, np.column_stack((first, behind)).ravel())
        values = np.append(UNKNOWN_STREAM, np.column_stack((stream[new], np.zeros_like(stream[new]))).ravel())
        filled = np.append(starts[1:] > starts[:-1], starts[-1] < MOST_CHUNKS)
        starts, values = starts[filled], values[filled]
        joined = np.append(True, values[1:] != values[:-1])
        return cls(starts[joined].astype(np.uint32), values[joined].astype(np.uint8), count)

    def __len__(self) -> int:
        return len(self.starts)

    def look_up(self, chunks: I64) -> U8:
        """uint8[n] the stream of each of n chunk numbers (int64); 0 where the number is beyond 128 TiB or negative."""
        numbers = np.asarray(chunks, np.int64)
        inside = (numbers >= 0) & (numbers < MOST_CHUNKS)
        keys = np.where(inside, numbers, 0).astype(np.uint32)
        found = self.streams[np.searchsorted(self.starts, keys, side="right") - 1]
        result: U8 = np.where(inside, found, np.uint8(UNKNOWN_STREAM))
        return result

    def to_bytes(self) -> bytes:
        """`sid.bin`."""
        head = HEADER.pack(MAGIC, CHUNK_BYTES, self.count, len(self))
        return head + self.starts.astype("<u4").tobytes() + self.streams.tobytes()

    @classmethod
    def from_bytes(cls, data: bytes, where: str = FILE) -> "Dictionary":
        """Read `sid.bin`.

        Args:
            data: the file's bytes.
            where: the file to name in an error.

        Raises:
            BundleError: anything but what `to_bytes` writes.
        """
        if len(data) < HEADER.size:
            raise _damaged(where, f"{len(data)} bytes are fewer than its header's {HEADER.size}")
        magic, chunk_bytes, count, ranges = HEADER.unpack_from(data)
        if magic != MAGIC:
            raise _damaged(where, f"it begins with {magic!r}, not with {MAGIC!r}")
        if chunk_bytes != CHUNK_BYTES:
            raise _damaged(where, f"chunks of {chunk_bytes} bytes; only {CHUNK_BYTES} are known")
        if not 1 <= count <= MOST_STREAMS:
            raise _damaged(where, f"{count} streams; there are between 1 and {MOST_STREAMS}")
        if ranges < 1:
            raise _damaged(where, "it has no range")
        if len(data) != HEADER.size + RANGE_BYTES * ranges:
            raise _damaged(where, f"{len(data)} bytes, but {ranges} ranges take {HEADER.size + RANGE_BYTES * ranges}")
        starts = np.frombuffer(data, "<u4", ranges, HEADER.size).astype(np.uint32)
        streams = np.frombuffer(data, np.uint8, ranges, HEADER.size + 4 * ranges).copy()
        if starts[0] != 0:
            raise _damaged(where, f"the first range starts at chunk {starts[0]}, not at 0")
        if (starts[1:] <= starts[:-1]).any():
            row = int(np.argmax(starts[1:] <= starts[:-1])) + 1
            raise _damaged(where, f"range {row} starts at chunk {starts[row]}, not behind the one before")
        if streams.max() >= count:
            row = int(np.argmax(streams >= count))
            raise _damaged(where, f"range {row} has stream {streams[row]} of {count} streams")
        return cls(starts, streams, count)

    def bytes_per_tb(self) -> float:
        """What the ranges take in memory for each TB (10**12 bytes) from address 0 to the last range's start.

        A dictionary of one range spans nothing; its bytes count as those of one chunk's span.
        """
        span = max(int(self.starts[-1]), 1) * CHUNK_BYTES
        return RANGE_BYTES * len(self) / span * 1e12


def base_bytes(chunks: int) -> int:
    """Bytes of FIOS's BD for a volume of so many chunks: half a byte each (Sec. III-B)."""
    return (chunks + 1) // 2


def _check(chunks: I64, streams: I64, count: int) -> None:
    """Refuse what no dictionary can be made of; chunks ascend."""
    if not 1 <= count <= MOST_STREAMS:
        problem = f"{count} streams: give between 1 and {MOST_STREAMS}"
    elif len(chunks) != len(streams):
        problem = f"{len(chunks)} chunks and {len(streams)} streams: give each chunk one stream"
    elif len(chunks) and (chunks[0] < 0 or chunks[-1] >= MOST_CHUNKS):
        bad = chunks[0] if chunks[0] < 0 else chunks[-1]
        problem = f"chunk {bad}: chunk numbers are at 0 or later and below 2**32 (128 TiB); split the volume"
    elif (chunks[1:] == chunks[:-1]).any():
        problem = f"chunk {chunks[np.argmax(chunks[1:] == chunks[:-1])]} stands there twice; give each chunk one stream"
    elif len(streams) and not 0 <= streams.min() <= streams.max() < count:
        bad = streams.min() if streams.min() < 0 else streams.max()
        problem = f"stream {bad} of {count} streams: streams are numbered from 0"
    else:
        return
    raise TrainingError(f"dictionary of chunks: {problem}")


def _damaged(where: str, problem: str) -> BundleError:
    return BundleError(f"{where}: {problem}; {AGAIN}")


class TableSession:
    """`sid.bin` as an engine: `run(["stream"], {"chunk": int64[n]})` gives uint8[n]."""

    def __init__(self, dictionary: Dictionary) -> None:
        """Open."""
        self.dictionary = dictionary

    def run(self, outputs: list[str] | None, inputs: dict[str, Any]) -> list[Any]:
        """The one output there is, `stream`."""
        return [self.dictionary.look_up(inputs["chunk"])]


class StreamsServing:
    """Says which stream a write belongs to. It keeps no state: calls may come in any order and from any thread."""

    def __init__(self, *, arch: Mapping[str, Any], session: TableSession) -> None:
        """Serve a bundle's dictionary, its sid.bin.

        Raises:
            ConfigError: sid.bin has another number of streams than `arch`.
        """
        self.dictionary, self.streams = session.dictionary, int(arch["streams"])
        if self.dictionary.count != self.streams:
            raise ConfigError(f"arch.streams is {self.streams}, sid.bin has {self.dictionary.count} streams")
        # Beyond the last learned chunk lies a range of stream 0, unless the last chunk that can be learned was.
        unlearned = self.dictionary.streams[-1] == UNKNOWN_STREAM
        self.learned_end = int(self.dictionary.starts[-1]) if unlearned else MOST_CHUNKS
        self._infer: Callable[[I64], U8] = lambda chunks: session.run(["stream"], {"chunk": chunks})[0]

    def placement(self, offset: int) -> int:
        """The stream, in [0, K), of a write at a byte offset of the volume; 0 where no range of another covers it.

        A write that spans several chunks goes to the stream of its first byte's chunk.

        Raises:
            ConfigError: the offset is negative, or has more than 63 bits.
        """
        if not 0 <= offset < 1 << 63:
            raise ConfigError(f"offset {offset}: a write begins at byte 0 to 2**63 - 1 of its volume")
        return int(self.placements(np.array([offset], np.int64))[0])

    def placements(self, offsets: I64) -> U8:
        """The same of int64[n] offsets: uint8[n]. Offsets are not negative."""
        return self._infer(self.chunks(offsets))

    def chunks(self, offsets: I64) -> I64:
        """int64[n] number of the chunk that each of int64[n] byte offsets lies in."""
        return offsets // CHUNK_BYTES

    def features(self, batch: RequestBatch) -> F32:
        """float32[n, 1] each request's chunk, rounded to float32; the look-up itself takes whole numbers."""
        return self.chunks(batch.offset).astype(np.float32)[:, None]

    def decide(self, batch: RequestBatch) -> I32:
        """int32[n] each request's stream; `NOT_PLACED` for reads."""
        return np.where(batch.op == OP_WRITE, self.placements(batch.offset).astype(np.int32), NOT_PLACED)
