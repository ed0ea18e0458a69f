"""A curve: the page hit ratio of one policy on one trace over the size of the cache, from all page accesses."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from cachezoo.arrays import F64, I64
from cachezoo.console import Advance
from cachezoo.contest.counting import SECOND_HALF, Count, first_accesses
from cachezoo.errors import ConfigError
from cachezoo.kernels.outcome import HIT
from cachezoo.kernels.stack_distance import lru_hits
from cachezoo.policies.engine import check_capacity
from cachezoo.policies.long import LongSimulator
from cachezoo.policies.registry import Policy
from cachezoo.policies.stream import Stream, dense_ids
from cachezoo.traces.memory import FIX
from cachezoo.traces.pages import PageAccesses
from cachezoo.traces.sampling import SampledTrace

LRU = "lru"


@dataclass(frozen=True)
class Curve:
    """Page hit ratios over capacity; every page access is a read of its own."""

    policy: str  # id or composition
    kind: str  # as of `cachezoo.policies.registry.Policy`
    capacities: I64  # int64[k] pages of the whole trace, rising
    hit_ratio: F64  # float64[k], of the page accesses after the warm-up
    # float64[k], half the 90 % interval of what was estimated from a sample; None where the curve is exact
    error_90: F64 | None
    rate: float  # part of the trace's pages that was simulated; 1 where the curve is exact
    warmup: I64  # int64[k], page accesses of the whole trace before counting begins
    # float64[k], pages read from the disk besides those missed, per page access; None of a policy that reads no others
    moved: F64 | None = None

    @property
    def transfers(self) -> F64:
        """float64[k], pages read from the disk per page access: those missed and those moved in."""
        return 1 - self.hit_ratio if self.moved is None else 1 - self.hit_ratio + self.moved

    def rows(self) -> list[dict[str, Any]]:
        """JSON values, one for each capacity.

        Their keys: `policy`, `kind`, `capacity`, `hit_ratio`, `transfers`, `error_90`, `rate`, `warmup`.
        """
        errors = [None] * len(self.capacities) if self.error_90 is None else self.error_90.tolist()
        columns = (self.capacities, self.hit_ratio, self.transfers, self.warmup)
        return [
            {"policy": self.policy, "kind": self.kind, "capacity": size, "hit_ratio": ratio, "transfers": transfers,
             "error_90": error, "rate": self.rate, "warmup": first}
            for size, ratio, transfers, first, error in zip(*(row.tolist() for row in columns), errors, strict=True)
        ]  # fmt: skip

    def shown(self, k: int) -> str:
        """The hit ratio at the k-th capacity for people, with half its 90 % interval if it has one."""
        ratio = f"{self.hit_ratio[k]:.4f}"
        return ratio if self.error_90 is None else f"{ratio} ± {self.error_90[k]:.4f}"


def capacities_of(pages: PageAccesses | SampledTrace | LongSimulator, points: int) -> I64:
    """Capacities from a thousandth of the distinct pages to all of them, evenly apart in logarithm, each once.

    Raises:
        ConfigError: fewer than two points.
    """
    if points < 2:
        raise ConfigError(f"{points} points: a curve has at least 2")
    return np.unique(np.geomspace(max(1, pages.n_pages / 1000), pages.n_pages, points).round().astype(np.int64))


def rising(capacities: Sequence[int] | I64) -> I64:
    """int64[k]: the capacities in order, each once.

    Raises:
        ConfigError: none, or one below 1.
    """
    sizes = np.unique(np.asarray(capacities, np.int64))
    if not len(sizes):
        raise ConfigError("no capacity: a curve has at least one")
    check_capacity(int(sizes[0]))
    return sizes


def lru_curve(pages: PageAccesses, capacities: Sequence[int] | I64, count: Count = SECOND_HALF) -> Curve:
    """LRU at every capacity in one pass, each counted after its own warm-up; see `cachezoo.kernels.stack_distance`.

    Args:
        pages: page accesses of a trace.
        capacities: int[k] pages, in any order.
        count: from where on it counts.

    Raises:
        ConfigError: no capacity, one below 1, or page ids outside [0, n_pages).
    """
    sizes = rising(capacities)
    first = first_accesses(pages, count, sizes)
    hits = lru_hits(dense_ids(pages.page_ids, pages.n_pages), pages.n_pages, sizes, first)
    return Curve(LRU, "classic", sizes, hits / (len(pages.page_ids) - first), None, 1.0, first)


def long_curve(
    entry: Policy, trace: LongSimulator, capacities: Sequence[int] | I64, count: Count = SECOND_HALF,
    advance: Advance | None = None,
) -> Curve:  # fmt: skip
    """The same of a long trace, whose page accesses are reads of their own; LRU at every capacity in one pass.

    Raises:
        ConfigError: as `simulated_curve`, or a policy that moves pages of others.
    """
    sizes = rising(capacities)
    first, total = trace.firsts(count, sizes.tolist()), trace.accesses
    if entry.id == LRU:
        hits = lru_hits(trace.stream.page_ids, trace.n_pages, sizes, first)
        return Curve(LRU, entry.kind, sizes, hits / (total - first), None, 1.0, first)
    if entry.spec is not None and entry.spec.is_virtual:
        raise ConfigError(f"policy {entry.id}: its queue takes the whole trace in memory; {FIX}")
    ratios = np.empty(len(sizes), np.float64)
    for k, (capacity, after) in enumerate(zip(sizes.tolist(), first.tolist(), strict=True)):
        if advance is not None:
            advance(k)
        ratios[k] = trace.run(entry, capacity, after).hit_ratio
    return Curve(entry.id, entry.kind, sizes, ratios, None, 1.0, first)


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
        advance: progress, in capacities.

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
