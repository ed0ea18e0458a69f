"""Two traces as one whose workload changes: at once, back and forth, or little by little.

Each gives half of its requests: the trace that runs at first gives its first half, the other one its second half. A
workload changes in one of four ways:

other: at once, to pages of the second trace alone.
shared: at once; an address is the same page in both traces.
turns: each trace has two turns, on pages of its own.
drift: for the first and the last third one trace runs alone; between them the second's share of the requests rises
    evenly from 0 to 1. Each has pages of its own.
"""

from dataclasses import dataclass, replace
from itertools import accumulate

import numpy as np

from cachezoo.arrays import Bool
from cachezoo.coded import Coded
from cachezoo.errors import TraceError
from cachezoo.settings.base import Joining
from cachezoo.traces.mixing import Turn, in_turns, interleave
from cachezoo.traces.table import Trace

PERIODS = 2
LEAST_REQUESTS = 4


@dataclass(frozen=True)
class Joined:
    """A trace whose workload changes."""

    trace: Trace  # `source` says which trace issued a request
    at: tuple[int, ...]  # requests that changes begin with, rising


def join(kind: Joining, first: Trace, second: Trace) -> Joined:
    """Let a second trace take the place of the first.

    Args:
        kind: how the workload changes, as above.
        first: a trace of addresses.
        second: another, with another id.

    Returns:
        The trace is called `<first>+<second>`. The gaps between a trace's turns are closed; the clock of a drift counts
        its requests.

    Raises:
        ConfigError: both have the same id.
        TraceError: one has fewer than `LEAST_REQUESTS` requests.
    """
    for trace in (first, second):
        if len(trace) < LEAST_REQUESTS:
            message = f"{trace.meta.trace_id}: {len(trace)} requests; to be joined a trace needs {LEAST_REQUESTS}"
            raise TraceError(message)
    before, after = first.rows(0, len(first) // 2), second.rows(len(second) // 2, len(second))
    name = f"{first.meta.trace_id}+{second.meta.trace_id}"
    if kind == "drift":
        return _drift(before, after, name)
    periods = PERIODS if kind == "turns" else 1
    traces = [before, after]
    lengths = [len(trace) // periods for trace in traces]
    turns = [Turn(trace.meta.trace_id, length) for trace, length in zip(traces, lengths, strict=True)]
    joined = in_turns(traces, name, turns, periods)
    if kind == "shared":
        joined = replace(joined, volume=Coded.constant("shared", len(joined)))
    return Joined(joined, tuple(accumulate((lengths * periods)[:-1])))


def _drift(first: Trace, second: Trace, name: str) -> Joined:
    """As many requests of each; thirds as said above."""
    count = min(len(first), len(second))
    alone = 2 * count // 3
    taken = np.concatenate([np.zeros(alone, bool), _rising(count - alone), np.ones(alone, bool)])
    parts = [
        replace(trace.rows(0, count), time_us=np.flatnonzero(own).astype(np.int64))
        for trace, own in ((first, ~taken), (second, taken))
    ]
    return Joined(interleave(parts, name), (alone,))


def _rising(each: int) -> Bool:
    """bool[2 * each]: the half of the places that the second trace has, ever more of them.

    After i requests it has had i² / (4 `each`) of them, rounded down: its share is i / (2 `each`).
    """
    place = np.arange(2 * each + 1, dtype=np.int64)
    rising: Bool = np.diff(place * place // (4 * each)) > 0
    return rising
