"""Evictions made of queues by order of entry, in which a hit moves little or nothing."""

from cachezoo.errors import ConfigError
from cachezoo.kernels.evict import clock, s3fifo, sieve, twoq
from cachezoo.policies.components import Eviction, Parameter, Values, Whole
from cachezoo.policies.stream import Stream


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
    ),
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
EVICTIONS = (CLOCK, SIEVE, S3FIFO, TWOQ)
