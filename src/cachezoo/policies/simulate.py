"""Simulate a trace's page accesses through a policy and count."""

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from cachezoo.arrays import I32, I64, U8
from cachezoo.contest.counting import Count, first_accesses
from cachezoo.kernels.outcome import BYPASSED
from cachezoo.policies.accounting import Keep, Simulation, account
from cachezoo.policies.engine import Run, check_capacity
from cachezoo.policies.prefetches import NONE, prefetched_stream
from cachezoo.policies.registry import Policy, behind_decisions, policy
from cachezoo.policies.stream import Stream, Unit, Writes, build_stream
from cachezoo.traces.pages import PageAccesses
from cachezoo.traces.table import OP_WRITE, Trace, TraceMeta


class Simulator:
    """A trace ready to be simulated: its stream is built once for each prefetch and shared by all policies.

    Attributes:
        trace: the requests.
        pages: their page accesses.
    """

    def __init__(self, trace: Trace, pages: PageAccesses, writes: Writes = "back", unit: Unit = "page") -> None:
        """Take a trace.

        Args:
            trace: requests.
            pages: the same trace's page accesses.
            writes: what a write does, see `Stream`.
            unit: what one admission decision covers.
        """
        self.trace, self.pages, self._writes, self._unit = trace, pages, writes, unit
        self._streams: dict[str, Stream] = {}

    @property
    def meta(self) -> TraceMeta:
        """Of the trace."""
        return self.trace.meta

    @property
    def requests(self) -> int:
        """How many there are."""
        return len(self.trace)

    @property
    def accesses(self) -> int:
        """Page accesses."""
        return len(self.pages.page_ids)

    @property
    def n_pages(self) -> int:
        """Distinct pages."""
        return self.pages.n_pages

    @property
    def page_bytes(self) -> int:
        """Of a page."""
        return self.pages.page_bytes

    def firsts(self, count: Count, capacities: Sequence[int]) -> I64:
        """From which page access on a rule counts, see `cachezoo.contest.counting.first_accesses`."""
        return first_accesses(self.pages, count, capacities, self.trace.time_us)

    def part(self, trace: Trace, pages: PageAccesses) -> "Simulator":
        """A part of the trace, simulated in the same way."""
        return Simulator(trace, pages, self._writes, self._unit)

    def stream(self, asked: Policy) -> Stream:
        """What the policy's cache is asked: the trace, and what its prefetch adds."""
        prefetch = str(asked.spec.prefetch) if asked.spec else NONE.id
        if prefetch not in self._streams:
            if asked.spec is None or prefetch == NONE.id:
                stream = build_stream(self.trace, self.pages, self._writes, self._unit)
            else:
                plan = asked.spec.plan(self.trace, self.pages)
                stream = prefetched_stream(self.trace, self.pages, plan, self._writes, self._unit)
            self._streams[prefetch] = stream
        return self._streams[prefetch]

    def run(self, asked: Policy | str, capacity: int, warmup: int, keep: Keep | None = None) -> Simulation:
        """Run one policy.

        Args:
            asked: a policy, its id, or a composition as `cachezoo.policies.spec` writes it.
            capacity: pages, at least 1.
            warmup: page accesses simulated before counting.
            keep: given the outcomes, uint8[m].

        Raises:
            ConfigError: unknown policy, a parameter outside its range, or capacity below 1.
        """
        check_capacity(capacity)
        entry = policy(asked) if isinstance(asked, str) else asked
        entry = entry if entry.bind is None else entry.bind(self.trace, self.pages)
        stream = self.stream(entry)
        entry.compile()
        start = time.perf_counter()
        run = entry.simulate(stream, capacity)
        found = account(entry.id, stream, run, capacity, warmup, time.perf_counter() - start)
        if keep is not None:
            keep(found.outcome)
        return found


def simulate(trace: Trace, pages: PageAccesses, policy_id: str, capacity: int, warmup: int) -> Simulation:
    """One policy over a trace, write-back, a page at a time; as `Simulator.run`."""
    return Simulator(trace, pages).run(policy_id, capacity, warmup)


@dataclass(frozen=True)
class Outcomes:
    """What a write-back cache of its own did with a trace."""

    outcome: U8  # uint8[m] for each page access, as `cachezoo.kernels.outcome` codes it
    replaced: I32  # int32[n] pages evicted by each request
    dirty_evicted: I32  # int32[n] those of them that had to be written to the disk


def count(
    trace: Trace, pages: PageAccesses, name: str, capacity: int, warmup: int, own: Outcomes, kernel_s: float = 0.0
) -> Simulation:
    """Count what a cache of its own did from the warm-up index on; evictions count from the first request after it."""
    run = Run.of_outcomes(own.outcome)
    found = account(name, build_stream(trace, pages), run, capacity, warmup, kernel_s)
    first = len(trace) - found.requests
    dirty = int(own.dirty_evicted[first:].sum())
    passed_by = np.repeat(trace.op == OP_WRITE, np.diff(pages.request_start)) & (own.outcome == BYPASSED)
    return replace(
        found,
        replacements=int(own.replaced[first:].sum()),
        dirty_evictions=dirty,
        disk_writes=dirty + int(passed_by[warmup:].sum()),
    )


def simulate_admission(
    trace: Trace, pages: PageAccesses, name: str, decided: npt.NDArray[np.bool_], capacity: int, warmup: int
) -> Simulation:
    """LRU behind an admission that has decided for every request (bool[n]): True lets in what the request misses."""
    return Simulator(trace, pages).run(behind_decisions(name, decided), capacity, warmup)
