"""Offline bounds over streams: what is not asked of the cache is no part of them."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cachezoo.errors import ConfigError
from cachezoo.kernels.outcome import ADMITTED, AROUND, BYPASSED, HIT, NONE, PREFETCH, REQUEST, UNIT, WRITE
from cachezoo.policies import bounds
from cachezoo.policies.registry import POLICIES
from cachezoo.policies.stream import Stream
from tests.oracles import bounds as naive
from tests.oracles.benefit import naive_benefit
from tests.oracles.oracle_cache import naive_oracle
from tests.page_data import service_times

EACH = pytest.mark.parametrize("bound", bounds.BOUNDS, ids=lambda bound: bound.id)


@st.composite
def streams(draw):
    """Requests of one to three pages, some around the cache, some followed by a prefetch."""
    page_ids, flags = [], []
    for _ in range(draw(st.integers(1, 30))):
        kind = draw(st.sampled_from([0, 0, WRITE, WRITE | AROUND]))
        for k, page in enumerate(draw(st.lists(st.integers(0, 9), min_size=1, max_size=3, unique=True))):
            page_ids.append(page)
            flags.append(kind | (REQUEST | UNIT if k == 0 else UNIT))
        if draw(st.booleans()):
            page_ids.append(draw(st.integers(0, 9)))
            flags.append(PREFETCH)
    ids = np.array(page_ids, np.int32)
    return Stream(ids, np.array(flags, np.uint8), np.full(len(ids), 4096, np.int32), 10)


def served_of(stream):
    return np.flatnonzero(stream.flags & (PREFETCH | AROUND) == 0)


def requests_of(stream):
    """Served page ids, request by request, whether each is a write, and the request's number in the stream."""
    requests, writes, numbers = [], [], []
    for k in served_of(stream):
        if not numbers or numbers[-1] != stream.request_of[k]:
            requests.append([])
            writes.append(int(stream.flags[k] & WRITE != 0))
            numbers.append(int(stream.request_of[k]))
        requests[-1].append(int(stream.page_ids[k]))
    return requests, writes, numbers


def benefit_run(stream, capacity, t_hdd, t_ssd, horizon):
    requests, writes, numbers = requests_of(stream)
    ids = [page for request in requests for page in request]
    times = [[t[k] for k in numbers] for t in (t_hdd, t_ssd)]
    worth = naive_benefit(requests, writes, *times, horizon * capacity)
    run = naive_oracle(ids, worth, capacity)
    codes = {"hit": HIT, "admitted": ADMITTED, "free": ADMITTED, "bypassed": BYPASSED}
    gone = {end: ids[first] for first, end in [stay for stay in run.stays if stay is not None] if end < len(ids)}
    return [codes[name] for name in run.outcome], [gone.get(p, NONE) for p in range(len(ids))]


def relaxed_run(ids, capacity):
    return naive.relaxed_belady(ids, capacity, min(naive.boundary(ids, capacity), len(ids) + 1))


def naive_run(bound, stream, capacity):
    ids = stream.page_ids[served_of(stream)].tolist()
    if bound.id == "benefit":
        ones = np.ones(len(stream))
        return benefit_run(stream, capacity, ones, ones, bounds.HORIZON)
    if bound.id == "static_hindsight":
        return naive.static_hindsight(ids, capacity), [NONE] * len(ids)
    if bound.id == "relaxed_belady":
        return relaxed_run(ids, capacity)
    return naive.min_always(ids, capacity, bound.id == "belady_bypass")


@EACH
@given(stream=streams(), capacity=st.integers(1, 8))
def test_serves_what_is_asked_of_the_cache_and_nothing_else(bound, stream, capacity):
    run = bound.simulate(stream, capacity)
    outcome, victim = np.full(len(stream), BYPASSED), np.full(len(stream), NONE)
    served = served_of(stream)
    outcome[served], victim[served] = naive_run(bound, stream, capacity)
    assert run.outcome.tolist() == outcome.tolist()
    assert run.victim.tolist() == victim.tolist()


@EACH
def test_a_capacity_below_one_page_is_refused_and_a_stream_of_nothing_is_not(bound):
    nothing = Stream.of_pages(np.zeros(0, np.int32), 0)
    assert len(bound.simulate(nothing, 1).outcome) == 0
    for run in (lambda: bound.simulate(nothing, 0), lambda: bound.hits(nothing.page_ids, 0, 0)):
        with pytest.raises(ConfigError, match="capacity 0"):
            run()


def test_ids_are_distinct_and_the_optimum_is_above_all_others():
    assert len({bound.id for bound in bounds.BOUNDS}) == len(bounds.BOUNDS)
    rng = np.random.default_rng(3)
    stream = Stream.of_pages((rng.zipf(1.2, 4000) % 300).astype(np.int32), 300)
    outcomes = {bound.id: bound.simulate(stream, 30).outcome for bound in bounds.BOUNDS}
    for bound in bounds.BOUNDS:
        assert bound.hits(stream.page_ids, 300, 30).tolist() == outcomes[bound.id].tolist()
    hits = {name: int((outcome == HIT).sum()) for name, outcome in outcomes.items()}
    assert max(hits.values()) == hits["belady_bypass"]
    assert hits["belady"] > hits["relaxed_belady"] > (POLICIES["lru"].hits(stream.page_ids, 300, 30) == HIT).sum()


@given(stream=streams(), capacity=st.integers(1, 8), horizon=st.integers(1, 4))
def test_the_benefit_oracle_weighs_by_service_times(stream, capacity, horizon):
    t_hdd, t_ssd = service_times(int(stream.request_of[-1]) + 1, horizon)
    run = bounds.benefit(stream, capacity, t_hdd, t_ssd, horizon)
    served = served_of(stream)
    expected = benefit_run(stream, capacity, t_hdd, t_ssd, horizon)
    assert (run.outcome[served].tolist(), run.victim[served].tolist()) == expected


def test_the_benefit_oracle_refuses_times_of_other_requests():
    stream = Stream.of_pages(np.zeros(3, np.int32), 1)
    with pytest.raises(ConfigError, match="2 service times for 3 requests"):
        bounds.benefit(stream, 1, np.ones(2))


@given(stream=streams(), capacity=st.integers(1, 4))
def test_weighted_bounds_hold_the_optimum_of_equal_hits(stream, capacity):
    limits = bounds.weighted_bounds(stream, np.ones(len(stream)), capacity)
    hits = (bounds.belady_bypass(stream, capacity).outcome == HIT).sum()
    assert limits.lower <= hits <= limits.upper + 1e-9
