"""Which compositions are recommended to be run and become bundles: rules whose memory is bounded, and that look back.

Left out is what sees the future, follows several caches or reads more of a request than its place: bounds, `follow`,
`vrm`, what learns as it goes, and evictions that go by flags or by sizes. `lfu` keeps a count of every page that it
ever saw, and with a bound on them is another policy: libcachezoo and a mounted cache run that one by its text, but no
bundle can promise the simulator's decisions of it. `inlfu`, which forgets a page's count as it leaves, is here.
"""

import numpy as np

from cachezoo.errors import ConfigError
from cachezoo.policies.admissions import ACCEPT_ALL, COIN_FLIP, REJECT_X
from cachezoo.policies.components import Admission, Eviction, settle
from cachezoo.policies.evictions.classics import (
    ARC,
    CLOCK,
    FIFO,
    INLFU,
    LARC,
    LFU,
    LIRS,
    LRU,
    S3FIFO,
    SIEVE,
    TWOQ,
    WTINYLFU,
)
from cachezoo.policies.prefetches import NEXT, NONE, Prefetch
from cachezoo.policies.spec import KINDS, Spec, parse
from cachezoo.policies.stream import Stream

ADMISSIONS: tuple[Admission, ...] = (ACCEPT_ALL, COIN_FLIP, REJECT_X)
EVICTIONS: tuple[Eviction, ...] = (
    ARC, CLOCK, FIFO, INLFU, LARC, LIRS, LRU, S3FIFO, SIEVE, TWOQ, WTINYLFU,
)  # fmt: skip
PREFETCHES: tuple[Prefetch, ...] = (NONE, NEXT)
_ONE = Stream.of_pages(np.zeros(1, np.int32), 1)
_KNOWN = tuple({one.id: one for one in table} for table in (ADMISSIONS, EVICTIONS, PREFETCHES))


def missing(spec: Spec) -> str | None:
    """The name of a component that no bundle holds; None where one holds the whole composition."""
    own = (spec.admission, spec.eviction, spec.prefetch)
    return next((one.id for one, known in zip(own, _KNOWN, strict=True) if one.id not in known), None)


def mounted(text: str) -> Spec:
    """The composition of a text that becomes a bundle.

    Raises:
        ConfigError: `cachezoo.policies.spec.parse` refuses it, it runs in the simulator alone, or it is `lfu`.
    """
    spec = parse(text)
    name = missing(spec)
    if name is not None:
        able = "; ".join(f"{kind}: {', '.join(known)}" for kind, known in zip(KINDS, _KNOWN, strict=True))
        why = "runs in the simulator alone" if name != LFU.id else (
            "counts every page ever seen, which a bundle cannot; libcachezoo and cachezoo serve run it without a "
            "bundle, and forget the oldest counts"
        )  # fmt: skip
        raise ConfigError(f"policy {spec}: {name} {why}; a bundle holds {able}")
    if dict(spec.eviction.values).get("libcachesim"):
        raise ConfigError(f"policy {spec}: libcachesim = 1 is for comparison, in the simulator alone; leave it out")
    eviction = spec.composition().eviction
    eviction.make(_ONE, 1, settle(eviction.id, eviction.parameters, dict(spec.eviction.values)))  # rules between values
    return spec
