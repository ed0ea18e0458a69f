"""W-TinyLFU and CACHEUS beyond their naive oracles' defaults: parameters, known behaviour, libCacheSim's way."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cachezoo.errors import ConfigError
from cachezoo.kernels.outcome import HIT
from cachezoo.kernels.sketch import halve, note, noted, see, seen
from cachezoo.policies.admissions import ACCEPT_ALL
from cachezoo.policies.components import Composition
from cachezoo.policies.engine import hits_only, simulate
from cachezoo.policies.evictions.classics import CACHEUS, LRU, WTINYLFU
from cachezoo.policies.stream import Stream
from tests.oracles import engine as naive
from tests.oracles.admit.acceptall import Gate
from tests.oracles.evict import cacheus, wtinylfu

PAGES = st.lists(st.integers(0, 30), min_size=1, max_size=200)


def dense(pages):
    names = {page: i for i, page in enumerate(dict.fromkeys(np.asarray(pages).tolist()))}
    return np.array([names[page] for page in np.asarray(pages).tolist()], np.int32), len(names)


def hit_ratio(eviction, pages, capacity, **values):
    page_ids, n_pages = dense(pages)
    return (hits_only(Composition(eviction, ACCEPT_ALL, values), page_ids, n_pages, capacity) == HIT).mean()


def check(eviction, cache, pages, capacity, values):
    stream = Stream.of_pages(*dense(pages))
    run = simulate(Composition(eviction, ACCEPT_ALL, values), stream, capacity)
    outcome, victim = naive.simulate(stream, cache(stream, capacity, **values), Gate(stream, capacity))
    assert run.outcome.tolist() == outcome
    assert run.victim.tolist() == victim


@given(PAGES, st.integers(1, 30), st.sampled_from([0.0, 0.1, 0.5, 0.99]), st.sampled_from([0.0, 0.5, 1.0]))
def test_wtinylfu_with_other_shares_and_a_short_sample_equals_its_oracle(pages, capacity, window, protected):
    check(WTINYLFU, wtinylfu.Cache, pages, capacity, {"window": window, "protected": protected, "sample": 2})


@given(PAGES, st.integers(1, 30), st.sampled_from([0.0, 0.3, 0.5, 1.0]), st.integers(0, 5))
def test_cacheus_with_other_shares_and_seeds_equals_its_oracle(pages, capacity, scan, seed):
    check(CACHEUS, cacheus.Cache, pages, capacity, {"scan": scan, "seed": seed})


@pytest.mark.parametrize("capacity", [3, 20])
def test_cacheus_equals_its_oracle_over_many_periods(capacity):
    rng = np.random.default_rng(3)
    phases = [rng.zipf(1.3, 1500) % 300, np.arange(200), np.tile(np.arange(500, 590), 8), rng.integers(0, 900, 800)]
    check(CACHEUS, cacheus.Cache, np.concatenate(phases), capacity, {})


def test_a_count_is_never_below_the_truth_nor_above_the_limit():
    rng = np.random.default_rng(1)
    pages = rng.zipf(1.3, 3000) % 500
    table, theirs = np.zeros(640, np.uint8), np.zeros(640, np.uint16)
    for page in pages.tolist():
        see(table, 15, page)
        note(theirs, 10, page)
    truth = np.bincount(pages, minlength=500)
    counts = np.array([seen(table, page) for page in range(500)])
    assert (counts >= np.minimum(truth, 15)).all()
    assert counts.max() == 15
    assert all(noted(theirs, 10, page) >= truth[page] for page in range(500))
    halve(table)
    assert [seen(table, page) for page in range(500)] == (counts // 2).tolist()


def test_a_scan_does_not_pass_the_filter():
    hot = np.tile(np.arange(80), 10)
    pages = np.concatenate([hot, np.arange(1000, 3000), hot])
    assert hit_ratio(WTINYLFU, pages, 100) > hit_ratio(LRU, pages, 100) + 0.02
    assert hit_ratio(CACHEUS, pages, 100) > hit_ratio(LRU, pages, 100) + 0.02


def test_a_cycle_larger_than_the_cache_keeps_a_part_of_itself():
    pages = np.tile(np.arange(120), 50)
    assert hit_ratio(LRU, pages, 100) == 0
    assert hit_ratio(CACHEUS, pages, 100) > 0.5


def test_old_fame_fades():
    pages = np.concatenate([np.tile(np.arange(100), 20), np.tile(np.arange(200, 290), 60)])
    assert hit_ratio(WTINYLFU, pages, 100, sample=2) > hit_ratio(WTINYLFU, pages, 100, sample=1000) + 0.05


def test_cacheus_depends_on_its_seed_alone():
    pages = np.random.default_rng(2).zipf(1.1, 5000) % 900
    again = [hit_ratio(CACHEUS, pages, 100, seed=seed) for seed in (0, 0, 1)]
    assert again[0] == again[1] != again[2]


@pytest.mark.parametrize(("eviction", "values", "named"), [
    (WTINYLFU, {"window": 1.0}, "window = 1"),
    (WTINYLFU, {"sample": 0.5}, "sample = 0.5"),
    (CACHEUS, {"seed": -1}, "seed = -1"),
    (CACHEUS, {"window": 0.1}, "takes no window"),
    (CACHEUS, {"seed": 0.5}, "seed = 0.5 is no whole number"),
    (WTINYLFU, {"libcachesim": 0.5}, "libcachesim = 0.5 is no whole number"),
])  # fmt: skip
def test_refusals(eviction, values, named):
    with pytest.raises(ConfigError, match=named):
        hit_ratio(eviction, [1, 2, 3], 2, **values)


@pytest.mark.parametrize("capacity", [505, 1000, 1002])
def test_libcachesims_way_misses_as_libcachesim(capacity, tmp_path):
    lcs = pytest.importorskip("libcachesim")
    page_ids, _ = dense(np.random.default_rng(4).zipf(1.1, 150_000) % 20_000)
    rows = np.zeros(len(page_ids), [("time", "<u4"), ("id", "<u8"), ("size", "<u4"), ("next", "<i8")])
    rows["id"], rows["size"], rows["next"] = page_ids, 1, -1
    path = tmp_path / "trace.oracleGeneral.bin"
    rows.tofile(path)
    own = lcs.ReaderInitParam(ignore_obj_size=True)
    reader = lcs.TraceReader(str(path), lcs.TraceType.ORACLE_GENERAL_TRACE, own)
    theirs = 1 - float(lcs.WTinyLFU(cache_size=capacity, hashpower=16).process_trace(reader)[0])
    ours = hit_ratio(WTINYLFU, page_ids, capacity, sample=32, libcachesim=1)
    assert ours == pytest.approx(theirs, abs=0.003)
