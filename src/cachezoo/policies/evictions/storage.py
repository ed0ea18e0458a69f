"""Evictions of SSD caches in front of disks: they look at requests, not at pages alone."""

from cachezoo.kernels.evict import azor, hystor, reca
from cachezoo.policies.components import Eviction, Parameter, Whole

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
EVICTIONS = (RECA, AZOR, HYSTOR)
