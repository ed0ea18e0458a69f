"""A mix in front of one cache, and what candidates do there: what each application has, what the disk reads, how fair.

The command and the stage both build a `Case`, score candidates on it, and compare the scores by `cachezoo.contest`. The
cost of a score is the pages that are read from the disk, a reference.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from cachezoo.arrays import F64, I64, Bool
from cachezoo.console import Advance
from cachezoo.contest import choice as core
from cachezoo.contest.counting import HALF, Count
from cachezoo.devices.analytic import t_hdd_us
from cachezoo.errors import ConfigError
from cachezoo.questions.share.mix import Mix
from cachezoo.questions.share.partition import Candidate, Shared, TooSmall
from cachezoo.settings.device import Hdd
from cachezoo.sizes import human_pages

CACHE_US = 0.1  # a page of 4 KiB in RAM, as tiers have it; a test holds both together


def counted_from(mix: Mix, count: str = HALF, pages: int = 1) -> I64:
    """int64[A]: the place among all references from which on each application counts.

    Args:
        mix: the applications.
        count: a rule, see `cachezoo.contest.counting.Count`, for the references of all; or one for each application,
            with commas, of its own references. For `auto` the cache is full when as many distinct pages were accessed.
        pages: of the whole cache.

    Raises:
        ConfigError: no such rule, or nothing would be left of an application.
    """
    rules = [Count(piece.strip()) for piece in count.split(",")]
    if len(rules) == 1:
        filled = int(np.searchsorted(mix.distinct, pages)) + 1
        return np.full(mix.count, rules[0].place(len(mix), filled), np.int64)
    if len(rules) != mix.count:
        message = f"--count: {len(rules)} rules for {mix.count} applications; give one for all, or one for each"
        raise ConfigError(message)
    firsts = [rule.place(len(own), 0) for rule, own in zip(rules, mix.at, strict=True)]
    return np.array([own[first] for own, first in zip(mix.at, firsts, strict=True)], np.int64)


def disk_us(mix: Mix, hdd: Hdd) -> F64:
    """float64[A]: mean service time of a page on the disk, of each application's requests by themselves."""
    return np.array([float(t_hdd_us(one.trace, hdd).mean()) if one.trace else 0.0 for one in mix.applications])


@dataclass(frozen=True)
class Case(core.Case):
    """A mix in front of which a cache of some size stands.

    Attributes:
        mix: the applications.
        start: int64[A] the place among all references from which on each application counts.
        disk_us: float64[A] how long a page takes each application from the disk, where nothing waits.
    """

    mix: Mix
    start: I64
    disk_us: F64

    @classmethod
    def of(cls, mix: Mix, pages: int, disk: F64, start: I64) -> "Case":
        """A cache of so many pages; its name is the applications'."""
        return cls("+".join(mix.names), pages, int(start.min()), len(mix), mix, start, disk)

    @property
    def pages(self) -> int:
        """Of the cache as required; each candidate uses its whole fragments."""
        return int(self.size)

    @cached_property
    def counts(self) -> Bool:
        """bool[M]: which references count."""
        return np.arange(self.total) >= self.start[self.mix.app]

    @cached_property
    def counted(self) -> int:
        """How many references count."""
        return int(np.count_nonzero(self.counts))

    def by_block(self, values: npt.NDArray[Any]) -> F64:
        """float64[B]: means of what counts, in blocks of as many references that count.

        Args:
            values: [M] of each reference, whole numbers; 0 where nothing counts.
        """
        if not self.blocks:
            return np.zeros(0)
        places = np.flatnonzero(self.counts)
        edges = np.linspace(0, len(places), self.blocks + 1).astype(np.int64)
        means: F64 = np.add.reduceat(values, np.append(0, places[edges[1:-1]]), dtype=np.int64) / np.diff(edges)
        return means

    def each(self, values: npt.NDArray[Any]) -> F64:
        """float64[A]: sum over each application's references."""
        if values.dtype == np.bool_:  # to count takes half the time of a sum
            return np.bincount(self.mix.app[values], minlength=self.mix.count).astype(np.float64)
        return np.bincount(self.mix.app, values, self.mix.count).astype(np.float64)

    def usable(self, candidate: Candidate) -> int:
        """Pages of the cache in whole fragments."""
        return self.pages // candidate.fragment * candidate.fragment

    def alone(self, pages: int) -> F64:
        """float64[A]: hit ratio of each application with all pages to itself under LRU; NaN where none counts."""
        hit = (self.mix.distance >= 0) & (self.mix.distance < pages) & self.counts
        with np.errstate(invalid="ignore"):
            ratios: F64 = self.each(hit) / self.each(self.counts)
        return ratios

    def page_us(self, hit_ratio: F64) -> F64:
        """float64[A]: mean time of a page of each application."""
        return hit_ratio * CACHE_US + (1 - hit_ratio) * self.disk_us

    def score(self, candidate: Candidate) -> "Score":
        """Run a candidate.

        Raises:
            TooSmall: the cache has too few fragments for it.
            ConfigError: the cache is too large for it.
        """
        return Score.of(self, candidate, candidate.run(self.mix, self.pages, self.counts))


