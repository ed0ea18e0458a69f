"""Prefetch plans against naive ones by address, their streams, and what a cache makes of them."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cachezoo.errors import ConfigError
from cachezoo.kernels.outcome import ADMITTED, AROUND, HIT, PREFETCH, PREFETCHED, WRITE
from cachezoo.kernels.segments import Geometry
from cachezoo.policies.admissions import ACCEPT_ALL, by_decision
from cachezoo.policies.components import Composition
from cachezoo.policies.engine import simulate
from cachezoo.policies.evictions.classics import LRU
from cachezoo.policies.prefetches import NEXT, NONE, PREFETCHES, Plan, by_ranges, prefetched_stream, with_prefetch
from cachezoo.policies.stream import Stream, build_stream
from cachezoo.traces.pages import PageAccesses, PageNumbers, expand_pages
from tests.oracles import prefetch_plan as naive
from tests.request_data import requests_of, trace_of, traces

GEOMETRIES = st.sampled_from([(65536, 4096), (16384, 8192), (8192, 2048)])


def lists(plan):
    return [plan.page_ids[a:b].tolist() for a, b in pairwise(plan.start.tolist())]


def addresses(requests, pages):
    """Each page id's (volume, page)."""
    asked = [(one["volume"], page) for one in requests for page in naive.own_pages(one)]
    return dict(zip(asked, pages.page_ids.tolist(), strict=True))


def same_plan(plan, planned, requests, pages):
    """The ids are the addresses, one for one, those never asked for numbered on."""
    known = addresses(requests, pages)
    for at in (at for one in planned for at in one):
        known.setdefault(at, len(known))
    assert lists(plan) == [[known[at] for at in one] for one in planned]
    assert plan.n_pages == len(known)


def reading(*offsets_and_pages, op=0):
    """A trace of requests (first page, pages) on one volume."""
    requests = [
        {"time_us": i, "op": op, "offset": first * 4096, "size": count * 4096, "volume": "a"}
        for i, (first, count) in enumerate(offsets_and_pages)
    ]
    return trace_of(requests)


def test_ids_are_unique():
    ids = [prefetch.id for prefetch in PREFETCHES]
    assert len(set(ids)) == len(ids)


@given(trace=traces(), n=st.integers(0, 9))
def test_next_equals_its_oracle(trace, n):
    pages, requests = expand_pages(trace), requests_of(trace)
    same_plan(NEXT.planned(trace, pages, {"n": n}), naive.next_pages(requests, n), requests, pages)


def ranges(data, n, per_block):
    bounds = st.lists(st.integers(0, per_block), min_size=n, max_size=n)
    return np.array(data.draw(bounds), np.int32), np.array(data.draw(bounds), np.int32)


