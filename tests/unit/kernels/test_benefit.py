import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cachezoo.errors import ConfigError
from cachezoo.kernels.benefit import Benefit, page_benefit
from cachezoo.kernels.outcome import WRITE
from cachezoo.traces.pages import PageAccesses
from tests.oracles.benefit import naive_benefit
from tests.page_data import lists_of, page_requests, pages_of, seeded_requests, service_times

TIMES = service_times(400, 3)


def compare(requests: list[list[int]], seed: int, horizon: int) -> None:
    pages = pages_of(requests)
    n = len(requests)
    op = np.random.default_rng(seed).integers(0, 2, n).astype(np.uint8)
    hdd, ssd = TIMES[0][:n], TIMES[1][:n]
    got = page_benefit(pages.request_start, pages.page_ids, op, hdd, ssd, pages.n_pages, horizon)
    expected = naive_benefit(lists_of(pages), op.tolist(), hdd.tolist(), ssd.tolist(), horizon)
    np.testing.assert_allclose(got, expected, rtol=1e-12)
    assert in_spans(pages, op, hdd / ssd / np.diff(pages.request_start), horizon).tobytes() == got.tobytes()


def in_spans(pages: PageAccesses, op: np.ndarray, ratio: np.ndarray, horizon: int | None) -> np.ndarray:
    """The same, three requests at a time."""
    flags, start = np.repeat(np.where(op, WRITE, 0).astype(np.uint8), np.diff(pages.request_start)), pages.request_start
    benefit = Benefit(pages.page_ids, flags, pages.n_pages, horizon)
    return np.concatenate([benefit.serve(start[k : k + 4], ratio[k : k + 3]) for k in range(0, len(op), 3)])


@settings(deadline=None)
@given(page_requests(), st.integers(0, 99))
def test_counting_the_whole_trace_matches_brute_force(requests: list[list[int]], seed: int) -> None:
    pages, n = pages_of(requests), len(requests)
    op = np.random.default_rng(seed).integers(0, 2, n).astype(np.uint8)
    hdd, ssd = TIMES[0][:n], TIMES[1][:n]
    got = page_benefit(pages.request_start, pages.page_ids, op, hdd, ssd, pages.n_pages, None)
    expected = naive_benefit(lists_of(pages), op.tolist(), hdd.tolist(), ssd.tolist(), None)
    np.testing.assert_allclose(got, expected, rtol=1e-12)
    assert in_spans(pages, op, hdd / ssd / np.diff(pages.request_start), None).tobytes() == got.tobytes()


@settings(deadline=None)
@given(page_requests(), st.integers(0, 99), st.integers(1, 200))
def test_matches_brute_force(requests: list[list[int]], seed: int, horizon: int) -> None:
    compare(requests, seed, horizon)


@pytest.mark.parametrize("horizon", [1, 7, 100, 10_000])
def test_matches_brute_force_on_a_longer_trace(horizon: int) -> None:
    compare(seeded_requests(400, 60, 5), 1, horizon)


def test_by_hand() -> None:
    # Page 0 of a request of two pages: 3 accesses within the horizon, 2 of them reads.
    pages = pages_of([[0, 1], [0], [0]])
    op = np.array([0, 1, 0], np.uint8)
    hdd, ssd = np.array([9000.0, 5000.0, 5000.0]), np.array([100.0, 50.0, 100.0])
    got = page_benefit(pages.request_start, pages.page_ids, op, hdd, ssd, 2, 10)
    assert got.tolist() == pytest.approx([90 * 2 / 2 * (1 + 2 / 3), 0.0, 100 * 1 * (1 + 1 / 2), 0.0])


def test_the_horizon_counts_accesses_after_the_present_one() -> None:
    start, ids, flags = np.arange(5), np.array([0, 1, 2, 0], np.int32), np.zeros(4, np.uint8)
    assert Benefit(ids, flags, 3, 2).serve(start, np.ones(4))[0] == 0
    assert Benefit(ids, flags, 3, 3).serve(start, np.ones(4))[0] == 2


def test_rules() -> None:
    pages, op, fine = pages_of([[0], [0]]), np.zeros(2, np.uint8), np.ones(2)
    with pytest.raises(ConfigError, match="horizon 0"):
        page_benefit(pages.request_start, pages.page_ids, op, fine, fine, 1, 0)
    for bad in (0.0, -1.0, np.nan, np.inf):
        with pytest.raises(ConfigError, match="row 2: service times"):
            page_benefit(pages.request_start, pages.page_ids, op, fine, np.array([1.0, bad]), 1, 1)
        with pytest.raises(ConfigError, match="row 1: service times"):
            page_benefit(pages.request_start, pages.page_ids, op, np.array([bad, 1.0]), fine, 1, 1)
