"""Every eviction of objects: equal to its naive oracle, to the page caches at equal sizes, and blind to names."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cachezoo.errors import ConfigError
from cachezoo.kernels.outcome import HIT
from cachezoo.policies.engine import simulate as simulate_pages
from cachezoo.policies.spec import parse as parse_pages
from cachezoo.policies.stream import Stream
from cachezoo.sized.admissions import ACCEPT_ALL
from cachezoo.sized.components import Composition
from cachezoo.sized.evictions import EVICTIONS
from cachezoo.sized.requests import Requests
from cachezoo.sized.simulate import compiled, simulate
from tests.oracles.sized import engine as naive
from tests.oracles.sized.evict import CACHES
from tests.sized_data import requests, skewed

IDS = [eviction.id for eviction in EVICTIONS]
AS_PAGES = ("fifo", "lru", "sieve", "inlfu", "rejectx", "bloom+sieve", "coinflip+fifo")


@pytest.mark.parametrize("eviction", EVICTIONS, ids=IDS)
@given(data=st.data(), asked=requests(), capacity=st.integers(1, 150), around=st.booleans(), resizing=st.booleans())
def test_a_run_is_its_oracles(eviction, data, asked, capacity, around, resizing):
    run = simulate(asked, Composition(eviction, ACCEPT_ALL), capacity, around=around, resizing=resizing)
    cache = CACHES[eviction.id](asked, capacity)
    outcome, counts = naive.simulate(asked, cache, naive.Always(), capacity, around, resizing)
    assert run.outcome.tolist() == outcome
    names = ("evictions", "evicted_bytes", "expired", "deleted", "resized", "too_large", "unknown")
    assert {name: getattr(run, name) for name in names} == {name: counts[name] for name in names}


def test_one_object_is_compiled_for_as_two_are():
    """The loop is made ready by a run of one object: what it compiles must be what the trace's run then uses."""
    parts = Composition(EVICTIONS[0], ACCEPT_ALL)
    for objects in (1, 2):
        simulate(Requests.of_sizes(np.arange(objects), np.ones(objects, np.int64)), parts, 1)
    assert len({str(signature[2]) for signature in compiled(parts).signatures}) == 1


@pytest.mark.parametrize("text", AS_PAGES)
@pytest.mark.parametrize("places", (1, 7, 60, 300))
def test_objects_of_equal_size_are_pages(text, places):
    asked = skewed()
    asked = replace(asked, size=np.full(len(asked), 100, np.int64))
    page = simulate_pages(parse_pages(text).composition(), Stream.of_pages(asked.ids, asked.n_objects), places)
    assert simulate(asked, text, places * 100).outcome.tolist() == page.outcome.tolist()
    assert simulate(asked, text, places * 100 + 99).outcome.tolist() == page.outcome.tolist()


@pytest.mark.parametrize("text", ("s3fifo", "s3fifo(small=0.25, promote=1)"))
@pytest.mark.parametrize("places", (20, 60, 300))
def test_objects_of_equal_size_in_whole_shares_are_pages(text, places):
    asked = skewed()
    asked = replace(asked, size=np.full(len(asked), 100, np.int64))
    page = simulate_pages(parse_pages(text).composition(), Stream.of_pages(asked.ids, asked.n_objects), places)
    assert simulate(asked, text, places * 100).outcome.tolist() == page.outcome.tolist()


def test_s3fifo_keeps_out_what_is_no_smaller_than_its_small_queue():
    asked = skewed()
    run = simulate(asked, "s3fifo", 10_000)
    assert not run.outcome[asked.size >= 1000].any()
    assert run.hit[asked.size < 1000].any()


def test_sizes_decide_who_enters():
    asked = skewed()
    run = simulate(asked, "bysize(largest=50)+lru", 2000)
    small = simulate(replace(asked, size=np.where(asked.size <= 50, asked.size, 0)), "lru", 2000)
    assert run.outcome.tolist() == small.outcome.tolist()
    assert run.hits > 0 and small.unknown > 0


@pytest.mark.parametrize("eviction", EVICTIONS, ids=IDS)
def test_other_numbers_for_the_objects_change_nothing(eviction):
    asked = skewed(constant=False)
    numbers = np.random.default_rng(2).permutation(asked.n_objects).astype(np.int32)
    other = replace(asked, ids=numbers[asked.ids])
    own, renamed = (replace(simulate(one, eviction.id, 20_000), kernel_s=0) for one in (asked, other))
    assert own.outcome.tolist() == renamed.outcome.tolist()
    assert replace(own, outcome=None) == replace(renamed, outcome=None)
    assert own.evictions > 100


def test_figures_count_from_the_warm_up():
    asked = skewed()
    run = simulate(asked, "lru", 20_000, warmup=1000)
    whole = simulate(asked, "lru", 20_000)
    assert run.outcome.tolist() == whole.outcome.tolist()
    assert (run.requests, run.hits) == (3000, int((whole.outcome[1000:] == HIT).sum()))
    assert run.byte_hits == int(asked.size[1000:][whole.outcome[1000:] == HIT].sum())
    assert 0 < run.evictions < whole.evictions
    assert simulate(asked, "lru", 20_000, warmup=10**9).requests == 0


def test_what_no_cache_can_be_is_refused():
    asked = skewed(100)
    with pytest.raises(ConfigError, match="at least one byte"):
        simulate(asked, "lru", 0)
    with pytest.raises(ConfigError, match="warm-up -1"):
        simulate(asked, "lru", 10, warmup=-1)
