"""The candidates side by side at every size, on the trace or on a sample of its pages."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from cachezoo.arrays import F64, Bool
from cachezoo.contest.counting import AUTO, Count, first_accesses
from cachezoo.curves.sampling import Part, draw
from cachezoo.kernels.outcome import HIT
from cachezoo.policies.registry import OPTIMUM, policy
from cachezoo.questions.page.recommend.bench import Bench
from cachezoo.questions.page.recommend.candidates import CANDIDATES
from cachezoo.questions.page.recommend.candidates import chosen as choose
from cachezoo.traces.pages import PageAccesses

if TYPE_CHECKING:
    from cachezoo.console import Advance

MOST_ACCESSES = 2_000_000
"""Page accesses above which candidates are compared on a sample of the pages; figures are of the whole trace still."""
LEAST_DRAWN = 200
"""Distinct pages that a sample has at least; of fewer the whole trace is run."""


@dataclass(frozen=True)
class Contest:
    """What came of it.

    Attributes:
        policies: ids of the candidates.
        capacities: pages of the whole trace, rising.
        choosing: float64[P, S] hit ratios from each size's own warm-up to the trace's middle.
        judged: float64[P, S] on the second half.
        blocks: float64[P, S, B] the same by time blocks; B is 0 where the trace is too short.
        optimum: float64[S] on the second half, of the cache that knows the future.
        rate: part of the pages that they were compared on; 1: all.
    """

    policies: tuple[str, ...]
    capacities: tuple[int, ...]
    choosing: F64
    judged: F64
    blocks: F64
    optimum: F64
    rate: float

    @property
    def chosen(self) -> list[str]:
        """The policy chosen at each size."""
        return [self.policies[place] for place in choose(self.choosing)]

    def times_best(self, policy_id: str, place: int) -> int:
        """Time blocks of the second half in which no candidate had more hits at this size."""
        own = self.blocks[self.policies.index(policy_id), place]
        return int((own >= self.blocks[:, place].max(axis=0)).sum()) if own.size else 0


def _drawn(pages: PageAccesses, most: int) -> Part:
    """The pages that are looked at: all, or so many that about `most` accesses are to them."""
    rate = most / len(pages.page_ids)
    if rate >= 1 or rate * pages.n_pages < LEAST_DRAWN:
        return Part(pages.page_ids, pages.n_pages, np.arange(len(pages.page_ids)), 1.0)
    return draw(pages, rate).whole


def _ratio(part: Part, hits: Bool, first: int, end: int) -> float:
    """Hit ratio between two accesses of the whole trace; not a number where there are none.

    The misses are scaled up, and hits are what is left, as `cachezoo.curves.sampling` says.
    """
    if first >= end:
        return float("nan")
    low, high = np.searchsorted(part.rows, [first, end])
    missed = int(high - low) - int(hits[low:high].sum())
    return max(0.0, 1 - missed / part.rate / (end - first))


def contest(
    bench: Bench, capacities: Sequence[int], advance: "Advance | None" = None, most: int = MOST_ACCESSES
) -> Contest:
    """Run every candidate and the optimum at every size.

    Args:
        bench: the trace.
        capacities: pages, rising.
        advance: told (runs done, the policy at work).
        most: page accesses above which a sample of the pages is drawn, with as small a part of each capacity.
    """
    part, warmups = _drawn(bench.pages, most), first_accesses(bench.pages, Count(AUTO), capacities).tolist()
    m, sizes = len(bench.pages.page_ids), len(capacities)
    ids = tuple(one.id for one in CANDIDATES)
    edges = np.linspace(bench.half, m, bench.blocks + 1).astype(np.int64).tolist() if bench.blocks else []
    choosing, judged = np.full((len(ids) + 1, sizes), np.nan), np.zeros((len(ids) + 1, sizes))
    blocks = np.zeros((len(ids), sizes, bench.blocks))
    for p, policy_id in enumerate((*ids, OPTIMUM)):
        for s, capacity in enumerate(capacities):
            if advance is not None:
                advance(p * sizes + s, policy_id)
            own = max(1, round(capacity * part.rate))
            hits = policy(policy_id).hits(part.page_ids, part.n_pages, own) == HIT
            judged[p, s] = _ratio(part, hits, bench.half, m)
            if p < len(ids):
                choosing[p, s] = _ratio(part, hits, warmups[s], bench.half)
                blocks[p, s] = [_ratio(part, hits, low, high) for low, high in pairwise(edges)]
    last = len(ids)
    return Contest(ids, tuple(capacities), choosing[:last], judged[:last], blocks, judged[last], part.rate)
