"""Evictions that know order alone."""

from cachezoo.kernels.evict import fifo, lru
from cachezoo.policies.components import Eviction

FIFO = Eviction(
    "fifo", "first in, first out", lambda stream, capacity, _: fifo.make(stream.n_pages, capacity),
    fifo.has, fifo.touch, fifo.insert,
)  # fmt: skip
LRU = Eviction(
    "lru", "least recently used", lambda stream, capacity, _: lru.make(stream.n_pages, capacity),
    lru.has, lru.touch, lru.insert,
)  # fmt: skip
EVICTIONS = (FIFO, LRU)
