"""A cache's run as figures."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from cachezoo.arrays import F64, I64, U8, Bool
from cachezoo.contest.blocks import blocks_in, edges_of
from cachezoo.devices.service import ServiceTimes
from cachezoo.kernels import accounting as place
from cachezoo.kernels.outcome import REQUEST
from cachezoo.policies.engine import Run
from cachezoo.policies.stream import Stream

Keep = Callable[[U8], None]
"""Takes what became of page accesses, uint8; of a long trace a span at a time, in room that is used again."""


@dataclass(frozen=True)
class Counts:
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
    writes: int  # page accesses of writes, of those counted
    write_hits: int  # those of them that hit
    blocks: (
        F64  # float64[B], hit ratios of blocks of time, see `cachezoo.contest.blocks`; empty where too little counts
    )
    kernel_s: float  # seconds in the kernel alone, compilation apart

    @property
    def hit_ratio(self) -> float:
        """Page hits per page access."""
        return self.hits / max(self.page_accesses, 1)

    @property
    def transfers(self) -> float:
        """Pages read from the disk per page access, into the cache or past it: missed, prefetched and moved in.

        Without prefetches and moves it is the miss ratio. A missed write counts as a read, as the disk's page is due
        before or after it.
        """
        return (self.page_accesses - self.hits + self.prefetched + self.moved) / max(self.page_accesses, 1)

    @property
    def request_hit_ratio(self) -> float:
        """Requests with every page resident, per request."""
        return self.request_hits / max(self.requests, 1)

    @property
    def byte_hit_ratio(self) -> float:
        """Bytes hit per byte asked for."""
        return self.byte_hits / max(self.bytes, 1)

    @property
    def read_hit_ratio(self) -> float | None:
        """Page hits of reads per page access of reads; None where nothing is read."""
        reads = self.page_accesses - self.writes
        return (self.hits - self.write_hits) / reads if reads else None

    @property
    def write_hit_ratio(self) -> float | None:
        """The same of writes."""
        return self.write_hits / self.writes if self.writes else None


@dataclass(frozen=True)
class Simulation(Counts):
    """The same with what happened at each page access."""

    outcome: U8  # uint8[m], one entry for each page access of the whole trace
    # int64[n], for each request of the whole trace the bytes from its first missing page to its last; 0 where every
    # page was resident
    missing: I64

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


class Counting:
    """Counts a run a span at a time."""

    def __init__(self, stream: Stream, warmup: int, asked: int, first: int) -> None:
        """Begin.

        Args:
            stream: the accesses.
            warmup: page accesses of the trace before counting.
            asked: page accesses of the trace.
            first: the access of the stream that comes after the warm-up.
        """
        counted = max(asked - warmup, 0)
        self._stream, self._first, self._back = stream, first, stream.writes == "back"
        self._tally = place.blank(stream.n_pages, edges_of(counted, blocks_in(counted)))
        self._moved = 0

    def add(self, low: int, high: int, run: Run, missing: I64) -> None:
        """Count the accesses [low, high) of the stream, whole requests, which follow those counted before.

        Args:
            low: first access.
            high: past the last.
            run: of these accesses.
            missing: int64[requests of them], written, see `Simulation`.
        """
        stream, part = self._stream, slice(low, high)
        asked = stream.page_ids[part], stream.flags[part], stream.page_bytes[part]
        record = place.Record(*asked, run.outcome, run.victim)
        place.account(record, self._tally, self._first, self._back, missing)
        if run.moved is not None:
            self._moved += int(run.moved[max(self._first - low, 0) :].sum())

    def figures(self, says_who_left: bool) -> dict[str, Any]:
        """What was counted, by the names of `Counts`."""
        counts, tally, moved = self._tally.counts, self._tally, self._moved
        lengths = np.diff(tally.edges)
        found = {name: int(counts[where]) for name, where in COUNTED.items()}
        left = {name: int(counts[where]) if says_who_left else None for name, where in LEFT.items()}
        found["ssd_writes"] += moved
        return {**found, **left, "moved": moved, "blocks": tally.block_hits.astype(np.float64) / lengths}


COUNTED = {
    "requests": place.REQUESTS, "request_hits": place.REQUEST_HITS, "page_accesses": place.ACCESSES,
    "hits": place.HITS, "bytes": place.BYTES, "byte_hits": place.BYTE_HITS, "ssd_writes": place.SSD_WRITES,
    "prefetched": place.FETCHED, "prefetch_hits": place.USEFUL, "writes": place.WRITES,
    "write_hits": place.WRITE_HITS,
}  # fmt: skip
LEFT = {
    "replacements": place.REPLACED, "dirty_evictions": place.DIRTY_REPLACED, "disk_writes": place.DISK_WRITES,
}  # fmt: skip


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
    counting = Counting(stream, warmup, int(asked.sum()), first)
    missing = np.zeros(int((stream.flags & REQUEST != 0).sum()), np.int64)
    counting.add(0, len(stream), run, missing)
    return Simulation(
        policy=name,
        capacity=capacity,
        warmup=warmup,
        **counting.figures(run.says_who_left),
        kernel_s=kernel_s,
        outcome=run.outcome[asked],
        missing=missing,
    )
