"""What a run comes to, against the naive count, and by hand."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cachezoo.coded import Coded
from cachezoo.devices.service import ServiceTimes
from cachezoo.policies.accounting import account
from cachezoo.policies.admissions import ACCEPT_ALL
from cachezoo.policies.components import Composition
from cachezoo.policies.engine import Run, simulate
from cachezoo.policies.evictions.classics import LRU
from cachezoo.policies.stream import Stream, build_stream
from cachezoo.traces.pages import expand_pages
from cachezoo.traces.table import Trace, TraceMeta
from tests.oracles import accounting as naive
from tests.stream_data import streams

BEHIND_ALL = Composition(LRU, ACCEPT_ALL)


def trace(rows, flags=None):
    """Requests of (op, first byte, bytes)."""
    columns = list(zip(*rows, strict=True))
    n = len(rows)
    coded = None if flags is None else Coded(np.array(flags, np.int32), ("WS", "RM"))
    return Trace(
        np.arange(n, dtype=np.int64), np.array(columns[0], np.uint8), np.array(columns[1], np.int64),
        np.array(columns[2], np.int64), Coded.constant("0", n), TraceMeta("t", "web", "csv", "0" * 64), flags=coded,
    )  # fmt: skip


@given(
    stream=streams(), capacity=st.integers(1, 9), writes=st.sampled_from(["back", "through"]), share=st.floats(0, 0.9)
)
def test_equals_the_naive_count(stream, capacity, writes, share):
    stream = replace(stream, page_bytes=np.where(stream.asked, 512 + np.arange(len(stream)), 0).astype(np.int32),
                     writes=writes)  # fmt: skip
    run = simulate(BEHIND_ALL, stream, capacity)
    warmup = int(share * stream.asked.sum())
    found = account("lru", stream, run, capacity, warmup)
    first = int(np.flatnonzero(stream.asked)[warmup])
    total, missing = naive.account(stream, run.outcome.tolist(), run.victim.tolist(), first)
    assert {name: getattr(found, name) for name in total} == total
    assert found.missing.tolist() == missing
    assert found.request_hit.tolist() == [lacks == 0 for lacks in missing]
    assert len(found.outcome) == stream.asked.sum()


def test_by_hand():
    # One page is read, written and evicted dirty; a request of two pages hits only where both are there.
    rows = [(0, 0, 4096), (1, 0, 4096), (0, 4096, 8192), (0, 8192, 1024), (0, 0, 12288)]
    found = account("lru", stream := build_stream(trace(rows), expand_pages(trace(rows))),
                    simulate(BEHIND_ALL, stream, 2), 2, 0)  # fmt: skip
    assert (found.requests, found.request_hits) == (5, 2)
    assert (found.page_accesses, found.hits, found.ssd_writes) == (8, 2, 7)
    assert (found.bytes, found.byte_hits) == (4096 * 2 + 8192 + 1024 + 12288, 4096 + 1024)
    assert (found.replacements, found.dirty_evictions, found.disk_writes) == (4, 1, 1)
    assert found.request_hit.tolist() == [False, True, False, True, False]
    assert found.missing.tolist() == [4096, 0, 8192, 0, 12288]
    times = ServiceTimes(np.full(5, 10.0), np.full(5, 1.0), trace(rows).size, 0.0, 20.0)
    assert found.mean_response_us(times, 0.5) == pytest.approx((3 * 10 + 2) / 5 + 0.5)
    assert found.mean_response_waiting_us(times, 0.5) == pytest.approx((3 * 10 + 2) / 5 + 0.5 + 20 / 5)


def test_the_disk_serves_the_missing_span_and_no_more():
    # Pages 1 and 3 are resident; of 0 to 4 the disk serves 0 to 4, of 1 to 3 it serves 2 alone, of 3 and 4 the last.
    rows = [(0, 4096, 4096), (0, 3 * 4096, 4096), (0, 0, 5 * 4096)]
    own = trace([*rows[:2], (0, 4096, 3 * 4096), (0, 3 * 4096, 8192)])
    found = account("lru", stream := build_stream(own, expand_pages(own)), simulate(BEHIND_ALL, stream, 9), 9, 0)
    assert found.missing.tolist() == [4096, 4096, 4096, 4096]
    times = ServiceTimes(np.full(4, 100.0), np.full(4, 3.0), own.size, 0.005, 0.0)
    assert found.mean_response_us(times) == pytest.approx((100 + 100 + 100 - 0.005 * 8192 + 100 - 0.005 * 4096) / 4)
    whole = trace(rows)
    ends = account("lru", stream := build_stream(whole, expand_pages(whole)), simulate(BEHIND_ALL, stream, 9), 9, 0)
    assert ends.missing.tolist() == [4096, 4096, 5 * 4096]


def test_what_a_write_does():
    rows = [(1, 0, 4096), (0, 0, 4096), (1, 0, 4096), (0, 0, 4096), (0, 0, 4096)]
    figures = {}
    for writes in ("back", "through", "around"):
        own = trace(rows)
        stream = build_stream(own, expand_pages(own), writes)
        found = account("lru", stream, simulate(BEHIND_ALL, stream, 4), 4, 0)
        figures[writes] = (found.hits, found.ssd_writes, found.disk_writes, found.outcome.tolist())
    assert figures["back"] == (4, 2, 0, [1, 2, 2, 2, 2])
    assert figures["through"] == (4, 2, 2, [1, 2, 2, 2, 2])
    # Around the cache: each write voids what is held, so the read after it misses and fetches the page anew.
    assert figures["around"] == (1, 2, 2, [0, 1, 0, 1, 2])


def test_the_warmup_counts_requests_that_begin_after_it():
    rows = [(0, 0, 8192), (0, 0, 4096), (0, 4096, 8192)]
    own = trace(rows)
    stream = build_stream(own, expand_pages(own))
    found = account("lru", stream, simulate(BEHIND_ALL, stream, 4), 4, 1)
    assert (found.requests, found.page_accesses, found.hits) == (2, 4, 2)
    times = ServiceTimes(np.array([100.0, 10.0, 20.0]), np.array([1.0, 2.0, 3.0]), own.size, 0.0, 0.0)
    assert found.mean_response_us(times) == pytest.approx(11.0)


def test_a_cache_that_does_not_say_who_left():
    run = Run.of_outcomes(np.array([1, 2, 1], np.uint8))
    found = account("x", Stream.of_pages(np.array([0, 0, 1], np.int32), 2), run, 1, 0)
    assert (found.hits, found.ssd_writes) == (1, 2)
    assert found.replacements is found.dirty_evictions is found.disk_writes is None
    one = np.ones(3)
    assert found.mean_response_waiting_us(ServiceTimes(one, one, np.full(3, 4096), 0.0, 1.0)) is None


def test_admission_units_and_metadata():
    rows = [(0, 31 * 4096, 3 * 4096), (1, 0, 4096)]
    own = trace(rows, [1, 0])
    pages = expand_pages(own)
    bits = {unit: build_stream(own, pages, unit=unit).flags.tolist() for unit in ("page", "segment", "request")}
    assert bits["page"] == [32 | 4 | 2, 32 | 4, 32 | 4, 1 | 4 | 2]
    assert bits["segment"] == [32 | 4 | 2, 32 | 4, 32, 1 | 4 | 2]
    assert bits["request"] == [32 | 4 | 2, 32, 32, 1 | 4 | 2]


@pytest.mark.parametrize(("name", "value"), [("writes", "sideways"), ("unit", "sector")])
def test_what_is_unknown_is_refused(name, value):
    own = trace([(0, 0, 4096)])
    with pytest.raises(Exception, match=f"{value}: use one of"):
        build_stream(own, expand_pages(own), **{name: value})
