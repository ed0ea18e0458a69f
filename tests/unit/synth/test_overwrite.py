"""Traces within a fixed space: places against a naive list, and what stays of the requests."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cachezoo.coded import Coded
from cachezoo.errors import ConfigError
from cachezoo.kernels.extents import places
from cachezoo.synth.overwrite import EXTENT_PAGES, overwriting
from cachezoo.traces.pages import expand_pages
from cachezoo.traces.table import PAGE_BYTES, Trace, TraceMeta, validate
from tests.oracles import extents as naive


@given(st.lists(st.integers(0, 12), max_size=80), st.integers(1, 9))
def test_places_are_those_of_a_list(extents, room):
    given_, found = np.array(extents, np.int64), np.empty(len(extents), np.int64)
    places(given_, 13, room, found)
    assert found.tolist() == naive.places(extents, room)


def trace_of(seed, requests, span):
    draws = np.random.default_rng(seed)
    return Trace(
        time_us=np.sort(draws.integers(0, 10**6, requests)), op=draws.integers(0, 2, requests).astype(np.uint8),
        offset=draws.integers(0, span * PAGE_BYTES, requests), size=draws.integers(1, 9 * PAGE_BYTES, requests),
        volume=Coded(draws.integers(0, 2, requests).astype(np.int32), ("sda", "sdb")),
        meta=TraceMeta("made", "made", "synth", "0" * 64, "unstated"),
    )  # fmt: skip


ROOM = 20 * EXTENT_PAGES


@given(st.integers(0, 2**32 - 1), st.sampled_from((ROOM // 2, 10 * ROOM)))
def test_bytes_times_and_ops_stay(seed, span):
    trace = trace_of(seed, 900, span)
    found = overwriting(trace, expand_pages(trace), ROOM)
    validate(found, "found")
    for op in (0, 1):
        assert found.size[found.op == op].sum() == trace.size[trace.op == op].sum()
    at, bytes_ = np.unique(trace.time_us, return_inverse=True)
    again, others = np.unique(found.time_us, return_inverse=True)
    assert at.tolist() == again.tolist()
    assert np.bincount(bytes_, trace.size).tolist() == np.bincount(others, found.size).tolist()
    assert (found.offset + found.size).max() <= ROOM * PAGE_BYTES


def test_what_fits_keeps_its_reuse():
    trace = trace_of(3, 900, ROOM // 4)
    pages = expand_pages(trace)
    found = expand_pages(overwriting(trace, pages, ROOM))
    np.testing.assert_array_equal(found.page_ids, pages.page_ids)


def test_a_long_trace_fills_the_space_and_no_more():
    trace = trace_of(4, 6000, 40 * ROOM)
    pages = expand_pages(trace)
    found = expand_pages(overwriting(trace, pages, ROOM))
    assert pages.n_pages > 10 * ROOM and 0.99 * ROOM < found.n_pages <= ROOM


def test_a_space_too_small_is_refused():
    trace = trace_of(1, 100, 1000)
    with pytest.raises(ConfigError, match="100 pages to overwrite are too few; give 1024 at least"):
        overwriting(trace, expand_pages(trace), 100)
