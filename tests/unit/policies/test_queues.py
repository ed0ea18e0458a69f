"""CLOCK, SIEVE, S3-FIFO and 2Q: what their papers promise, their parameters, and misses known from libCacheSim."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cachezoo.errors import ConfigError
from cachezoo.kernels.outcome import HIT
from cachezoo.policies.admissions import ACCEPT_ALL
from cachezoo.policies.components import Composition
from cachezoo.policies.engine import hits_only, simulate
from cachezoo.policies.evictions.classics import CLOCK, CLOCK2QPLUS, FIFO, LRU, S3FIFO, SIEVE, TWOQ
from cachezoo.policies.spec import parse
from cachezoo.policies.stream import Stream
from cachezoo.traces.pages import expand_pages
from tests.oracles.evict import clock, clock2qplus, s3fifo, twoq
from tests.trace_data import read, sample

PAGES = st.lists(st.integers(0, 13), min_size=1, max_size=160)


def run(eviction, pages, capacity, **values):
    stream = Stream.of_pages(np.array(pages, np.int32), max(pages) + 1)
    return simulate(Composition(eviction, ACCEPT_ALL, values), stream, capacity)


def check(eviction, oracle, pages, capacity, **values):
    """Victims and hits as those of a naive cache with the same parameters."""
    cache = oracle.Cache(None, capacity, **values)
    result = run(eviction, pages, capacity, **values)
    for i, page in enumerate(pages):
        hit = cache.has(page)
        assert (result.outcome[i] == HIT) == hit
        if hit:
            cache.touch(page, i)
        else:
            assert result.victim[i] == cache.insert(page, i)


@given(pages=PAGES, capacity=st.integers(1, 12), bits=st.integers(1, 7), data=st.data())
def test_clock_with_any_counter(pages, capacity, bits, data):
    check(CLOCK, clock, pages, capacity, bits=bits, initial=data.draw(st.integers(0, 2**bits - 1)))


SHARES = st.sampled_from([0, 0.1, 0.3, 0.5, 0.9, 1])


@given(pages=PAGES, capacity=st.integers(1, 12), small=SHARES, ghost=st.sampled_from([0, 0.4, 0.9, 3]),
       promote=st.integers(1, 3))  # fmt: skip
def test_s3fifo_with_any_shares(pages, capacity, small, ghost, promote):
    check(S3FIFO, s3fifo, pages, capacity, small=small, ghost=ghost, promote=promote)


@given(pages=PAGES, capacity=st.integers(1, 12), small=SHARES, ghost=st.sampled_from([0, 0.4, 0.9, 3]),
       window=st.sampled_from([0, 0.25, 0.5, 1]))  # fmt: skip
def test_clock2qplus_with_any_shares(pages, capacity, small, ghost, window):
    check(CLOCK2QPLUS, clock2qplus, pages, capacity, small=small, ghost=ghost, window=window)


@given(pages=PAGES, capacity=st.integers(1, 12), kin=SHARES, kout=st.sampled_from([0, 0.5, 1, 4]))
def test_twoq_with_any_shares(pages, capacity, kin, kout):
    check(TWOQ, twoq, pages, capacity, kin=kin, kout=kout)


def test_clock_counter_that_is_too_small():
    with pytest.raises(ConfigError, match="initial = 2 does not fit into bits = 1; take at most 1"):
        run(CLOCK, [0], 1, initial=2)


@pytest.mark.parametrize(("eviction", "name"), [(CLOCK, "bits"), (CLOCK, "initial"), (S3FIFO, "promote")])
def test_counts_are_whole(eviction, name):
    with pytest.raises(ConfigError, match=f"{name} = 1.5 is no whole number"):
        run(eviction, [0], 1, **{name: 1.5})


def victims(eviction, pages, capacity):
    return [page for page in run(eviction, pages, capacity).victim.tolist() if page >= 0]


@pytest.mark.parametrize("eviction", [CLOCK, SIEVE], ids=lambda part: part.id)
def test_without_hits_it_is_fifo(eviction):
    assert victims(eviction, list(range(50)), 8) == victims(FIFO, list(range(50)), 8)


def test_clock_gives_a_second_chance():
    # 0 is used and passed over, 1 leaves; then 2, 3 and, its chance spent, 0.
    assert victims(CLOCK, [0, 1, 2, 3, 0, 4, 5, 6, 7], 4) == [1, 2, 3, 0]


def test_sieve_keeps_what_was_used_where_it_is():
    # 0, 1 and 6 are used. The hand passes 0 and 1 and takes 2; from there on, not from the oldest, it goes 3, 4, 5,
    # passes 6, and takes what came since: 7. CLOCK passes 0 and 1 too, but then they are its newest.
    pages = [0, 1, 2, 3, 4, 5, 6, 0, 1, 6, 7, 8, 9, 10, 11]
    assert victims(SIEVE, pages, 7) == [2, 3, 4, 5, 7]
    assert victims(CLOCK, [*pages, 12], 7) == [2, 3, 4, 5, 0, 1]
    assert victims(SIEVE, [*pages, 12], 7) == [2, 3, 4, 5, 7, 8]


def test_a_scan_does_not_drive_out_what_is_in_use():
    hot = list(range(50))
    pages = hot * 6 + list(range(50, 3000)) + hot
    kept = {}
    for eviction in (SIEVE, S3FIFO, LRU):
        kept[eviction.id] = int((run(eviction, pages, 100).outcome[-50:] == HIT).sum())
    assert kept == {"sieve": 50, "s3fifo": 50, "lru": 0}


def test_clock2qplus_does_not_count_a_use_within_the_window():
    # Four of capacity 8 are the small queue's, its newest two the window. 0 is used at once, 1 when two are newer. Both
    # outlive 2 where there is no window, 1 alone where there is one; 4 leaves the main queue, which they made too long.
    pages = [0, 0, 1, 2, 3, 1, *range(4, 12)]
    kept = [run(CLOCK2QPLUS, pages, 8, small=0.5, window=window).victim.tolist() for window in (0.5, 0)]
    assert [[page for page in left if page >= 0] for left in kept] == [[0, 2, 4, 3], [2, 4, 5, 3]]


def test_twoq_takes_hits_in_a1in_for_one():
    # Of capacity 4 one is A1in's share. 0's hits do not save it; back from A1out it outlives the scan.
    pages = [0, 0, 0, 1, 2, 3, 4, 0, 5, 6, 7, 8, 0]
    result = run(TWOQ, pages, 4)
    assert result.victim.tolist() == [-1, -1, -1, -1, -1, -1, 0, 1, 2, 3, 4, 5, -1]
    assert result.outcome[-1] == HIT


def test_capacity_beyond_the_pages_takes_no_memory_of_its_own():
    for eviction in (CLOCK, SIEVE, S3FIFO, CLOCK2QPLUS, TWOQ):
        result = run(eviction, [0, 1, 2, 1, 0], 10**12)
        assert (result.outcome == HIT).tolist() == [False, False, False, True, True]


# libCacheSim 0.3.5 on OLTP at 1 %, 5 %, 10 % and 20 % of its 186,880 pages.
MISSES = {
    "clock": (528_605, 361_957, 302_970, 254_864),
    "sieve": (545_815, 365_744, 304_774, 253_796),
    "s3fifo": (489_411, 346_514, 295_594, 251_858),
    "clock2qplus": (493_015, 347_807, 295_284, 251_856),
    "twoq": (494_724, 347_762, 295_572, 259_022),
}


@pytest.mark.needs("public_traces")
def test_misses_of_libcachesim():
    pages = expand_pages(read(sample("lbn/OLTP.lis.zst")))
    for eviction in (CLOCK, SIEVE, S3FIFO, CLOCK2QPLUS, TWOQ):
        for percent, misses in zip((1, 5, 10, 20), MISSES[eviction.id], strict=True):
            capacity = pages.n_pages * percent // 100
            outcome = hits_only(Composition(eviction, ACCEPT_ALL), pages.page_ids, pages.n_pages, capacity)
            assert np.count_nonzero(outcome != HIT) == misses


@pytest.mark.parametrize(("capacity", "equal"), [(60, True), (20, False)])
def test_sieve_is_lfu_in_the_cache_until_all_pages_in_it_have_been_used_again(capacity, equal):
    random, m = np.random.default_rng(5), 3000
    hot, once = random.integers(0, 40, m), np.arange(40, 40 + m)
    ids = np.where(random.random(m) < 0.4, hot, once).astype(np.int32)
    stream = Stream.of_pages(ids, n_pages=40 + m)
    sieve, inlfu = (simulate(parse(name).composition(), stream, capacity) for name in ("sieve", "inlfu"))
    assert bool((sieve.outcome == inlfu.outcome).all() and (sieve.victim == inlfu.victim).all()) is equal
