"""Evictions that count, and those that a user makes of one function."""

import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cachezoo.errors import ConfigError
from cachezoo.kernels import heap
from cachezoo.kernels.outcome import HIT
from cachezoo.policies.admissions import ACCEPT_ALL
from cachezoo.policies.components import Composition
from cachezoo.policies.engine import hits_only, simulate
from cachezoo.policies.evictions.classics import INLFU, LFU, LRFU, LRU, eviction_by_rank
from cachezoo.policies.stream import Stream
from cachezoo.traces.pages import expand_pages
from tests.oracles import engine as naive
from tests.oracles.evict import lrfu as naive_lrfu
from tests.trace_data import read, sample

numba = pytest.importorskip("numba")
PAGES = st.lists(st.integers(0, 13), min_size=1, max_size=160)


def reads(pages):
    names = {page: i for i, page in enumerate(dict.fromkeys(pages))}
    return Stream.of_pages(np.array([names[page] for page in pages], np.int32), len(names))


def skewed(seed=3, accesses=4000, pages=400):
    return reads((np.random.default_rng(seed).zipf(1.1, accesses) % pages).tolist())


def outcomes(eviction, stream, capacity, **values):
    return simulate(Composition(eviction, ACCEPT_ALL, values), stream, capacity).outcome.tolist()


class OpenGate:
    """Lets everything in."""

    def admit(self, page, i):
        return True

    def saw(self, page, i):
        pass


@numba.njit
def second_to_last(page, i, count, last, entered):
    """LRU-2: by the access before the last one."""
    return float(last)


@numba.njit
def most_recent(page, i, count, last, entered):
    """MRU, whose ranks fall."""
    return -float(i)


@numba.njit
def since_entry(page, i, count, last, entered):
    """Accesses for each step in the cache: ranks that rise and fall."""
    return count / (i - entered + 1.0)


def in_python(page, i, count, last, entered):
    """LFU in the cache."""
    return float(count)


class NaiveByRank:
    """All ranks in a dict, the least by linear search."""

    def __init__(self, capacity, rank):
        self.capacity, self.rank, self.pages, self.last = capacity, rank, {}, {}

    def has(self, page):
        return page in self.pages

    def touch(self, page, i):
        _, count, _, entered = self.pages[page]
        self._set(page, i, count + 1, entered)

    def insert(self, page, i):
        victim = -1
        if len(self.pages) == self.capacity:
            victim = min(self.pages, key=lambda q: (self.pages[q][0], self.pages[q][2]))
            del self.pages[victim]
        self._set(page, i, 1, i)
        return victim

    def _set(self, page, i, count, entered):
        self.pages[page] = (self.rank(page, i, count, self.last.get(page, -1), entered), count, i, entered)
        self.last[page] = i


def test_lfu_refuses_what_is_below_all_others():
    stream = reads([0, 0, 1, 1, 2, 2, 2, 0])
    run = simulate(Composition(LFU, ACCEPT_ALL), stream, 2)
    assert run.outcome.tolist() == [1, 2, 1, 2, 0, 1, 2, 1]
    assert run.victim.tolist() == [-1, -1, -1, -1, -1, 0, -1, 1]


def test_lrfu_with_decay_zero_is_lfu_in_the_cache():
    assert outcomes(LRFU, skewed(), 40, decay=0) == outcomes(INLFU, skewed(), 40)


def test_lrfu_with_decay_one_is_lru():
    assert outcomes(LRFU, skewed(), 40, decay=1) == outcomes(LRU, skewed(), 40)


@given(pages=PAGES, capacity=st.integers(1, 12), decay=st.sampled_from([0.003, 0.037, 0.21]))
def test_lrfu_follows_its_decay(pages, capacity, decay):
    stream = reads(pages)
    expected, _ = naive.simulate(stream, naive_lrfu.Cache(stream, capacity, decay), OpenGate())
    assert outcomes(LRFU, stream, capacity, decay=decay) == expected


