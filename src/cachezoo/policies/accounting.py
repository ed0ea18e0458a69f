"""A cache's run as figures."""

from dataclasses import dataclass

import numpy as np

from cachezoo.arrays import I64, U8, Bool
from cachezoo.devices.service import ServiceTimes
from cachezoo.kernels import accounting as place
from cachezoo.kernels.outcome import REQUEST
from cachezoo.policies.engine import Run
from cachezoo.policies.stream import Stream


@dataclass(frozen=True)
class Simulation:
    """A policy on a trace, counted from the warm-up index on."""

    policy: str  # its id
    capacity: int  # pages
    warmup: int  # page accesses simulated before counting
    requests: int  # requests that begin at or after the warm-up index
    request_hits: int  # those of them with every page resident
    page_accesses: int  # page accesses counted
    hits: int  # page hits
    bytes: int  # bytes asked for in the counted accesses
    byte_hits: int  # bytes of the page hits
    ssd_writes: int  # pages admitted, prefetched, moved in, or written on a hit
    prefetched: int  # pages prefetched
    prefetch_hits: int  # prefetched pages hit before they left, those prefetched before counting began among them
    moved: int  # pages read from the disk besides those missed and those prefetched: a virtual I/O cache's
    replacements: int | None  # pages evicted; None where the cache does not say
    dirty_evictions: int | None  # those of them that had to be written to the disk; None likewise
    disk_writes: int | None  # pages written to the disk, by eviction or past the cache; None likewise
    outcome: U8  # uint8[m], one entry for each page access of the whole trace
    # int64[n], for each request of the whole trace the bytes from its first missing page to its last; 0 where every
    # page was resident
    missing: I64
    kernel_s: float  # seconds in the kernel alone, compilation apart

    @property
    def hit_ratio(self) -> float:
        """Page hits per page access."""
        return self.hits / self.page_accesses

    @property
    def transfers(self) -> float:
        """Pages read from the disk per page access, into the cache or past it: missed, prefetched and moved in.

        Without prefetches and moves it is the miss ratio. A missed write counts as a read, as the disk's page is due
        before or after it.
        """
        return (self.page_accesses - self.hits + self.prefetched + self.moved) / self.page_accesses

    @property
    def request_hit_ratio(self) -> float:
        """Requests with every page resident, per request."""
        return self.request_hits / max(self.requests, 1)

    @property
    def byte_hit_ratio(self) -> float:
        """Bytes hit per byte asked for."""
        return self.byte_hits / max(self.bytes, 1)

    @property
    def request_hit(self) -> Bool:
        """bool[n]: requests whose every page was resident as they came to it."""
        hit: Bool = self.missing == 0
        return hit

    def mean_response_us(self, times: ServiceTimes, decision_us: float = 0.0) -> float:
        """Mean service time of the counted requests, one at a time (closed loop).

        A request takes the SSD's time if all its pages were resident before it. Otherwise its missing span costs one
        disk I/O, beside which the SSD serves the rest. An admitted miss waits for the disk, reads and writes alike;
        dirty pages are evicted, and pages prefetched, in the background; a decision is charged to every request.

        Args:
            times: replayed service times of the trace.
            decision_us: time of one decision.
        """
        served = times.served(self.missing)[len(self.missing) - self.requests :]
        return float(served.mean()) + decision_us if self.requests else float("nan")

    def mean_response_waiting_us(self, times: ServiceTimes, decision_us: float = 0.0) -> float | None:
        """The same where each dirty page is written to the disk before its place is taken, one I/O a page.

        This is RC-RNN's rule, and the most that evictions can cost; `mean_response_us` is the least. None where the
        cache does not say what it evicted.
        """
        if self.dirty_evictions is None:
            return None
        waited = self.dirty_evictions * times.page_write_us / max(self.requests, 1)
        return self.mean_response_us(times, decision_us) + waited


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
    missing = np.zeros(int((stream.flags & REQUEST != 0).sum()), np.int64)
    record = place.Record(stream.page_ids, stream.flags, stream.page_bytes, run.outcome, run.victim)
    counts = place.account(record, stream.n_pages, first, stream.writes == "back", missing)
    known = run.says_who_left
    moved = 0 if run.moved is None else int(run.moved[first:].sum())
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
        ssd_writes=int(counts[place.SSD_WRITES]) + moved,
        prefetched=int(counts[place.FETCHED]),
        prefetch_hits=int(counts[place.USEFUL]),
        moved=moved,
        replacements=int(counts[place.REPLACED]) if known else None,
        dirty_evictions=int(counts[place.DIRTY_REPLACED]) if known else None,
        disk_writes=int(counts[place.DISK_WRITES]) if known else None,
        outcome=run.outcome[asked],
        missing=missing,
        kernel_s=kernel_s,
    )
