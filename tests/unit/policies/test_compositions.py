"""The two published systems as compositions of the engine's parts, against their own simulators."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cachezoo.errors import ConfigError
from cachezoo.kernels import manager
from cachezoo.kernels.flash import FlashRun, simulate_flash
from cachezoo.kernels.flash import Prefetch as FlashPrefetch
from cachezoo.kernels.outcome import ADMITTED, HIT, PREFETCHED, REQUEST, UNIT
from cachezoo.kernels.segments import Geometry, expand_segments
from cachezoo.policies.accounting import account
from cachezoo.policies.admissions import ACCEPT_ALL, by_decision
from cachezoo.policies.engine import Run, hits_only, replay
from cachezoo.policies.evictions.recency import FIFO, LRU
from cachezoo.policies.evictions.three_queues import three_queues
from cachezoo.policies.parts import Composition
from cachezoo.policies.prefetches import NONE, by_ranges, prefetched_stream
from cachezoo.policies.rcrnn import Cache, Served, serve_decisions
from cachezoo.policies.stream import Stream, build_stream
from cachezoo.traces.pages import PageAccesses, expand_pages
from cachezoo.traces.table import OP_READ, Coded, Trace, TraceMeta
from tests.oracles import engine as naive
from tests.oracles.admit.acceptall import Gate
from tests.oracles.evict.threequeues import Cache as NaiveCache
from tests.page_data import seeded_trace
from tests.request_data import traces
from tests.stream_data import streams

RULES = [(on_hit, queues, fill) for on_hit in ("stay", "requeue") for queues in ("three", "single") for fill in (0, 1)]
GEOMETRY = Geometry(16 * 4096, 4096)


# RC-RNN: accept all + three queues.


def policy_of(rules: tuple[str, str, int], periods: int = 5, percent: int = 20) -> dict[str, Any]:
    on_hit, queues, fill = rules
    return {
        "on_hit": on_hit, "queues": queues, "fill_free": bool(fill), "demote_capacities": periods,
        "protected_percent": percent,
    }  # fmt: skip


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


def served(trace: Trace, pages: PageAccesses, queues: np.ndarray, policy: Mapping[str, Any], capacity: int) -> Served:
    cache = Cache(capacity, 0.0, policy["on_hit"], policy["queues"])
    return serve_decisions(trace.op, pages.request_start, pages.page_ids, queues, cache, policy)


def composed(stream: Stream, queues: np.ndarray, policy: Mapping[str, Any], capacity: int) -> Run:
    return replay(Composition(three_queues(queues, policy, "threequeues"), ACCEPT_ALL), stream, capacity)


def single_pages(trace: Trace, pages: PageAccesses) -> tuple[Trace, PageAccesses]:
    """Every page access as a request of its own."""
    op = np.repeat(trace.op, np.diff(pages.request_start))
    each = PageAccesses(np.arange(len(op) + 1), pages.page_ids, pages.n_pages)
    return trace_of_pages(pages.page_ids, op), each


@pytest.mark.parametrize("rules", RULES)
@given(
    accesses=st.lists(st.tuples(st.integers(0, 11), st.integers(0, 1), st.integers(0, 3)), min_size=1, max_size=120),
    capacity=st.integers(1, 12), periods=st.integers(1, 5), percent=st.sampled_from([0, 20, 50, 100]),
)  # fmt: skip
@settings(deadline=None, max_examples=60)
def test_three_queues_are_the_manager_on_requests_of_one_page(rules, accesses, capacity, periods, percent):
    page, op, queues = (np.array(column) for column in zip(*accesses, strict=True))
    trace, policy = trace_of_pages(page, op), policy_of(rules, periods, percent)
    pages = expand_pages(trace)
    want = served(trace, pages, queues, policy, capacity)
    stream = build_stream(trace, pages)
    run = composed(stream, queues, policy, capacity)
    assert run.outcome.tolist() == want.outcome[0].tolist()
    assert (run.victim >= 0).tolist() == want.replaced[0].tolist()
    figures, totals = account("threequeues", stream, run, capacity, 0), want.totals[0]
    assert (figures.hits, figures.replacements) == (totals["hits"], totals["replacements"])
    assert (figures.dirty_evictions, figures.ssd_writes) == (totals["dirty_evictions"], totals["ssd_writes"])


@pytest.mark.parametrize("rules", RULES)
@given(stream=streams(), capacity=st.integers(1, 9), periods=st.integers(1, 3), data=st.data())
@settings(deadline=None, max_examples=25)
def test_three_queues_equal_their_oracle_on_requests_and_prefetches(rules, stream, capacity, periods, data):
    queues = data.draw(st.lists(st.integers(0, 3), min_size=len(stream), max_size=len(stream)))
    run = composed(stream, np.array(queues), policy_of(rules, periods, 40), capacity)
    on_hit, single, fill = rules
    cache = NaiveCache(stream, capacity, queues, periods, 40, fill, on_hit == "requeue", single == "single")
    outcome, victim = naive.replay(stream, cache, Gate(stream, capacity))
    assert run.outcome.tolist() == outcome
    assert run.victim.tolist() == victim


def test_three_queues_on_longer_requests_serve_each_page_as_one():
    trace = seeded_trace(4000, 300, 5)
    pages = expand_pages(trace)
    queues = np.random.default_rng(6).integers(0, 4, len(trace))
    each = np.repeat(queues, np.diff(pages.request_start))
    stream, figures = build_stream(trace, pages), {}
    for capacity in (15, 60):
        for rules in RULES:
            run = composed(stream, queues, policy_of(rules), capacity)
            want = served(*single_pages(trace, pages), each, policy_of(rules), capacity)
            assert run.outcome.tolist() == want.outcome[0].tolist()
        whole = served(trace, pages, queues, policy_of(RULES[1]), capacity)
        page_by_page = composed(stream, queues, policy_of(RULES[1]), capacity)
        figures[capacity] = [round(float((o == HIT).mean()), 4) for o in (whole.outcome[0], page_by_page.outcome)]
    assert figures == {15: [0.4284, 0.4209], 60: [0.6663, 0.664]}  # stated where the eviction is described


def test_three_queues_take_decisions_for_requests_accesses_or_all():
    flags = np.array([REQUEST | UNIT, UNIT, 8, REQUEST | UNIT, 8], np.uint8)
    stream = Stream(np.arange(5, dtype=np.int32), flags, np.full(5, 4096, np.int32), 5)
    states = [
        three_queues(np.array(queues), policy_of(RULES[0]), "threequeues").make(stream, 2, {})
        for queues in ([1, 3], [1, 1, 3], [1, 1, 1, 3, 3])
    ]
    assert [state.queue.tolist() for state in states] == [[1, 1, 1, 3, 3]] * 3
    assert states[0].clock.tolist() == [0, 1, 2, 2, 3]
    assert states[0].limits[manager.PERIOD] == 10


def test_three_queues_run_in_the_fast_loop_too():
    trace = seeded_trace(500, 60, 7)
    pages = expand_pages(trace)
    queues = np.random.default_rng(8).integers(0, 4, len(pages.page_ids))
    composition = Composition(three_queues(queues, policy_of(RULES[0]), "threequeues"), ACCEPT_ALL)
    fast = hits_only(composition, pages.page_ids, pages.n_pages, 12)
    stream = Stream.of_pages(pages.page_ids, pages.n_pages)
    assert fast.tolist() == replay(composition, stream, 12).outcome.tolist()


def test_bad_decisions_and_rules_are_refused_in_one_line():
    policy = policy_of(RULES[0])
    with pytest.raises(ConfigError, match=r"^model: queue -1 of row 1; use 0 to keep out, 1 soon, 2 mean or 3 late$"):
        three_queues(np.array([0, -1]), policy, "model")
    with pytest.raises(ConfigError, match=r"^model: queue 4 of row 0; "):
        three_queues(np.array([4]), policy, "model")
    with pytest.raises(ConfigError, match=r"on_hit leave, queues three: not among"):
        three_queues(np.array([0]), {**policy, "on_hit": "leave"}, "model")
    stream = Stream.of_pages(np.zeros(3, np.int32), 1)
    with pytest.raises(ConfigError, match=r"^model: 2 decisions for a stream of 3 requests and 3 accesses; give one"):
        composed_model = Composition(three_queues(np.array([0, 1]), policy, "model"), ACCEPT_ALL)
        replay(composed_model, stream, 1)


# Baleen's flash cache: a decision for each request + LRU or FIFO + ranges, writes around it.


def flash(trace: Trace, admit: np.ndarray, capacity: int, lru: bool, ranges: tuple[Any, Any] | None = None) -> FlashRun:
    accesses = expand_segments(trace.volume.codes, trace.offset, trace.size, GEOMETRY)
    beside = None if ranges is None else FlashPrefetch(*ranges)
    return simulate_flash(accesses, trace.op == OP_READ, admit, capacity, lru=lru, prefetch=beside)


def flash_stream(trace: Trace, ranges: tuple[Any, Any] | None = None) -> Stream:
    pages = expand_pages(trace)
    prefetch = NONE if ranges is None else by_ranges(*ranges, GEOMETRY, "model")
    return prefetched_stream(trace, pages, prefetch.planned(trace, pages, {}), "around", "request")


def flash_composed(stream: Stream, admit: np.ndarray, capacity: int, lru: bool) -> Run:
    return replay(Composition(LRU if lru else FIFO, by_decision(admit, "model")), stream, capacity)


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


@pytest.mark.parametrize("lru", [True, False])
@given(page=st.lists(st.integers(0, 20), min_size=1, max_size=120), capacity=st.integers(1, 20), data=st.data())
@settings(deadline=None, max_examples=100)
def test_decisions_and_lru_are_the_flash_cache_on_reads_of_one_segment(lru, page, capacity, data):
    n = len(page)
    trace = trace_of_pages(np.array(page), np.zeros(n))
    admit = np.array(drawn(data, n, st.booleans()), np.bool_)
    stream = flash_stream(trace)
    run = flash_composed(stream, admit, capacity, lru)
    want = flash(trace, admit, capacity, lru)
    assert by_request(stream, run, n) == of_flash(want)
    assert (run.victim >= 0).sum() == want.evictions


@pytest.mark.parametrize("lru", [True, False])
@given(trace=traces(), spare=st.integers(0, 3), data=st.data())
@settings(deadline=None, max_examples=100)
def test_where_nothing_leaves_for_room_it_is_the_flash_cache_whatever_is_asked(lru, trace, spare, data):
    n = len(trace)
    admit, ranges = np.array(drawn(data, n, st.booleans()), np.bool_), drawn_ranges(data, n)
    stream = flash_stream(trace, ranges)
    run = flash_composed(stream, admit, stream.n_pages + spare, lru)
    assert (run.victim == -1).all()
    assert by_request(stream, run, n) == of_flash(flash(trace, admit, stream.n_pages + spare, lru, ranges))


def test_order_within_a_request_is_all_that_differs_with_prefetch():
    reads = trace_of_pages(np.array([0, 0, 1]), np.zeros(3))
    ranges = np.zeros(3, np.int32), np.full(3, 2, np.int32)
    admit = np.ones(3, np.bool_)
    stream = flash_stream(reads, ranges)
    # Pages 0 and 1 are fetched into a cache of one: the flash cache keeps the one asked for, the engine the other.
    assert of_flash(flash(reads, admit, 1, True, ranges)) == ([0, 1, 0], [2, 0, 1], [1, 0, 0])
    assert by_request(stream, flash_composed(stream, admit, 1, True), 3) == ([0, 0, 1], [2, 2, 0], [1, 1, 0])


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


@pytest.mark.parametrize("lru", [True, False])
@pytest.mark.parametrize("writes", [0.0, 0.3])
@pytest.mark.parametrize("whole_block", [False, True])
def test_on_mixed_requests_it_comes_near_the_flash_cache(lru, writes, whole_block):
    n = 20_000
    trace = mixed(n, 3, writes)
    admit = np.random.default_rng(4).random(n) < 0.5
    ranges = (np.zeros(n, np.int32), np.full(n, GEOMETRY.per_block, np.int32)) if whole_block else None
    stream = flash_stream(trace, ranges)
    asked = np.diff(expand_pages(trace).request_start)[trace.op == OP_READ].sum()
    for capacity in (300, 3000):
        want = flash(trace, admit, capacity, lru, ranges)
        run = flash_composed(stream, admit, capacity, lru)
        hits, written, _ = (sum(column) for column in by_request(stream, run, n))
        ratios = float(want.hits.sum() / asked), float(hits / asked)
        assert ratios[0] == pytest.approx(ratios[1], abs=0.015)
        if lru and not whole_block:
            assert ratios == pytest.approx(STATED[writes, capacity], abs=5e-5)
        assert abs(written - want.segment_writes) < 0.02 * want.segment_writes
