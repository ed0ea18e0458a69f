"""Fio's latency logs, checked row by row against the iolog they answer.

A line is `ms since start, ns, direction, bytes, offset, priority`. What fio 3.33 does, as measured: at queue depth 1
the log is in the order of the trace. Above, the latency log is in the order of completion and lacks the last n - 1 to
complete, while the log of submission latencies is whole and in the order of the trace. fio appends to a log that
exists.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from cachezoo.arrays import F64, I64
from cachezoo.devices.fio.iolog import ReplayRows
from cachezoo.errors import DeviceError
from cachezoo.traces.table import OP_NAMES

COLUMNS = ("ms", "ns", "op", "size", "offset")


@dataclass(frozen=True)
class Log:
    """A latency log: int64 arrays with one entry a line, and the file for errors."""

    path: Path
    ns: I64
    op: I64
    size: I64
    offset: I64

    def __len__(self) -> int:
        return len(self.ns)

    def where(self, index: int) -> str:
        """Name a line in an error."""
        op = int(self.op[index])
        name = OP_NAMES[op] if op < len(OP_NAMES) else f"direction {op}"
        return f"{name} of {self.size[index]} bytes at {self.offset[index]}"


def read_log(path: Path) -> Log:
    """Read a latency log written with `log_offset`.

    Raises:
        DeviceError: it is missing or holds a line of another form.
    """
    import pyarrow as pa
    import pyarrow.csv as csv

    try:
        if path.stat().st_size == 0:
            empty = np.zeros(0, np.int64)
            return Log(path, empty, empty, empty, empty)
        with path.open() as file:
            fields = len(file.readline().split(","))
        names = [*COLUMNS, *(f"more{index}" for index in range(fields - len(COLUMNS)))]
        types = dict.fromkeys(COLUMNS, pa.int64())
        table = csv.read_csv(
            path,
            csv.ReadOptions(column_names=names, use_threads=False),
            convert_options=csv.ConvertOptions(column_types=types, include_columns=list(COLUMNS[1:])),
        )
    except FileNotFoundError as error:
        message = f"{path.name}: fio wrote no latency log; it may have been built without logs: install Debian's fio"
        raise DeviceError(message) from error
    except (pa.ArrowInvalid, KeyError) as error:
        message = f"{path.name}: not a latency log of fio: {' '.join(str(error).split())}; use another version of fio"
        raise DeviceError(message) from error
    ns, op, size, offset = (table.column(name).to_numpy() for name in COLUMNS[1:])
    return Log(path, ns, op, size, offset)


def check_order(log: Log, requests: ReplayRows, label: str) -> None:
    """See that line i of a log is request i.

    Raises:
        DeviceError: a line is missing, too many, or of another request; the row is named.
    """
    rows = min(len(log), len(requests))
    wrong = (
        (log.op[:rows] != requests.op[:rows])
        | (log.size[:rows] != requests.size[:rows])
        | (log.offset[:rows] != requests.offset[:rows])
    )
    if wrong.any():
        first = int(wrong.argmax())
        message = (
            f"{label}: line {first + 1} of fio's log is a {log.where(first)} where {requests.where(first)} was asked "
            "for; the device cut it short or fio is broken: try another engine"
        )
        raise DeviceError(message)
    if len(log) < len(requests):
        message = (
            f"{label}: fio logged {len(log)} of {len(requests)} requests; {requests.where(rows)} is the first without "
            "a time: run it again, or use another version of fio"
        )
        raise DeviceError(message)
    if len(log) > len(requests):
        message = f"{label}: fio logged {len(log)} requests of {len(requests)}, first a {log.where(rows)} too many"
        raise DeviceError(message)


def join(log: Log, requests: ReplayRows, label: str) -> I64:
    """For each request, which line of a log in the order of completion is its own.

    Of requests of the same direction, size and offset, the first to be issued is taken for the first to complete:
    nothing in the log tells them apart.

    Returns:
        int64[n] line numbers from 0; -1 where there is none.

    Raises:
        DeviceError: a line is of no request.
    """
    count = len(requests)
    op = np.concatenate([requests.op.astype(np.int64), log.op])
    size = np.concatenate([requests.size, log.size])
    offset = np.concatenate([requests.offset, log.offset])
    # A stable sort: among equals requests stand before lines, each in their order.
    order = np.lexsort((offset, size, op))
    same = np.ones(len(order), bool)
    for values in (op, size, offset):
        same[1:] &= values[order][1:] == values[order][:-1]
    same[:1] = False
    group = np.cumsum(~same) - 1
    start = np.flatnonzero(~same)
    is_line = order >= count
    asked = np.bincount(group[~is_line], minlength=len(start))
    place = np.flatnonzero(is_line)
    of = group[place]
    nth = place - start[of] - asked[of]
    if (nth >= asked[of]).any():
        line = int(order[place[nth >= asked[of]]].min()) - count
        message = (
            f"{label}: line {line + 1} of fio's log is a {log.where(line)}, which was not asked for; try another engine"
        )
        raise DeviceError(message)
    lines = np.full(count, -1, np.int64)
    lines[order[start[of] + nth]] = order[place] - count
    return lines


def check_times(log: Log, longest_s: float, label: str) -> None:
    """See that no request took longer than the whole replay, or less than nothing.

    Raises:
        DeviceError: one did; its line is named.
    """
    wrong = (log.ns < 0) | (log.ns > longest_s * 1e9)
    if wrong.any():
        line = int(wrong.argmax())
        message = (
            f"{label}: line {line + 1} of fio's log gives {log.ns[line]} ns for a {log.where(line)}, and the whole "
            f"replay took {longest_s:.3f} s; fio is broken: use another version or engine"
        )
        raise DeviceError(message)


def service_us(log: Log, requests: ReplayRows, label: str) -> F64:
    """float64[n] µs of each request at queue depth 1.

    Raises:
        DeviceError: the log does not answer the requests one by one.
    """
    check_order(log, requests, label)
    return _us(log.ns)


def queued_us(log: Log, submitted: Log, requests: ReplayRows, label: str) -> F64:
    """float64[n] µs of each request at any queue depth; NaN where fio logged none.

    Args:
        log: latencies in the order of completion.
        submitted: submission latencies in the order of the trace.
        requests: what was asked for.
        label: the target's name in errors.

    Raises:
        DeviceError: a log does not answer the requests.
    """
    check_order(submitted, requests, label)
    lines = join(log, requests, label)
    times = np.full(len(requests), np.nan)
    times[lines >= 0] = _us(log.ns[lines[lines >= 0]])
    return times


def _us(ns: I64) -> F64:
    # A clock of coarse steps can show no time at all; every request takes some.
    return np.maximum(ns, 1) / 1000.0
