"""Episodes: runs of reads of a block that would hit, apart from the first, were the block's data admitted.

The model is an LRU cache that evicts an item a constant logical time (the eviction age, in requests) after
its last access. Source: Baleen post, "Introducing episodes: an offline model for flash caching". Ours: writes
end the residency of the segments they cover, and writes advance the logical clock just as reads do. With
prefetch, the first read of an episode fetches its OPT-Range; what of it is overwritten, or not read for an
eviction age, is fetched again by the next read that misses anything.
"""

from dataclasses import dataclass

import numpy as np

from cachezoo.arrays import I32, I64, Bool
from cachezoo.errors import ConfigError
from cachezoo.kernels.jit import njit
from cachezoo.kernels.segments import SegmentAccesses


@dataclass(frozen=True)
class Episodes:
    """Episodes of a part of a trace; n requests, e episodes numbered by their first read.

    Attributes:
        episode: int32[n] the request's episode, -1 for writes and for reads left out.
        index: int32[n] how many reads of the episode came before, -1 for writes.
        fetched: int32[n] segments the read would fetch (new, expired or invalidated) were the episode
            admitted.
        first, last: int32[e] rank (row) of its first and last read.
        accesses: int32[e] n, its reads.
        touched: int64[e] q, segments accessed, with repeats.
        distinct: int32[e] W, distinct segments.
        low, high: int32[e] OPT-Range: first segment accessed and one past the last, counted from the block's start.
            `high` lies beyond the block where a request does.
        written: int64[e] segments fetched and so written without prefetch: W plus what expired or was
            overwritten.
        misses: int32[e] reads that fetch anything, without prefetch.
        open: bool[e] the part ended within one eviction age of the last read, so the episode may go on.
        before: reads left out at the start of each episode. Where it has no more than these, all that is counted of
            it is 0.
        age: the eviction age assumed, requests.
    """

    episode: I32
    index: I32
    fetched: I32
    first: I32
    last: I32
    accesses: I32
    touched: I64
    distinct: I32
    low: I32
    high: I32
    written: I64
    misses: I32
    open: Bool
    age: int
    before: int = 0

    def __len__(self) -> int:
        return len(self.first)

    @property
    def timespan(self) -> I64:
        """int64[e]: last - first read, in requests."""
        return self.last.astype(np.int64) - self.first


@njit
def _episodes(
    start: I64, segment: I32, own: I32, block: I32, first: I32, read: Bool, age: int, before: int, sizes: I64
) -> tuple[I32, I32, I32, I32, I32, I32]:
    n = len(block)
    episode = np.full(n, -1, np.int32)
    index = np.full(n, -1, np.int32)
    fetched = np.zeros(n, np.int32)
    distinct = np.zeros(n, np.int32)
    low = np.zeros(n, np.int32)
    high = np.zeros(n, np.int32)
    current = np.full(sizes[2], -1, np.int32)
    block_last = np.zeros(sizes[2], np.int32)
    reads = np.zeros(sizes[2], np.int32)
    wrote = np.full(sizes[0], -1, np.int32)
    touched = np.full(sizes[1], -1, np.int32)
    member = np.full(sizes[1], -1, np.int32)
    count = 0
    for i in range(n):
        if not read[i]:
            for j in range(start[i], start[i + 1]):
                wrote[segment[j]] = i
            continue
        b = block[i]
        end = first[i] + np.int32(start[i + 1] - start[i])
        if current[b] < 0 or i - block_last[b] > age:
            current[b] = count
            reads[b] = 0
            count += 1
        e = current[b]
        block_last[b] = i
        index[i] = reads[b]
        reads[b] += 1
        if index[i] < before:
            continue
        episode[i] = e
        low[e] = first[i] if index[i] == before else min(low[e], first[i])
        high[e] = max(high[e], end)
        for j in range(start[i], start[i + 1]):
            o = own[j]
            if member[o] != e:
                member[o] = e
                distinct[e] += 1
                fetched[i] += 1
            elif i - touched[o] > age or wrote[segment[j]] > touched[o]:
                fetched[i] += 1
            touched[o] = i
    return episode, index, fetched, distinct[:count].copy(), low[:count].copy(), high[:count].copy()


@dataclass(frozen=True)
class RangeCosts:
    """What episodes cost where each miss fetches the episode's OPT-Range within its block; e episodes."""

    fetched: I32  # int32[n] segments that each read fetches
    written: I64  # int64[e] segments fetched and so written
    misses: I32  # int32[e] reads that fetch anything: 1 where nothing of the range expires or is overwritten


