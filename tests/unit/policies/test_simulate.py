import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cachezoo.coded import Coded
from cachezoo.errors import ConfigError
from cachezoo.kernels.outcome import HIT
from cachezoo.policies.registry import OPTIMUM, POLICIES, build, classics, policy
from cachezoo.policies.simulate import (
    Simulator,
    simulate,
    simulate_admission,
)
from cachezoo.traces.pages import expand_pages
from cachezoo.traces.table import Trace, TraceMeta

META = TraceMeta("t", "web", "csv", "0" * 64)
ACCESSES = st.lists(st.integers(0, 11), min_size=1, max_size=120)
RULED = [entry.id for entry in POLICIES.values() if entry.kind != "online"]


def _trace(page_numbers, ops=None, pages_each=1):
    n = len(page_numbers)
    return Trace(
        np.arange(n, dtype=np.int64),
        np.array(ops if ops is not None else [0] * n, np.uint8),
        np.array(page_numbers, np.int64) * 4096,
        np.full(n, 4096 * pages_each, np.int64),
        Coded.constant("0", n),
        META,
    )


def _dense(pages):
    names = {page: i for i, page in enumerate(dict.fromkeys(pages))}
    return np.array([names[page] for page in pages], np.int32), len(names)


def test_counts_hits_and_writes_by_hand():
    trace = _trace([1, 2, 1, 3, 2], ops=[0, 1, 1, 0, 0])
    result = simulate(trace, expand_pages(trace), "lru", 2, 0)
    assert (result.requests, result.page_accesses, result.hits) == (5, 5, 1)
    assert result.ssd_writes == 4 + 1  # four admissions, one write hit
    assert (result.replacements, result.dirty_evictions) == (2, 2)


def test_warmup_is_replayed_and_not_counted():
    trace = _trace([1, 2, 1, 2], pages_each=1)
    result = simulate(trace, expand_pages(trace), "lru", 2, 2)
    assert (result.requests, result.page_accesses, result.hits, result.hit_ratio) == (2, 2, 2, 1.0)


def test_unknown_policy_and_zero_capacity_are_refused():
    trace = _trace([1])
    with pytest.raises(ConfigError, match=r"lruu is unknown, did you mean lru\?"):
        policy("lruu")
    with pytest.raises(ConfigError, match="at least one page"):
        simulate(trace, expand_pages(trace), "lru", 0, 0)


def test_a_duplicate_policy_raises():
    entry = POLICIES["lru"]
    with pytest.raises(ConfigError, match="registered twice"):
        build((entry, entry))


def test_a_composition_is_the_registered_policy_where_there_is_one():
    assert policy("rejectx+lru") is policy("rejectx") is POLICIES["rejectx"]
    assert policy(" acceptall + arc ") is POLICIES["arc"]
    composed = policy("coinflip(p=0.25)+arc+next(n=2)")
    assert (composed.id, composed.kind) == ("coinflip(p=0.25)+arc+next(n=2)", "composed")
    assert composed.id not in classics()


def test_a_prefetch_serves_a_run_of_reads():
    trace = _trace([*range(40)])
    pages = expand_pages(trace)
    simulate = Simulator(trace, pages)
    plain, ahead = (simulate.run(name, 20, 0) for name in ("lru", "lru+next(n=3)"))
    assert plain.hits == 0 and plain.prefetched == 0
    assert (ahead.hits, ahead.prefetched, ahead.prefetch_hits) == (30, 30, 30)
    assert len(ahead.outcome) == len(pages.page_ids)


@pytest.mark.parametrize("writes", ["back", "through", "around"])
@pytest.mark.parametrize("policy_id", RULED)
def test_every_policy_runs_with_every_write_policy(policy_id, writes):
    rng = np.random.default_rng(9)
    trace = _trace(rng.zipf(1.3, 300) % 50, rng.integers(0, 2, 300), pages_each=2)
    pages = expand_pages(trace)
    found = Simulator(trace, pages, writes, "request").run(policy_id, 12, 30)
    assert 0 < found.hits < found.page_accesses == len(pages.page_ids) - 30
    assert found.request_hits <= found.requests and found.byte_hits <= found.bytes
    assert (found.dirty_evictions > 0) is (writes == "back" and policy_id != "static_hindsight")  # whose pages stay
    best = Simulator(trace, pages, writes, "request").run(OPTIMUM, 12, 0)
    assert Simulator(trace, pages, writes, "request").run(policy_id, 12, 0).hits <= best.hits


def test_a_model_decides_for_whole_requests():
    trace = _trace([0, 10, 0, 10], pages_each=2)
    pages = expand_pages(trace)
    found = simulate_admission(trace, pages, "m", np.array([True, False, True, False]), 8, 0)
    assert (found.policy, found.hits, found.ssd_writes) == ("m", 2, 2)
    with pytest.raises(ConfigError, match="3 decisions"):
        simulate_admission(trace, pages, "m", np.ones(3, np.bool_), 8, 0)


@given(pages=ACCESSES, capacity=st.integers(1, 9))
def test_no_policy_beats_the_optimum(pages, capacity):
    ids, n = _dense(pages)
    hits = {key: int((POLICIES[key].hits(ids, n, capacity) == HIT).sum()) for key in RULED}
    assert max(hits.values()) == hits[OPTIMUM]


@given(pages=ACCESSES, capacity=st.integers(1, 9), cut=st.integers(1, 119))
def test_no_classic_sees_the_future(pages, capacity, cut):
    ids, n = _dense(pages)
    changed = ids.copy()
    changed[cut:] = 0
    for key in classics():
        before, after = POLICIES[key].hits(ids, n, capacity), POLICIES[key].hits(changed, n, capacity)
        assert before[:cut].tolist() == after[:cut].tolist()
