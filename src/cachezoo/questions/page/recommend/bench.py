"""A trace in two halves: the first warms the caches and chooses, all figures are of the second.

So every size is counted on the same accesses, after its own warm-up is over (at most a third of the trace), and no
policy is quoted on what it was chosen on. `cachezoo simulate` gives the same figures.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from cachezoo.arrays import F64, Bool
from cachezoo.contest.blocks import block_means, blocks_in
from cachezoo.contest.counting import first_access
from cachezoo.contest.lead import Interval, mean_of
from cachezoo.devices.analytic import t_hdd_us, t_ssd_us
from cachezoo.devices.service import ServiceTimes
from cachezoo.flash.load import DAY_S, time_scale
from cachezoo.kernels.outcome import HIT
from cachezoo.kernels.stack_distance import COLD, stack_distances
from cachezoo.policies.accounting import Simulation
from cachezoo.policies.simulate import Simulator
from cachezoo.settings.device import AnalyticDevice
from cachezoo.traces.clock import are_numbered
from cachezoo.traces.pages import PageAccesses
from cachezoo.traces.table import PAGE_BYTES, Trace

HOUR = 1 / 24
"""Of a day: what lasted less says nothing of a day."""


@dataclass(frozen=True)
class Ran:
    """One policy at one size, on the second half.

    Attributes:
        policy: its id.
        capacity: pages.
        hit_ratio: page hits per page access.
        blocks: float64[B] the same of each time block; empty where the trace is too short for four blocks.
        response_us: mean response time of a request, one at a time.
        response_waiting_us: the same if requests also wait until changed pages are written back; None where the cache
            does not say what it evicted.
        request_hit_ratio: requests with every page resident, per request.
        ssd_pages: pages written to the SSD.
        disk_pages: pages written to the disk, one by one; None where the cache does not say.
    """

    policy: str
    capacity: int
    hit_ratio: float
    blocks: F64
    response_us: float
    response_waiting_us: float | None
    request_hit_ratio: float
    ssd_pages: int
    disk_pages: int | None

    @property
    def interval(self) -> Interval | None:
        """The 90 % interval of the hit ratio; None where the trace is too short."""
        return mean_of(self.blocks, self.hit_ratio).interval


class Bench:
    """A trace ready to be asked, with the models' response times.

    Attributes:
        trace: the requests.
        pages: their page accesses.
        half: page access at which the second half begins, a request's first.
        first_request: that request.
        blocks: time blocks in the second half; 0 where it is too short for four.
        times: service times of the requests on the modelled disk and SSD.
    """

    def __init__(self, trace: Trace, pages: PageAccesses, device: AnalyticDevice) -> None:
        """Take a trace."""
        self.trace, self.pages = trace, pages
        m = len(pages.page_ids)
        self.half = first_access(pages)
        self.first_request = int(np.searchsorted(pages.request_start[:-1], self.half, side="right")) - 1
        self.blocks = blocks_in(m - self.half)
        self.times = ServiceTimes.of(trace, t_hdd_us(trace, device.hdd), t_ssd_us(trace, device.ssd))
        self._simulator = Simulator(trace, pages)

    @cached_property
    def distances(self) -> npt.NDArray[np.int32]:
        """int32[m]: other pages accessed since each page's last access; LRU hits below its capacity."""
        found: npt.NDArray[np.int32] = stack_distances(self.pages.page_ids, self.pages.n_pages)
        return found

    @property
    def counted(self) -> int:
        """Page accesses of the second half."""
        return len(self.pages.page_ids) - self.half

    @property
    def first_share(self) -> float:
        """Page accesses of the second half that are the page's first in the whole trace: no cache can have them."""
        return float((self.distances[self.half :] == COLD).mean())

    @property
    def no_cache_us(self) -> float:
        """Mean response time of the second half's requests on the disk alone."""
        return float(self.times.hdd_us[self.first_request :].mean())

    @property
    def all_ssd_us(self) -> float:
        """The same on the SSD alone."""
        return float(self.times.ssd_us[self.first_request :].mean())

    @property
    def span_days(self) -> float | None:
        """Days that the second half lasted when it was recorded; None where that is not known.

        Raises:
            TraceError: `time_scale` of the metadata is no positive number.
        """
        time = self.trace.time_us
        seconds = float(time[-1] - time[self.first_request]) / 1e6
        if seconds <= 0 or self._clockless:
            return None
        return seconds * time_scale(self.trace) / DAY_S

    @property
    def short(self) -> bool:
        """Whether the second half lasted less than an hour, or it is not known how long."""
        return self.span_days is None or self.span_days < HOUR

    @property
    def _clockless(self) -> bool:
        return are_numbered(self.trace.meta.extra)

    @property
    def no_span(self) -> str:
        """Why it is not known how long the second half lasted; begins a sentence."""
        return "The trace has no clock" if self._clockless else "All requests of the second half bear the same time"

    def block_means(self, hits: Bool) -> F64:
        """float64[B] of bool[m], over the time blocks of the second half."""
        return block_means(hits[self.half :])

    def lru_hits(self, capacity: int) -> Bool:
        """bool[m] of LRU with so many pages."""
        hits: Bool = (self.distances != COLD) & (self.distances < capacity)
        return hits

    def lru_ratio(self, capacity: int) -> float:
        """Hit ratio of LRU on the second half."""
        return float(self.lru_hits(capacity)[self.half :].mean())

    def run(self, policy_id: str, capacity: int) -> Ran:
        """Run a policy over the whole trace, and count the second half."""
        return self.ran(self._simulator.run(policy_id, capacity, self.half))

    def ran(self, found: Simulation) -> Ran:
        """The figures of a simulation that counts from the second half on."""
        return Ran(
            policy=found.policy,
            capacity=found.capacity,
            hit_ratio=found.hit_ratio,
            blocks=self.block_means(found.outcome == HIT),
            response_us=found.mean_response_us(self.times),
            response_waiting_us=found.mean_response_waiting_us(self.times),
            request_hit_ratio=found.request_hit_ratio,
            ssd_pages=found.ssd_writes,
            disk_pages=found.disk_writes,
        )

    def ssd_bytes_a_day(self, ran: Ran) -> float | None:
        """Bytes written to the SSD in a day like the second half; None where that lasted less than an hour."""
        days = self.span_days
        return None if days is None or self.short else ran.ssd_pages * PAGE_BYTES / days
