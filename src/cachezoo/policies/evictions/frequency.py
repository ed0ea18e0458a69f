"""Evictions that count uses."""

from cachezoo.kernels.evict import inlfu, lfu, lrfu
from cachezoo.policies.components import Eviction, Parameter

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
EVICTIONS = (LFU, INLFU, LRFU)
