"""Baleen's flash cache as a composition of the engine's parts, against its own simulator."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cachezoo.coded import Coded
from cachezoo.kernels.flash import FlashRun, simulate_flash
from cachezoo.kernels.flash import Prefetch as FlashPrefetch
from cachezoo.kernels.flash_queue import EVICTIONS, Eviction
from cachezoo.kernels.outcome import ADMITTED, HIT, PREFETCHED
from cachezoo.kernels.segments import Geometry, expand_segments
from cachezoo.policies.admissions import by_decision
from cachezoo.policies.components import Composition
from cachezoo.policies.engine import Run, simulate
from cachezoo.policies.evictions.classics import FIFO, LRU, S3FIFO
from cachezoo.policies.prefetches import NONE, by_ranges, prefetched_stream
from cachezoo.policies.stream import Stream
from cachezoo.traces.pages import expand_pages
from cachezoo.traces.table import OP_READ, Trace, TraceMeta
from tests.request_data import traces

GEOMETRY = Geometry(16 * 4096, 4096)
QUEUES: dict[Eviction, Any] = {"lru": LRU, "fifo": FIFO, "s3fifo": S3FIFO}


def trace_of_pages(page: np.ndarray, op: np.ndarray, count: int | np.ndarray = 1) -> Trace:
    n = len(page)
    return Trace(
        time_us=np.arange(n) * 1000,
        op=op.astype(np.uint8),
        offset=page.astype(np.int64) * 4096,
        size=np.zeros(n, np.int64) + np.asarray(count) * 4096,
        volume=Coded.constant("vda", n),
        meta=TraceMeta("t", "database", "test", "0" * 64),
    )


# Baleen's flash cache: a decision for each request + LRU, FIFO or S3-FIFO + ranges, writes around it.


def flash(
    trace: Trace, admit: np.ndarray, capacity: int, eviction: Eviction, ranges: tuple[Any, Any] | None = None
) -> FlashRun:
    accesses = expand_segments(trace.volume.codes, trace.offset, trace.size, GEOMETRY)
    beside = None if ranges is None else FlashPrefetch(*ranges)
    return simulate_flash(accesses, trace.op == OP_READ, admit, capacity, eviction=eviction, prefetch=beside)


def flash_stream(trace: Trace, ranges: tuple[Any, Any] | None = None) -> Stream:
    pages = expand_pages(trace)
    prefetch = NONE if ranges is None else by_ranges(*ranges, GEOMETRY, "model")
    return prefetched_stream(trace, pages, prefetch.planned(trace, pages, {}), "around", "request")


def flash_composed(stream: Stream, admit: np.ndarray, capacity: int, eviction: Eviction) -> Run:
    return simulate(Composition(QUEUES[eviction], by_decision(admit, "model")), stream, capacity)


def by_request(stream: Stream, run: Run, n: int) -> tuple[list[int], list[int], list[int]]:
    """What a flash run says of each request: hits, written, prefetched."""
    hits, admitted, fetched = (
        np.bincount(stream.request_of[run.outcome == code], minlength=n) for code in (HIT, ADMITTED, PREFETCHED)
    )
    return hits.tolist(), (admitted + fetched).tolist(), fetched.tolist()


def of_flash(run: FlashRun) -> tuple[list[int], list[int], list[int]]:
    return run.hits.tolist(), run.written.tolist(), run.prefetched.tolist()


def drawn(data: st.DataObject, n: int, values: st.SearchStrategy[Any]) -> list[Any]:
    return data.draw(st.lists(values, min_size=n, max_size=n))


def drawn_ranges(data: st.DataObject, n: int) -> tuple[np.ndarray, np.ndarray]:
    bound = st.integers(0, GEOMETRY.per_block)
    return np.array(drawn(data, n, bound), np.int32), np.array(drawn(data, n, bound), np.int32)


@pytest.mark.parametrize("eviction", EVICTIONS)
@given(page=st.lists(st.integers(0, 20), min_size=1, max_size=120), capacity=st.integers(1, 20), data=st.data())
def test_decisions_and_an_eviction_are_the_flash_cache_on_reads_of_one_segment(eviction, page, capacity, data):
    n = len(page)
    trace = trace_of_pages(np.array(page), np.zeros(n))
    admit = np.array(drawn(data, n, st.booleans()), np.bool_)
    stream = flash_stream(trace)
    run = flash_composed(stream, admit, capacity, eviction)
    want = flash(trace, admit, capacity, eviction)
    assert by_request(stream, run, n) == of_flash(want)
    assert (run.victim >= 0).sum() == want.evictions


@pytest.mark.parametrize("eviction", EVICTIONS)
@given(trace=traces(), spare=st.integers(0, 3), data=st.data())
def test_where_nothing_leaves_for_room_it_is_the_flash_cache_whatever_is_asked(eviction, trace, spare, data):
    n = len(trace)
    admit, ranges = np.array(drawn(data, n, st.booleans()), np.bool_), drawn_ranges(data, n)
    stream = flash_stream(trace, ranges)
    run = flash_composed(stream, admit, stream.n_pages + spare, eviction)
    assert (run.victim == -1).all()
    assert by_request(stream, run, n) == of_flash(flash(trace, admit, stream.n_pages + spare, eviction, ranges))


def test_order_within_a_request_is_all_that_differs_with_prefetch():
    reads = trace_of_pages(np.array([0, 0, 1]), np.zeros(3))
    ranges = np.zeros(3, np.int32), np.full(3, 2, np.int32)
    admit = np.ones(3, np.bool_)
    stream = flash_stream(reads, ranges)
    # Pages 0 and 1 are fetched into a cache of one: the flash cache keeps the one asked for, the engine the other.
    assert of_flash(flash(reads, admit, 1, "lru", ranges)) == ([0, 1, 0], [2, 0, 1], [1, 0, 0])
    assert by_request(stream, flash_composed(stream, admit, 1, "lru"), 3) == ([0, 0, 1], [2, 2, 0], [1, 1, 0])


def mixed(n: int, seed: int, writes: float) -> Trace:
    """Skewed reads and writes of one to sixteen pages, a third of them scanning."""
    rng = np.random.default_rng(seed)
    page = np.minimum(rng.zipf(1.2, n), 3000) * 16 + rng.integers(0, 8, n)
    scan = rng.random(n) < 0.3
    page[scan] = 60_000 + 16 * np.arange(int(scan.sum()))
    return trace_of_pages(page, rng.random(n) < writes, rng.integers(1, 17, n))


# Hit ratios of reads: the flash cache's and the composition's (LRU, no prefetch).
STATED = {
    (0.0, 300): (0.3521, 0.3518), (0.0, 3000): (0.5156, 0.5156),
    (0.3, 300): (0.2219, 0.2147), (0.3, 3000): (0.2999, 0.2925),
}  # fmt: skip


# Writes take segments out of the flash cache's S3-FIFO at once; in the engine their places move on to the queue's end.
@pytest.mark.parametrize(
    ("eviction", "writes"), [("lru", 0.0), ("lru", 0.3), ("fifo", 0.0), ("fifo", 0.3), ("s3fifo", 0.0)]
)
@pytest.mark.parametrize("whole_block", [False, True])
def test_on_mixed_requests_it_comes_near_the_flash_cache(eviction, writes, whole_block):
    n = 20_000
    trace = mixed(n, 3, writes)
    admit = np.random.default_rng(4).random(n) < 0.5
    ranges = (np.zeros(n, np.int32), np.full(n, GEOMETRY.per_block, np.int32)) if whole_block else None
    stream = flash_stream(trace, ranges)
    asked = np.diff(expand_pages(trace).request_start)[trace.op == OP_READ].sum()
    for capacity in (300, 3000):
        want = flash(trace, admit, capacity, eviction, ranges)
        run = flash_composed(stream, admit, capacity, eviction)
        hits, written, _ = (sum(column) for column in by_request(stream, run, n))
        ratios = float(want.hits.sum() / asked), float(hits / asked)
        assert ratios[0] == pytest.approx(ratios[1], abs=0.015)
        if eviction == "lru" and not whole_block:
            assert ratios == pytest.approx(STATED[writes, capacity], abs=5e-5)
        assert abs(written - want.segment_writes) < 0.02 * want.segment_writes
