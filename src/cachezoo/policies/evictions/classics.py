"""The classic evictions: what a composition can take, in the order of `cachezoo policies`."""

import numpy as np

from cachezoo.errors import ConfigError
from cachezoo.kernels.evict import (
    arc,
    azor,
    by_rank,
    cacheus,
    clock,
    clock2qplus,
    fifo,
    hystor,
    inlfu,
    larc,
    lfu,
    lirs,
    lrfu,
    lru,
    marc,
    reca,
    s3fifo,
    sieve,
    twoq,
    wtinylfu,
)
from cachezoo.kernels.evict.by_rank import Rank
from cachezoo.policies.components import Eviction, Parameter, Values, Whole
from cachezoo.policies.stream import Stream

FIFO = Eviction(
    "fifo", "first in, first out", lambda stream, capacity, _: fifo.make(stream.n_pages, capacity),
    fifo.has, fifo.touch, fifo.insert,
)  # fmt: skip
LRU = Eviction(
    "lru", "least recently used", lambda stream, capacity, _: lru.make(stream.n_pages, capacity),
    lru.has, lru.touch, lru.insert, near=lru.near,
)  # fmt: skip


def _marc(stream: Stream, capacity: int, values: Values) -> marc.State:
    bounds = marc.Thresholds(**{name: values[name] for name in marc.Thresholds._fields})
    return marc.make(stream.n_pages, capacity, values["window"], bounds)


ARC = Eviction(
    "arc", "adaptive replacement cache", lambda stream, capacity, _: arc.make(stream.n_pages, capacity),
    arc.has, arc.touch, arc.insert, near=arc.near, soon=arc.soon,
)  # fmt: skip
LARC = Eviction(
    "larc", "lazy adaptive replacement cache", lambda stream, capacity, _: larc.make(stream.n_pages, capacity),
    larc.has, larc.touch, larc.insert,
)  # fmt: skip
LIRS = Eviction(
    "lirs", "low inter-reference recency set",
    lambda stream, capacity, values: lirs.make(stream.n_pages, capacity, values["hir"], values["stack"]),
    lirs.has, lirs.touch, lirs.insert,
    (
        Parameter("hir", 0.01, 0.0, 1.0, "share of the capacity for pages that come back late, at least one page"),
        Parameter("stack", 2.0, 1.0, 100.0, "longest stack, in multiples of the capacity"),
    ),
)  # fmt: skip
MARC = Eviction(
    "marc", "ARC behind a filter, by the hit ratio's trend", _marc, marc.has, marc.touch, marc.insert,
    (
        Parameter("window", 1.0, 0.001, 100.0, "accesses between two judgements, in multiples of the capacity"),
        Parameter("low", 0.05, 0.0, 1.0, "hit ratio below which hardly anything comes back"),
        Parameter("high", 0.2, 0.0, 1.0, "hit ratio that is stable as long as it does not fall"),
        Parameter("drop", 0.5, 0.0, 1.0, "part of the phase's hit ratio below which accesses have become unique"),
        Parameter("band", 0.1, 0.0, 1.0, "relative difference from the phase's hit ratio that is still steady"),
        Parameter("fall", 0.7, 0.0, 1.0, "part of the phase's hit ratio at which a stable state ends"),
        Parameter("known", 0.1, 0.0, 1.0, "share of accesses known to the filter above which the unique state ends"),
    ),
)  # fmt: skip


def _clock(stream: Stream, capacity: int, values: Values) -> clock.State:
    bits, initial = int(values["bits"]), int(values["initial"])
    if initial >= 2**bits:
        raise ConfigError(f"clock: initial = {initial} does not fit into bits = {bits}; take at most {2**bits - 1}")
    return clock.make(stream.n_pages, capacity, bits, initial)


CLOCK = Eviction(
    "clock", "second chance: first in, first out past what was used", _clock, clock.has, clock.touch, clock.insert,
    (
        Whole("bits", 1, 1, 7, "of a page's reference counter"),
        Whole("initial", 0, 0, 127, "counter of a page that enters, below 2^bits"),
    ),
)  # fmt: skip
SIEVE = Eviction(
    "sieve", "a hand over the queue of entries, quick to demote new pages",
    lambda stream, capacity, _: sieve.make(stream.n_pages, capacity), sieve.has, sieve.touch, sieve.insert,
)  # fmt: skip
S3FIFO = Eviction(
    "s3fifo", "a small, a main and a ghost queue",
    lambda stream, capacity, values: s3fifo.make(
        stream.n_pages, capacity, values["small"], values["ghost"], int(values["promote"])
    ),
    s3fifo.has, s3fifo.touch, s3fifo.insert,
    (
        Parameter("small", 0.1, 0, 1, "the small queue's share of the capacity"),
        Parameter("ghost", 0.9, 0, 10, "ghosts, as a multiple of the capacity"),
        Whole("promote", 2, 1, 3, "hits in the small queue that take a page to the main one"),
    ), near=s3fifo.near, soon=s3fifo.soon,
)  # fmt: skip
CLOCK2QPLUS = Eviction(
    "clock2qplus", "Clock2Q+: as S3-FIFO, and uses just after a page's entry do not count",
    lambda stream, capacity, values: clock2qplus.make(
        stream.n_pages, capacity, values["small"], values["ghost"], values["window"]
    ),
    clock2qplus.has, clock2qplus.touch, clock2qplus.insert,
    (
        Parameter("small", 0.1, 0, 1, "the small queue's share of the capacity"),
        Parameter("ghost", 0.9, 0, 10, "ghosts, as a multiple of the capacity"),
        Parameter("window", 0.5, 0, 1, "share of the small queue, its newest pages, whose hits do not count"),
    ), near=clock2qplus.near,
)  # fmt: skip
TWOQ = Eviction(
    "twoq", "2Q: recently used are those that came back after they left",
    lambda stream, capacity, values: twoq.make(stream.n_pages, capacity, values["kin"], values["kout"]),
    twoq.has, twoq.touch, twoq.insert,
    (
        Parameter("kin", 0.25, 0, 1, "share of the capacity for pages seen once"),
        Parameter("kout", 0.5, 0, 10, "ghosts, as a multiple of the capacity"),
    ),
)  # fmt: skip


