"""ARC's `.lis`: `start count 0 request`, pages of 4,096 bytes.

A row is one request of `count` consecutive pages. The format has neither times nor ops, and the fourth column is 0
throughout in some files: rows are numbered, one microsecond apart, and all are reads. Source: Megiddo and Modha,
"ARC: A Self-Tuning, Low Overhead Replacement Cache" (FAST '03), whose table III counts these pages.
"""

from collections.abc import Iterator

import numpy as np

from cachezoo.traces.delimited import Column, Layout, delimited
from cachezoo.traces.formats.base import Fit, Format, Head, Options, is_int, most_fit
from cachezoo.traces.reading import Chunk, Reading, bytes_of
from cachezoo.traces.source import Source
from cachezoo.traces.table import OP_READ, PAGE_BYTES

LAYOUT = Layout(
    (Column("start", "int"), Column("count", "int"), Column("zero", "skip"), Column("request", "skip", optional=True)),
    delimiter=" ",
)


def recognise(head: Head) -> Fit:
    """Four whole numbers, the second above 0 and the third 0."""
    fits = most_fit(head.rows(None), 4, lambda row: all(map(is_int, row)) and row[2] == "0" and int(row[1]) > 0)
    return Fit.LIKELY if fits else Fit.NO


def read(reading: Reading, options: Options) -> Iterator[Chunk]:
    """Requests in the files' order; rows of a further file go on from those of the file before."""
    del options
    reading.notes |= {"op": "all reads: the format has none", "time": "row numbers in microseconds"}
    before, last = 0, 0
    at: Source | None = None
    for rows in delimited(reading, LAYOUT):
        if rows.source is not at:
            before, at = before + last, rows.source
        last = int(rows.row[-1])
        chunk = Chunk(
            row=rows.row,
            time_us=before + rows.row - 1,
            op=np.full(len(rows.row), OP_READ, np.uint8),
            offset=bytes_of(rows.ints("start"), PAGE_BYTES),
            size=bytes_of(rows.ints("count"), PAGE_BYTES),
        )
        yield reading.checked(rows.source, chunk)


FORMAT = Format(
    id="lis",
    title="ARC .lis (pages of 4,096 bytes, no clock)",
    recognise=recognise,
    read=read,
)
