"""Curves of long traces from some of the pages, with their errors.

The sample holds all accesses to pages drawn by a hash of their ids at some rate; a cache of that part of the capacity
is simulated on it (miniature simulation). Sources: SHARDS, Waldspurger et al., FAST '15; Waldspurger et al., "Cache
Modeling and Optimization using Miniature Simulations", USENIX ATC 2017, Sec. 3.

A sample with a page that is accessed much has too many accesses, one without too few. As nearly all of those are hits
at any capacity, it is the misses that are scaled up, and the hits are what is left of all accesses. That is SHARDS's
correction by the first bucket (SHARDS_adj, Sec. 3.2); the rate is that of the pages drawn, not the one asked for.

The error is that of `cachezoo.contest.sampled`.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from cachezoo.arrays import F64, I32, I64
from cachezoo.console import Advance
from cachezoo.contest.counting import Count
from cachezoo.contest.sampled import GROUPS, half_widths
from cachezoo.curves.curve import Curve, rising
from cachezoo.errors import ConfigError
from cachezoo.kernels.outcome import HIT
from cachezoo.kernels.spatial import accesses_of, drawn_groups
from cachezoo.kernels.stack_distance import lru_hits
from cachezoo.policies.registry import Policy, in_sample, policy
from cachezoo.policies.sampling import page_seed
from cachezoo.traces.pages import PageAccesses
from cachezoo.traces.sampling import SampledTrace

Misses = Callable[[I32, int, I64, I64], I64]


@dataclass(frozen=True)
class Part:
    """Some pages of a trace, and all accesses to them."""

    page_ids: I32  # int32[m], numbered by first appearance
    n_pages: int
    rows: I64  # int64[m], which accesses of the whole trace these are, rising
    rate: float  # part of the trace's pages

    def miss_ratios(self, misses: Misses, capacities: I64, warmup: I64, total: int) -> F64:
        """float64[k], estimates of the whole trace's.

        Args:
            misses: (page ids, pages, capacities in the part, accesses of the part not counted) to misses int64[k].
            capacities: int64[k] pages of the whole trace.
            warmup: int64[k] accesses of the whole trace not counted.
            total: accesses of the whole trace.
        """
        own = np.maximum(1, np.round(capacities * self.rate)).astype(np.int64)
        found = misses(self.page_ids, self.n_pages, own, np.searchsorted(self.rows, warmup))
        return np.minimum(1.0, found / self.rate / (total - warmup))


@dataclass(frozen=True)
class Sample:
    """Pages of a trace drawn by a hash."""

    whole: Part  # all of them
    groups: tuple[Part, ...]  # the same pages in `GROUPS` parts that share none
    accesses: int  # of the whole trace


def draw(pages: PageAccesses, rate: float, seed: int = 0) -> Sample:
    """Draw pages.

    Args:
        pages: page accesses of a trace.
        rate: expected part of its pages, above 0, at most 1.
        seed: another seed, other pages.

    Raises:
        ConfigError: a rate that cannot be, or so few pages that a group would have none.
    """
    _check(rate)
    group = drawn_groups(pages.n_pages, rate, GROUPS, page_seed(seed))
    rows, page_ids = accesses_of(pages.page_ids, group)
    own = group[group > 0]
    counts = np.bincount(own, minlength=GROUPS + 1)[1:]
    if not counts.all():
        message = (
            f"rate {rate:g}: draws {len(own)} of {pages.n_pages} pages, too few for an error; use a higher one or exact"
        )
        raise ConfigError(message)
    parts = []
    for k in range(GROUPS):
        kept = own[page_ids] == k + 1
        number = np.cumsum(own == k + 1, dtype=np.int32) - np.int32(1)
        parts.append(Part(number[page_ids[kept]], int(counts[k]), rows[kept], int(counts[k]) / pages.n_pages))
    return Sample(Part(page_ids, len(own), rows, len(own) / pages.n_pages), tuple(parts), len(pages.page_ids))


def sample_of(trace: SampledTrace) -> Sample:
    """The pages of a trace of which only a sample was read.

    Raises:
        ConfigError: there are so few that a group has none.
    """
    parts = [
        Part(own.pages.page_ids, own.pages.n_pages, own.rows, own.pages.n_pages / trace.n_pages)
        for own in (trace, *trace.groups(GROUPS))
    ]
    return Sample(parts[0], tuple(parts[1:]), trace.accesses)


def first_sampled(sample: SampledTrace, count: Count, capacities: npt.ArrayLike) -> I64:
    """int64[k]: the page access of the whole trace from which on each of many capacities counts, by a sample of it.

    Args:
        sample: of the trace.
        count: the rule.
        capacities: int[k] pages of the whole trace.

    Raises:
        ConfigError: as of `first_access`.
    """
    rows, total = np.append(sample.rows, sample.accesses), sample.accesses
    own = np.maximum(1, np.round(np.asarray(capacities, np.int64) * (sample.pages.n_pages / sample.n_pages)))
    filled = rows[np.searchsorted(np.maximum.accumulate(sample.pages.page_ids), own.astype(np.int64) - 1)]
    if count.wait_us is not None:
        times = np.repeat(sample.trace.time_us, np.diff(sample.pages.request_start))
        return np.full(len(own), rows[count.place(len(times), 0, times)])
    return np.array([count.place(total, int(one)) for one in filled], np.int64)


def sampled_pages(pages: PageAccesses, rate: float, seed: int = 0) -> PageAccesses:
    """All accesses to some pages of a trace, each a request of its own.

    Args:
        pages: page accesses of a trace.
        rate: expected part of its pages, above 0, at most 1.
        seed: another seed, other pages.

    Raises:
        ConfigError: a rate that cannot be, or one that draws no page.
    """
    _check(rate)
    group = drawn_groups(pages.n_pages, rate, 1, page_seed(seed))
    rows, page_ids = accesses_of(pages.page_ids, group)
    if not len(rows):
        raise ConfigError(f"rate {rate:g}: draws none of {pages.n_pages} pages; use a higher one")
    return PageAccesses(np.arange(len(rows) + 1, dtype=np.int64), page_ids, int((group > 0).sum()))


def _check(rate: float) -> None:
    if not 0 < rate <= 1:
        raise ConfigError(f"rate {rate:g}: give a part of the pages, above 0 and at most 1")


def misses_of(entry: Policy) -> Misses:
    """How the misses of a policy are counted: LRU's in one pass, another's by a simulation of each capacity."""

    def in_one_pass(page_ids: I32, n_pages: int, capacities: I64, warmup: I64) -> I64:
        return len(page_ids) - warmup - lru_hits(page_ids, n_pages, capacities, warmup)

    def one_by_one(page_ids: I32, n_pages: int, capacities: I64, warmup: I64) -> I64:
        each = zip(capacities.tolist(), warmup.tolist(), strict=True)
        found = [int((entry.hits(page_ids, n_pages, size)[after:] != HIT).sum()) for size, after in each]
        return np.array(found, np.int64)

    return in_one_pass if entry.id == "lru" else one_by_one


def sampled_curve(
    sample: Sample, entry: Policy, capacities: Sequence[int] | I64, first: I64, exact_lru: Curve | None = None,
    advance: Advance | None = None,
) -> Curve:  # fmt: skip
    """A policy's curve and its error from a sample.

    Args:
        sample: of the pages.
        entry: the policy.
        capacities: int[k] pages of the whole trace, in any order.
        first: int64[k] from which access of the whole trace on each counts, by rising capacity.
        exact_lru: LRU's exact curve at these capacities. With it the sample only measures by how much the policy
            differs from LRU, which it does better: what a sample has too much or too little of, both get.
        advance: progress, in capacities.

    Raises:
        ConfigError: no capacity, or one that the policy cannot have in the sample.
    """
    sizes = rising(capacities)
    parts = (sample.whole, *sample.groups)
    found = np.empty((len(parts), len(sizes)), np.float64)
    counts = [misses_of(entry)] if exact_lru is None else [misses_of(entry), misses_of(policy("lru"))]
    for k, part in enumerate(parts):
        if advance is not None:
            advance(len(sizes) * k / len(parts))
        with in_sample(entry.id, int(sizes[0])):
            ratios = [part.miss_ratios(count, sizes, first, sample.accesses) for count in counts]
        found[k] = ratios[0] if exact_lru is None else ratios[0] - ratios[1]
    start = np.ones(len(sizes)) if exact_lru is None else exact_lru.hit_ratio
    ratio = np.clip(start - found[0], 0.0, 1.0)
    errors = half_widths(found[0], found[1:])
    return Curve(entry.id, entry.kind, sizes, ratio, errors, sample.whole.rate, first)
