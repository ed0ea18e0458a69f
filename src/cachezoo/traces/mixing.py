"""Traces made of several, with the source of every request as ground truth: concurrent streams and turns in time.

These are the workloads of RC-RNN's experiments: several applications on one storage system (Table 1), mixtures with
given shares, and workloads that change in time (Sec. 3.2, periodically; Sec. 5.4 and Fig. 17, 50,000 requests of one
followed by 50,000 of another). In both kinds the column `source` holds the id of the trace that a request comes from,
and volumes are called `<trace id>/<volume>`, so that addresses of different traces never meet. So are the keys of
objects, `<trace id>/<key>`. Traces of objects and traces of addresses do not mix.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from math import isfinite
from typing import Any

import numpy as np

from cachezoo.arrays import I64
from cachezoo.coded import Coded
from cachezoo.errors import ConfigError, TraceError
from cachezoo.traces.objects import NO_TTL, OBJECT_CODED, OBJECT_NUMBERS, AnyTrace, Either, ObjectTrace
from cachezoo.traces.provenance import mixture_meta, source_names
from cachezoo.traces.table import CODED_COLUMNS, NUMBER_COLUMNS, UNKNOWN_LATENCY, Trace, TraceMeta

UNSTATED = {"latency_us": UNKNOWN_LATENCY, "count": 1, "ttl_s": NO_TTL}
APART = ("volume", "source", "key")  # columns whose names are of a trace alone


@dataclass(frozen=True)
class Turn:
    """A stretch of a mixture in which one trace alone issues requests; with neither number, all that it has left."""

    trace_id: str  # the trace whose turn it is
    requests: int | None = None  # how many of its next requests
    seconds: float | None = None  # or how long, on its own clock

    def __post_init__(self) -> None:
        if self.requests is not None and self.seconds is not None:
            message = f"turn of {self.trace_id}: {self.requests} requests and {self.seconds} seconds; give one of them"
            raise ConfigError(message)
        if self.requests is not None and self.requests < 1:
            raise ConfigError(f"turn of {self.trace_id}: {self.requests} requests; give at least 1")
        if self.seconds is not None and not (isfinite(self.seconds) and round(self.seconds * 1e6) >= 1):
            raise ConfigError(f"turn of {self.trace_id}: {self.seconds} seconds; give at least 0.000001")


def sources(trace: Either) -> Coded:
    """Which trace each request of a mixture comes from.

    Raises:
        TraceError: the trace is no mixture.
    """
    if trace.source is None:
        raise TraceError(f"{trace.meta.trace_id}: it does not say which trace a request comes from; give a mixture")
    return trace.source


def _checked(traces: Sequence[Either]) -> None:
    """Refuse traces that cannot be told apart.

    Raises:
        ConfigError: fewer than two, two of one id, or some of objects and some of addresses.
        TraceError: one is empty.
    """
    if len(traces) < 2:
        raise ConfigError(f"{len(traces)} trace is given; a mixture takes at least two")
    ids = [trace.meta.trace_id for trace in traces]
    for trace_id in ids:
        if ids.count(trace_id) > 1:
            raise ConfigError(f"{ids.count(trace_id)} traces are called {trace_id}: give each an id of its own")
    named = [trace.meta.trace_id for trace in traces if isinstance(trace, ObjectTrace)]
    if 0 < len(named) < len(traces):
        raise ConfigError(f"{named[0]}: names objects by keys, and others have addresses: merge traces of one kind")
    for trace in traces:
        if len(trace) == 0:
            raise TraceError(f"{trace.meta.trace_id}: the trace is empty; give one with at least one request")


def _keys(trace: ObjectTrace) -> Coded:
    """The keys of a trace as a mixture has them."""
    ids, _ = trace.numbered()
    _, first = np.unique(ids, return_index=True)
    return Coded(ids, tuple(f"{trace.meta.trace_id}/{trace.name_of(key)}" for key in trace.key[first].tolist()))


def _columns_of(trace: Either, name: str) -> Coded | None:
    """A coded column as it stands in a mixture."""
    if isinstance(trace, ObjectTrace) and name == "key":
        return _keys(trace)
    column: Coded | None = getattr(trace, name)
    if isinstance(trace, Trace) and name == "volume":
        return Coded(trace.volume.codes, tuple(f"{trace.meta.trace_id}/{volume}" for volume in trace.volume.names))
    if name == "source":
        codes = np.zeros(len(trace), np.int32) if column is None else column.codes
        return Coded(codes, tuple(source_names(trace)))
    return column


def _coded(traces: Sequence[Either], name: str) -> Coded | None:
    """A coded column of all traces one after the other; empty text where a trace has none, None where all have none."""
    columns = [_columns_of(trace, name) for trace in traces]
    if all(column is None for column in columns):
        return None
    numbers: dict[str, int] = {}
    codes: list[Any] = []
    for trace, given in zip(traces, columns, strict=True):
        column = given or Coded.constant("", len(trace))
        if name in APART and (shared := sorted(numbers.keys() & set(column.names))):
            message = f"{trace.meta.trace_id}: another trace has a {name} called {shared[0]} too: give it another id"
            raise ConfigError(message)
        place = [numbers.setdefault(text, len(numbers)) for text in column.names]
        codes.append(np.array([*place, -1], np.int32)[column.codes])
    return Coded(np.concatenate(codes), tuple(numbers))


def _numbers(traces: Sequence[Either], name: str) -> Any:  # noqa: ANN401 - an array of the column's dtype
    """A column of numbers of all traces one after the other."""
    columns = [getattr(trace, name) for trace in traces]
    dtypes = [column.dtype for column in columns if column is not None]
    if not dtypes:
        return None
    pairs = zip(traces, columns, strict=True)
    return np.concatenate(
        [np.full(len(trace), UNSTATED[name], dtypes[0]) if column is None else column for trace, column in pairs]
    )


def _mixture(traces: Sequence[Either], order: I64, time_us: I64, meta: TraceMeta) -> Any:  # noqa: ANN401 - their kind
    """The requests that `order` picks from the traces laid end to end, at the times given."""
    if isinstance(traces[0], ObjectTrace):
        numbers = {name: _numbers(traces, name) for name in OBJECT_NUMBERS if name != "key"}
        named: dict[str, Any] = {name: _coded(traces, name) for name in OBJECT_CODED}
        if (keys := _coded(traces, "key")) is not None:
            named |= {"key": keys.codes.astype(np.int64), "key_names": keys.names}
        joined = ObjectTrace(meta=meta, **numbers, **named)
        return replace(joined.take(order), time_us=time_us).trimmed()
    columns: dict[str, Any] = {name: _numbers(traces, name) for name in NUMBER_COLUMNS}
    columns |= {name: _coded(traces, name) for name in CODED_COLUMNS}
    picked = replace(Trace(meta=meta, **columns).take(order), time_us=time_us)
    used = {name: column.part(0, len(order)) for name in CODED_COLUMNS if (column := getattr(picked, name))}
    return replace(picked, **used)


def share_counts(lengths: Sequence[int], shares: Sequence[float]) -> list[int]:
    """How many requests each trace gives, so that their shares hold; the scarcest gives all, but for rounding.

    Args:
        lengths: requests of each trace.
        shares: weights; only their ratios count.

    Returns:
        Within one request of its share each, and at least 1.
    """

    def beside(index: int, base: int, count: int) -> int:
        return max(1, min(lengths[index], round(count * shares[index] / shares[base])))

    first = [beside(index, 0, lengths[0]) for index in range(len(lengths))]
    scarce = min(range(1, len(lengths)), key=lambda index: first[index] / shares[index])
    return [first[scarce] if index == scarce else beside(index, scarce, first[scarce]) for index in range(len(lengths))]


def _stretched(traces: Sequence[Either]) -> list[I64]:
    """Times from each trace's first request; all but the first trace stretched so that they end with it."""
    times = [trace.time_us - trace.time_us[0] for trace in traces]
    end = float(times[0][-1])
    return [times[0], *(np.round(time * (end / max(float(time[-1]), 1.0))).astype(np.int64) for time in times[1:])]


