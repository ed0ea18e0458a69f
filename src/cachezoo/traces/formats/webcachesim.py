"""webcachesim's and LRB's `.tr`: `time id size`, and perhaps features that are passed over, at blanks.

Times count seconds unless said otherwise, sizes bytes; all are reads. An id names an object, and is no address. Source:
Song et al., "Learning Relaxed Belady for Content Distribution Network Caching" (NSDI '20), and its simulator.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import pairwise

import numpy as np

from cachezoo.traces.delimited import Column, Layout, delimited
from cachezoo.traces.formats.base import Fit, Format, Head, Way, is_int, is_number, most_fit
from cachezoo.traces.formats.id_ways import time_ways
from cachezoo.traces.formats.keyed import TimedKeyOptions, key_column, keys_of
from cachezoo.traces.reading import SECTOR_BYTES, ObjectChunk, Reading, microseconds
from cachezoo.traces.table import OP_READ

MOST_ODD = 0.05  # of the rows, how many may be earlier than the row before, or begin where it ended
MOST_ON_SECTORS = 0.5  # of sizes: those of objects are any number of bytes
LEAST_REPEATED = 5


LAYOUT = Layout(
    (Column("time", "float"), Column("key", "int"), Column("size", "int")),
    delimiter=" ",
    ragged=True,
)


def recognise(head: Head) -> Fit:
    """Three whole numbers; times hardly fall, ids come again and do not go on from each other; sizes are no disk's."""
    if not most_fit(head.rows(None), 3, lambda row: all(map(is_int, row)) and int(row[2]) >= 0):
        return Fit.NO
    # Ids may come again late: all of the beginning is looked at.
    rows = [line.split() for line in (head.text or "").split("\n")[: None if head.whole else -1]]
    good = [row for row in rows if len(row) == len(LAYOUT.columns) and all(map(is_int, row))]
    times, ids, sizes = ([int(row[place]) for row in good] for place in range(3))
    repeated = len(ids) - len(set(ids))
    falling = sum(later < before for before, later in pairwise(times))
    joined = sum(at + size == later for at, size, later in zip(ids, sizes, ids[1:], strict=False))
    on_sectors = sum(size % SECTOR_BYTES == 0 for size in sizes)
    comes_again = repeated >= LEAST_REPEATED and max(falling, joined) <= MOST_ODD * len(good)
    of_objects = max(sizes) > SECTOR_BYTES and on_sectors <= MOST_ON_SECTORS * len(sizes)
    return Fit.LIKELY if comes_again and of_objects else Fit.NO


def _ways(head: Head, given: Mapping[str, str]) -> list[Way]:
    return time_ways(next((row[0] for row in head.rows(None) if is_number(row[0])), "0"), given)


def read(reading: Reading, options: TimedKeyOptions) -> Iterator[ObjectChunk]:
    """Requests in the files' order."""
    reading.notes |= {"op": "all reads: the format has none", "ids": "an object's key"}
    for source in reading.sources:
        time, _, size = LAYOUT.columns
        key = key_column(source, 1, len(LAYOUT.columns), options.keys, None)
        for rows in delimited(reading, replace(LAYOUT, columns=(time, key, size)), [source]):
            chunk = ObjectChunk(
                row=rows.row,
                time_us=microseconds(rows.floats("time"), options.time_unit),
                op=np.full(len(rows.row), OP_READ, np.uint8),
                key=keys_of(rows, "key"),
                size=rows.ints("size"),
            )
            yield reading.checked(source, chunk)


FORMAT = Format(
    id="webcachesim",
    title="webcachesim and LRB .tr: time id size at blanks (objects; seconds, bytes)",
    recognise=recognise,
    read=read,
    options=TimedKeyOptions,
    ways=_ways,
    layout=LAYOUT,
    needs="three whole numbers at blanks: a time that does not fall, an id that comes again, its size in bytes",
    name=r"\.tr\b",
    objects=True,
)
