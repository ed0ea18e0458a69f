"""Addresses over time, working set, reuse and popularity, on traces with known answers."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cachezoo.characteristics.pages import (
    HEAT_COLUMNS,
    HEAT_ROWS,
    Uses,
    distances_of,
    fit_zipf,
    heat_map,
    popularity,
    reuse,
    uses,
    working_set,
    zipf_sum,
)
from cachezoo.coded import Coded
from cachezoo.kernels.stack_distance import stack_distances
from cachezoo.traces.pages import PageAccesses, expand_pages
from tests.characteristics_data import PAGE, made, zipf_pages, zipf_trace
from tests.oracles.characteristics import naive_distances, naive_gaps
from tests.page_data import lists_of, page_requests, pages_of


def test_a_scan_is_a_diagonal_of_the_heat_map():
    n = HEAT_COLUMNS * 200
    found = heat_map(made(n, offset=np.arange(n, dtype=np.int64) * 65_536), clock=True)
    rows, columns = np.nonzero(found.requests)
    assert found.requests.shape == (HEAT_ROWS, HEAT_COLUMNS)
    assert found.requests.sum() == n
    assert np.abs(rows / HEAT_ROWS - columns / HEAT_COLUMNS).max() < 1.5 / HEAT_ROWS
    assert (found.region_bytes, found.regions) == (1 << 20, n // 16)
    assert found.window_s * HEAT_COLUMNS == pytest.approx((n - 1) / 1000)


def test_untouched_addresses_take_no_room_and_volumes_lie_apart():
    offset = np.array([0, 2**50, 0, 2**50 + PAGE])
    found = heat_map(made(4, offset=offset, volume=Coded.of(["a", "a", "b", "b"])), clock=False)
    assert (found.regions, found.region_bytes, found.window_s) == (4, 4096, None)
    assert found.requests.sum(axis=1).tolist() == [1, 1, 1, 1]
    assert [int(row.argmax()) for row in found.requests] == [0, 40, 80, 120]


def test_volumes_lie_apart_however_many_there_are():
    n = 40_000
    volume = Coded(np.arange(n, dtype=np.int32)[::-1], tuple(f"v{k}" for k in range(n)))
    found = heat_map(made(n, offset=np.zeros(n, np.int64), volume=volume), clock=False)
    assert found.regions == n
    rows, columns = np.nonzero(found.requests)
    assert np.abs(rows / HEAT_ROWS - (1 - columns / HEAT_COLUMNS)).max() < 1.5 / HEAT_ROWS


def test_a_page_alone_is_one_row():
    found = heat_map(made(1), clock=False)
    assert (found.requests.shape, found.requests.sum()) == ((1, HEAT_COLUMNS), 1)


def test_a_working_set_over_time_by_sets():
    trace = zipf_trace(3000, 500, 0.9, 1)
    pages = expand_pages(trace)
    found = working_set(trace, pages, True, 30)
    window = np.minimum((trace.time_us - trace.time_us[0]) * 30 // (trace.time_us[-1] - trace.time_us[0]), 29)
    own = [set(trace.offset[window == k].tolist()) for k in range(30)]
    assert found.bytes.tolist() == [len(pages) * PAGE for pages in own]
    assert found.accesses.tolist() == np.bincount(window, minlength=30).tolist()
    assert found.total_bytes.tolist() == [len(set().union(*own[: k + 1])) * PAGE for k in range(30)]
    assert np.cumsum(found.new_bytes).tolist() == found.total_bytes.tolist()


def test_without_a_clock_windows_are_of_accesses():
    trace = made(10, time_us=np.zeros(10, np.int64), offset=np.array([0, 1] * 5) * PAGE)
    found = working_set(trace, expand_pages(trace), False, 160)
    assert (found.window_s, found.accesses.tolist()) == (None, [1] * 10)
    assert found.total_bytes.tolist() == [PAGE] + [2 * PAGE] * 9


@given(page_requests(), st.integers(0, 9))
def test_reuse_is_the_naive_one(requests, seed):
    pages = pages_of(requests)
    rng = np.random.default_rng(seed)
    n = len(requests)
    trace = made(n, op=rng.integers(0, 2, n).astype(np.uint8), time_us=np.cumsum(rng.integers(0, 9, n)))
    found = reuse(trace, pages, clock=True)
    gaps, pairs = naive_gaps(lists_of(pages), trace.op.tolist(), trace.time_us.tolist())
    m = len(pages.page_ids)
    assert found.again.share == pytest.approx(len(gaps) / m)
    assert found.again.write_after_read == pytest.approx(pairs[0, 1] / m)
    assert found.again.read_after_write == pytest.approx(pairs[1, 0] / m)
    assert (found.times is None) == (not gaps)
    assert found.times is None or found.times.accesses.sum() == len(gaps)
    distances = [one for one in naive_distances(pages.page_ids.tolist()) if one is not None]
    edges = [*(found.distances.from_bytes / PAGE).tolist(), np.inf]
    for k, count in enumerate(found.distances.accesses.tolist()):
        assert count == sum(edges[k] <= one < edges[k + 1] for one in distances)
    assert found.distances.first_share == pytest.approx(1 - len(distances) / m)


def test_marks_of_a_loop():
    n = 1000
    trace = made(n, offset=np.arange(n) % 100 * PAGE)
    found = reuse(trace, expand_pages(trace), clock=True)
    assert set(found.distances.below_bytes.values()) == {108 * PAGE}, "all are 99 pages: in the bin from 91 to 108"
    assert list(found.times.below_s.values()) == pytest.approx([2 ** (67 / 4) / 1e6] * 5), "all are 0.1 s"
    assert found.distances.from_bytes[-1] == 91 * PAGE


def test_pages_that_never_come_again():
    trace = made(50)
    found = reuse(trace, expand_pages(trace), clock=True)
    assert (found.again.share, found.times, found.distances.first_share) == (0, None, 1)
    assert found.distances.below_bytes == {}


def sampled(pages: PageAccesses, rate: float, seed: int) -> PageAccesses:
    kept = np.random.default_rng(seed).random(pages.n_pages) < rate
    ids = pages.page_ids[kept[pages.page_ids]]
    _, first, dense = np.unique(ids, return_index=True, return_inverse=True)
    order = np.empty(len(first), np.int32)
    order[np.argsort(first)] = np.arange(len(first))
    start = np.zeros(2, np.int64)
    start[1] = len(ids)
    return PageAccesses(start, order[dense].astype(np.int32), int(kept.sum() and len(first)))


def test_the_error_of_sampled_distances_holds():
    """At a distance fixed beforehand the sampled share lies within two errors of the exact one, as it should mostly."""
    trace = zipf_trace(60_000, 6000, 0.6, 3)
    pages = expand_pages(trace)
    exact = distances_of(pages, len(pages.page_ids), 1.0)
    assert exact.error_90 is None
    found = stack_distances(pages.page_ids, pages.n_pages)
    true = ((found >= 0) & (found < 2000)).mean()
    near = 0
    for seed in range(20):
        sample = distances_of(sampled(pages, 0.1, seed), len(pages.page_ids), 0.1)
        assert sample.accesses.sum() == pytest.approx((1 - sample.first_share) * 60_000)
        below = sample.accesses[sample.from_bytes / PAGE < 2000].sum() / 60_000
        near += abs(below - true) < sample.error_90 + 0.03  # a bin's width beside the error
    assert near >= 17


@pytest.mark.parametrize("exponent", [0.6, 0.8, 1.0, 1.2])
def test_zipfs_exponent_is_found(exponent):
    counts = np.sort(np.bincount(zipf_pages(400_000, 2000, exponent, 5)))[::-1]
    found = fit_zipf(counts[counts > 0])
    assert found.exponent == pytest.approx(exponent, abs=0.04)
    assert found.distance < 0.02


def test_two_levels_are_not_zipfs_law():
    counts = np.array([10_000] * 20 + [1] * 200_000)
    assert fit_zipf(counts).distance > 0.1


@pytest.mark.parametrize("counts", [[5] * 300, [100] * 3, [9, 1] * 5, [10_000]])
def test_no_law_is_fitted_to_too_little(counts):
    assert fit_zipf(np.sort(np.array(counts))[::-1]) is None


@pytest.mark.parametrize("s", [0.0, 0.5, 1.0, 1.0 + 1e-12, 2.5])
def test_sums_of_powers_are_those_added_up(s):
    ranks = np.array([1, 2, 9_999, 10_000, 10_001, 250_000])
    added = np.cumsum(np.arange(1, 250_001, dtype=np.float64) ** -s)[ranks - 1]
    assert zipf_sum(s, ranks.astype(np.float64)) == pytest.approx(added, rel=1e-9)


def test_popularity_of_known_counts():
    counts = np.array([500] + [3] * 99 + [1] * 900, np.int32)
    found = popularity(Uses(counts, np.zeros(1000, np.int32)))
    total = 500 + 297 + 900
    assert found.top_share["0.1%"] == 500 / total
    assert found.top_share["10.0%"] == (500 + 297) / total
    assert found.once_share == 0.9
    assert found.half_of_accesses_share == (100 + round((total - 2 * 797) / 2 + 0.5)) / 1000
    assert (found.rank[0], found.accesses[0], found.rank[-1], found.accesses[-1]) == (1, 500, 1000, 1)


def test_popularity_of_one_page():
    trace = made(3, offset=np.zeros(3, np.int64))
    found = popularity(uses(trace, expand_pages(trace)))
    assert (set(found.top_share.values()), found.half_of_accesses_share, found.zipf) == ({1.0}, 1.0, None)