def test_lrfu_does_not_overflow():
    """Where 2 ** (decay * accesses) would, and a page's own uses are far apart."""
    ids = np.concatenate([np.arange(3), np.arange(3, 5000), np.arange(3), np.arange(4000, 5000)]).astype(np.int32)
    stream = Stream.of_pages(ids, 5000)
    assert outcomes(LRFU, stream, 1003, decay=1) == outcomes(LRU, stream, 1003)


def test_lrfu_refuses_a_decay_out_of_range():
    with pytest.raises(ConfigError, match="decay"):
        outcomes(LRFU, skewed(), 4, decay=1.5)


@pytest.mark.parametrize("rank", [second_to_last, most_recent, since_entry])
def test_a_rank_of_the_users_own(rank):
    eviction = eviction_by_rank(rank.__name__.replace("_", ""), "the user's", rank)
    rng = np.random.default_rng(11)
    for capacity, accesses in ((1, 100), (3, 300), (20, 1500)):
        stream = reads((rng.zipf(1.2, accesses) % 120).tolist())
        run = simulate(Composition(eviction, ACCEPT_ALL), stream, capacity)
        outcome, victim = naive.simulate(stream, NaiveByRank(capacity, rank.py_func), OpenGate())
        assert run.outcome.tolist() == outcome
        assert run.victim.tolist() == victim


def test_a_rank_in_plain_python():
    eviction = eviction_by_rank("plain", "LFU by a plain function", in_python)
    stream = skewed(accesses=600, pages=60)
    assert outcomes(eviction, stream, 12) == outcomes(INLFU, stream, 12)


def test_a_users_rank_is_not_kept_on_disk(tmp_path):
    """Of two ranks by the same names, in files apart or edited, each is its own."""
    script = """
import numpy as np
from cachezoo.kernels.outcome import HIT
from cachezoo.policies.admissions import ACCEPT_ALL
from cachezoo.policies.engine import hits_only
from cachezoo.policies.evictions.classics import eviction_by_rank
from cachezoo.policies.components import Composition
import numba

@numba.njit
def rank(page, i, count, last, entered):
    return SIGN * float(i)

eviction = eviction_by_rank("mine", "mine", rank)
ids = np.array([0, 1, 2, 0, 1, 2, 0, 1, 2], np.int32)
print(int((hits_only(Composition(eviction, ACCEPT_ALL), ids, 3, 2) == 2).sum()))
"""
    found = []
    for sign in ("1", "-1"):
        (tmp_path / "mine.py").write_text(script.replace("SIGN", sign))
        done = subprocess.run([sys.executable, str(tmp_path / "mine.py")], capture_output=True, text=True, check=True)
        found.append(int(done.stdout))
    assert found == [0, 3]


@given(ranks=st.lists(st.integers(-50, 50), min_size=1, max_size=60))
def test_the_heap_gives_pages_by_rank_then_time(ranks):
    n = len(ranks)
    pages, keys, times = np.empty(n, np.int32), np.empty(n, np.float64), np.empty(n, np.int64)
    for page, rank in enumerate(ranks):
        heap.push(pages, keys, times, page, (page, float(rank), page))
    order = []
    for used in range(n, 0, -1):
        order.append(int(pages[0]))
        heap.pop(pages, keys, times, used)
    assert order == sorted(range(n), key=lambda page: (ranks[page], page))


@pytest.mark.needs("public_traces")
def test_lfu_in_the_cache_has_libcachesims_misses():
    """Of libCacheSim 0.3.5's LFU on OLTP, at 1 %, 5 %, 10 % and 20 % of its 186,880 pages."""
    pages = expand_pages(read(sample("lbn/OLTP.lis.zst")))
    for percent, misses in zip((1, 5, 10, 20), (752_915, 607_109, 506_796, 370_399), strict=True):
        capacity = pages.n_pages * percent // 100
        outcome = hits_only(Composition(INLFU, ACCEPT_ALL), pages.page_ids, pages.n_pages, capacity)
        assert np.count_nonzero(outcome != HIT) == misses
