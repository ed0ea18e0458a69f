import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cachezoo.errors import ConfigError
from cachezoo.kernels.bounds.following import next_access
from cachezoo.kernels.oracle_cache import (
    AGAIN,
    CODE,
    SURE,
    DecidedCache,
    Fates,
    OracleCache,
    OracleRun,
    RequestTags,
    oracle_cache,
)
from cachezoo.kernels.outcome import ADMITTED, ADMITTED_FREE, BYPASSED, HIT, NONE
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


def worth_of_belady(pages: PageAccesses) -> np.ndarray:
    return belady_worth(next_access(pages.page_ids, pages.n_pages), len(pages.page_ids))


def spans_of(pages: PageAccesses, every: int) -> list[np.ndarray]:
    """Bounds of each of so many requests at a time."""
    return [pages.request_start[k : k + every + 1] for k in range(0, pages.n_requests, every)]


def in_spans(
    pages: PageAccesses, run: OracleRun, reach: int, ends: tuple[int, int], capacity: int, every: int,
    by_request: bool = False, useful: bool = False
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:  # fmt: skip
    """Outcomes with their bits, ends of stays and tags of a run, so many requests at a time."""
    outcome, end, ids = run.outcome.copy(), run.victim.astype(np.int64), pages.page_ids
    fates = Fates(ids, pages.n_pages, reach, ends[0], by_request=by_request, useful=useful)
    for start in reversed(spans_of(pages, every)):
        fates.serve(start, outcome[start[0] : start[-1]], end[start[0] : start[-1]])
    tags = RequestTags(ids, pages.n_pages, capacity, *ends, reach if useful else None)
    spans = [(start, slice(start[0], start[-1])) for start in spans_of(pages, every)]
    return outcome, end, np.concatenate([tags.serve(start, outcome[own], end[own]) for start, own in spans])


def same_fates(outcome: np.ndarray, end: np.ndarray, expected: NaiveRun, reach: int, settled: int) -> None:
    assert (outcome & CODE).tolist() == [CODES[name] for name in expected.outcome]
    assert ((outcome & AGAIN) != 0).tolist() == [0 < reuse <= reach for reuse in expected.reuse]
    for p, (stay, reuse) in enumerate(zip(expected.stays, expected.reuse, strict=True)):
        gone = NONE if stay is None else stay[1]
        if expected.outcome[p] != "bypassed":
            assert end[p] == gone
        sure = p < settled and (gone < settled or (0 < reuse <= reach and p + reuse < settled))
        assert bool(outcome[p] & SURE) == sure


def same_tags(bits: np.ndarray, expected: list[dict[str, object]]) -> None:
    tags = Tags(bits)
    for name in expected[0]:
        assert getattr(tags, name).tolist() == [row[name] for row in expected], name


def compare(pages: PageAccesses, worth: np.ndarray, capacity: int, reach: int, end: int, every: int) -> None:
    ids, m = pages.page_ids, len(pages.page_ids)
    expected = naive_oracle(ids.tolist(), worth.tolist(), capacity)
    cache, outcome, victim = OracleCache(ids, pages.n_pages, capacity), np.empty(m, np.uint8), np.empty(m, np.int32)
    for start in spans_of(pages, every):
        own = slice(start[0], start[-1])
        cache.serve(start, worth[own], outcome[own], victim[own])
    got, whole = cache.run(outcome, victim), oracle_cache(ids, worth, pages.n_pages, capacity)
    assert (got.contested, got.hits) == (expected.contested, expected.outcome.count("hit"))
    assert (whole.outcome.tobytes(), whole.victim.tolist()) == (outcome.tobytes(), victim.tolist())
    naive, ends = naive_useful(ids.tolist(), expected, reach), (end, end // 2)
    for useful, oracle, far in ((False, expected, m), (True, naive, reach)):
        fate, gone, bits = in_spans(pages, got, far, ends, capacity, every, useful=useful)
        same_fates(fate, gone, oracle, far, end)
        same_tags(bits, naive_tags(lists_of(pages), oracle, *ends, capacity))
    decision = np.random.default_rng(end).integers(0, 2, pages.n_requests).astype(np.uint8)
    decided, hits, done = DecidedCache(ids, pages.n_pages, capacity), [], 0
    for start in spans_of(pages, every):
        rows = slice(done, done + len(start) - 1)
        hits += decided.serve(start, worth[start[0] : start[-1]], decision[rows]).tolist()
        done = rows.stop
    assert hits == naive_decided(lists_of(pages), worth.tolist(), decision.tolist(), capacity)


EVERY = st.sampled_from([1, 3, 1000])


@given(page_requests(), st.integers(0, 99), st.integers(1, 12), st.integers(1, 30), st.integers(0, 120), EVERY)
def test_matches_the_naive_dictionary(
    requests: list[list[int]], seed: int, capacity: int, reach: int, end: int, every: int
) -> None:
    pages = pages_of(requests)
    compare(pages, drawn_worth(pages, seed), capacity, reach, end, every)


@settings(deadline=None)
@given(page_requests(), st.integers(1, 12), st.integers(1, 30), st.integers(0, 120), EVERY)
def test_matches_the_naive_dictionary_as_belady(
    requests: list[list[int]], capacity: int, reach: int, end: int, every: int
) -> None:
    pages = pages_of(requests)
    compare(pages, worth_of_belady(pages), capacity, reach, end, every)


@pytest.mark.parametrize("capacity", [1, 2, 5, 17, 60, 89, 90, 500])
def test_matches_the_naive_dictionary_on_a_longer_trace(capacity: int) -> None:
    compare(LONG, drawn_worth(LONG, 4), capacity, 3 * capacity, 700, 70)
    compare(LONG, worth_of_belady(LONG), capacity, 3 * capacity, 1200, 2000)


@pytest.mark.parametrize("capacity", [1, 2, 17, 60])
def test_next_use_as_worth_is_belady_with_bypass(capacity: int) -> None:
    run = oracle_cache(LONG.page_ids, worth_of_belady(LONG), LONG.n_pages, capacity)
    optimum = BELADY_BYPASS.hits(LONG.page_ids, LONG.n_pages, capacity)
    assert run.hits == int((optimum == HIT).sum())


def test_worth_nothing_is_not_admitted_once_full() -> None:
    ids, worth = np.array([0, 1, 2, 0], np.int32), np.array([0.0, 0.0, 0.0, 5.0])
    run = oracle_cache(ids, worth, 3, 2)
    assert run.outcome.tolist() == [ADMITTED_FREE, ADMITTED_FREE, BYPASSED, HIT]


def test_a_hit_renews_the_worth_and_equals_leave_by_age() -> None:
    # 0 was worth 9 when it entered and 1 at its hit, so that it leaves for 2 and not 1, which is worth 2.
    run = oracle_cache(np.array([0, 1, 0, 2, 1], np.int32), np.array([9.0, 2.0, 1.0, 3.0, 2.0]), 3, 2)
    assert run.victim.tolist() == [NONE, NONE, NONE, 0, NONE] and run.outcome[4] == HIT
    # Equals: 0 entered first but was used last.
    run = oracle_cache(np.array([0, 1, 0, 2, 0], np.int32), np.array([1.0, 1.0, 1.0, 2.0, 1.0]), 3, 2)
    assert run.victim.tolist() == [NONE, NONE, NONE, 1, NONE]


def tags_of_stays(start: np.ndarray, stays: list[tuple[int, int]], end: int, capacity: int) -> Tags:
    """Tags where all accesses, each to a page of its own, are bypassed, but those that begin stays (first, left)."""
    m = int(start[-1])
    outcome, left = np.zeros(m, np.uint8), np.full(m, NONE, np.int64)
    for first, gone in stays:
        outcome[first], left[first] = ADMITTED, gone
    return Tags(RequestTags(np.arange(m, dtype=np.int32), m, capacity, end, 0).serve(start, outcome, left))


def durations(stays: list[tuple[int, int]], sizes: list[int], capacity: int, end: int | None = None) -> list[int]:
    start = np.cumsum([0, *sizes]).astype(np.int64)
    return tags_of_stays(start, stays, sum(sizes) if end is None else end, capacity).duration.tolist()


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
        tags = tags_of_stays(start, stays, 24, 2)
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
    tags = tags_of_stays(np.array([0, 3]), stays, 9, 2)
    assert tags.duration.tolist() == [expected]


def test_a_request_wholly_in_cache_is_cached_and_not_consulted() -> None:
    pages = pages_of([[0, 1], [0, 1], [1, 2]])
    run = oracle_cache(pages.page_ids, np.ones(6), 3, 3)
    tags = Tags(in_spans(pages, run, 6, (6, 6), 3, 3)[2])
    assert tags.cached.tolist() == [True, True, True]
    assert tags.consulted.tolist() == [True, False, True]
    assert tags.forced.tolist() == [True, False, True]
    assert tags.kept.tolist() == [True, True, False]
    assert tags.taught.tolist() == [False, False, False]


def test_rules() -> None:
    for cache in (OracleCache, DecidedCache):
        with pytest.raises(ConfigError, match="capacity 0"):
            cache(np.zeros(1, np.int32), 1, 0)
