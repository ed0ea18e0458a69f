"""Episodes: runs of reads of a block that would hit, apart from the first, were the block's data admitted.

The model is an LRU cache that evicts an item a constant logical time (the eviction age, in requests) after
its last access. Source: Baleen post, "Introducing episodes: an offline model for flash caching". Ours: writes
end the residency of the segments they cover, and writes advance the logical clock just as reads do. With
prefetch, the first read of an episode fetches its OPT-Range; what of it is overwritten, or not read for an
eviction age, is fetched again by the next read that misses anything.
"""

from dataclasses import dataclass

import numpy as np

from cachezoo.arrays import EVERY, F64, I32, I64, Bool, stretches
from cachezoo.errors import ConfigError
from cachezoo.kernels.jit import njit
from cachezoo.kernels.segments import SegmentAccesses

DIGITS = 1 << 16


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

    def timespan(self, part: slice = EVERY) -> I64:
        """int64[e]: last - first read, in requests, of some episodes."""
        return self.last[part].astype(np.int64) - self.first[part]


@njit
def _count(block: I32, read: Bool, age: int, n_blocks: int) -> int:
    """How many episodes there are."""
    block_last = np.full(n_blocks, -1, np.int32)
    count = 0
    for i in range(len(block)):
        if read[i]:
            b = block[i]
            count += block_last[b] < 0 or i - block_last[b] > age
            block_last[b] = i
    return count


@njit
def _episodes(
    requests: tuple[I64, I32, I32, I32, I32, Bool],
    age: int,
    before: int,
    sizes: I64,
    rows: tuple[I32, I32, I32],
    reads_of: tuple[I32, I32, I32, I64],
    segments_of: tuple[I32, I32, I32, I64, I32],
) -> None:
    """Fill in the columns of `Episodes`, whose arrays of episodes are 0."""
    start, segment, own, block, first, read = requests
    episode, index, fetched = rows
    begins, last, accesses, asked = reads_of
    distinct, low, high, written, misses = segments_of
    n = len(block)
    current = np.full(sizes[2], -1, np.int32)
    block_last = np.zeros(sizes[2], np.int32)
    reads = np.zeros(sizes[2], np.int32)
    wrote = np.full(sizes[0], -1, np.int32)
    touched = np.full(sizes[1], -1, np.int32)
    member = np.full(sizes[1], -1, np.int32)
    count = 0
    for i in range(n):
        episode[i], index[i] = -1, -1
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
        begins[e] = i if index[i] == before else begins[e]
        last[e] = i
        accesses[e] += 1
        asked[e] += start[i + 1] - start[i]
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
        written[e] += fetched[i]
        misses[e] += fetched[i] > 0


@dataclass(frozen=True)
class RangeCosts:
    """What episodes cost where each miss fetches the episode's OPT-Range within its block; e episodes."""

    fetched: I32  # int32[n] segments that each read fetches
    written: I64  # int64[e] segments fetched and so written
    misses: I32  # int32[e] reads that fetch anything: 1 where nothing of the range expires or is overwritten


@njit
def _range_costs(
    start: I64,
    placed: I32,
    own: I32,
    rows: tuple[I32, I32, I32, I32],
    ranges: tuple[I32, I32],
    age: int,
    sizes: I64,
    fetches: I32,
    written: I64,
    misses: I32,
) -> None:
    """Fill in the columns of `RangeCosts`, which are 0."""
    block, first, episode, index_in = rows
    low, high = ranges
    n_segments, n_own, n_places, per_block = sizes
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
        for index in range(low[e], min(high[e], per_block)):
            o = block[i] * per_block + index
            if (index < first[i] or index >= end) and (member[o] != e or i - touched[o] > age or wrote[o] > touched[o]):
                member[o] = e
                touched[o] = i
                fetched += 1
        fetches[i] = fetched
        written[e] += fetched
        misses[e] += 1


def range_costs(accesses: SegmentAccesses, episodes: Episodes) -> RangeCosts:
    """What the episodes cost with prefetch of their OPT-Range; the part of it beyond the block is not prefetched.

    Raises:
        TraceError: the blocks have more segments than ids can number.
    """
    sizes = np.array([accesses.n_segments, accesses.n_own, accesses.n_places, accesses.per_block], np.int64)
    rows = (accesses.block, accesses.first, episodes.episode, episodes.index)
    room, total = accesses.room, len(episodes)
    costs = RangeCosts(room(np.int32, len(accesses)), room(np.int64, total), room(np.int32, total))
    _range_costs(
        accesses.start, accesses.placed, accesses.own, rows, (episodes.low, episodes.high), episodes.age, sizes,
        costs.fetched, costs.written, costs.misses,
    )  # fmt: skip
    return costs


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
    total = _count(accesses.block, read, age, accesses.n_blocks)

    def ints(length: int) -> I32:
        return accesses.room(np.int32, length)

    def longs() -> I64:
        return accesses.room(np.int64, total)

    rows = episode, index, fetched = ints(len(read)), ints(len(read)), ints(len(read))
    reads_of = first, last, reads, touched = ints(total), ints(total), ints(total), longs()
    segments_of = distinct, low, high, written, misses = ints(total), ints(total), ints(total), longs(), ints(total)
    requests = (accesses.start, accesses.segment, accesses.own, accesses.block, accesses.first, read)
    _episodes(requests, age, before, sizes, rows, reads_of, segments_of)
    still: Bool = accesses.room(np.bool_, total)
    for part in stretches(total):
        still[part] = len(read) - 1 - last[part] <= age
    return Episodes(
        episode=episode,
        index=index,
        fetched=fetched,
        first=first,
        last=last,
        accesses=reads,
        touched=touched,
        distinct=distinct,
        low=low,
        high=high,
        written=written,
        misses=misses,
        open=still,
        age=age,
        before=before,
    )


@njit
def add_up(values: F64, episode: I32, sums: F64) -> None:
    """Add what rows have to the sums of their episodes, in order; -1 is none."""
    for i in range(len(episode)):
        if episode[i] >= 0:
            sums[episode[i]] += values[i]


@njit
def best_first(score: F64, written: I64, most: int, budget: float) -> tuple[int, float, int]:
    """The episodes of a score above 0, best first, ties by time: as many as are allowed, and as their writes are.

    The bits of a positive number rise with it. So the score of the last one taken is found by 16 bits after the other,
    from counts of the episodes by these, and no order as long as the trace is made.

    Args:
        score: float64[e].
        written: int64[e] segments.
        most: how many episodes.
        budget: how many segments.

    Returns:
        How many are taken, and which: those of more than a score, and of this score those before an episode.
    """
    bits = score.view(np.int64)
    known, taken, spent = 0, 0, 0
    for shift in (48, 32, 16, 0):
        counts, weights = np.zeros(DIGITS, np.int64), np.zeros(DIGITS, np.int64)
        for e in range(len(score)):
            if score[e] > 0.0 and (shift == 48 or bits[e] >> (shift + 16) == known):
                digit = bits[e] >> shift & (DIGITS - 1)
                counts[digit] += 1
                weights[digit] += written[e]
        digit = DIGITS - 1
        while digit >= 0 and taken + counts[digit] <= most and spent + weights[digit] <= budget:
            taken += counts[digit]
            spent += weights[digit]
            digit -= 1
        if digit < 0:  # all of them
            return taken, 0.0, 0
        known = known << 16 | digit
    least, end = 0.0, 0
    for e in range(len(score)):
        if score[e] > 0.0 and bits[e] == known:
            least, end = score[e], e
            if taken + 1 > most or spent + written[e] > budget:
                break
            taken += 1
            spent += written[e]
    return taken, least, end
