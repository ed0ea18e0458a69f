"""HP's SRT: a header of text, a form feed, then records of big-endian words of 32 bits.

A record is its bytes, its id (format version 1 to 4 in the high half, type in the low one), enqueue time in seconds
since the header's tracedate and microseconds, start and stop in microseconds from the enqueue, bytes, sector, HP-UX
device number, driver type, cylinder, flags, origin, and from version 4 the queue's length. Sectors count on the whole
disk, from its start, in the header's `sectorsize` of that disk. The disk is the unit in the device number
alone: the same disk is met under several majors and sections.

Only records of type SHORTIO are read; suspect ones (SUSPECTIO) and all others are counted and left out, as DiskSim's
reader skips or refuses them. Sources: DiskSim 4.0's reader; Ruemmler and Wilkes, "UNIX disk access patterns" (USENIX
Winter 1993).
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from cachezoo.arrays import I32, I64
from cachezoo.coded import Coded
from cachezoo.errors import TraceError
from cachezoo.traces.delimited import merged
from cachezoo.traces.formats.base import Fit, Format, Head, Options
from cachezoo.traces.reading import Chunk, Reading
from cachezoo.traces.source import READ_BYTES, Source
from cachezoo.traces.table import OP_READ, OP_WRITE

MAGIC = b"$$TR_IOREC"
HEADER_END = b"\f"
HEADER_MOST = 1 << 20
WORD = 4
LEAST_WORDS = 2
MOST_WORDS = 1 << 14
SHORTIO = 1
KINDS = {2: "longio", 3: "textio", 4: "suspectio"}
(SIZE, ID, SEC, USEC, _, STOP, BYTES, SECTOR, DEVICE, _, _, FLAGS) = range(12)
UNREAD = (4, 9, 10)
READ_FLAG = 0x1
# The flags' names by bit, as HP-UX 8.0 has them.
FLAG_NAMES = (
    *("READ", "DONE", "ERROR", "BUSY", "PHYS", "END_OF_DATA", "WANTED", "NDELAY"),
    *("ASYNC", "DELWRITE", "ORDWRI", "REWRITE", "PRIVATE", "WRITEV", "PFTIMEOUT", "CACHE"),
    *("INVAL", "LOCKED", "HEAD", "FSYSIO", "BAD", "CALL", "DUX_REM_REQ", "NOCACHE"),
    *("SYNC", "RAW", "NETBUF"),
)
Words = npt.NDArray[np.int64]


@dataclass(frozen=True)
class _Records:
    """Whole records of a file: `first` is the number of the first, `words` their leading words, a row each."""

    first: int
    words: Words


def sector_bytes(header: str) -> dict[int, int]:
    """The `sectorsize` of each disk in a header's `disks = { N -> { … } }`."""
    plain = re.sub(r'"[^"]*"', "", header)
    start = re.search(r"\bdisks\s*=\s*\{", plain)
    sizes: dict[int, int] = {}
    if start is None:
        return sizes
    depth, disk = 1, 0
    for token in re.finditer(r"\b(\d{1,9})\s*->\s*\{|\{|\}|\bsectorsize\s*=\s*(\d{1,9})\b", plain[start.end() :]):
        if token[2]:
            sizes.setdefault(disk, int(token[2]))
        elif token[0] == "}":
            depth -= 1
            if depth == 0:
                break
        else:
            if depth == 1:
                disk = int(token[1]) if token[1] else -1
            depth += 1
    return sizes


def trace_date(header: str) -> datetime | None:
    """When the trace began, by the header's `tracedate`; None where it says no date."""
    found = re.search(r'\btracedate\s*=\s*"\w{3} (\w{3} +\d+ [\d:]+ \d{4})"', header)
    try:
        return datetime.strptime(" ".join(found[1].split()), "%b %d %H:%M:%S %Y") if found else None
    except ValueError:
        return None


def flag_names(bits: int) -> str:
    """Names of the set flags, bar between them, without the one for reads; unknown bits as a hexadecimal number."""
    names = [name for bit, name in enumerate(FLAG_NAMES) if bits >> bit & 1 and bit]
    unknown = bits >> len(FLAG_NAMES) << len(FLAG_NAMES)
    return "|".join([*names, f"{unknown:#x}"] if unknown else names)


def _distinct(values: I64) -> tuple[I32, list[int]]:
    """Codes of a column, and its values by code."""
    encoded = pa.array(values).dictionary_encode()
    return np.asarray(encoded.indices), encoded.dictionary.to_pylist()


def recognise(head: Head) -> Fit:
    """The header's first word."""
    return Fit.SURE if head.data.startswith(MAGIC) else Fit.NO


def _leading(words: npt.NDArray[np.int32], starts: I64) -> Words:
    """The words up to the flags of the records at `starts`, of which the last is an end; each contiguous by column."""
    lead = np.empty((FLAGS + 1, len(starts) - 1), np.int64)
    for place in range(FLAGS + 1):
        if place not in UNREAD:
            # A record may be shorter, even the last; its missing words are not looked at.
            lead[place] = words[np.minimum(starts[:-1] + place, len(words) - 1)]
    return lead.T