@njit
def _range_costs(
    start: I64, placed: I32, own: I32, rows: tuple[I32, I32, I32, I32], ranges: tuple[I32, I32], age: int, sizes: I64
) -> I32:
    block, first, episode, index_in = rows
    low, high = ranges
    n_segments, n_own, n_places, per_block = sizes
    fetches = np.zeros(len(block), np.int32)
    wrote = np.full(n_places, -1, np.int32)
    # By place in the block, then by own id for what lies beyond it, as the episodes' own segments are kept apart.
    touched = np.full(n_places + n_own - n_segments, -1, np.int32)
    member = np.full(len(touched), -1, np.int32)
    for i in range(len(block)):
        e = episode[i]
        if e < 0:
            if index_in[i] < 0:
                for j in range(start[i], start[i + 1]):
                    wrote[placed[j]] = i
            continue
        fetched = 0
        end = first[i] + int(start[i + 1] - start[i])
        for j in range(start[i], start[i + 1]):
            inside = first[i] + (j - start[i]) < per_block
            o = placed[j] if inside else n_places + own[j] - n_segments
            if member[o] != e or i - touched[o] > age or wrote[placed[j]] > touched[o]:
                fetched += 1
            member[o] = e
            touched[o] = i
        if fetched == 0:
            continue
        for index in range(low[e], high[e]):
            o = block[i] * per_block + index
            if (index < first[i] or index >= end) and (member[o] != e or i - touched[o] > age or wrote[o] > touched[o]):
                member[o] = e
                touched[o] = i
                fetched += 1
        fetches[i] = fetched
    return fetches


def range_costs(accesses: SegmentAccesses, episodes: Episodes) -> RangeCosts:
    """What the episodes cost with prefetch of their OPT-Range; the part of it beyond the block is not prefetched.

    Raises:
        TraceError: the blocks have more segments than ids can number.
    """
    sizes = np.array([accesses.n_segments, accesses.n_own, accesses.n_places, accesses.per_block], np.int64)
    rows = (accesses.block, accesses.first, episodes.episode, episodes.index)
    ranges = (episodes.low, np.minimum(episodes.high, accesses.per_block).astype(np.int32))
    fetched = _range_costs(accesses.start, accesses.placed, accesses.own, rows, ranges, episodes.age, sizes)
    return RangeCosts(fetched, *_of_episodes(episodes.episode, fetched, len(episodes)))


def _of_episodes(episode: I32, fetched: I32, total: int) -> tuple[I64, I32]:
    """int64[e] segments fetched and int32[e] reads that fetch anything, from what each of n reads fetches."""
    rows = np.flatnonzero(fetched)
    of = episode[rows]
    written = np.bincount(of, fetched[rows], minlength=total).astype(np.int64)
    return written, np.bincount(of, minlength=total).astype(np.int32)


def find_episodes(accesses: SegmentAccesses, read: Bool, age: int, before: int = 0) -> Episodes:
    """Group reads into episodes.

    Args:
        accesses: the segments of n requests.
        read: bool[n], True where the request reads.
        age: eviction age in requests, at least 1. A gap of more than this starts a new episode.
        before: reads at the start of each episode to leave out: what is counted is then what the episode would fetch
            were it admitted from its next read on. The numbers of the episodes, and `index`, are those of whole ones.

    Raises:
        ConfigError: the eviction age is below 1, or the arrays' lengths differ.
    """
    if age < 1:
        raise ConfigError(f"eviction age {age}: it is a number of requests, at least 1")
    if len(read) != len(accesses):
        raise ConfigError(f"read has {len(read)} rows where the accesses have {len(accesses)}")
    sizes = np.array([accesses.n_segments, accesses.n_own, accesses.n_blocks], np.int64)
    episode, index, fetched, distinct, low, high = _episodes(
        accesses.start, accesses.segment, accesses.own, accesses.block, accesses.first, read, age, before, sizes
    )
    total = len(distinct)
    rows = np.flatnonzero(episode >= 0)
    of = episode[rows]
    first = np.zeros(total, np.int32)
    first[of[::-1]] = rows[::-1]
    last = np.zeros(total, np.int32)
    last[of] = rows
    written, misses = _of_episodes(episode, fetched, total)
    return Episodes(
        episode=episode,
        index=index,
        fetched=fetched,
        first=first,
        last=last,
        accesses=np.bincount(of, minlength=total).astype(np.int32),
        touched=np.bincount(of, accesses.sizes[rows], minlength=total).astype(np.int64),
        distinct=distinct,
        low=low,
        high=high,
        written=written,
        misses=misses,
        open=len(read) - 1 - last <= age,
        age=age,
        before=before,
    )
