"""Cuts and splits of a trace; `cachezoo.traces.sampling` samples one, `cachezoo.traces.mixing` puts several together.

Each is a function of its arguments alone, and records what it did in the metadata (`extra["transforms"]`).
"""

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from math import isfinite

import numpy as np

from cachezoo.errors import ConfigError, TraceError
from cachezoo.traces.clock import Clock
from cachezoo.traces.objects import AnyTrace, Either
from cachezoo.traces.pieces import picked
from cachezoo.traces.provenance import recorded
from cachezoo.traces.table import CODED_COLUMNS, Trace

SPLIT_COLUMNS = tuple(name for name in CODED_COLUMNS if name != "flags")


def _said(trace: Either, said: str) -> str:
    return f"{trace.meta.trace_id}: {said}"


def _microseconds(trace: Either, name: str, seconds: float) -> int:
    if not isfinite(seconds) or not 0 <= seconds < 2**62 / 1e6:
        raise ConfigError(_said(trace, f"{name} is {seconds}; give seconds from the trace's start, at 0 or later"))
    return round(seconds * 1e6)


def cut(
    trace: AnyTrace,
    start_s: float | None = None,
    stop_s: float | None = None,
    first: int | None = None,
    last: int | None = None,
) -> AnyTrace:
    """The requests of a time window and a range of rows; of both where both are given.

    Args:
        trace: any.
        start_s: keep requests at this time or later, in seconds on the trace's clock.
        stop_s: and before this time.
        first: keep requests from this row on, the trace's first being 0.
        last: and before this row.

    Returns:
        The requests, with times counted from the first of them and the names that occur in them.

    Raises:
        ConfigError: nothing is asked, or no window can be like this.
        TraceError: no request is in it.
    """
    if start_s is None and stop_s is None and first is None and last is None:
        raise ConfigError(_said(trace, "nothing to cut: give a first or last time or row"))
    if (first is not None and first < 0) or (last is not None and last <= (first or 0)):
        message = _said(trace, f"rows [{first}, {last}) are none; give a first row of 0 or more and a later last one")
        raise ConfigError(message)
    start_us = 0 if start_s is None else _microseconds(trace, "start", start_s)
    stop_us = None if stop_s is None else _microseconds(trace, "stop", stop_s)
    if stop_us is not None and stop_us <= start_us:
        raise ConfigError(_said(trace, f"seconds [{start_s or 0}, {stop_s}) are none; give a stop after the start"))
    n = len(trace)
    a = max(first or 0, int(np.searchsorted(trace.time_us, start_us)))
    b = min(n if last is None else last, n if stop_us is None else int(np.searchsorted(trace.time_us, stop_us)))
    if a >= b:
        span = f"it has {n} requests in {trace.time_us[-1] / 1e6 if n else 0} seconds"
        raise TraceError(_said(trace, f"the cut keeps no request; {span}: choose a window within"))
    said = {"start_s": start_s, "stop_s": stop_s, "first": first, "last": last, "rows": [a, b]}
    return replace(trace.rows(a, b), meta=recorded(trace.meta, "cut", said))


def faster(trace: Trace, speed: float) -> Trace:
    """The same requests in a `speed`-th of the time; below 1 they take longer. Latencies are as they were.

    Raises:
        ConfigError: no speed above 0.
        TraceError: the trace has no clock.
    """
    if not (isfinite(speed) and speed > 0):
        raise ConfigError(_said(trace, f"speed is {speed}; give a number above 0, such as 2"))
    clock = Clock()
    clock.add(trace.time_us)
    if not clock.ticks(trace.meta.extra):
        raise TraceError(_said(trace, "there is no clock, so that it has no speed; give a trace with times"))
    time_us = np.rint(trace.time_us / speed).astype(np.int64)
    return replace(trace, time_us=time_us, meta=recorded(trace.meta, "faster", {"speed": float(speed)}))


def split(trace: AnyTrace, at: Sequence[float], unit: str = "fraction") -> list[AnyTrace]:
    """Parts in time, one after the other.

    Args:
        trace: any.
        at: where to cut, rising: (0.7, 0.85) makes three parts.
        unit: ``fraction`` of the number of requests, or ``seconds`` on the trace's clock.

    Returns:
        One part more than there are cuts, called `<trace id>.1`, `<trace id>.2`, …; each with times counted from
        its first request and the names that occur in it.

    Raises:
        ConfigError: unknown unit, cuts that do not rise or lie outside.
        TraceError: a part would be empty.
    """
    if unit not in ("fraction", "seconds"):
        raise ConfigError(_said(trace, f"unit {unit} is unknown; give fraction or seconds"))
    top = 1.0 if unit == "fraction" else float("inf")
    if not at or not all(a < b for a, b in zip([0.0, *at], [*at, top], strict=True)):
        raise ConfigError(_said(trace, f"cuts at {list(at)} {unit}; give one or more, rising, above 0 and below {top}"))
    n = len(trace)
    if unit == "fraction":
        inner: list[int] = [int(fraction * n) for fraction in at]  # as the parts of a trace by role
    else:
        inner = np.searchsorted(trace.time_us, [_microseconds(trace, "a cut", value) for value in at]).tolist()
    edges, parts = [0, *inner, n], []
    for index, (a, b) in enumerate(pairwise(edges), 1):
        if a >= b:
            raise TraceError(_said(trace, f"part {index} of cuts at {list(at)} {unit} has no request: move the cuts"))
        said = {"at": [float(value) for value in at], "unit": unit, "part": index, "rows": [a, b]}
        meta = recorded(replace(trace.meta, trace_id=f"{trace.meta.trace_id}.{index}"), "split", said)
        parts.append(replace(trace.rows(a, b), meta=meta))
    return parts


def split_by(trace: AnyTrace, column: str) -> dict[str, AnyTrace]:
    """The requests of each value of a coded column.

    Args:
        trace: any.
        column: ``volume``, ``namespace``, ``user``, ``host`` or ``source``.

    Returns:
        By value, in the order of the column's names: a trace called `<trace id>.<value>` on the clock of the whole.
        Values that do not occur are left out, as are requests without one.

    Raises:
        ConfigError: no such column, or the trace has none.
    """
    coded = getattr(trace, column, None) if column in SPLIT_COLUMNS else None
    if coded is None:
        has = ", ".join(name for name in SPLIT_COLUMNS if getattr(trace, name, None) is not None)
        raise ConfigError(_said(trace, f"there is no column {column} to split by; the trace has {has}"))
    order = np.argsort(coded.codes, kind="stable")
    edges = np.searchsorted(coded.codes[order], np.arange(len(coded.names) + 1)).tolist()
    parts = {}
    for name, a, b in zip(coded.names, edges[:-1], edges[1:], strict=True):
        if a < b:
            meta = recorded(trace.meta, "split_by", {"column": column, "value": name})
            parts[name] = replace(picked(trace, order[a:b]), meta=replace(meta, trace_id=f"{meta.trace_id}.{name}"))
    return parts
