"""Evictions that weigh frequency against recency: by a sketch of counts, and by experts whose weights are learned."""

import numpy as np

from cachezoo.kernels.evict import cacheus, wtinylfu
from cachezoo.policies.components import Eviction, Parameter, Values, Whole
from cachezoo.policies.stream import Stream


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
EVICTIONS = (WTINYLFU, CACHEUS)
