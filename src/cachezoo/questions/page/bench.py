"""A trace ready to be simulated: the one runner of all commands and stages about page caches."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from cachezoo.arrays import Bool
from cachezoo.contest.choice import Case, Outcome
from cachezoo.contest.counting import SECOND_HALF, Count
from cachezoo.devices.analytic import t_hdd_us, t_ssd_us
from cachezoo.devices.service import ServiceTimes
from cachezoo.errors import ConfigError
from cachezoo.policies.accounting import Counts, Keep, Simulation
from cachezoo.policies.long import FIX, LongSimulator
from cachezoo.policies.registry import policy
from cachezoo.policies.simulate import Simulator
from cachezoo.policies.stream import Unit, Writes
from cachezoo.settings.device import AnalyticDevice
from cachezoo.sizes import PAGE_BYTES, Size
from cachezoo.traces.pages import PageAccesses
from cachezoo.traces.table import OP_WRITE, Trace

Row = dict[str, Any]
Simulates = Simulator | LongSimulator


@dataclass(frozen=True)
class Options:
    """How every policy is run."""

    count: Count = SECOND_HALF  # from where on a trace counts
    writes: Writes = "back"  # what a write does, see `cachezoo.policies.stream.Stream`
    unit: Unit = "page"  # what one admission decision covers
    device: AnalyticDevice | None = None  # whose response times to report; None reports none
    decision_us: float = 0.0  # time of one decision, charged to every request
    # how raw traces are read: ``auto`` or a format's id, and its options
    reading: tuple[str, tuple[tuple[str, str], ...]] = ("auto", ())
    quiet: bool = False  # whether the warnings of the traces have been printed
    page_bytes: int = PAGE_BYTES  # of a page of the cache
    first: int | None = None  # requests of a trace that are taken, from its first on; None: all


def modelled(trace: Trace, device: AnalyticDevice) -> ServiceTimes:
    """A device's modelled times of a trace's requests, one at a time."""
    return ServiceTimes.of(trace, t_hdd_us(trace, device.hdd), t_ssd_us(trace, device.ssd))


@dataclass(frozen=True)
class Run(Outcome):
    """One policy at one size where it counts: its page hit ratio as `mean`, and the figures of the JSON.

    Most are those of `cachezoo.policies.accounting.Simulation`; both response times are None without a device. The
    ratios of reads and of writes are hits of their page accesses, per page access; None where there are none.
    """

    policy: str
    kind: str
    capacity: int
    page_bytes: int
    warmup: int
    requests: int
    page_accesses: int
    hits: int
    hit_ratio: float
    read_hit_ratio: float | None
    write_hit_ratio: float | None
    transfers: float
    request_hit_ratio: float
    byte_hit_ratio: float
    ssd_writes: int
    replacements: int | None
    dirty_evictions: int | None
    disk_writes: int | None
    prefetched: int
    prefetch_hits: int
    moved: int
    mean_response_us: float | None
    mean_response_waiting_us: float | None
    requests_per_s: float

    @property
    def response_us(self) -> float:
        """Mean response time, on a bench with a device."""
        assert self.mean_response_us is not None
        return self.mean_response_us

    def values(self) -> Row:
        """As JSON values."""
        return {name: value for name, value in vars(self).items() if name not in ("mean", "blocks")}


class Bench:
    """A trace with its response times.

    Attributes:
        trace: the requests.
        pages: their page accesses.
        times: service times of the requests on disk and SSD; None without a device.
        count: from where on it counts.
    """

    def __init__(self, runs: Simulates, times: ServiceTimes | None = None, count: Count = SECOND_HALF) -> None:
        self.runs, self.times, self.count = runs, times, count

    @classmethod
    def of(cls, runs: Simulates, device: AnalyticDevice | None = None, count: Count = SECOND_HALF) -> "Bench":
        """The bench of a simulator, with a device's models of response times.

        Raises:
            ConfigError: a long trace has none: they take its requests in memory.
        """
        if device is None:
            return cls(runs, None, count)
        if isinstance(runs, LongSimulator):
            raise ConfigError(f"{runs.meta.trace_id}: response times take the whole trace in memory; {FIX}")
        return cls(runs, modelled(runs.trace, device), count)

    @property
    def simulator(self) -> Simulator:
        """The trace in memory.

        Raises:
            ConfigError: it is long.
        """
        if isinstance(self.runs, LongSimulator):
            raise ConfigError(f"{self.runs.meta.trace_id}: this takes the whole trace in memory; {FIX}")
        return self.runs

    @property
    def trace(self) -> Trace:
        """The requests; raises as `simulator`."""
        return self.simulator.trace

    @property
    def pages(self) -> PageAccesses:
        """Their page accesses; raises as `simulator`."""
        return self.simulator.pages

    def size(self, given: Size) -> int:
        """Pages of a size; a share is of the distinct pages."""
        return given.pages(self.runs.n_pages, self.runs.page_bytes)

    @cached_property
    def writes(self) -> Bool:
        """bool[m]: page accesses of writes."""
        written: Bool = np.repeat(self.trace.op == OP_WRITE, np.diff(self.pages.request_start))
        return written

    def case(self, capacity: int) -> Case:
        """What counts of the page accesses with a cache of so many pages, from the first of a request on."""
        first = self.runs.first(self.count, capacity)
        return Case(self.runs.meta.trace_id, capacity, first, self.runs.accesses)

    def run(self, policy_id: str, capacity: int, decision_us: float = 0.0, keep: Keep | None = None) -> Run:
        """Run a policy over the whole trace; `keep` is given what became of its page accesses."""
        found = self.runs.run(policy_id, capacity, self.case(capacity).first, keep)
        return self.counted_run(found, policy(policy_id).kind, decision_us)

    def simulated(self, policy_id: str, capacity: int) -> Simulation:
        """The same with what happened at each page access."""
        return self.simulator.run(policy_id, capacity, self.case(capacity).first)

    def counted_run(self, found: Counts, kind: str, decision_us: float = 0.0) -> Run:
        """The figures of a simulation where it counts."""
        response = waiting = None
        # None begins after a warm-up that ends within the last one.
        if self.times is not None and isinstance(found, Simulation) and found.requests:
            response = found.mean_response_us(self.times, decision_us)
            waiting = found.mean_response_waiting_us(self.times, decision_us)
        return Run(
            mean=found.hit_ratio,
            blocks=found.blocks,
            policy=found.policy,
            kind=kind,
            capacity=found.capacity,
            page_bytes=self.runs.page_bytes,
            warmup=found.warmup,
            requests=found.requests,
            page_accesses=found.page_accesses,
            hits=found.hits,
            hit_ratio=found.hit_ratio,
            read_hit_ratio=found.read_hit_ratio,
            write_hit_ratio=found.write_hit_ratio,
            transfers=found.transfers,
            request_hit_ratio=found.request_hit_ratio,
            byte_hit_ratio=found.byte_hit_ratio,
            ssd_writes=found.ssd_writes,
            replacements=found.replacements,
            dirty_evictions=found.dirty_evictions,
            disk_writes=found.disk_writes,
            prefetched=found.prefetched,
            prefetch_hits=found.prefetch_hits,
            moved=found.moved,
            mean_response_us=response,
            mean_response_waiting_us=waiting,
            requests_per_s=self.runs.requests / max(found.kernel_s, 1e-9),
        )


def share_hit(hits: Bool, among: Bool) -> float | None:
    """Of the accesses that are looked at, those that hit; None where none is."""
    count = int(among.sum())
    return int((hits & among).sum()) / count if count else None