@dataclass(frozen=True)
class Served:
    """One application's figures; None where none of its references counts.

    Attributes:
        name: its own.
        references: that count.
        hit_ratio: of them.
        transfers: pages read for it, a reference: misses, and what its runs and its share read besides them.
        beside: of `transfers` those that are no misses.
        slowdown: mean page time over that with the whole cache to itself under LRU.
        pages: of its share, on average over time; None where the cache does not say whose pages it holds.
    """

    name: str
    references: int
    hit_ratio: float | None
    transfers: float | None
    beside: float | None
    slowdown: float | None
    pages: float | None


@dataclass(frozen=True)
class Score(core.Outcome):
    """A candidate's figures; its cost is the pages read from the disk, a reference that counts.

    Attributes:
        case: what it ran on.
        candidate: which.
        shared: what it did.
        by_split: int64[A] pages that new splits and mappings read for each application, where they count.
    """

    case: Case
    candidate: Candidate
    shared: Shared
    by_split: I64

    @classmethod
    def of(cls, case: Case, candidate: Candidate, shared: Shared) -> "Score":
        """Of what a candidate did."""
        at = np.maximum(shared.begins - 1, 0)  # each split begins after another reference
        new = shared.allocation * (at[:, None] >= case.start[None, :])
        read = (~shared.hit & case.counts) + np.where(case.counts, shared.fragmentation, 0).astype(np.int64)
        read[at] += new.sum(axis=1)
        return cls(float(read.sum()) / case.counted, case.by_block(read), case, candidate, shared, new.sum(axis=0))

    @property
    def transfers(self) -> float:
        """Pages read from the disk, a reference."""
        return self.mean

    @cached_property
    def hits(self) -> core.Outcome:
        """The hit ratio of all references that count, and its blocks."""
        hit = self.shared.hit & self.case.counts
        return core.Outcome(np.count_nonzero(hit) / self.case.counted, self.case.by_block(hit))

    @property
    def hit_ratio(self) -> float:
        """Of all references that count."""
        return self.hits.mean

    @cached_property
    def misses(self) -> float:
        """Of `transfers`."""
        return np.count_nonzero(~self.shared.hit & self.case.counts) / self.case.counted

    @cached_property
    def parts(self) -> tuple[float, float]:
        """Of `transfers`: pages that entered runs away from the head, and pages that new splits or mappings read."""
        runs = np.where(self.case.counts, self.shared.fragmentation, 0).sum(dtype=np.int64)
        return float(runs) / self.case.counted, float(self.by_split.sum()) / self.case.counted

    @property
    def moved(self) -> float:
        """Of `transfers`, pages read besides misses."""
        return sum(self.parts)

    @property
    def fragmentation(self) -> float | None:
        """The first of `parts`; None where the two are not told apart."""
        return self.parts[0] if self.shared.known else None

    @property
    def allocation(self) -> float | None:
        """The second of `parts`; None where the two are not told apart."""
        return self.parts[1] if self.shared.known else None

    @cached_property
    def applications(self) -> tuple[Served, ...]:
        """Of each."""
        case, shared, counts = self.case, self.shared, self.case.counts
        references, misses = case.each(counts), case.each(~shared.hit & counts)
        besides = case.each(np.where(counts, shared.fragmentation, 0)) + self.by_split
        with np.errstate(invalid="ignore"):
            ratio, reads = 1 - misses / references, (misses + besides) / references
            slow = case.page_us(ratio) / case.page_us(case.alone(case.usable(self.candidate)))
        figures = np.stack([ratio, reads, besides / np.maximum(references, 1), slow, self._mean_pages()], axis=1)
        return tuple(
            Served(one.name, int(count), *(None if np.isnan(value) else float(value) for value in own))
            for one, count, own in zip(case.mix.applications, references, figures, strict=True)
        )

    def _mean_pages(self) -> F64:
        """float64[A]: pages of each, on average over the references from its own start on; NaN where not known."""
        if not self.shared.known:
            return np.full(self.case.mix.count, np.nan)
        begins = np.append(np.minimum(self.shared.begins, self.case.total), self.case.total)
        spans = np.diff(np.maximum(begins[:, None], self.case.start[None, :]), axis=0)
        means: F64 = (self.shared.splits * spans).sum(axis=0) / np.maximum(spans.sum(axis=0), 1)
        return means

    @property
    def _slowdowns(self) -> F64:
        return np.array([one.slowdown for one in self.applications if one.slowdown is not None])

    @property
    def fairness(self) -> float:
        """A / sum of slowdowns: the harmonic mean of what each has of its speed alone."""
        return float(len(self._slowdowns) / self._slowdowns.sum())

    @property
    def speedup(self) -> float:
        """Sum of what each has of its speed alone (the weighted speed-up), at most about A."""
        return float((1 / self._slowdowns).sum())

    def values(self) -> dict[str, Any]:
        """For JSON: the split as [first reference, pages of each application] of each time that it changes.

        The split is empty where the cache does not say whose pages it holds.
        """
        begins, splits = self.shared.begins, self.shared.splits
        changes = np.flatnonzero(np.any(np.diff(splits, axis=0, prepend=-1) != 0, axis=1))
        return {
            "partitioner": str(self.candidate),
            "knows": self.candidate.knows or None,
            "hit_ratio": self.hit_ratio,
            "hit_ratio_interval": self.hits.interval,
            "transfers": self.transfers,
            "misses": self.misses,
            "moved": self.moved,
            "fragmentation": self.fragmentation,
            "allocation": self.allocation,
            "fairness": self.fairness,
            "weighted_speedup": self.speedup,
            "applications": [vars(one) for one in self.applications],
            "split": [[int(begins[k]), *splits[k].tolist()] for k in changes],
        }


