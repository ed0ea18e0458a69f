"""Evictions that adapt: what their papers say of them, their parameters, and where they keep pages out."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cachezoo.errors import ConfigError
from cachezoo.kernels.evict import arc, larc, lirs, marc
from cachezoo.kernels.outcome import ADMITTED, BYPASSED, HIT
from cachezoo.policies.admissions import ACCEPT_ALL
from cachezoo.policies.components import Composition
from cachezoo.policies.engine import hits_only, simulate
from cachezoo.policies.evictions.classics import ARC, LARC, LIRS, LRU, MARC
from cachezoo.policies.stream import Stream
from cachezoo.traces.pages import expand_pages
from tests.oracles import engine as naive
from tests.oracles.admit import acceptall
from tests.oracles.evict import lirs as naive_lirs
from tests.oracles.evict import marc as naive_marc
from tests.trace_data import read, sample

PAGES = st.lists(st.integers(0, 15), min_size=1, max_size=200)


def run(eviction, pages, capacity, n_pages=None, **values):
    ids = np.asarray(pages, np.int32)
    stream = Stream.of_pages(ids, n_pages or int(ids.max()) + 1)
    return simulate(Composition(eviction, ACCEPT_ALL, values), stream, capacity)


def state_after(eviction, pages, capacity, n_pages, **values):
    """The eviction's state once the pages have been served."""
    kept = []

    def make(*given):
        kept.append(eviction.make(*given))
        return kept[0]

    hits_only(
        Composition(replace(eviction, make=make), ACCEPT_ALL, values), np.array(pages, np.int32), n_pages, capacity
    )
    return kept[0]


def same_as(oracle, eviction, pages, capacity, values):
    stream = Stream.of_pages(np.array(pages, np.int32), 16)
    ours = simulate(Composition(eviction, ACCEPT_ALL, values), stream, capacity)
    outcome, victim = naive.simulate(stream, oracle(stream, capacity, **values), acceptall.Gate(stream, capacity))
    assert ours.outcome.tolist() == outcome
    assert ours.victim.tolist() == victim


def test_arc_and_lirs_keep_what_is_used_through_a_scan():
    hot = np.tile(np.arange(50), 4)
    pages = np.concatenate([hot, np.arange(100, 1100), np.arange(50)])
    hits = {e.id: int((run(e, pages, 60).outcome[-50:] == HIT).sum()) for e in (LRU, ARC, LIRS, LARC)}
    assert hits["lru"] == 0
    assert hits["lirs"] == hits["larc"] == 50
    assert hits["arc"] > 40


def test_the_target_of_arc_moves_by_the_ratio_of_the_histories():
    pages = [0, 1, 0, 1, 2, 3, 4]  # at a target of 0, page 2 leaves T1
    assert state_after(ARC, pages, 4, 40).place[2] == arc.B1
    state = state_after(ARC, [*pages, 2], 4, 40)
    assert (state.place[2], state.target[0]) == (arc.T2, 1.0)
    pages = (np.random.default_rng(2).zipf(1.2, 2000) % 200).tolist()
    moved = 0
    for end in range(100, 400):
        before, after = (state_after(ARC, pages[:k], 20, 200) for k in (end, end + 1))
        (b1, b2), target = before.length[[arc.B1, arc.B2]].tolist(), before.target[0]
        where = before.place[pages[end]]
        if where == arc.B1:
            assert after.target[0] == min(20.0, target + max(1.0, b2 / b1))
        elif where == arc.B2:
            assert after.target[0] == max(0.0, target - max(1.0, b1 / b2))
        else:
            assert after.target[0] == target
        moved += int(where in (arc.B1, arc.B2))
    assert moved > 10


def test_arc_remembers_no_more_than_twice_its_capacity():
    pages = (np.random.default_rng(3).zipf(1.2, 4000) % 500).tolist()
    for end in range(1, 4000, 37):
        state = state_after(ARC, pages[:end], 20, 500)
        length = state.length
        assert length[arc.T1] + length[arc.T2] <= 20
        assert length[arc.T1] + length[arc.B1] <= 20
        assert length[:4].sum() <= 40
        assert 0 <= state.target[0] <= 20


def test_lirs_hits_in_a_loop_that_is_longer_than_the_cache():
    laps = np.tile(np.arange(120), 10)
    assert (run(LRU, laps, 100).outcome == HIT).sum() == 0
    hits = (run(LIRS, laps, 100).outcome == HIT).reshape(10, 120).sum(axis=1)
    assert hits[1:].tolist() == [99] * 9


def test_lirs_with_all_of_the_cache_for_hir_pages_is_lru():
    pages = (np.random.default_rng(4).zipf(1.2, 3000) % 90).tolist()
    assert run(LIRS, pages, 30, hir=1.0).outcome.tolist() == run(LRU, pages, 30).outcome.tolist()


@pytest.mark.parametrize("stack", [1.0, 1.5, 3.0])
def test_the_stack_of_lirs_is_bounded_and_its_lowest_page_is_lir(stack):
    pages = np.concatenate([np.random.default_rng(6).zipf(1.1, 3000) % 600, np.arange(600)]).tolist()
    for end in range(1, len(pages), 41):
        state = state_after(LIRS, pages[:end], 40, 600, hir=0.1, stack=stack)
        low, high, queue = state.counts.tolist()
        assert low <= 36
        assert low + high <= int(stack * 40)
        assert np.isin(state.kind, (lirs.HIR, lirs.GHOST)).sum() == high
        assert np.isin(state.kind, (lirs.HIR, lirs.QUEUED)).sum() == queue <= 4
        if high:
            lowest = [int(state.before[600 + which]) for which in (lirs.LOW, lirs.HIGH)]
            assert state.last[lowest[0]] < state.last[lowest[1]]


