"""ARC's `.lis`: `start count ignored request`, pages of 4,096 bytes.

A row is one request of `count` consecutive pages. The third column says nothing: its authors say to ignore it, and it
is mostly 0. The format has neither times nor ops, and the fourth column is 0 throughout in some files: rows are
numbered, one microsecond apart, and all are reads. Source: Megiddo and Modha,
"ARC: A Self-Tuning, Low Overhead Replacement Cache" (FAST '03), whose table III counts these pages.
"""

from collections.abc import Iterator
from itertools import pairwise

import numpy as np
from pydantic import Field

from cachezoo.traces.delimited import Column, Layout, delimited
from cachezoo.traces.formats.base import Fit, Format, Head, Options, is_int, most_fit
from cachezoo.traces.reading import Chunk, Reading, RowClock, bytes_of
from cachezoo.traces.table import OP_READ, PAGE_BYTES

LAYOUT = Layout(
    (
        Column("start", "int"),
        Column("count", "int"),
        Column("ignored", "skip"),
        Column("request", "skip", optional=True),
    ),
    delimiter=" ",
)


class LisOptions(Options):
    """`unit_bytes`: bytes of a block that start and count stand for."""

    unit_bytes: int = Field(default=PAGE_BYTES, ge=1, le=2**30)


def _row_fits(row: list[str]) -> bool:
    return all(map(is_int, row)) and int(row[1]) > 0


def recognise(head: Head) -> Fit:
    """Four whole numbers, the second above 0; the third or the fourth is 0 throughout, or the fourth counts rows."""
    rows = head.rows(None)
    if not most_fit(rows, 4, _row_fits):
        return Fit.NO
    good = [row for row in rows if len(row) == 4 and _row_fits(row)]
    # Of other numbers in fours, which could be anything, it is told by its numbered requests.
    numbers = [int(row[3]) for row in good]
    steps = [after - before for before, after in pairwise(numbers)]
    told = {row[2] for row in good} == {"0"} or not any(numbers) or 2 * steps.count(1) > len(steps)
    return Fit.LIKELY if told else Fit.NO


def read(reading: Reading, options: LisOptions) -> Iterator[Chunk]:
    """Requests in the files' order; rows of a further file go on from those of the file before."""
    unit = options.unit_bytes
    reading.notes |= {"op": "all reads: the format has none", "time": "row numbers in microseconds"}
    reading.notes["unit_bytes"] = str(unit)
    clock = RowClock()
    for rows in delimited(reading, LAYOUT):
        chunk = Chunk(
            row=rows.row,
            time_us=clock.times(rows.source, rows.row),
            op=np.full(len(rows.row), OP_READ, np.uint8),
            offset=bytes_of(rows.ints("start"), unit),
            size=bytes_of(rows.ints("count"), unit),
        )
        yield reading.checked(rows.source, chunk)


FORMAT = Format(
    id="lis",
    title="ARC .lis (pages of 4,096 bytes, no clock)",
    recognise=recognise,
    read=read,
    options=LisOptions,
    layout=LAYOUT,
    needs="four whole numbers at blanks, of which the third or the fourth is 0 or counts the rows",
    name=r"\.lis\b",
    clock=False,
)
