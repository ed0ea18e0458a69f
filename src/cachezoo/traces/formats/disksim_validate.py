"""DiskSim's `validate` format: `R|W buffer-action lba size service-time inter-arrival` between blanks, no header.

lba and size count 512-byte sectors; both times are microseconds. The inter-arrival time runs from the completion of the
row's request to the arrival of the next row's (the driver reads the next row when a request completes), so there is
never more than one request under way, and times are rebuilt as t[0] = 0, t[k+1] = t[k] + service[k] + inter-arrival[k].
The buffer action is the same in all known files, says nothing and is not read. Source: DiskSim 4.0's reader and driver.
"""

from collections.abc import Iterator

import numpy as np

from cachezoo.traces.delimited import Column, Layout, delimited
from cachezoo.traces.formats.base import BOTH, Fit, Format, Head, Options, is_number, is_whole, most_fit
from cachezoo.traces.reading import READ_OR_WRITE, SECTOR_BYTES, Chunk, Reading, bytes_of, microseconds

LAYOUT = Layout(
    (
        Column("op", "text", words=READ_OR_WRITE),
        Column("buffer action", "skip"),
        Column("lba", "int"),
        Column("size", "int"),
        Column("service time", "float"),
        Column("inter-arrival time", "float"),
    ),
    delimiter=" ",
)


def _row_fits(row: list[str]) -> bool:
    words = row[0] in ("R", "W") and row[1].isalpha()
    return words and is_whole(row[2]) and is_whole(row[3]) and is_number(row[4]) and is_number(row[5])


def recognise(head: Head) -> Fit:
    """R or W, a word, two whole numbers and two times."""
    return Fit.SURE if most_fit(head.rows(None), 6, _row_fits) else Fit.NO


def read(reading: Reading, options: Options) -> Iterator[Chunk]:
    """Requests in the files' order, on one clock; `latency_us` is the service time."""
    del options
    now_us = 0.0
    for rows in delimited(reading, LAYOUT):
        op, text = rows.op("op")
        service_us = rows.floats("service time")
        steps = service_us + rows.floats("inter-arrival time")
        # Added up one by one from the last block's end, so that times do not depend on where blocks end.
        clock = np.cumsum(np.concatenate([[now_us], steps]))
        now_us = float(clock[-1])
        chunk = Chunk(
            row=rows.row,
            time_us=microseconds(clock[:-1], "us"),
            op=op,
            offset=bytes_of(rows.ints("lba"), SECTOR_BYTES),
            size=bytes_of(rows.ints("size"), SECTOR_BYTES),
            latency_us=microseconds(service_us, "us"),
            op_text=text,
        )
        yield reading.checked(rows.source, chunk)


FORMAT = Format(
    id="disksim_validate",
    title="DiskSim validate: service and inter-arrival times (microseconds, 512-byte sectors)",
    recognise=recognise,
    read=read,
    layout=LAYOUT,
    needs="R or W, a word, two whole numbers and two times",
    name="validate|atlas|barracuda|cheetah9|ibm18|hp_c3323",
    sectors=BOTH,
    keeps=("latency_us",),
)
