import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cachezoo.errors import ConfigError
from cachezoo.kernels.oracle_cache import OracleRun, decided_cache, oracle_cache, request_tags, useful_stays
from cachezoo.kernels.outcome import ADMITTED, ADMITTED_FREE, BYPASSED, HIT
from cachezoo.labels.benefit import belady_worth
from cachezoo.labels.tags import Tags
from cachezoo.policies.bounds import BELADY_BYPASS
from cachezoo.traces.pages import PageAccesses
from tests.oracles.oracle_cache import NaiveRun, naive_decided, naive_oracle, naive_tags, naive_useful
from tests.page_data import lists_of, page_requests, pages_of, seeded_requests

CODES = {"bypassed": BYPASSED, "admitted": ADMITTED, "hit": HIT, "free": ADMITTED_FREE}
LONG = pages_of(seeded_requests(600, 90, 8))


def drawn_worth(pages: PageAccesses, seed: int) -> np.ndarray:
    """Few distinct values, so that equals are common; some accesses are worth nothing, or less than nothing."""
    rng = np.random.default_rng(seed)
    return rng.choice(np.array([-np.inf, 0.0, 0.0, 1.0, 2.0, 3.5]), len(pages.page_ids))


def same_run(got: OracleRun, expected: NaiveRun) -> None:
    assert got.outcome.tolist() == [CODES[name] for name in expected.outcome]
    assert got.reuse.tolist() == expected.reuse
    assert got.contested == expected.contested
    for p, stay in enumerate(expected.stays):
        if got.outcome[p] != BYPASSED:
            assert (got.entry[p], got.left[got.entry[p]]) == stay


def same_tags(bits: np.ndarray, expected: list[dict[str, object]]) -> None:
    tags = Tags(bits)
    for name in expected[0]:
        assert getattr(tags, name).tolist() == [row[name] for row in expected], name