def interleave(traces: Sequence[AnyTrace], trace_id: str, shares: Sequence[float] | None = None) -> AnyTrace:
    """Merge traces in time as concurrent streams.

    Every stream keeps the order of its requests and its bursts. Of requests at the same microsecond, those of the
    trace given first come first.

    Args:
        traces: two or more, each with an id of its own.
        trace_id: id of the mixture.
        shares: None keeps every request at its traced time. Otherwise each trace's weight in the number of requests,
            e.g. (0.6, 0.4): each is cut after as many requests as the scarcest trace allows, the first keeps its
            clock (counted from its first request), and the others' clocks are stretched or compressed so that all
            end together.

    Returns:
        The mixture; `source` says which trace issued each request, and its codes follow the order of `traces` where
        none of them is a mixture.

    Raises:
        ConfigError: fewer than two traces, some of objects and some of addresses, ids or volumes that cannot be told
            apart, shares that are not one positive number for each trace.
        TraceError: a trace is empty.
    """
    _checked(traces)
    if shares is None:
        times = [trace.time_us for trace in traces]
    else:
        if len(shares) != len(traces) or not all(isfinite(share) and share > 0 for share in shares):
            raise ConfigError(f"shares are {list(shares)} for {len(traces)} traces; give each a number above 0")
        counts = share_counts([len(trace) for trace in traces], shares)
        traces = [trace.take(np.arange(count)) for trace, count in zip(traces, counts, strict=True)]
        times = _stretched(traces)
    merged = np.concatenate(times)
    order = np.argsort(merged, kind="stable")
    said = {
        "clock": "as traced" if shares is None else "stretched",
        "shares": None if shares is None else [float(share) for share in shares],
        "requests": {trace.meta.trace_id: len(trace) for trace in traces},
    }
    mixed: AnyTrace = _mixture(traces, order, merged[order], mixture_meta(traces, trace_id, "interleave", said))
    return mixed