class _File:
    """One file's header and records."""

    def __init__(self, reading: Reading, source: Source) -> None:
        self.reading, self.source = reading, source
        self.row = 0
        header, end, _ = source.head(HEADER_MOST).partition(HEADER_END)
        if not header.startswith(MAGIC) or not end:
            raise TraceError(f"{source.path}: no SRT header ($$TR_IOREC … form feed); say another --format")
        self.records_start = len(header) + 1
        self.sizes = sector_bytes(header.decode("latin-1"))
        self.date = trace_date(header.decode("latin-1"))
        self.origin_us = 0

    def starts(self, words: npt.NDArray[np.uint32]) -> I64:
        """Where whole records start in a block of words, and where the rest does."""
        width = int(words[0]) // WORD
        same = words[::width] if width else words[:0]  # the last of them may begin a record that is not all here
        whole = len(words) // width if width else 0
        if LEAST_WORDS <= width <= MOST_WORDS and whole and (same == words[0]).all() and words[0] % WORD == 0:
            return np.arange(whole + 1) * width
        sizes = words.tolist()
        starts = [0]
        at = 0
        while at < len(sizes):
            width = self.width(sizes[at], self.row + len(starts))
            if at + width > len(sizes):
                break
            at += width
            starts.append(at)
        return np.array(starts, np.int64)

    def width(self, size: int, row: int) -> int:
        """The words of a record that says it has so many bytes.

        Raises:
            TraceError: no record has.
        """
        width, rest = divmod(size, WORD)
        if rest or not LEAST_WORDS <= width <= MOST_WORDS:
            message = (
                f"{self.source.path}: row {row}: a record has {size} bytes, so the records after it cannot "
                "be found; fetch the file again"
            )
            raise TraceError(message)
        return width

    def records(self) -> Iterator[_Records]:
        """Whole records block by block; one cut short at the end is a bad row."""
        rest = b""
        skip = self.records_start
        for block in self.source.blocks(READ_BYTES):
            data = rest + block[skip:]
            skip = max(skip - len(block), 0)
            words = np.frombuffer(data, ">u4", len(data) // WORD)
            if len(words) == 0:
                rest = data
                continue
            starts = self.starts(words)
            if len(starts) > 1:
                # Signed words, of which only devices and flags use the sign's bit.
                yield _Records(self.row + 1, _leading(words.view(">i4"), starts))
                self.row += len(starts) - 1
            rest = data[int(starts[-1]) * WORD :]
        if len(rest) >= WORD:
            self.width(int.from_bytes(rest[:WORD], "big"), self.row + 1)
        if rest:
            self.reading.bad(self.source, self.row + 1, f"the record is cut short after {len(rest)} bytes; drop it")

    def chunk(self, records: _Records) -> Chunk:
        """The requests among the records."""
        words, row = records.words, np.arange(records.first, records.first + len(records.words))
        known = np.ones(len(row), bool)
        version, kind = words[:, ID] >> 16, words[:, ID] & 0xFFFF
        short = (kind == SHORTIO) & (words[:, SIZE] <= FLAGS * WORD)
        for index in np.flatnonzero((version < 1) | (version > 4) | short).tolist():
            said = f"has id {words[index, ID] & 0xFFFFFFFF:#x} and {words[index, SIZE]} bytes"
            self.reading.bad(self.source, int(row[index]), f"{said}; no known record has: drop it")
            known[index] = False
        kinds, counts = np.unique(kind[known], return_counts=True)
        for code, count in zip(kinds.tolist(), counts.tolist(), strict=True):
            if code != SHORTIO:
                self.reading.left_out[KINDS.get(code, f"type_{code}")] += count
        known &= kind == SHORTIO
        words, row = words[known], row[known]
        volume, disks = _distinct(words[:, DEVICE] >> 8 & 0xFF)
        flags, masks = _distinct(words[:, FLAGS] & 0xFFFFFFFF)
        width = np.array([self.width_of(disk) for disk in disks], np.int64)
        return Chunk(
            row=row,
            time_us=words[:, SEC] * 1_000_000 + words[:, USEC] + self.origin_us,
            op=np.where(words[:, FLAGS] & READ_FLAG, OP_READ, OP_WRITE).astype(np.uint8),
            offset=(words[:, SECTOR] & 0xFFFFFFFF) * width[volume],
            size=words[:, BYTES],
            latency_us=words[:, STOP],
            coded={
                "volume": Coded(volume, tuple(str(disk) for disk in disks)),
                "flags": merged(Coded(flags, tuple(flag_names(mask) for mask in masks))),
            },
        )

    def width_of(self, disk: int) -> int:
        """Bytes of a disk's sector; one that the header does not list has those that all listed ones share.

        Raises:
            TraceError: the header does not say.
        """
        widths = {self.sizes[disk]} if disk in self.sizes else set(self.sizes.values())
        if len(widths) != 1:
            raise TraceError(f"{self.source.path}: its header says no sectorsize for disk {disk}; fix the header")
        width = widths.pop()
        self.reading.notes[f"sector_bytes.{disk}"] = str(width)
        return width


def read(reading: Reading, options: Options) -> Iterator[Chunk]:
    """Requests in the files' order; `latency_us` is the stop, `volume` the disk's number, `flags` the flags' names."""
    del options
    begun: datetime | None = None
    for source in reading.sources:
        file = _File(reading, source)
        begun = begun or file.date
        if len(reading.sources) > 1:
            if begun is None or file.date is None:
                message = f"{source.path}: its header says no tracedate, which several files need; give it alone"
                raise TraceError(message)
            file.origin_us = (file.date - begun) // timedelta(microseconds=1)
        for records in file.records():
            yield reading.checked(source, file.chunk(records))


FORMAT = Format(
    id="srt",
    title="HP SRT (microseconds, sectors as its header says)",
    recognise=recognise,
    read=read,
    binary=True,
    needs="a text header that begins with $$TR_IOREC, and binary records",
    name=r"\.srt\b|cello|snake|\bhp_",
    keeps=("latency_us", "flags"),
)
