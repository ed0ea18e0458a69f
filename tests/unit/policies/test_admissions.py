"""Every registered admission: equal to its naive oracle before LRU and FIFO, and what each is for."""

from importlib import import_module
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cachezoo.errors import ConfigError
from cachezoo.kernels.admit.draws import draw, scaled
from cachezoo.kernels.outcome import ADMITTED, BYPASSED, HIT, PREFETCH, REQUEST, UNIT
from cachezoo.policies.admissions import ACCEPT_ALL, ADMISSIONS, BLOOM, COIN_FLIP, REJECT_X, by_decision
from cachezoo.policies.components import Composition
from cachezoo.policies.engine import simulate
from cachezoo.policies.evictions.classics import FIFO, LRU
from cachezoo.policies.stream import Stream
from tests.oracles import engine as naive
from tests.oracles.admit.coinflip import mixed
from tests.stream_data import PAGES, reads, streams

IDS = [admission.id for admission in ADMISSIONS]
SETTINGS = {
    "acceptall": st.just({}),
    "coinflip": st.fixed_dictionaries({"p": st.floats(0, 1), "seed": st.integers(0, 2**31 - 2)}),
    "rejectx": st.fixed_dictionaries({"window_capacities": st.floats(0, 5), "x": st.integers(1, 4)}),
    "bloom": st.fixed_dictionaries({"capacities": st.floats(0, 4), "bits_per_entry": st.floats(1, 64)}),
}
EVICTIONS = pytest.mark.parametrize("eviction", (LRU, FIFO), ids=("lru", "fifo"))


def cache(eviction, stream, capacity):
    return import_module(f"tests.oracles.evict.{eviction.id}").Cache(stream, capacity)


def gate(admission, stream, capacity, values):
    return import_module(f"tests.oracles.admit.{admission.id}").Gate(stream, capacity, **values)


def check(admission, eviction, stream, capacity, values):
    run = simulate(Composition(eviction, admission, admission_values=values), stream, capacity)
    outcome, victim = naive.simulate(
        stream, cache(eviction, stream, capacity), gate(admission, stream, capacity, values)
    )
    assert run.outcome.tolist() == outcome
    assert run.victim.tolist() == victim


def skewed(n=6000, pages=900, seed=3):
    return reads((np.random.default_rng(seed).zipf(1.1, n) % pages).tolist())


def test_ids_are_unique():
    assert len(set(IDS)) == len(IDS)


@EVICTIONS
@pytest.mark.parametrize("admission", ADMISSIONS, ids=IDS)
@given(data=st.data(), pages=PAGES, capacity=st.integers(1, 12))
def test_equals_its_oracle(admission, eviction, data, pages, capacity):
    check(admission, eviction, reads(pages), capacity, data.draw(SETTINGS[admission.id]))


@EVICTIONS
@pytest.mark.parametrize("admission", ADMISSIONS, ids=IDS)
@given(data=st.data(), stream=streams(), capacity=st.integers(1, 9))
def test_equals_its_oracle_on_requests(admission, eviction, data, stream, capacity):
    check(admission, eviction, stream, capacity, data.draw(SETTINGS[admission.id]))


@pytest.mark.parametrize("admission", ADMISSIONS, ids=IDS)
def test_equals_its_oracle_on_a_long_skewed_trace(admission):
    check(admission, LRU, skewed(2500, 300), 40, {})


@pytest.mark.parametrize("admission", ADMISSIONS, ids=IDS)
@pytest.mark.parametrize("capacity", (1, 10**9), ids=("one page", "more than there are"))
def test_any_capacity(admission, capacity):
    run = simulate(Composition(LRU, admission), skewed(), capacity)
    assert (run.outcome == ADMITTED).any()


@pytest.mark.parametrize("x", (1, 2, 3))
def test_rejectx_admits_the_miss_after_x(x):
    stream = reads([7] * 6)
    run = simulate(Composition(LRU, REJECT_X, admission_values={"x": x}), stream, 10)
    assert run.outcome.tolist() == [BYPASSED] * x + [ADMITTED] + [HIT] * (5 - x)


def test_rejectx_that_never_forgets_is_libcachesims_bloom_filter(tmp_path):
    import libcachesim as lcs

    stream = skewed(20_000)
    rows = np.zeros(len(stream), np.dtype([("time", "<u4"), ("id", "<u8"), ("size", "<u4"), ("next", "<i8")]))
    rows["id"], rows["size"] = stream.page_ids, 1
    rows.tofile(path := tmp_path / "ids.bin")
    parameters = lcs.ReaderInitParam(ignore_obj_size=True)
    for capacity in (10, 100, 400):
        reader = lcs.TraceReader(str(path), lcs.TraceType.ORACLE_GENERAL_TRACE, parameters)
        peer = lcs.LRU(cache_size=capacity, hashpower=14, admissioner=lcs.BloomFilterAdmissioner())
        values = {"window_capacities": 1e6}
        run = simulate(Composition(LRU, REJECT_X, admission_values=values), stream, capacity)
        assert (run.outcome != HIT).mean() == pytest.approx(peer.process_trace(reader)[0], abs=1e-12)


