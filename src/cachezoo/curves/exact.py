"""Curves from all page accesses: LRU in one pass, any other policy by a simulation of each capacity."""

from collections.abc import Sequence

import numpy as np

from cachezoo.arrays import I64
from cachezoo.console import Advance
from cachezoo.contest.counting import SECOND_HALF, Count, first_accesses
from cachezoo.curves.curve import Curve, rising
from cachezoo.kernels.outcome import HIT
from cachezoo.kernels.stack_distance import lru_hits
from cachezoo.policies.registry import Policy
from cachezoo.policies.stream import Stream
from cachezoo.traces.pages import PageAccesses

LRU = "lru"


def lru_curve(pages: PageAccesses, capacities: Sequence[int] | I64, count: Count = SECOND_HALF) -> Curve:
    """LRU at every capacity in one pass, each counted after its own warm-up; see `cachezoo.kernels.stack_distance`.

    Args:
        pages: page accesses of a trace.
        capacities: int[k] pages, in any order.
        count: from where on it counts.

    Raises:
        ConfigError: no capacity, or one below 1.
    """
    sizes = rising(capacities)
    first = first_accesses(pages, count, sizes)
    hits = lru_hits(pages.page_ids, pages.n_pages, sizes, first)
    return Curve(LRU, "classic", sizes, hits / (len(pages.page_ids) - first), None, 1.0, first)


def simulated_curve(
    entry: Policy, pages: PageAccesses, capacities: Sequence[int] | I64, count: Count = SECOND_HALF,
    advance: Advance | None = None,
) -> Curve:  # fmt: skip
    """A policy at each capacity, simulated over the whole trace.

    Args:
        entry: the policy; its prefetch is left out.
        pages: page accesses of a trace.
        capacities: int[k] pages, in any order.
        count: as of `lru_curve`.
        advance: told the capacities done.

    Raises:
        ConfigError: no capacity, or one that the policy cannot have.
    """
    sizes = rising(capacities)
    first = first_accesses(pages, count, sizes)
    virtual = entry.spec is not None and entry.spec.is_virtual
    ratios, moved = np.empty(len(sizes), np.float64), np.zeros(len(sizes), np.float64)
    for k, (capacity, after) in enumerate(zip(sizes.tolist(), first.tolist(), strict=True)):
        if advance is not None:
            advance(k)
        if virtual:
            run = entry.simulate(Stream.of_pages(pages.page_ids, pages.n_pages), capacity)
            moved[k] = 0.0 if run.moved is None else run.moved[after:].mean()
            outcome = run.outcome
        else:
            outcome = entry.hits(pages.page_ids, pages.n_pages, capacity)
        ratios[k] = (outcome[after:] == HIT).mean()
    return Curve(entry.id, entry.kind, sizes, ratios, None, 1.0, first, moved if virtual else None)
