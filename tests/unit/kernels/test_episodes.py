import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cachezoo.errors import ConfigError
from cachezoo.kernels.episodes import Episodes, find_episodes, range_costs
from cachezoo.kernels.segments import Geometry, expand_segments
from tests.baleen_data import make_trace, small_requests
from tests.oracles.episodes import naive_episodes, naive_range_costs

TINY = Geometry(64, 16)


def compare(
    volume: list[int], op: list[int], offset: list[int], size: list[int], geometry: Geometry, age: int, before: int
) -> None:
    accesses = expand_segments(np.array(volume, np.int32), np.array(offset), np.array(size), geometry)
    got = find_episodes(accesses, np.array(op) == 0, age, before)
    of, index, fetched, episodes = naive_episodes(
        volume, op, offset, size, geometry.block_bytes, geometry.segment_bytes, age, before
    )
    assert got.episode.tolist() == of
    assert got.index.tolist() == index
    assert got.fetched.tolist() == fetched
    for name in ("first", "last", "accesses", "touched", "written", "misses"):
        assert getattr(got, name).tolist() == [getattr(episode, name) for episode in episodes]
    assert got.distinct.tolist() == [len(episode.segments) for episode in episodes]
    spans = [max(e.segments) - min(e.segments) + 1 if e.segments else 0 for e in episodes]
    assert (got.high - got.low).tolist() == spans
    assert got.low.tolist() == [min(e.segments, default=0) % geometry.per_block for e in episodes]
    costs = range_costs(accesses, got)
    want = naive_range_costs(volume, op, offset, size, geometry.block_bytes, geometry.segment_bytes, age, before)
    assert (costs.written.tolist(), costs.misses.tolist()) == want
    if before == 0:
        assert got.open.tolist() == [len(op) - 1 - e.last <= age for e in episodes]


@given(small_requests(), st.integers(1, 30), st.integers(0, 3))
def test_matches_the_naive_loop(
    requests: tuple[list[int], list[int], list[int], list[int]], age: int, before: int
) -> None:
    compare(*requests, TINY, age, before)


def test_matches_the_naive_loop_on_a_longer_trace() -> None:
    trace = make_trace(3000, 5)
    columns = (trace.volume.codes, trace.op, trace.offset, trace.size)
    for before in (0, 2):
        compare(*(column.tolist() for column in columns), Geometry(), 200, before)


def episodes_of(op: list[int], offset: list[int], size: list[int], age: int) -> Episodes:
    accesses = expand_segments(np.zeros(len(op), np.int32), np.array(offset), np.array(size), TINY)
    return find_episodes(accesses, np.array(op) == 0, age)


def test_a_gap_of_the_age_stays_and_one_more_splits() -> None:
    reads_at = lambda gap: [0] + [1] * (gap - 1) + [0]  # noqa: E731
    for gap, expected in ((3, 1), (4, 2)):
        op = reads_at(gap)
        got = episodes_of(op, [0 if o == 0 else 64 * 9 for o in op], [16] * len(op), 3)
        assert len(got) == expected


def test_a_write_ends_the_residency_of_what_it_covers() -> None:
    got = episodes_of([0, 1, 0], [0, 16, 0], [48, 16, 48], 10)
    assert got.fetched.tolist() == [3, 0, 1]
    assert (got.distinct[0], got.written[0], got.misses[0], got.touched[0]) == (3, 4, 2, 6)


def test_a_segment_expires_while_its_block_lives_on() -> None:
    got = episodes_of([0, 0, 0, 0], [0, 16, 16, 0], [16] * 4, 2)
    assert got.fetched.tolist() == [1, 1, 0, 1]
    assert len(got) == 1


def test_prefetch_of_the_range_by_hand() -> None:
    # n = 3 reads of segments 0, 3 and 1: one I/O of R = 4 instead of three of one segment each.
    accesses = expand_segments(np.zeros(3, np.int32), np.array([0, 48, 16]), np.full(3, 16), TINY)
    got = find_episodes(accesses, np.ones(3, bool), 10)
    costs = range_costs(accesses, got)
    assert (got.accesses[0], got.touched[0], got.distinct[0], got.high[0] - got.low[0]) == (3, 3, 3, 4)
    assert (costs.misses.tolist(), costs.written.tolist()) == ([1], [4])
    # A write over segment 1 between them is fetched again with nothing else.
    accesses = expand_segments(np.zeros(4, np.int32), np.array([0, 48, 16, 16]), np.full(4, 16), TINY)
    read = np.array([True, True, False, True])
    costs = range_costs(accesses, find_episodes(accesses, read, 10))
    assert (costs.misses.tolist(), costs.written.tolist()) == ([2], [5])


def test_what_is_prefetched_expires_too() -> None:
    # Segment 1 is fetched at row 0 and first read at row 4, more than two rows later.
    accesses = expand_segments(np.zeros(5, np.int32), np.array([0, 0, 0, 0, 16]), np.full(5, 16), TINY)
    costs = range_costs(accesses, find_episodes(accesses, np.ones(5, bool), 2))
    assert (costs.misses.tolist(), costs.written.tolist()) == ([2], [3])


def test_rules() -> None:
    with pytest.raises(ConfigError, match="eviction age"):
        episodes_of([0], [0], [1], 0)
    accesses = expand_segments(np.zeros(1, np.int32), np.zeros(1, np.int64), np.ones(1, np.int64), TINY)
    with pytest.raises(ConfigError, match="rows"):
        find_episodes(accesses, np.ones(2, bool), 1)
