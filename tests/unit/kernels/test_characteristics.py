"""Kernels of characteristics beside naive counts."""

import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cachezoo.contest.series import autocorrelation
from cachezoo.kernels.characteristics import (
    GAP_BINS,
    PER_OCTAVE,
    distinct_pages,
    footprints,
    page_uses,
    reuse_times,
    updates,
)
from tests.oracles.characteristics import naive_footprints, naive_gaps, naive_updates, naive_uses, naive_windows
from tests.page_data import lists_of, page_requests, pages_of


def ops_of(n: int, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 2, n).astype(np.uint8)


@given(page_requests(), st.integers(0, 9))
@settings(deadline=None)
def test_uses_are_counted_by_page_and_type(requests, seed):
    pages, ops = pages_of(requests), ops_of(len(requests), seed)
    reads, writes = page_uses(pages.page_ids, pages.request_start, ops, pages.n_pages)
    expected = naive_uses(lists_of(pages), ops.tolist())
    assert [Counter(dict(enumerate(counts.tolist()))) for counts in (reads, writes)] == [
        Counter({page: counts[page] for page in range(pages.n_pages)}) for counts in expected
    ]


@given(page_requests(), st.lists(st.integers(0, 60), max_size=6))
@settings(deadline=None)
def test_windows_count_distinct_and_new_pages(requests, cuts):
    pages = pages_of(requests)
    m = len(pages.page_ids)
    bounds = [0, *sorted(min(cut, m) for cut in cuts), m]
    distinct, new = distinct_pages(pages.page_ids, np.array(bounds, np.int64), pages.n_pages)
    assert (distinct.tolist(), new.tolist()) == naive_windows(pages.page_ids.tolist(), bounds)
    assert new.sum() == pages.n_pages


@given(page_requests(), st.integers(0, 9), st.sampled_from([1, 3, 1_000_000_007]))
@settings(deadline=None)
def test_times_between_uses_fall_into_their_bins(requests, seed, step):
    pages, ops = pages_of(requests), ops_of(len(requests), seed)
    times = np.sort(np.random.default_rng(seed).integers(0, 50, len(requests))).astype(np.int64) * step
    bins, pairs = reuse_times(pages.page_ids, pages.request_start, ops, times, pages.n_pages)
    gaps, expected = naive_gaps(lists_of(pages), ops.tolist(), times.tolist())
    edges = [0.0, *(2 ** (k / PER_OCTAVE) for k in range(GAP_BINS))]
    for k, count in enumerate(bins.tolist()):
        assert count == sum(edges[k] <= gap < edges[k + 1] for gap in gaps)
    assert {(a, b): pairs[a, b] for a in (0, 1) for b in (0, 1) if pairs[a, b]} == expected


def test_the_longest_time_has_a_bin():
    times = np.array([0, 2**62], np.int64)
    starts, ids, ops = np.array([0, 1, 2], np.int64), np.zeros(2, np.int32), np.zeros(2, np.uint8)
    bins, _ = reuse_times(ids, starts, ops, times, 1)
    assert np.flatnonzero(bins).tolist() == [1 + PER_OCTAVE * int(math.log2(2**62))]


@given(page_requests(), st.integers(0, 9))
@settings(deadline=None)
def test_footprints_of_names(requests, seed):
    pages = pages_of(requests)
    names = np.random.default_rng(seed).integers(-1, 3, len(requests)).astype(np.int32)
    found = footprints(pages.page_ids, pages.request_start, names, 3, pages.n_pages)
    assert found.tolist() == naive_footprints(lists_of(pages), names.tolist(), 3)


WRITES = st.lists(st.tuples(st.integers(0, 9), st.integers(1, 4), st.integers(0, 5)), max_size=60)


@given(WRITES, st.sampled_from([1, 1_000_000]))
@settings(deadline=None)
def test_updates_and_the_correlation_of_their_intervals_are_the_naive_ones(rows, step):
    first, count, steps = (np.array(column, np.int64) for column in (zip(*rows, strict=True) if rows else ([], [], [])))
    times = np.cumsum(steps) * step
    found = updates(first.astype(np.int32), count.astype(np.uint16), times, 13)
    new, intervals = naive_updates([range(a, a + b) for a, b, _ in rows], times.tolist())
    assert (found.new, found.intervals) == (new, len(intervals))
    expected = autocorrelation(intervals, 1, least=2)
    assert found.correlation == pytest.approx(np.nan if expected is None else expected, abs=1e-9, nan_ok=True)


def test_intervals_that_alternate_and_a_clock_of_another_unit():
    """Two units in turn, updated after 1 and after 99: each interval is as far above the mean as the next is below."""
    n, times = 2000, np.cumsum(np.tile([1, 49], 1000)).astype(np.int64)
    first = np.tile(np.array([0, 0, 1, 1], np.int32), n // 4)
    ones = np.ones(n, np.uint16)
    found = updates(first, ones, times, 2)
    assert (found.new, found.intervals) == (2, n - 2)
    assert found.correlation == pytest.approx(-1, abs=0.01)
    assert updates(first, ones, times * 1000, 2).correlation == pytest.approx(found.correlation)
    assert math.isnan(updates(np.zeros(n, np.int32), ones, np.arange(n), 1).correlation), "they never differ"
