"""The output of bcc's and libbpf-tools' `biosnoop`: `TIME(s) COMM PID DISK T SECTOR BYTES [P] [QUE(ms)] LAT(ms)`.

Times are seconds of the *completion*, a sector has 512 bytes, latencies are milliseconds from the issue, so a request
was issued at TIME - LAT. A process's name may hold blanks. T is R, W, or the kernel's letters of operation and flags,
as libbpf-tools print. Source: bcc's tools/biosnoop.py and libbpf-tools/biosnoop.c.
"""

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from cachezoo.arrays import U8
from cachezoo.coded import Coded
from cachezoo.traces.delimited import merged
from cachezoo.traces.events import DISCARD, LEFT_OUT, operation, process_name
from cachezoo.traces.formats.base import OFFSET, Fit, Format, Head, Options
from cachezoo.traces.lines import Parts, how_many, lines_of
from cachezoo.traces.reading import SECTOR_BYTES, Chunk, Reading, bytes_of, issued_us, microseconds
from cachezoo.traces.table import OP_READ, OP_WRITE

HEADER = r"^TIME\(s\)\s+COMM\s+PID\s+DISK\s+T\s"
SAID = r"^(Tracing block |Detaching)"
EVENT = (
    r"^(?P<time>[0-9]{1,12}\.[0-9]{1,9})\s+(?P<comm>.*?)\s+(?:[0-9]{1,10})\s+(?P<disk>[^\s]+)\s+"
    r"(?P<kind>[A-Z]{1,8})\s+(?P<sector>-?[0-9]{1,20})\s+(?P<bytes>[0-9]{1,18})"
    r"(?:\s+[RS?])?(?:\s+-?[0-9]+\.[0-9]+)?\s+(?P<latency>-?[0-9]{1,12}\.[0-9]{1,9})$"
)
NO_SECTOR = 2**63


def recognise(head: Head) -> Fit:
    """The line that names the columns, or at least half of the lines are requests."""
    rows = [line.strip() for line in head.lines if not line.startswith("#")]
    if how_many(rows, HEADER):
        return Fit.SURE
    return Fit.LIKELY if rows and 2 * how_many(rows, EVENT) >= len(rows) else Fit.NO


def _chunk(reading: Reading, parts: Parts) -> Chunk:
    ended_us = microseconds(parts.floats("time"), "s")
    latency_us = microseconds(parts.floats("latency"), "ms")
    comm, kind = parts.coded("comm"), parts.coded("kind")
    # A flush has no sector, which some versions print as -1 without its sign.
    sector = np.array([int(text) for text in parts.texts("sector").to_pylist()], object)
    lba = np.where((sector < 0) | (sector >= NO_SECTOR), 0, sector).astype(np.int64)
    size = parts.ints("bytes")
    op = _operation(kind, size > 0)
    chunk = Chunk(
        row=parts.row,
        time_us=issued_us(ended_us, latency_us),
        op=op,
        offset=bytes_of(lba, SECTOR_BYTES),
        size=size,
        latency_us=latency_us,
        coded={
            "volume": parts.coded("disk"),
            "user": merged(Coded(comm.codes, tuple(process_name(name) for name in comm.names))),
            "flags": kind,
        },
    )
    for code, said in LEFT_OUT.items():
        other = op == code
        reading.left_out[said] += int(np.count_nonzero(other))
        if code == DISCARD and other.any():
            reading.discards.append(chunk.where(other))
    return chunk.where((op == OP_READ) | (op == OP_WRITE))


def _operation(kind: Coded, has_data: npt.NDArray[np.bool_]) -> U8:
    """What each request asks for, by the kernel's letters."""
    data, empty = (np.array([operation(name, sectors) for name in kind.names], np.uint8) for sectors in (1, 0))
    return np.where(has_data, data[kind.codes], empty[kind.codes]).astype(np.uint8)


def read(reading: Reading, options: Options) -> Iterator[Chunk]:
    """Requests in the order of completion; `volume` is the disk, `user` the process, `flags` the letters."""
    del options
    for source in reading.sources:
        for lines in lines_of(source, f"{HEADER}|{SAID}"):
            parts, odd = lines.parts(EVENT)
            for row, text in zip(odd.row.tolist(), odd.text.to_pylist(), strict=True):
                reading.bad(source, row, f"is no request of biosnoop ({text[:80]!r}); fix or drop the row")
            yield reading.checked(source, _chunk(reading, parts))


FORMAT = Format(
    id="biosnoop",
    title="bcc biosnoop (seconds at the completion, 512-byte sectors)",
    recognise=recognise,
    read=read,
    needs="a line TIME(s) COMM PID DISK T SECTOR BYTES LAT(ms), or lines of such columns",
    name="biosnoop",
    sectors=OFFSET,
    keeps=("latency_us", "user", "flags"),
)
