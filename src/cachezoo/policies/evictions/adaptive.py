"""Evictions that shift between recency and frequency by what they remember of pages that are gone."""

from cachezoo.kernels.evict import arc, larc, lirs, marc
from cachezoo.policies.components import Eviction, Parameter, Values
from cachezoo.policies.stream import Stream


def _marc(stream: Stream, capacity: int, values: Values) -> marc.State:
    bounds = marc.Thresholds(**{name: values[name] for name in marc.Thresholds._fields})
    return marc.make(stream.n_pages, capacity, values["window"], bounds)


ARC = Eviction(
    "arc", "adaptive replacement cache", lambda stream, capacity, _: arc.make(stream.n_pages, capacity),
    arc.has, arc.touch, arc.insert,
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
EVICTIONS = (ARC, MARC, LARC, LIRS)
