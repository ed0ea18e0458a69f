"""The flash cache: LRU (or FIFO) over segments, with an admission decision on each miss, and its backend I/O.

Reads fill the cache; every read touches all resident segments of its range; a miss is one backend I/O from
the first to the last missing segment. Writes go to the backend, are not cached and invalidate what they
overwrite. Source: Baleen post, "Flash caches absorb backend load but have limited write endurance"; RejectX
as described there, with exact recency in place of rotating Bloom filters.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from cachezoo.errors import ConfigError
from cachezoo.kernels.jit import njit
from cachezoo.kernels.segments import I32, I64, SegmentAccesses

Bool = npt.NDArray[np.bool_]
F64 = npt.NDArray[np.float64]
MIB = 1 << 20
BY_DECISION = -1


@dataclass(frozen=True)
class DiskHead:
    """What an I/O costs the backend: `DT = seek + bytes / rate`, see "Optimize for Disk-head time"."""

    seek_ms: float = 11.5
    rate_mib_s: float = 143.0

    def seconds(self, ios: F64 | I32 | I64 | Bool, n_bytes: F64 | I32 | I64) -> F64:
        """Disk-head time in seconds of `ios` I/Os that move `n_bytes` bytes in all, element by element."""
        return np.asarray(ios, np.float64) * (self.seek_ms / 1e3) + np.asarray(n_bytes, np.float64) / (
            self.rate_mib_s * MIB
        )


@dataclass(frozen=True)
class FlashRun:
    """What a simulation of n requests did.

    Attributes:
        io_segments: int32[n] segments of the backend I/O a read needed, 0 where it hit; 0 for writes.
        hits: int32[n] segments of a read found in the cache.
        written: int32[n] segments written to flash after a read's miss.
        filled_at: row at which the cache was first full, n if never.
        evictions: segments evicted for room.
        mean_eviction_age: mean requests from an evicted segment's last use to its eviction; 0.0 without
            evictions.
    """

    io_segments: I32
    hits: I32
    written: I32
    filled_at: int
    evictions: int
    mean_eviction_age: float

    @property
    def segment_writes(self) -> int:
        """Segments written to flash over the whole run."""
        return int(self.written.sum(dtype=np.int64))


@njit
def _unlink(s: int, after: I32, before: I32) -> None:
    after[before[s]] = after[s]
    before[after[s]] = before[s]
    after[s] = -1


@njit
def _link_newest(s: int, head: int, after: I32, before: I32) -> None:
    newest = after[head]
    after[s] = newest
    before[s] = head
    before[newest] = s
    after[head] = s


@njit
def _simulate(
    start: I64, segment: I32, read: Bool, admit: Bool, window: int, capacity: int, n_segments: int, lru: bool
) -> tuple[I32, I32, I32, int, int, int]:
    n = len(read)
    io_segments, hits, written = np.zeros(n, np.int32), np.zeros(n, np.int32), np.zeros(n, np.int32)
    head = n_segments  # a ring through a sentinel: after[head] is the newest, before[head] the oldest
    after, before = np.full(n_segments + 1, -1, np.int32), np.full(n_segments + 1, -1, np.int32)
    after[head] = before[head] = head
    touched = np.zeros(n_segments, np.int32)
    seen = np.full(n_segments, -1, np.int32)  # RejectX: row of the segment's last miss
    missing = np.empty(n_segments, np.int32)
    used, filled_at, evictions, age_sum = 0, n, 0, 0
    for i in range(n):
        if not read[i]:
            for j in range(start[i], start[i + 1]):
                if after[segment[j]] >= 0:
                    _unlink(segment[j], after, before)
                    used -= 1
            continue
        absent, low, high = 0, 0, 0
        for j in range(start[i], start[i + 1]):
            s = segment[j]
            if after[s] >= 0:
                touched[s] = i
                if lru:
                    _unlink(s, after, before)
                    _link_newest(s, head, after, before)
                continue
            low = j if absent == 0 else low
            high = j
            missing[absent] = s
            absent += 1
        hits[i] = start[i + 1] - start[i] - absent
        if absent == 0:
            continue
        io_segments[i] = high - low + 1
        for k in range(absent):
            s = missing[k]
            accept = admit[i]
            if window >= 0:
                accept = seen[s] >= 0 and i - seen[s] <= window
                seen[s] = i
            if not accept:
                continue
            if used == capacity:
                victim = before[head]
                _unlink(victim, after, before)
                evictions += 1
                age_sum += int(i - touched[victim])
            else:
                used += 1
                if used == capacity and filled_at == n:
                    filled_at = i
            _link_newest(s, head, after, before)
            touched[s] = i
            written[i] += 1
    return io_segments, hits, written, filled_at, evictions, age_sum


def _run(
    accesses: SegmentAccesses, read: Bool, admit: Bool, window: int, capacity: int, lru: bool
) -> FlashRun:
    if capacity < 1:
        message = f"flash capacity {capacity}: it is a number of segments, at least 1"
        raise ConfigError(message)
    if not len(read) == len(admit) == len(accesses):
        message = f"read has {len(read)} rows and admit {len(admit)} where the accesses have {len(accesses)}"
        raise ConfigError(message)
    io_segments, hits, written, filled_at, evictions, age_sum = _simulate(
        accesses.start, accesses.segment, read, admit, window, capacity, accesses.n_segments, lru
    )
    mean_age = age_sum / evictions if evictions else 0.0
    return FlashRun(io_segments, hits, written, int(filled_at), int(evictions), float(mean_age))


def simulate_flash(
    accesses: SegmentAccesses, read: Bool, admit: Bool, capacity: int, *, lru: bool = True
) -> FlashRun:
    """Run the cache with one admission decision for each request.

    Args:
        accesses: the segments of n requests.
        read: bool[n], True where the request reads.
        admit: bool[n]; where a read misses, all its missing segments are admitted, or none.
        capacity: segments the cache holds, at least 1.
        lru: evict the least recently used segment; False evicts the oldest (FIFO).

    Raises:
        ConfigError: capacity below 1 or lengths that differ.
    """
    return _run(accesses, read, admit, BY_DECISION, capacity, lru)


def simulate_rejectx(
    accesses: SegmentAccesses, read: Bool, window: int, capacity: int, *, lru: bool = True
) -> FlashRun:
    """Run the cache with RejectX, x = 1: admit a segment that also missed within the last `window` requests.

    Args:
        accesses: the segments of n requests.
        read: bool[n], True where the request reads.
        window: how far back a miss counts, requests, at least 0 (0 admits nothing).
        capacity: segments the cache holds, at least 1.
        lru: evict the least recently used segment; False evicts the oldest (FIFO).

    Raises:
        ConfigError: capacity below 1, window below 0, or lengths that differ.
    """
    if window < 0:
        message = f"RejectX window {window}: it is a number of requests, at least 0"
        raise ConfigError(message)
    return _run(accesses, read, np.zeros(len(read), np.bool_), window, capacity, lru)


def coin_flips(n: int, seed: int) -> F64:
    """Uniform draws in [0, 1) for CoinFlip: request i is admitted where its draw is below p.

    One draw per request, whatever p is: raising p only ever adds admissions, which lets p be calibrated.
    """
    return np.random.default_rng(seed).random(n)