def compare(pages: PageAccesses, worth: np.ndarray, capacity: int, reach: int, end: int) -> None:
    ids = pages.page_ids.tolist()
    got = oracle_cache(pages.page_ids, worth, pages.n_pages, capacity)
    expected = naive_oracle(ids, worth.tolist(), capacity)
    same_run(got, expected)
    assert got.hits == expected.outcome.count("hit")
    useful = useful_stays(pages.page_ids, got, reach, pages.n_pages)
    naive = naive_useful(ids, expected, reach)
    same_run(useful, naive)
    for run, oracle in ((got, expected), (useful, naive)):
        bits = request_tags(pages.request_start, run, end, end // 2, capacity)
        same_tags(bits, naive_tags(lists_of(pages), oracle, end, end // 2, capacity))
    decision = np.random.default_rng(end).integers(0, 2, pages.n_requests).astype(np.uint8)
    hits = decided_cache(pages.request_start, pages.page_ids, worth, decision, pages.n_pages, capacity)
    assert hits.tolist() == naive_decided(lists_of(pages), worth.tolist(), decision.tolist(), capacity)


@given(page_requests(), st.integers(0, 99), st.integers(1, 12), st.integers(1, 30), st.integers(0, 120))
def test_matches_the_naive_dictionary(
    requests: list[list[int]], seed: int, capacity: int, reach: int, end: int
) -> None:
    pages = pages_of(requests)
    compare(pages, drawn_worth(pages, seed), capacity, reach, end)


@settings(deadline=None)
@given(page_requests(), st.integers(1, 12), st.integers(1, 30), st.integers(0, 120))
def test_matches_the_naive_dictionary_as_belady(requests: list[list[int]], capacity: int, reach: int, end: int) -> None:
    pages = pages_of(requests)
    compare(pages, belady_worth(pages), capacity, reach, end)


@pytest.mark.parametrize("capacity", [1, 2, 5, 17, 60, 89, 90, 500])
def test_matches_the_naive_dictionary_on_a_longer_trace(capacity: int) -> None:
    compare(LONG, drawn_worth(LONG, 4), capacity, 3 * capacity, 700)
    compare(LONG, belady_worth(LONG), capacity, 3 * capacity, 1200)


@pytest.mark.parametrize("capacity", [1, 2, 17, 60])
def test_next_use_as_worth_is_belady_with_bypass(capacity: int) -> None:
    run = oracle_cache(LONG.page_ids, belady_worth(LONG), LONG.n_pages, capacity)
    optimum = BELADY_BYPASS.hits(LONG.page_ids, LONG.n_pages, capacity)
    assert run.hits == int((optimum == HIT).sum())


def test_worth_nothing_is_not_admitted_once_full() -> None:
    ids, worth = np.array([0, 1, 2, 0], np.int32), np.array([0.0, 0.0, 0.0, 5.0])
    run = oracle_cache(ids, worth, 3, 2)
    assert run.outcome.tolist() == [ADMITTED_FREE, ADMITTED_FREE, BYPASSED, HIT]


def test_a_hit_renews_the_worth_and_equals_leave_by_age() -> None:
    # 0 was worth 9 when it entered and 1 at its hit, so that it leaves for 2 and not 1, which is worth 2.
    run = oracle_cache(np.array([0, 1, 0, 2, 1], np.int32), np.array([9.0, 2.0, 1.0, 3.0, 2.0]), 3, 2)
    assert run.left[0] == 3 and run.outcome[4] == HIT
    # Equals: 0 entered first but was used last.
    run = oracle_cache(np.array([0, 1, 0, 2, 0], np.int32), np.array([1.0, 1.0, 1.0, 2.0, 1.0]), 3, 2)
    assert run.left.tolist() == [5, 3, -1, 5, -1]


def stays_run(stays: list[tuple[int, int]], m: int) -> OracleRun:
    """A run of m accesses that the oracle bypasses, but for those that begin the given stays (first, left)."""
    outcome, entry, left = np.zeros(m, np.uint8), np.full(m, -1, np.int64), np.full(m, -1, np.int64)
    for first, gone in stays:
        outcome[first], entry[first], left[first] = ADMITTED, first, gone
    return OracleRun(outcome, entry, left, np.zeros(m, np.int64), -1)


def durations(stays: list[tuple[int, int]], sizes: list[int], capacity: int, end: int | None = None) -> list[int]:
    m = sum(sizes)
    start = np.cumsum([0, *sizes]).astype(np.int64)
    bits = request_tags(start, stays_run(stays, m), m if end is None else end, 0, capacity)
    return Tags(bits).duration.tolist()


@pytest.mark.parametrize(("stay", "expected"), [(1, 1), (9, 1), (10, 2), (49, 2), (50, 2), (51, 3), (98, 3)])
def test_borders_of_soon_mean_and_late(stay: int, expected: int) -> None:
    assert durations([(1, 1 + stay)], [1] * 100, 10)[1] == expected


@pytest.mark.parametrize(("first", "expected"), [(0, 3), (49, 3), (50, 0), (99, 0)])
def test_a_stay_that_outlasts_the_part_is_late_only_if_it_is_already(first: int, expected: int) -> None:
    assert durations([(first, 100)], [1] * 100, 10)[first] == expected


def test_a_stay_that_ends_where_nothing_is_settled_counts_as_unended() -> None:
    assert durations([(0, 55), (30, 55), (70, 72)], [1] * 100, 10, end=52)[0] == 3
    assert durations([(0, 55), (30, 55), (70, 72)], [1] * 100, 10, end=51)[30] == 0
    assert durations([(0, 55), (30, 55), (70, 72)], [1] * 100, 10, end=51)[70] == 0


def test_half_admitted_is_cached_and_the_duration_their_median() -> None:
    # Capacity 2: a stay of 1 is soon, 2 to 10 mean, above late.
    cases = [
        ([(0, 1), (1, 3)], 4, True, 2),  # two of four; soon and mean: the longer middle
        ([(0, 1)], 4, False, 0),
        ([(0, 1)], 3, False, 0),
        ([(0, 1), (1, 2)], 3, True, 1),
        ([(0, 1), (1, 20), (2, 21)], 3, True, 3),
        ([(0, 1), (1, 2), (2, 21)], 3, True, 1),
        ([(0, 1), (1, 4), (2, 21)], 3, True, 2),
        ([(0, 99), (1, 99), (2, 3)], 3, True, 3),
    ]
    for stays, size, cached, duration in cases:
        start = np.array([0, size, 8], np.int64)
        tags = Tags(request_tags(start, stays_run(stays, 30), 24, 0, 2))
        assert (tags.cached[0], tags.duration[0], tags.consulted[0]) == (cached, duration, True)


@pytest.mark.parametrize(
    ("stays", "expected"),
    [
        ([(0, 99), (1, 99), (2, 4)], 0),  # mean or late, whenever the first two end
        ([(0, 99), (1, 2), (2, 3)], 1),  # soon whatever the first one does
        ([(0, 99), (1, 2)], 0),
        ([(0, 99), (1, 4), (2, 5)], 2),
    ],
)
def test_a_median_that_depends_on_unended_stays_is_unknown(stays: list[tuple[int, int]], expected: int) -> None:
    tags = Tags(request_tags(np.array([0, 3]), stays_run(stays, 30), 9, 0, 2))
    assert tags.duration.tolist() == [expected]


def test_a_request_wholly_in_cache_is_cached_and_not_consulted() -> None:
    pages = pages_of([[0, 1], [0, 1], [1, 2]])
    run = oracle_cache(pages.page_ids, np.ones(6), 3, 3)
    tags = Tags(request_tags(pages.request_start, run, 6, 6, 3))
    assert tags.cached.tolist() == [True, True, True]
    assert tags.consulted.tolist() == [True, False, True]
    assert tags.forced.tolist() == [True, False, True]
    assert tags.kept.tolist() == [True, True, False]
    assert tags.taught.tolist() == [False, False, False]


def test_rules() -> None:
    ids, one = np.zeros(1, np.int32), np.array([0, 1])
    with pytest.raises(ConfigError, match="capacity 0"):
        oracle_cache(ids, np.ones(1), 1, 0)
    with pytest.raises(ConfigError, match="capacity 0"):
        decided_cache(one, ids, np.ones(1), np.ones(1, np.uint8), 1, 0)
