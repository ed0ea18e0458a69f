"""The dictionary at work: the stream of a write by its offset, on numpy alone."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from cachezoo.arrays import F32, I32, I64, U8
from cachezoo.errors import ConfigError
from cachezoo.serving.requests import RequestBatch
from cachezoo.traces.table import OP_WRITE
from cachezoo.zoo.streams.dictionary import CHUNK_BYTES, MOST_CHUNKS, UNKNOWN_STREAM, Dictionary

Infer = Callable[[I64], U8]
NOT_PLACED = -1  # a read: the drive writes nothing


class TableSession:
    """`sid.bin` as an engine: `run(["stream"], {"chunk": int64[n]})` gives uint8[n]."""

    def __init__(self, dictionary: Dictionary) -> None:
        """Take a dictionary over."""
        self.dictionary = dictionary

    def run(self, outputs: list[str] | None, inputs: dict[str, Any]) -> list[Any]:
        """The one output there is, `stream`."""
        return [self.dictionary.look_up(inputs["chunk"])]


class StreamsServing:
    """Tells which stream a write belongs to. It keeps no state: calls may come in any order and from any thread.

    Attributes:
        dictionary: ranges of chunks of one stream.
        streams: K, how many there are.
        learned_end: chunks from this one on were not learned.
    """

    def __init__(self, *, arch: Mapping[str, Any], session: TableSession) -> None:
        """Serve a bundle's dictionary.

        Args:
            arch: the manifest's; `streams` is K.
            session: its sid.bin.

        Raises:
            ConfigError: sid.bin has another K.
        """
        self.dictionary = session.dictionary
        self.streams = int(arch["streams"])
        if self.dictionary.count != self.streams:
            raise ConfigError(f"arch.streams is {self.streams}, sid.bin has {self.dictionary.count} streams")
        # Beyond the last learned chunk lies a range of stream 0, unless the last chunk that can be learned was.
        unlearned = self.dictionary.streams[-1] == UNKNOWN_STREAM
        self.learned_end = int(self.dictionary.starts[-1]) if unlearned else MOST_CHUNKS
        self._infer: Infer = lambda chunks: session.run(["stream"], {"chunk": chunks})[0]

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
