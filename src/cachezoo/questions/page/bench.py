"""A trace ready to be simulated: the one runner of all commands and stages about page caches."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from cachezoo.arrays import F64, I64, Bool
from cachezoo.contest.blocks import block_means, blocks_in
from cachezoo.contest.choice import Case
from cachezoo.contest.counting import SECOND_HALF, Count
from cachezoo.contest.sampled import GROUPS, Estimated, half_widths
from cachezoo.curves.sampling import first_sampled
from cachezoo.devices.analytic import t_hdd_us, t_ssd_us
from cachezoo.devices.service import ServiceTimes
from cachezoo.errors import ConfigError
from cachezoo.kernels.outcome import HIT
from cachezoo.policies.accounting import Counts, Keep, Simulation
from cachezoo.policies.long import LongSimulator
from cachezoo.policies.registry import in_sample, policy
from cachezoo.policies.simulate import Simulator
from cachezoo.policies.stream import Unit, Writes
from cachezoo.settings.device import AnalyticDevice
from cachezoo.sizes import PAGE_BYTES, Size
from cachezoo.traces.memory import FIX
from cachezoo.traces.pages import PageAccesses
from cachezoo.traces.sampling import Part, SampledTrace
from cachezoo.traces.table import OP_READ, OP_WRITE, Trace

Row = dict[str, Any]
Simulates = Simulator | LongSimulator
HITS = "hit_ratio"
OF_RUNS = ("mean", "blocks", "groups", "rate", "errors")
COUNTED = (
    "requests", "ssd_writes", "replacements", "dirty_evictions", "disk_writes", "prefetched", "prefetch_hits", "moved",
)  # fmt: skip
"""What grows with the trace, but for page accesses and hits."""
ESTIMATED = (HITS, "read_hit_ratio", "write_hit_ratio", "transfers", "byte_hit_ratio", "ssd_writes")
"""What has an error where it is estimated from a sample; requests, which blocks cut, are other ones in it."""


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
    sample: Part = "auto"  # how much of a trace is run


def modelled(trace: Trace, device: AnalyticDevice) -> ServiceTimes:
    """A device's modelled times of a trace's requests, one at a time."""
    return ServiceTimes.of(trace, t_hdd_us(trace, device.hdd), t_ssd_us(trace, device.ssd))


@dataclass(frozen=True)
class Run(Estimated):
    """One policy at one size where it counts: its page hit ratio as `mean`, and the figures of the JSON.

    Most are those of `cachezoo.policies.accounting.Simulation`; both response times are None without a device. The
    ratios of reads and of writes are hits of their page accesses, per page access; None where there are none. From a
    sample all are estimates of the whole trace's.
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
    rate: float = field(default=1.0, kw_only=True)  # part of the trace's pages that was simulated
    # half the 90 % intervals of figures that were estimated from a sample, by their names; none where all was simulated
    errors: dict[str, float] = field(default_factory=dict, kw_only=True)

    @property
    def response_us(self) -> float:
        """Mean response time, on a bench with a device."""
        assert self.mean_response_us is not None
        return self.mean_response_us

    def values(self) -> Row:
        """As JSON values; of a sample with its rate, and `error_90` of the hit ratio and others."""
        found = {name: value for name, value in vars(self).items() if name not in OF_RUNS}
        if not self.errors:
            return found
        named = {"error_90" if name == HITS else f"{name}_error_90": error for name, error in self.errors.items()}
        return {**found, "rate": self.rate, **named}