def test_coinflip_admits_about_p_and_more_p_only_adds():
    stream = reads(range(20_000))
    entered = [
        simulate(Composition(LRU, COIN_FLIP, admission_values={"p": p}), stream, 10).outcome == ADMITTED
        for p in (0.0, 0.2, 0.5, 1.0)
    ]
    assert [part.mean() for part in entered] == pytest.approx([0, 0.2, 0.5, 1], abs=0.01)
    assert all((fewer <= more).all() for fewer, more in pairwise(entered))


def test_coinflip_of_another_seed_draws_anew():
    stream = reads(range(20_000))
    runs = [simulate(Composition(LRU, COIN_FLIP, admission_values={"seed": seed}), stream, 10) for seed in (0, 1)]
    agree = (runs[0].outcome == runs[1].outcome).mean()
    assert agree == pytest.approx(0.5, abs=0.02)


def test_draws_are_uniform_and_the_same_everywhere():
    draws = np.array([draw(5, i) for i in range(40_000)])
    counts = np.bincount(draws >> 28, minlength=16)
    assert ((counts - 2500) ** 2 / 2500).sum() < 38  # chi-squared, 15 degrees of freedom, 0.1 %
    plain = getattr(draw, "py_func", draw)
    for seed, number in ((0, 0), (0, 1), (7, 2**31 - 1), (2**31 - 2, 12345)):
        assert draw(seed, number) == plain(seed, np.int32(number)) == mixed(mixed(number) ^ mixed(seed ^ 0x5BD1E995))


@pytest.mark.parametrize("size", (1, 8, 65_535, 65_536, 10**9 + 7, 2**31 + 1, 2**32, 64 * 2**31))
def test_draws_are_scaled_to_filters_of_any_size(size):
    for value in (0, 1, 12_345, 2**31 - 1, 2**31, 2**32 - 1):
        assert scaled(value, size) == value * size // 2**32


def test_bloom_remembers_one_to_two_filters_of_pages():
    first = list(range(150))
    stream = reads([*first, *first])  # filters of 100: the second pass finds what the first put in, and renews nothing
    run = simulate(Composition(LRU, BLOOM, admission_values={"bits_per_entry": 40}), stream, 100)
    assert run.outcome.tolist() == [BYPASSED] * 150 + [ADMITTED] * 150
    long = list(range(250))
    run = simulate(Composition(LRU, BLOOM, admission_values={"bits_per_entry": 40}), reads([*long, *long]), 100)
    assert run.outcome[250:350].tolist() == [BYPASSED] * 100  # the filter of the first 100 was emptied


def test_bloom_lets_about_one_stranger_in_a_hundred_pass():
    stream = reads(range(30_000))
    run = simulate(Composition(LRU, BLOOM), stream, 10_000)
    strangers = (run.outcome[10_000:] == ADMITTED).mean()
    assert 0.001 < strangers < 0.02


@pytest.mark.parametrize("admission", (COIN_FLIP, REJECT_X, BLOOM), ids=lambda part: part.id)
def test_bad_values_are_refused_in_one_line(admission):
    for parameter in admission.parameters:
        for value in (parameter.low - 1, parameter.high + 1, float("nan")):
            with pytest.raises(ConfigError, match=rf"^{admission.id}: {parameter.name} = .* outside "):
                simulate(Composition(LRU, admission, admission_values={parameter.name: value}), reads([1]), 1)


def test_counts_are_whole():
    with pytest.raises(ConfigError, match=r"rejectx: x = 1.5 is no whole number; misses that stay out"):
        simulate(Composition(LRU, REJECT_X, admission_values={"x": 1.5}), reads([1]), 1)


def test_decisions_for_requests_accesses_or_all():
    first, more, fetched = REQUEST | UNIT, UNIT, PREFETCH
    flags = np.array([first, more, fetched, first, more, fetched, first], np.uint8)
    stream = Stream(np.arange(7, dtype=np.int32), flags, np.full(7, 4096, np.int32), 7)
    each = [
        by_decision(np.array(decided, np.bool_), "model").make(stream, 1, {}).decided.tolist()
        for decided in ([1, 0, 1], [1, 1, 0, 0, 1], [1, 1, 0, 0, 0, 0, 1])
    ]
    assert each == [[1, 1, 0, 0, 0, 0, 1]] * 3
    with pytest.raises(ConfigError, match=r"model: 4 decisions for a stream of 3 requests and 5 accesses; give one"):
        by_decision(np.ones(4, np.bool_), "model").make(stream, 1, {})


def test_accept_all_is_a_coin_that_always_admits():
    stream = skewed()
    coin = simulate(Composition(LRU, COIN_FLIP, admission_values={"p": 1}), stream, 50)
    assert coin.outcome.tolist() == simulate(Composition(LRU, ACCEPT_ALL), stream, 50).outcome.tolist()