def _end(trace: Either, first: int, clock_us: int, turn: Turn) -> tuple[int, int]:
    """The request after a turn's last, and the trace's clock when the turn ends.

    Raises:
        TraceError: the trace ends before the turn does.
    """
    n, last_us = len(trace), int(trace.time_us[-1])
    if turn.seconds is not None:
        stop_us = clock_us + round(turn.seconds * 1e6)
        short = f"{turn.seconds} seconds" if stop_us > last_us + 1 else ""
        stop = int(np.searchsorted(trace.time_us, stop_us))
    else:
        stop = n if turn.requests is None else first + turn.requests
        short = f"{stop - first} requests" if stop > n else ""
        stop_us = int(trace.time_us[stop]) if stop < n else last_us
    if short or first == n:
        left = f"{n - first} of its {n} requests and {max(0, last_us - clock_us) / 1e6} seconds are left"
        raise TraceError(f"{trace.meta.trace_id}: a turn asks for {short or 'the rest'}, but {left}: ask for less")
    return stop, stop_us


def in_turns(traces: Sequence[AnyTrace], trace_id: str, turns: Sequence[Turn], periods: int = 1) -> AnyTrace:
    """Let traces issue their requests one after the other: changes of workload in time.

    A trace's clock runs during its own turns alone, from its first request on, so the gaps of the others' turns are
    closed: each turn goes on where the trace's last one ended. A turn of seconds lasts exactly as long; a turn of
    requests lasts until the trace's next request would come, or to its last one.

    Args:
        traces: two or more, each with an id of its own.
        trace_id: id of the mixture.
        turns: whose turn it is and how long, e.g. ``[Turn("mail", requests=50_000), Turn("home", requests=50_000)]``.
        periods: how many times the turns are gone through.

    Returns:
        The mixture, with `source` as ground truth.

    Raises:
        ConfigError: fewer than two traces, some of objects and some of addresses, ids or volumes that cannot be told
            apart, no turn, a turn of an unknown trace, or periods below 1.
        TraceError: a trace is empty or ends before its turns do, or no request falls into the turns.
    """
    _checked(traces)
    place = {trace.meta.trace_id: index for index, trace in enumerate(traces)}
    unknown = [turn.trace_id for turn in turns if turn.trace_id not in place]
    if unknown or not turns or periods < 1:
        wrong = f"a turn of {unknown[0]}" if unknown else f"{len(turns)} turns in {periods} periods"
        raise ConfigError(f"{wrong}; give at least one turn and period, each turn to one of {', '.join(place)}")
    base = np.cumsum([0, *(len(trace) for trace in traces)])
    after, clocks, now = [0] * len(traces), [int(trace.time_us[0]) for trace in traces], 0
    rows: list[I64] = []
    times: list[I64] = []
    for turn in [*turns] * periods:
        index = place[turn.trace_id]
        trace, first, clock = traces[index], after[index], clocks[index]
        after[index], clocks[index] = _end(trace, first, clock, turn)
        rows.append(np.arange(first, after[index]) + base[index])
        times.append(trace.time_us[first : after[index]] + (now - clock))
        now += clocks[index] - clock
    order = np.concatenate(rows)
    if len(order) == 0:
        raise TraceError(f"{trace_id}: no request falls into the turns: make them longer")
    said = {"turns": [asdict(turn) for turn in turns], "periods": periods}
    mixed: AnyTrace = _mixture(traces, order, np.concatenate(times), mixture_meta(traces, trace_id, "in_turns", said))
    return mixed
