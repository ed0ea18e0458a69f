"""`vrm` as a policy: what is counted of it, what it refuses, and where it may not stand."""

import dataclasses

import numpy as np
import pytest

from cachezoo.curves.measure import curves
from cachezoo.errors import ConfigError
from cachezoo.kernels.outcome import ADMITTED, BYPASSED, HIT, NONE
from cachezoo.kernels.virtual.queues import QUEUES, moves
from cachezoo.kernels.virtual.vrm import Settings, simulate
from cachezoo.policies.prefetches import prefetched_stream
from cachezoo.policies.registry import POLICIES, classics, policy
from cachezoo.policies.simulate import Simulator
from cachezoo.policies.spec import parse
from cachezoo.policies.stream import Stream, build_stream
from cachezoo.policies.virtual import virtual_run
from cachezoo.questions.tiers.hierarchy import parse_hierarchy
from cachezoo.questions.wear.cache import page_cache_writes
from cachezoo.traces.pages import expand_pages
from tests.page_data import seeded_trace

TEXT = "vrm(queue={}, n=96, fragment=8, alpha=0.9, q=50)"
VALUES = {"n": 96, "fragment": 8, "alpha": 0.9, "q": 50}
CAPACITY = 32


@pytest.fixture(scope="module")
def simulator():
    trace = seeded_trace(n=1500, pages=150, seed=5)
    return Simulator(trace, expand_pages(trace))


@pytest.mark.parametrize("queue", QUEUES)
def test_what_is_counted_is_what_the_kernel_did(simulator, queue):
    pages = simulator.pages
    served = simulate(moves(queue, pages.page_ids, pages.n_pages, 96), CAPACITY, 96, Settings(8, 2, 0.9, 50))
    for warmup in (0, 700):
        found = simulator.run(TEXT.format(queue), CAPACITY, warmup)
        hits, moved = served.hit[warmup:], served.moved[warmup:]
        assert (found.hits, found.moved) == (hits.sum(), moved.sum())
        assert found.transfers == ((~hits).sum() + moved.sum()) / len(hits)
        assert found.ssd_writes >= found.moved + (found.outcome[warmup:] == ADMITTED).sum()
        assert found.replacements is found.dirty_evictions is found.disk_writes is None
    assert ((found.outcome == HIT) == served.hit).all()
    assert ((found.outcome == BYPASSED) == (~served.hit & ~served.kept)).all()
    assert found.moved > 0


def test_what_enters_and_what_passes_by():
    """A queue of 4 and a cache of the two positions most asked for: a loop of three passes by its head."""
    ids = (np.arange(30) % 3).astype(np.int32)
    run = virtual_run(Stream.of_pages(ids, 3), 1, "lru", {"n": 4, "fragment": 1, "f": 1, "q": 10})
    assert run.outcome.tolist() == [ADMITTED] * 10 + [HIT] * 20
    assert run.moved.tolist() == [0] * 9 + [1] * 21
    assert (run.victim == NONE).all() and not run.says_who_left
    bare = simulate(moves("lru", ids, 3, 4), 1, 4, Settings(1, 1, 0.95, 10))
    assert bare.kept.tolist() == [True] * 10 + [False] * 20


def test_other_policies_move_nothing_and_their_transfers_are_misses_and_prefetches(simulator):
    plain, ahead = (simulator.run(text, CAPACITY, 100) for text in ("arc", "arc+next(n=2)"))
    assert plain.moved == ahead.moved == 0
    assert plain.transfers == 1 - plain.hits / plain.page_accesses
    assert ahead.prefetched > 0
    assert ahead.transfers == (ahead.page_accesses - ahead.hits + ahead.prefetched) / ahead.page_accesses


def test_it_is_composed_and_no_classic():
    found = policy("vrm")
    assert (found.id, found.kind) == ("vrm", "composed")
    assert "vrm" not in POLICIES and "vrm" not in classics()
    found.compile()


def test_where_a_far_run_costs_what_it_saves_it_is_lru(simulator):
    found = simulator.run("vrm(n=96, fragment=8, f=1, q=50, cost=1)", CAPACITY, 0)
    assert found.outcome.tolist() == simulator.run("lru", CAPACITY, 0).outcome.tolist()
    assert found.moved == 0


@pytest.mark.parametrize(
    ("capacity", "said"),
    [
        (97, "vrm: n = 96 is below the cache of 97 pages; give n = 97 or more"),
        (15, "vrm: a cache of 15 pages is smaller than f = 2 fragments of 8 pages; give a capacity of 16 pages or"),
        (0, "capacity 0: a cache has at least one page"),
    ],
)
def test_capacities_that_it_cannot_have(simulator, capacity, said):
    with pytest.raises(ConfigError) as error:
        simulator.run(TEXT.format("lru"), capacity, 0)
    assert str(error.value).startswith(said)
    assert len(str(error.value).splitlines()) == 1


def test_streams_that_it_cannot_serve(simulator):
    trace, pages = simulator.trace, simulator.pages
    around = build_stream(trace, pages, "around")
    ahead = prefetched_stream(trace, pages, parse("next").plan(trace, pages), "back", "page")
    for stream, said in ((around, "writes go around the cache"), (ahead, "it takes no prefetch")):
        with pytest.raises(ConfigError, match=said):
            virtual_run(stream, CAPACITY, "lru", VALUES)


def test_where_it_may_not_stand(simulator):
    text = TEXT.format("lru")
    for hierarchy in (f"{text} | lru", f"lru | {text}"):
        with pytest.raises(ConfigError, match="does not say which pages leave, so no tier can be one"):
            parse_hierarchy(hierarchy)
    with pytest.raises(ConfigError, match="is not composed of an eviction and an admission"):
        parse(text).composition()
    with pytest.raises(ConfigError, match="so not what its SSD writes"):
        page_cache_writes(simulator, text, CAPACITY, 2)


def test_its_curve_is_exact_and_has_transfers(simulator):
    text = TEXT.format("lfu")
    sizes = [16, 32, 64]
    lru, own = curves(simulator.pages, ["lru", text], sizes)
    assert own.moved is not None and lru.moved is None
    for k, size in enumerate(sizes):
        found = simulator.run(text, size, int(own.warmup[k]))
        assert own.hit_ratio[k] == found.hit_ratio
        assert own.transfers[k] == pytest.approx(found.transfers)
        assert own.rows()[k]["transfers"] == own.transfers[k]
    assert lru.transfers.tolist() == (1 - lru.hit_ratio).tolist()
    with pytest.raises(ConfigError, match="no sample of the pages stands for its queue; ask for --sample exact"):
        curves(simulator.pages, [text], sizes, rate=0.5)


def test_runs_do_not_hang_on_each_other(simulator):
    text = TEXT.format("arc")
    first, again = (dataclasses.asdict(simulator.run(text, CAPACITY, 0)) for _ in range(2))
    for found in (first, again):
        found.pop("kernel_s")
    assert all(np.array_equal(first[name], again[name]) for name in first)
