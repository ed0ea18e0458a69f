"""A cache's run as figures."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from cachezoo.kernels import accounting as place
from cachezoo.kernels.outcome import REQUEST
from cachezoo.policies.engine import Run
from cachezoo.policies.stream import Stream

F64 = npt.NDArray[np.float64]
U8 = npt.NDArray[np.uint8]
Bool = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Simulation:
    """A policy on a trace, counted from the warm-up index on.

    Attributes:
        policy: its id.
        capacity: pages.
        warmup: page accesses simulated before counting.
        requests: requests that begin at or after the warm-up index.
        request_hits: those of them with every page resident.
        page_accesses: page accesses counted.
        hits: page hits.
        bytes: bytes asked for in the counted accesses.
        byte_hits: bytes of the page hits.
        ssd_writes: pages admitted, prefetched, or written on a hit.
        prefetched: pages prefetched.
        prefetch_hits: prefetched pages hit before they left, those prefetched before counting began among them.
        replacements: pages evicted; None where the cache does not say.
        dirty_evictions: those of them that had to be written to the disk; None likewise.
        disk_writes: pages written to the disk, by eviction or past the cache; None likewise.
        outcome: uint8[m], one entry for each page access of the whole trace.
        request_hit: bool[n], one for each request of the whole trace.
        kernel_s: seconds in the kernel alone, compilation apart.
    """

    policy: str
    capacity: int
    warmup: int
    requests: int
    request_hits: int
    page_accesses: int
    hits: int
    bytes: int
    byte_hits: int
    ssd_writes: int
    prefetched: int
    prefetch_hits: int
    replacements: int | None
    dirty_evictions: int | None
    disk_writes: int | None
    outcome: U8
    request_hit: Bool
    kernel_s: float

    @property
    def hit_ratio(self) -> float:
        """Page hits per page access."""
        return self.hits / self.page_accesses

    @property
    def request_hit_ratio(self) -> float:
        """Requests with every page resident, per request."""
        return self.request_hits / max(self.requests, 1)

    @property
    def byte_hit_ratio(self) -> float:
        """Bytes hit per byte asked for."""
        return self.byte_hits / max(self.bytes, 1)

    def mean_response_us(self, t_hdd_us: F64, t_ssd_us: F64, decision_us: float = 0.0) -> float:
        """Mean service time of the counted requests, one at a time (closed loop).

        A request takes the SSD's time only if all its pages were resident before it. An admitted miss waits for the
        disk, reads and writes alike; dirty evictions and prefetches cost nothing; a decision is charged to every
        request.

        Args:
            t_hdd_us: float64[n] replayed response time of each request on the disk.
            t_ssd_us: float64[n] the same on the SSD.
            decision_us: time of one decision.
        """
        times = np.where(self.request_hit, t_ssd_us, t_hdd_us)[len(self.request_hit) - self.requests :]
        return float(times.mean()) + decision_us if self.requests else float("nan")


def account(name: str, stream: Stream, run: Run, capacity: int, warmup: int, kernel_s: float = 0.0) -> Simulation:
    """Count a run.

    Args:
        name: the policy's id.
        stream: what was asked.
        run: what the cache did; `victim` all -1 where it does not say who left.
        capacity: pages.
        warmup: page accesses of the trace simulated before counting.
        kernel_s: seconds it took.
    """
    asked = stream.asked
    first = int(np.searchsorted(np.cumsum(asked), warmup, side="right")) if warmup else 0
    request_hit = np.zeros(int((stream.flags & REQUEST != 0).sum()), np.uint8)
    record = place.Record(stream.page_ids, stream.flags, stream.page_bytes, run.outcome, run.victim)
    counts = place.account(record, stream.n_pages, first, stream.writes == "back", request_hit)
    known = run.says_who_left
    return Simulation(
        policy=name,
        capacity=capacity,
        warmup=warmup,
        requests=int(counts[place.REQUESTS]),
        request_hits=int(counts[place.REQUEST_HITS]),
        page_accesses=int(counts[place.ACCESSES]),
        hits=int(counts[place.HITS]),
        bytes=int(counts[place.BYTES]),
        byte_hits=int(counts[place.BYTE_HITS]),
        ssd_writes=int(counts[place.SSD_WRITES]),
        prefetched=int(counts[place.FETCHED]),
        prefetch_hits=int(counts[place.USEFUL]),
        replacements=int(counts[place.REPLACED]) if known else None,
        dirty_evictions=int(counts[place.DIRTY_REPLACED]) if known else None,
        disk_writes=int(counts[place.DISK_WRITES]) if known else None,
        outcome=run.outcome[asked],
        request_hit=request_hit.astype(np.bool_),
        kernel_s=kernel_s,
    )