LFU = Eviction(
    "lfu", "least frequently used, counts survive eviction; a page below all others stays out",
    lambda stream, capacity, _: lfu.make(stream.n_pages, capacity), lfu.has, lfu.touch, lfu.insert,
)  # fmt: skip
INLFU = Eviction(
    "inlfu", "least frequently used since it entered",
    lambda stream, capacity, _: inlfu.make(stream.n_pages, capacity), inlfu.has, inlfu.touch, inlfu.insert,
)  # fmt: skip
LRFU = Eviction(
    "lrfu", "uses count for less with age (Lee et al., 2001)",
    lambda stream, capacity, values: lrfu.make(stream.n_pages, capacity, values["decay"]),
    lrfu.has, lrfu.touch, lrfu.insert,
    (Parameter("decay", 0.001, 0, 1, "lambda: a use counts for half after 1 / lambda accesses; 0 is LFU, 1 is LRU"),),
)  # fmt: skip


RECA = Eviction(
    "reca", "kinds of requests characterised online, reconfigured each window (like ReCA, 2018)",
    lambda stream, capacity, values: reca.make(
        stream.flags, stream.request_pages, stream.n_pages, capacity, values["window"], values["reach"], values["bar"],
        int(values["sequential"]),
    ),
    reca.has, reca.touch, reca.insert,
    (
        Parameter("window", 1, 0.01, 1000, "accesses between two reconfigurations, in capacities"),
        Parameter("reach", 2, 0.01, 1000, "accesses within which a page is used again if at all, in capacities"),
        Parameter("bar", 0.25, 0, 1, "a kind of request is kept out below this part of the mean chance of reuse"),
        Whole("sequential", 16, 2, 65536, "a request of at least so many pages is sequential"),
    ),
)  # fmt: skip
AZOR = Eviction(
    "azor", "metadata first, data by its count (like Azor, 2011)",
    lambda stream, capacity, _: azor.make(stream.flags, stream.n_pages, capacity),
    azor.has, azor.touch, azor.insert,
)  # fmt: skip
HYSTOR = Eviction(
    "hystor", "frequency by inverse request size, metadata first, an area for writes (like Hystor, 2011)",
    lambda stream, capacity, values: hystor.make(
        stream.flags, stream.request_pages, stream.n_pages, capacity, values["write_share"]
    ),
    hystor.has, hystor.touch, hystor.insert,
    (Parameter("write_share", 0.2, 0, 0.9, "the write-back area's part of the cache"),),
)  # fmt: skip


def _wtinylfu(stream: Stream, capacity: int, values: Values) -> wtinylfu.State:
    shares = values["window"], values["protected"], values["sample"]
    return wtinylfu.make(stream.n_pages, capacity, *shares, theirs=values["libcachesim"] >= 0.5)


def _cacheus(stream: Stream, capacity: int, values: Values) -> cacheus.State:
    most = int(np.bincount(stream.page_ids).max(initial=0))
    return cacheus.make(stream.n_pages, capacity, most, values["scan"], int(values["seed"]))


WTINYLFU = Eviction(
    "wtinylfu", "W-TinyLFU", _wtinylfu, wtinylfu.has, wtinylfu.touch, wtinylfu.insert,
    (
        Parameter("window", 0.01, 0.0, 0.99, "share of the capacity that is the LRU window, at least a page"),
        Parameter("protected", 0.8, 0.0, 1.0, "share of the main part that is protected"),
        Parameter("sample", 10.0, 1.0, 1000.0, "capacities of accesses after which the counts are halved"),
        Whole("libcachesim", 0.0, 0.0, 1.0, "1 counts and admits as libCacheSim 0.3.5 does, for comparison"),
    ),
)  # fmt: skip
CACHEUS = Eviction(
    "cacheus", "CACHEUS: SR-LRU and CR-LFU, weighted as they err", _cacheus, cacheus.has, cacheus.touch, cacheus.insert,
    (
        Parameter("scan", 0.01, 0.0, 1.0, "SR's share of the capacity at the start, at least a page"),
        Whole("seed", 0.0, 0.0, 2.0**31 - 1, "seed of what is drawn"),
    ),
)  # fmt: skip


def eviction_by_rank(id: str, title: str, rank: Rank) -> Eviction:
    """The eviction by which the page of least rank leaves; among equals the one used longest ago.

    Args:
        id: lower case without punctuation.
        title: one line for people.
        rank: (page, i, count, last, entered) to a float, as `cachezoo.kernels.evict.by_rank.rank` says: the page's
            rank from access number i on; count is its accesses since it entered with this one, last its access
            before this one (-1: none), entered the access at which it entered. A function of numba's njit runs
            compiled; a plain one runs in Python, about 100 times slower.
    """
    has, touch, insert = by_rank.make_ranked(id, rank)
    return Eviction(id, title, lambda stream, capacity, _: by_rank.make(stream.n_pages, capacity), has, touch, insert)


EVICTIONS = (
    FIFO, LRU, ARC, MARC, LARC, LIRS, CLOCK, SIEVE, S3FIFO, CLOCK2QPLUS, TWOQ, LFU, INLFU, LRFU, RECA, AZOR,
    HYSTOR, WTINYLFU, CACHEUS,
)  # fmt: skip
