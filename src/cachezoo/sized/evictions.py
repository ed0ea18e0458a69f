"""The evictions of objects by rules, in the order in which they are listed."""

from cachezoo.kernels.sized import fifo, gdsf, inlfu, lru, ranked, s3fifo, sieve
from cachezoo.policies.evictions.classics import S3FIFO as S3FIFO_OF_PAGES
from cachezoo.sized.components import Eviction

FIFO = Eviction(
    "fifo", "first in, first out", lambda place, _: fifo.make(place.held, place.links[0]),
    fifo.touch, fifo.evict, fifo.insert, fifo.remove,
)  # fmt: skip
LRU = Eviction(
    "lru", "least recently used", lambda place, _: fifo.make(place.held, place.links[0]),
    lru.touch, fifo.evict, fifo.insert, fifo.remove,
)  # fmt: skip
SIEVE = Eviction(
    "sieve", "a hand over the queue of entries, quick to demote new objects",
    lambda place, _: sieve.make(place.links, place.n_objects), sieve.touch, sieve.evict, sieve.insert, sieve.remove,
)  # fmt: skip
S3FIFO = Eviction(
    "s3fifo", "a small, a main and a ghost queue, by bytes",
    lambda place, values: s3fifo.make(
        place.links, place.held, place.capacity, values["small"], values["ghost"], int(values["promote"])
    ),
    s3fifo.touch, s3fifo.evict, s3fifo.insert, s3fifo.remove, s3fifo.wants, s3fifo.resize, S3FIFO_OF_PAGES.parameters,
)  # fmt: skip
GDSF = Eviction(
    "gdsf", "least used for its size, aging (greedy dual size frequency)", lambda place, _: gdsf.make(place.held),
    gdsf.touch, gdsf.evict, gdsf.insert, gdsf.remove, competes=True,
)  # fmt: skip
INLFU = Eviction(
    "inlfu", "least frequently used since it entered", lambda place, _: ranked.make(place.n_objects),
    inlfu.touch, inlfu.evict, inlfu.insert, ranked.drop,
)  # fmt: skip
EVICTIONS = (FIFO, LRU, SIEVE, S3FIFO, GDSF, INLFU)