@given(pages=PAGES, capacity=st.integers(1, 14), hir=st.floats(0, 1), stack=st.floats(1, 3))
def test_lirs_equals_its_oracle_with_any_parameters(pages, capacity, hir, stack):
    same_as(naive_lirs.Cache, LIRS, pages, capacity, {"hir": hir, "stack": stack})


def test_larc_admits_at_the_second_miss_alone():
    assert run(LARC, range(300), 20).outcome.tolist() == [BYPASSED] * 300
    assert run(LARC, [0, 0, 0, 1, 1], 20).outcome.tolist() == [BYPASSED, ADMITTED, HIT, BYPASSED, ADMITTED]


def test_the_filter_of_larc_grows_with_misses_and_shrinks_with_hits():
    once = list(range(400))
    state = state_after(LARC, once, 50, 400)
    assert state.size[0] == 45.0
    assert state.length[larc.FILTER] == 45
    assert state_after(LARC, once + [399] * 200, 50, 400).size[0] == 5.0


def mode_after(pages):
    return state_after(MARC, pages, 50, 5000).counts[marc.MODE]


def test_marc_finds_the_state_of_the_workload():
    steady = np.tile(np.arange(40), 10).tolist()
    assert mode_after(steady) == marc.STABLE
    assert mode_after(range(1000)) == marc.UNIQUE
    assert mode_after(steady + list(range(100, 200))) == marc.UNSTABLE
    assert mode_after(steady[:60]) == marc.UNSTABLE  # not judged before two windows have passed
    # Seen twice within the filter's reach, over and over: no longer unique.
    again = [page for k in range(1000, 3000) for page in (k, k - 2)]
    assert mode_after([*range(1000), *again]) == marc.UNSTABLE


def test_marc_keeps_one_time_pages_out_once_it_knows_and_is_full():
    pages = np.concatenate([np.tile(np.arange(60), 10), np.arange(100, 125), np.tile(np.arange(60), 2)])
    run_marc = run(MARC, pages, 60)
    assert (run_marc.outcome[600:625] == BYPASSED).all()
    assert (run_marc.outcome[625:] == HIT).all()
    one_time = run(MARC, range(5000), 50).outcome
    assert (one_time[:50] == ADMITTED).all()
    assert (one_time[100:] == BYPASSED).all()


def test_marc_is_arc_while_unstable_and_where_all_pages_fit():
    pages = (np.random.default_rng(8).zipf(1.2, 3000) % 300).tolist()
    never = run(MARC, pages, 40, window=100.0).outcome
    assert never.tolist() == run(ARC, pages, 40).outcome.tolist()
    fits = run(MARC, pages, 10**9).outcome
    assert (fits != BYPASSED).all()
    assert (fits == ADMITTED).sum() == len(set(pages))


@given(
    pages=PAGES,
    capacity=st.integers(1, 10),
    window=st.sampled_from([0.001, 0.5, 1.0, 2.0]),
    bounds=st.fixed_dictionaries({name: st.floats(0, 1) for name in marc.Thresholds._fields}),
)
def test_marc_equals_its_oracle_with_any_parameters(pages, capacity, window, bounds):
    same_as(naive_marc.Cache, MARC, pages, capacity, {"window": window, **bounds})


def test_parameters_outside_their_range_are_refused():
    with pytest.raises(ConfigError, match=r"lirs: stack = 0\.5 is outside"):
        run(LIRS, [0, 1], 1, stack=0.5)
    with pytest.raises(ConfigError, match="arc takes no hir"):
        run(ARC, [0, 1], 1, hir=0.5)


# Misses at 1, 5, 10 and 20 % of the distinct pages, rounded; libCacheSim 0.3.5 has those of ARC exactly, those of LIRS
# within 33.
MISSES = {"arc": (499_193, 356_591, 299_245, 251_375), "lirs": (533_531, 368_848, 313_955, 269_153)}
# Hit ratios in per cent of the ARC paper on the same trace, by capacity; at 1,000 ours is 38.945.
ARC_PAPER = {1000: 38.93, 2000: 46.08, 5000: 55.25, 10000: 61.87, 15000: 65.40}


@pytest.fixture(scope="module")
def oltp():
    return expand_pages(read(sample("lbn/OLTP.lis.zst")))


@pytest.mark.needs("public_traces")
@pytest.mark.parametrize("eviction", [ARC, LIRS], ids=["arc", "lirs"])
def test_misses_on_oltp(oltp, eviction):
    for percent, misses in zip((1, 5, 10, 20), MISSES[eviction.id], strict=True):
        capacity = round(oltp.n_pages * percent / 100)
        outcome = hits_only(Composition(eviction, ACCEPT_ALL), oltp.page_ids, oltp.n_pages, capacity)
        assert np.count_nonzero(outcome != HIT) == misses


@pytest.mark.needs("public_traces")
def test_hit_ratios_of_the_arc_paper(oltp):
    for capacity, percent in ARC_PAPER.items():
        outcome = hits_only(Composition(ARC, ACCEPT_ALL), oltp.page_ids, oltp.n_pages, capacity)
        assert 100 * np.mean(outcome == HIT) == pytest.approx(percent, abs=0.02)
