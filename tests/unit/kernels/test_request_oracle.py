import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cachezoo.errors import ConfigError
from cachezoo.kernels.benefit import TimeSaved, time_saved
from cachezoo.kernels.outcome import ADMITTED, ADMITTED_FREE, BYPASSED, HIT, NONE
from cachezoo.kernels.request_oracle import RequestOracle, request_oracle
from cachezoo.traces.pages import PageAccesses
from tests.oracles.request_oracle import naive_request_oracle, naive_time_saved
from tests.page_data import lists_of, page_requests, pages_of, seeded_requests, service_times
from tests.unit.kernels.test_oracle_cache import in_spans, same_fates, spans_of

LONG = pages_of(seeded_requests(600, 90, 8))


def compare(pages: PageAccesses, worth: np.ndarray, capacity: int, every: int) -> None:
    ids, m = pages.page_ids, len(pages.page_ids)
    cache, outcome, victim = RequestOracle(ids, pages.n_pages, capacity), np.empty(m, np.uint8), np.empty(m, np.int32)
    for start in spans_of(pages, every):
        own = slice(start[0], start[-1])
        cache.serve(start, worth[own], outcome[own], victim[own])
    got, expected = cache.run(outcome, victim), naive_request_oracle(lists_of(pages), worth.tolist(), capacity)
    assert (got.contested, got.hits) == (expected.contested, expected.outcome.count("hit"))
    fate, gone, _ = in_spans(pages, got, 20, (m // 2, 0), capacity, every, by_request=True)
    same_fates(fate, gone, expected, 20, m // 2)


def drawn_worth(pages: PageAccesses, seed: int) -> np.ndarray:
    """Few distinct values, so that equals are common."""
    return np.random.default_rng(seed).choice(np.array([0.0, 0.0, 1.0, 2.0, 3.5]), len(pages.page_ids))


@given(page_requests(), st.integers(0, 99), st.integers(1, 12), st.sampled_from([1, 3, 1000]))
def test_matches_the_naive_dictionary(requests: list[list[int]], seed: int, capacity: int, every: int) -> None:
    pages = pages_of(requests)
    compare(pages, drawn_worth(pages, seed), capacity, every)


@pytest.mark.parametrize("capacity", [1, 3, 5, 17, 60, 89, 90, 500])
def test_matches_the_naive_dictionary_on_a_longer_trace(capacity: int) -> None:
    compare(LONG, drawn_worth(LONG, 4), capacity, 70)
    hdd, ssd = service_times(LONG.n_requests, 3)
    saved = time_saved(LONG.request_start, LONG.page_ids, hdd, ssd, LONG.n_pages, 10 * capacity)
    compare(LONG, saved, capacity, 1000)


@settings(deadline=None)
@given(page_requests(), st.integers(0, 99), st.integers(1, 60))
def test_time_saved_matches_the_naive_search(requests: list[list[int]], seed: int, reach: int) -> None:
    pages = pages_of(requests)
    ssd, hdd = service_times(pages.n_requests, seed)  # some savings are below 0 when the first third is swapped
    hdd[pages.n_requests // 3 :], ssd[pages.n_requests // 3 :] = (
        ssd[pages.n_requests // 3 :].copy(), hdd[pages.n_requests // 3 :].copy(),
    )  # fmt: skip
    got = time_saved(pages.request_start, pages.page_ids, hdd, ssd, pages.n_pages, reach)
    np.testing.assert_allclose(got, naive_time_saved(lists_of(pages), hdd.tolist(), ssd.tolist(), reach), rtol=1e-12)
    saving, spans = TimeSaved(pages.page_ids, pages.n_pages, reach), np.empty_like(got)
    share, done = np.maximum(hdd - ssd, 0.0) / np.diff(pages.request_start), pages.n_requests
    for start in reversed(spans_of(pages, 3)):
        low = done - len(start) + 1
        saving.serve(start, share[low:done], spans[start[0] : start[-1]])
        done = low
    assert spans.tobytes() == got.tobytes()


@settings(deadline=None)
@given(page_requests(), st.integers(0, 99), st.integers(1, 12))
def test_a_request_s_missing_pages_share_one_fate(requests: list[list[int]], seed: int, capacity: int) -> None:
    pages = pages_of(requests)
    run = request_oracle(pages.request_start, pages.page_ids, drawn_worth(pages, seed), pages.n_pages, capacity)
    for low, high in zip(pages.request_start[:-1], pages.request_start[1:], strict=True):
        assert len(set(run.outcome[low:high].tolist()) - {HIT}) <= 1
    resident = np.zeros(len(pages.page_ids) + 1, np.int64)
    _, gone, _ = in_spans(pages, run, len(run.outcome), (0, 0), capacity, 1000, by_request=True)
    for p in np.flatnonzero(np.isin(run.outcome, (ADMITTED, ADMITTED_FREE))):
        resident[p : gone[p] + 1] += 1
    # Pages enter and leave within a request: what is in the cache is counted between requests.
    assert (resident[pages.request_start[1:-1] - 1] <= capacity + np.diff(pages.request_start)[:-1]).all()


def test_pages_are_weighed_together() -> None:
    # 0 and 1 are worth 3 and 1; 2 and 3 together 3.5: less than what leaves, though 3 alone is worth more than 1.
    start, ids = np.array([0, 2, 4, 6]), np.array([0, 1, 2, 3, 0, 1], np.int32)
    worth = np.array([3.0, 1.0, 0.0, 3.5, 0.0, 0.0])
    run = request_oracle(start, ids, worth, 4, 2)
    assert run.outcome.tolist() == [ADMITTED_FREE] * 2 + [BYPASSED] * 2 + [HIT] * 2
    worth[3] = 4.5
    run = request_oracle(start, ids, worth, 4, 2)
    assert run.outcome.tolist()[2:4] == [ADMITTED] * 2 and run.victim.tolist() == [NONE, NONE, 1, 0, NONE, NONE]


def test_a_dear_request_keeps_its_pages_where_belady_would_keep_the_next_used() -> None:
    # 0 is used again first, but by a request that the disk serves at once.
    pages = pages_of([[0], [1], [2], [0], [1]])
    hdd, ssd = np.array([5000.0, 5000.0, 5000.0, 100.0, 5000.0]), np.full(5, 100.0)
    saved = time_saved(pages.request_start, pages.page_ids, hdd, ssd, pages.n_pages, 4)
    assert saved.tolist() == [0.0, 4900 / 3, 0.0, 0.0, 0.0]
    run = request_oracle(pages.request_start, pages.page_ids, saved, pages.n_pages, 1)
    assert run.outcome.tolist() == [ADMITTED_FREE, ADMITTED, BYPASSED, BYPASSED, HIT]


def test_rules() -> None:
    start, ids = np.array([0, 1]), np.zeros(1, np.int32)
    with pytest.raises(ConfigError, match="capacity 0"):
        request_oracle(start, ids, np.ones(1), 1, 0)
    for worth in (-1.0, np.nan, np.inf):
        with pytest.raises(ConfigError, match="page access 1: worth"):
            request_oracle(start, ids, np.array([worth]), 1, 1)
    with pytest.raises(ConfigError, match="reach 0"):
        time_saved(start, ids, np.ones(1), np.ones(1), 1, 0)
    with pytest.raises(ConfigError, match="row 1: service times"):
        time_saved(start, ids, np.zeros(1), np.ones(1), 1, 1)