def score_all(
    case: Case, candidates: Sequence[Candidate], advance: Advance | None = None, must_fit: bool = False
) -> tuple[list[Score], dict[Candidate, TooSmall]]:
    """Run candidates on one case.

    Args:
        case: the mix and the cache.
        candidates: which.
        advance: progress, in candidates.
        must_fit: a cache that is too small for a candidate is an error.

    Returns:
        The scores of those that can have so small a cache, in their order, and why the others cannot.

    Raises:
        TooSmall: the cache is too small for a candidate that must fit.
        ConfigError: it is too large for one.
    """
    scores, small = list[Score](), dict[Candidate, TooSmall]()
    for done, one in enumerate(candidates):
        if advance is not None:
            advance(done, str(one))
        try:
            scores.append(case.score(one))
        except TooSmall as error:
            if must_fit:
                raise
            small[one] = error
    if advance is not None:
        advance(len(candidates))
    return scores, small


@dataclass(frozen=True)
class Comparison:
    """Candidates on the same mix and cache.

    Attributes:
        case: the mix and the cache.
        rows: of each candidate, in their order.
        left_out: candidates that cannot have so small a cache, and why, a line for each reason.
    """

    case: Case
    rows: tuple[Score, ...]
    left_out: tuple[str, ...] = ()


def compare(
    mix: Mix, candidates: Sequence[Candidate], pages: int, count: str, hdd: Hdd, advance: Advance | None = None,
    must_fit: bool = False,
) -> Comparison:  # fmt: skip
    """Compare candidates as the command does.

    Args:
        mix: the applications, with their traces.
        candidates: which.
        pages: of the whole cache.
        count: as `counted_from` takes it.
        hdd: the disk that holds the pages.
        advance: progress, in candidates.
        must_fit: refuse a cache that is too small for any of them; otherwise these are left out while others fit.

    Raises:
        ConfigError: the cache holds more than all pages, is too small or too large, nothing counts, or fragments of
            candidates differ.
    """
    if len(sizes := {one.fragment for one in candidates}) > 1:
        different = " and ".join(str(size) for size in sorted(sizes))
        message = (
            f"fragments of {different} pages: partitioners would get caches of different sizes; give all of them the "
            "same, with --fragment, or with fragment= in each"
        )
        raise ConfigError(message)
    if pages > mix.n_pages:
        message = (
            f"a cache of {human_pages(pages)} is more than the {human_pages(mix.n_pages)} that the applications touch, "
            "so that there is nothing to split; give --size 100% or less"
        )
        raise ConfigError(message)
    case = Case.of(mix, pages, disk_us(mix, hdd), counted_from(mix, count, pages))
    rows, small = score_all(case, candidates, advance, must_fit)
    if small and not rows:
        raise next(iter(small.values()))
    reasons = dict[str, list[str]]()
    for one, error in small.items():
        reasons.setdefault(str(error.__cause__), []).append(str(one))
    lines = tuple(f"left out: {', '.join(names)}: {reason}" for reason, names in reasons.items())
    return Comparison(case, tuple(rows), lines)