class Bench:
    """A trace with its response times, or a sample of a trace that stands for it.

    Sizes are of the whole trace, a sample's caches as much smaller as it has fewer pages. Its misses are scaled up, and
    hits are what is left of all accesses, as `cachezoo.curves.sampling` says, of bytes, reads and writes
    likewise; ratios of requests are those of the sample.

    Attributes:
        runs: what simulates the trace, in memory or long.
        times: service times of the requests on disk and SSD; None without a device.
        count: from where on it counts.
        sample: what `trace` is a sample of; None where it is the whole.
    """

    def __init__(
        self, runs: Simulates, times: ServiceTimes | None = None, count: Count = SECOND_HALF,
        sample: SampledTrace | None = None,
    ) -> None:  # fmt: skip
        self.runs, self.times, self.count, self.sample = runs, times, count, sample
        self.device: AnalyticDevice | None = None

    @classmethod
    def of(
        cls, runs: Simulates, device: AnalyticDevice | None = None, count: Count = SECOND_HALF,
        sample: SampledTrace | None = None,
    ) -> "Bench":  # fmt: skip
        """The bench of a simulator, with a device's models of response times.

        Raises:
            ConfigError: a long trace has none: they take its requests in memory.
        """
        found = cls(runs, None, count, sample)
        if device is not None:
            found.times, found.device = modelled(found.trace, device), device
        return found

    def counting(self, count: Count) -> "Bench":
        """The same, counted from elsewhere on."""
        found = Bench(self.runs, self.times, count, self.sample)
        found.device = self.device
        if "groups" in vars(self):
            vars(found)["groups"] = tuple(own.counting(count) for own in self.groups)
        return found

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

    @property
    def n_pages(self) -> int:
        """Distinct pages of the whole trace."""
        return self.runs.n_pages if self.sample is None else self.sample.n_pages

    @property
    def accesses(self) -> int:
        """Page accesses of the whole trace."""
        return self.runs.accesses if self.sample is None else self.sample.accesses

    @property
    def requests(self) -> int:
        """Requests of the whole trace."""
        return self.runs.requests if self.sample is None else self.sample.requests

    @property
    def read_share(self) -> float:
        """Requests of the whole trace that read, per request."""
        return float((self.trace.op == OP_READ).mean()) if self.sample is None else self.sample.reads / self.requests

    @property
    def rate(self) -> float:
        """Part of the whole trace's pages that are here."""
        return self.runs.n_pages / self.n_pages

    @cached_property
    def rows(self) -> I64:
        """int64[m]: which access of the whole trace each one here is."""
        return np.arange(len(self.pages.page_ids)) if self.sample is None else self.sample.rows

    @cached_property
    def groups(self) -> "tuple[Bench, ...]":
        """A sample dealt out to `GROUPS` samples that share no page; none of a whole trace, nor of such a group."""
        sample = self.sample
        return () if sample is None or sample.dealt else tuple(map(self._group, sample.groups(GROUPS)))

    def _group(self, part: SampledTrace) -> "Bench":
        return Bench.of(self.simulator.part(part.trace, part.pages), self.device, self.count, part)

    def size(self, given: Size) -> int:
        """Pages of a size; a share is of the distinct pages."""
        return given.pages(self.n_pages, self.runs.page_bytes)

    def own(self, capacity: int) -> int:
        """Pages of the cache that is simulated, for one of so many."""
        return capacity if self.sample is None else max(1, round(capacity * self.rate))

    def place(self, access: int) -> int:
        """The first access here that is that one of the whole trace, or a later one."""
        return access if self.sample is None else int(np.searchsorted(self.rows, access))

    @cached_property
    def writes(self) -> Bool:
        """bool[m]: page accesses of writes."""
        written: Bool = np.repeat(self.trace.op == OP_WRITE, np.diff(self.pages.request_start))
        return written

    def firsts(self, count: Count, capacities: Sequence[int]) -> I64:
        """int64[k]: from which access of the whole trace on each of many capacities counts."""
        if self.sample is not None:
            return first_sampled(self.sample, count, capacities)
        return self.runs.firsts(count, capacities)

    def case(self, capacity: int) -> Case:
        """What counts of the page accesses with a cache of so many pages, from the first of a request on."""
        first = int(self.firsts(self.count, [capacity])[0])
        return Case(self.runs.meta.trace_id, capacity, first, self.accesses)

    def hit_ratios(self, hits: Bool, first: int) -> tuple[float, F64]:
        """The hit ratio where it counts, and that of each block of time.

        Args:
            hits: bool[k] of the accesses here that count.
            first: of the whole trace's accesses that counts.
        """
        if self.sample is None:
            return float(hits.mean()), block_means(hits)
        total, begin = self.accesses - first, self.place(first)
        edges = np.linspace(first, self.accesses, blocks_in(total) + 1).astype(np.int64)
        missed = np.concatenate([[0], np.cumsum(~hits)])[np.searchsorted(self.rows, edges) - begin]
        blocks = np.maximum(0.0, 1 - np.diff(missed) / (self.rate * np.diff(edges)))
        return max(0.0, 1 - int((~hits).sum()) / (self.rate * total)), blocks if blocks_in(total) else np.zeros(0)

    def run(self, policy_id: str, capacity: int, decision_us: float = 0.0, keep: Keep | None = None) -> Run:
        """Run a policy over the whole trace, or over the sample and its groups.

        Args:
            policy_id: of the policy.
            capacity: pages.
            decision_us: time of one decision, charged to every request.
            keep: given what became of the page accesses of the whole trace.
        """
        first = self.case(capacity).first
        if self.sample is None:
            whole = self.runs.run(policy_id, capacity, first, keep)
            return self.counted_run(whole, policy(policy_id).kind, decision_us)
        found = self._run(policy_id, capacity, first, decision_us)
        each = [group._run(policy_id, capacity, first, decision_us) for group in self.groups]
        errors = dict[str, float]()
        for name in ESTIMATED:
            values = [getattr(one, name) for one in (found, *each)]
            if not any(value is None for value in values):
                errors[name] = float(half_widths(np.array(values[0]), np.array(values[1:])))
        return replace(found, errors=errors, groups=np.array([one.mean for one in each]))

    def _run(self, policy_id: str, capacity: int, first: int, decision_us: float) -> Run:
        with in_sample(policy_id, capacity):
            simulated = self.simulator.run(policy_id, self.own(capacity), self.place(first))
        found = self.counted_run(simulated, policy(policy_id).kind, decision_us)
        return self._scaled(found, simulated, capacity, first)

    def _scaled(self, found: Run, simulated: Simulation, capacity: int, first: int) -> Run:
        """A sample's run as an estimate of the whole trace's."""
        ratio, blocks = self.hit_ratios(simulated.outcome[simulated.warmup :] == HIT, first)
        bytes_missed = (1 - found.byte_hit_ratio) * found.page_accesses / self.rate
        shares: dict[str, Any] = {
            "read_hit_ratio": self._left(simulated, ~self.writes, self.reads_from(first)),
            "write_hit_ratio": self._left(simulated, self.writes, self.accesses - first - self.reads_from(first)),
        }
        total, counts = self.accesses - first, {name: getattr(found, name) for name in COUNTED}
        whole: dict[str, Any] = {
            name: None if count is None else round(count / self.rate) for name, count in counts.items()
        }
        further = (simulated.prefetched + simulated.moved) / (self.rate * total)
        return replace(
            found, mean=ratio, blocks=blocks, capacity=capacity, warmup=first, page_accesses=total,
            hits=round(ratio * total), hit_ratio=ratio, transfers=1 - ratio + further,
            byte_hit_ratio=max(0.0, 1 - bytes_missed / total), rate=self.rate, **shares, **whole,
        )  # fmt: skip

    def _left(self, simulated: Simulation, among: Bool, whole: int) -> float | None:
        """The hit ratio of some accesses of a sample, of so many of the whole trace that count."""
        looked = among[simulated.warmup :]
        missed = int((looked & (simulated.outcome[simulated.warmup :] != HIT)).sum())
        return max(0.0, 1 - missed / (self.rate * whole)) if looked.any() and whole else None

    def reads_from(self, access: int) -> int:
        """Page accesses of the whole trace from one on that read."""
        return int((~self.writes[access:]).sum()) if self.sample is None else self.sample.reads_from(access)

    def simulated(self, policy_id: str, capacity: int) -> Simulation:
        """A run over the whole trace with what happened at each page access."""
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
