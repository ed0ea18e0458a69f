"""A trace ready to be simulated: the one runner of all commands and stages about page caches."""

from dataclasses import dataclass
from typing import Any

from cachezoo.contest.blocks import block_means
from cachezoo.contest.choice import Outcome
from cachezoo.contest.counting import SECOND_HALF, Count, first_access
from cachezoo.devices.analytic import t_hdd_us, t_ssd_us
from cachezoo.devices.service import ServiceTimes
from cachezoo.kernels.outcome import HIT
from cachezoo.policies.accounting import Simulation
from cachezoo.policies.registry import policy
from cachezoo.policies.simulate import Simulator
from cachezoo.policies.stream import Unit, Writes
from cachezoo.settings.device import AnalyticDevice
from cachezoo.sizes import Size
from cachezoo.traces.table import Trace

Row = dict[str, Any]


@dataclass(frozen=True)
class Options:
    """How every policy is run.

    Attributes:
        count: from where on a trace counts.
        writes: what a write does, see `cachezoo.policies.stream.Stream`.
        unit: what one admission decision covers.
        device: whose response times to report; None reports none.
        decision_us: time of one decision, charged to every request.
        reading: how raw traces are read: ``auto`` or a format's id, and its options.
        quiet: whether the warnings of the traces have been printed.
    """

    count: Count = SECOND_HALF
    writes: Writes = "back"
    unit: Unit = "page"
    device: AnalyticDevice | None = None
    decision_us: float = 0.0
    reading: tuple[str, tuple[tuple[str, str], ...]] = ("auto", ())
    quiet: bool = False


def modelled(trace: Trace, device: AnalyticDevice) -> ServiceTimes:
    """A device's modelled times of a trace's requests, one at a time."""
    return ServiceTimes.of(trace, t_hdd_us(trace, device.hdd), t_ssd_us(trace, device.ssd))


@dataclass(frozen=True)
class Run(Outcome):
    """One policy at one size where it counts: its page hit ratio as `mean`, and the figures of the JSON.

    Most are those of `cachezoo.policies.accounting.Simulation`; both response times are None without a device.
    """

    policy: str
    kind: str
    capacity: int
    warmup: int
    requests: int
    page_accesses: int
    hits: int
    hit_ratio: float
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

    def __init__(self, simulator: Simulator, times: ServiceTimes | None = None, count: Count = SECOND_HALF) -> None:
        self.simulator, self.times, self.count = simulator, times, count
        self.trace, self.pages = simulator.trace, simulator.pages

    @classmethod
    def of(cls, simulator: Simulator, device: AnalyticDevice | None = None, count: Count = SECOND_HALF) -> "Bench":
        """The bench of a simulator, with a device's models of response times."""
        return cls(simulator, None if device is None else modelled(simulator.trace, device), count)

    def size(self, given: Size) -> int:
        """Pages of a size; a share is of the distinct pages."""
        return given.pages(self.pages.n_pages)

    def first(self, capacity: int = 1) -> int:
        """The page access from which on a cache of so many pages counts, the first of its request."""
        return first_access(self.pages, self.count, capacity, self.trace.time_us)

    def run(self, policy_id: str, capacity: int, decision_us: float = 0.0) -> Run:
        """Run a policy over the whole trace."""
        entry = policy(policy_id)
        return self.counted_run(self.simulator.run(entry, capacity, self.first(capacity)), entry.kind, decision_us)

    def counted_run(self, found: Simulation, kind: str, decision_us: float = 0.0) -> Run:
        """The figures of a simulation where it counts."""
        response = waiting = None
        if self.times is not None and found.requests:  # none begins after a warm-up that ends within the last one
            response = found.mean_response_us(self.times, decision_us)
            waiting = found.mean_response_waiting_us(self.times, decision_us)
        return Run(
            mean=found.hit_ratio,
            blocks=block_means(found.outcome[found.warmup :] == HIT),
            policy=found.policy,
            kind=kind,
            capacity=found.capacity,
            warmup=found.warmup,
            requests=found.requests,
            page_accesses=found.page_accesses,
            hits=found.hits,
            hit_ratio=found.hit_ratio,
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
            requests_per_s=len(self.trace) / max(found.kernel_s, 1e-9),
        )