@given(trace=traces(), geometry=GEOMETRIES, data=st.data())
def test_ranges_equal_their_oracle(trace, geometry, data):
    pages, requests = expand_pages(trace), requests_of(trace)
    low, high = ranges(data, len(trace), geometry[0] // geometry[1])
    plan = by_ranges(low, high, Geometry(*geometry), "model").planned(trace, pages, {})
    same_plan(plan, naive.range_pages(requests, low.tolist(), high.tolist(), *geometry), requests, pages)


@given(trace=traces(), writes=st.sampled_from(["back", "through", "around"]), n=st.integers(0, 5))
def test_streams_equal_their_oracle(trace, writes, n):
    pages, requests = expand_pages(trace), requests_of(trace)
    stream = prefetched_stream(trace, pages, NEXT.planned(trace, pages, {"n": n}), writes, "page")
    want = naive.woven(requests, naive.next_pages(requests, n), writes == "around")
    names = {}
    for what, identity in zip([what for what, _, _ in want], stream.page_ids.tolist(), strict=True):
        assert names.setdefault(what, identity) == identity
    assert len(set(names.values())) == len(names) <= stream.n_pages
    assert max(names.values()) < stream.n_pages
    assert stream.asked.tolist() == [not fetched for _, fetched, _ in want]
    assert stream.page_bytes.tolist() == [size for _, _, size in want]
    assert stream.writes == writes


@given(trace=traces(), writes=st.sampled_from(["back", "through", "around"]), unit=st.sampled_from(["page", "request"]))
def test_the_own_accesses_stay_as_they_are(trace, writes, unit):
    pages = expand_pages(trace)
    bare = build_stream(trace, pages, writes, unit)
    stream = prefetched_stream(trace, pages, NEXT.planned(trace, pages, {}), writes, unit)
    assert (stream.flags[~stream.asked] == PREFETCH).all()
    assert stream.flags[stream.asked].tolist() == bare.flags.tolist()
    assert stream.request_of[stream.asked].tolist() == bare.request_of.tolist()
    nothing = prefetched_stream(trace, pages, NONE.planned(trace, pages, {}), writes, unit)
    for name in ("page_ids", "flags", "page_bytes", "n_pages"):
        assert np.array_equal(getattr(nothing, name), getattr(bare, name))


def test_a_sequential_reader_finds_what_was_fetched():
    trace = reading(*((page, 1) for page in range(36)))
    pages = expand_pages(trace)
    stream = prefetched_stream(trace, pages, NEXT.planned(trace, pages, {}))
    run = simulate(Composition(LRU, ACCEPT_ALL), stream, 100)
    assert run.outcome[stream.asked].tolist() == ([ADMITTED] + [HIT] * 8) * 4
    assert (run.outcome == PREFETCHED).sum() == 4 * 8


def test_what_nobody_asks_for_takes_up_room():
    trace = reading(*((100 * page, 1) for page in (0, 1, 2, 0, 1, 2)))
    pages = expand_pages(trace)
    runs = [
        simulate(Composition(LRU, ACCEPT_ALL), prefetched_stream(trace, pages, plan), 6)
        for plan in (NONE.planned(trace, pages, {}), NEXT.planned(trace, pages, {"n": 4}))
    ]
    assert [(run.outcome == HIT).sum() for run in runs] == [3, 0]


def test_what_is_not_admitted_fetches_nothing_and_a_hit_neither():
    trace = reading((0, 1), (50, 1), (50, 1))
    pages = expand_pages(trace)
    stream = prefetched_stream(trace, pages, NEXT.planned(trace, pages, {"n": 1}))
    run = simulate(Composition(LRU, by_decision(np.array([0, 1, 1], np.bool_), "model")), stream, 10)
    assert run.outcome.tolist() == [0, 0, ADMITTED, PREFETCHED, HIT, 0]


def test_write_around_voids_what_was_prefetched():
    first, write, again = reading((0, 1), (1, 1)), reading((1, 1), op=1), reading((1, 1))
    trace = trace_of([*requests_of(first)[:1], *requests_of(write), *requests_of(again)])
    pages = expand_pages(trace)
    run = {}
    for writes in ("back", "around"):
        stream = prefetched_stream(trace, pages, NEXT.planned(trace, pages, {"n": 1}), writes)
        run[writes] = simulate(Composition(LRU, ACCEPT_ALL), stream, 10).outcome[stream.asked].tolist()
    assert run == {"back": [ADMITTED, HIT, HIT], "around": [ADMITTED, 0, ADMITTED]}


def test_write_around_fetches_the_version_that_holds():
    requests = [requests_of(reading((1, 1), op=1))[0], requests_of(reading((0, 1)))[0], requests_of(reading((1, 1)))[0]]
    trace = trace_of(requests)
    pages = expand_pages(trace)
    stream = prefetched_stream(trace, pages, NEXT.planned(trace, pages, {"n": 1}), "around")
    run = simulate(Composition(LRU, ACCEPT_ALL), stream, 10)
    assert stream.flags[0] & (WRITE | AROUND) == WRITE | AROUND
    assert run.outcome.tolist() == [0, ADMITTED, PREFETCHED, HIT, 0]


def test_the_last_page_of_the_address_space_has_no_next():
    trace = reading(((1 << 50) - 2, 1))
    plan = NEXT.planned(trace, expand_pages(trace), {"n": 5})
    assert plan.page_ids.tolist() == [1]


def test_a_part_of_a_trace_keeps_its_numbers():
    numbers = PageNumbers()
    numbers.number(reading((7, 3)))
    part = reading((8, 1), (20, 1))
    plan = NEXT.planned(part, numbers.number(part), {"n": 1})
    assert plan.page_ids.tolist() == [4, 5]  # page 9 is known, but this part asks for it nowhere
    assert plan.n_pages == 6


def test_misfits_are_refused():
    trace = reading((0, 1), (1, 1))
    pages = expand_pages(trace)
    plan = NEXT.planned(trace, pages, {})
    with pytest.raises(ConfigError, match=r"next: n = 2.5 is no whole number"):
        NEXT.planned(trace, pages, {"n": 2.5})
    with pytest.raises(ConfigError, match=r"next takes no m; it takes n"):
        NEXT.planned(trace, pages, {"m": 2})
    with pytest.raises(ConfigError, match=r"model: ranges of 1 and 1 requests, the trace has 2"):
        by_ranges(np.zeros(1, np.int32), np.zeros(1, np.int32), Geometry(), "model").planned(trace, pages, {})
    for low, high in ((-1, 3), (3, 65)):
        bounds = [np.array([0, bound], np.int32) for bound in (low, high)]
        with pytest.raises(
            ConfigError, match=rf"model: request 1 fetches segments {low} to {high}; a block has 0 to 64"
        ):
            by_ranges(*bounds, Geometry(), "model").planned(trace, pages, {})
    with pytest.raises(ConfigError, match=r"a plan of 2 requests and 10 pages for a stream of 1 and 1; plan for"):
        with_prefetch(Stream.of_pages(np.zeros(1, np.int32), 1), plan)
    for stream in (with_prefetch(build_stream(trace, pages), plan), build_stream(trace, pages, "around")):
        with pytest.raises(ConfigError, match=r"a plan fits a stream whose ids are pages, without prefetches; use"):
            with_prefetch(stream, plan)
    with pytest.raises(ConfigError, match=r"2 requests, pages of 1, ranges of 2 and 2"):
        NEXT.planned(trace, expand_pages(trace.rows(0, 1)), {})
    other = PageAccesses(np.array([0, 1, 3]), np.array([0, 1, 2], np.int32), 3)
    with pytest.raises(ConfigError, match=r"3 page accesses for a trace of 2; give the trace's own"):
        NEXT.planned(trace, other, {})


def test_too_much_to_fetch_is_refused():
    n = 40_000
    trace = reading(*((0, 1) for _ in range(n)))
    with pytest.raises(ConfigError, match=r"2621440000 pages to prefetch, more than a stream of 2147483647 accesses"):
        NEXT.planned(trace, expand_pages(trace), {"n": 65536})


def test_an_empty_trace_has_an_empty_plan():
    trace = reading((0, 1)).rows(0, 0)
    pages = expand_pages(trace)
    plan = NEXT.planned(trace, pages, {})
    assert isinstance(plan, Plan)
    assert len(prefetched_stream(trace, pages, plan)) == 0
