"""A mix in front of one cache, and what candidates do there: what each application has, what the disk reads, how fair.

The command and the stage both build a `Case`, score candidates on it, and compare the scores by `cachezoo.contest`. The
cost of a score is the pages that are read from the disk, a reference.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import ceil
from typing import Any

import numpy as np
import numpy.typing as npt

from cachezoo.arrays import F64, I64, Bool
from cachezoo.console import Advance
from cachezoo.contest import choice as core
from cachezoo.contest.blocks import blocks_in
from cachezoo.contest.choice import Goal, Outcome, choose
from cachezoo.contest.counting import HALF, Count
from cachezoo.contest.lead import Lead
from cachezoo.contest.sampled import GROUPS, Estimated, half_widths
from cachezoo.contest.verdict import LEAST_SAVING, Verdict, verdict
from cachezoo.devices.analytic import t_hdd_us
from cachezoo.errors import ConfigError
from cachezoo.questions.share.learned import run_parts
from cachezoo.questions.share.mix import ROUNDING, Mix
from cachezoo.questions.share.partition import FRAGMENT, Candidate, Floor, Hull, Shared, Task, Unfit
from cachezoo.questions.share.partitioners import PARTS, fitted, shrunk, with_policy
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
        filled = int(mix.before(np.searchsorted(mix.distinct, mix.own(pages)))) + 1
        return np.full(mix.count, mix.place(rules[0].place(mix.references, filled)), np.int64)
    if len(rules) != mix.count:
        message = f"--count: {len(rules)} rules for {mix.count} applications; give one for all, or one for each"
        raise ConfigError(message)
    firsts = [one.place(rule.place(one.references, 0)) for rule, one in zip(rules, mix.applications, strict=True)]
    return np.array([np.append(own, len(mix))[first] for own, first in zip(mix.at, firsts, strict=True)], np.int64)


def disk_us(mix: Mix, hdd: Hdd) -> F64:
    """float64[A]: mean service time of a page on the disk, of each application's requests by themselves."""
    return np.array([float(t_hdd_us(one.trace, hdd).mean()) if one.trace else 0.0 for one in mix.applications])


@dataclass(frozen=True)
class Case(core.Case):
    """A mix in front of a cache of some size."""

    mix: Mix
    start: I64  # int64[A] the place among all references from which on each application counts
    disk_us: F64  # float64[A] how long a page takes each application from the disk, where nothing waits
    floors: tuple[Floor, ...] = ()  # of each application; empty where none has one
    groups: tuple["Case", ...] = ()  # the same of each group of a sample

    @classmethod
    def of(cls, mix: Mix, pages: int, disk: F64, start: I64, floors: Sequence[Floor] = ()) -> "Case":
        """A cache of so many pages; its name is the applications'."""
        return cls("+".join(mix.names), pages, int(start.min()), len(mix), mix, start, disk, tuple(floors))

    @cached_property
    def earlier(self) -> "Case | None":
        """The case to choose on: what comes before that which counts, of which the second half counts.

        None where so little comes before that its means say nothing.
        """
        if not blocks_in(self.first - self.first // 2):
            return None
        start = np.full(self.mix.count, self.first // 2, np.int64)
        return Case.of(self.mix.until(self.first), self.pages, self.disk_us, start, self.floors)

    @property
    def pages(self) -> int:
        """Of the cache as required; each candidate uses its whole fragments."""
        return int(self.size)

    @cached_property
    def counts(self) -> Bool:
        """bool[M]: which references count."""
        return np.arange(self.total) >= self.start[self.mix.app]

    @cached_property
    def references(self) -> I64:
        """int64[A]: how many references of each application count, of a sample those of all."""
        firsts = [int(np.searchsorted(places, first)) for places, first in zip(self.mix.at, self.start, strict=True)]
        return np.array(
            [one.references - one.before(first) for one, first in zip(self.mix.applications, firsts, strict=True)]
        )

    @cached_property
    def counted(self) -> int:
        """How many references count, of a sample those of all."""
        return int(self.references.sum())

    @cached_property
    def blocks(self) -> int:
        """Blocks of time of the references here that count; 0 where they are too few for an interval."""
        return blocks_in(int(np.count_nonzero(self.counts)))

    @cached_property
    def _counted_before(self) -> I64:
        """int64[k]: of a sample, how many of all references that count come before each one here that does."""
        ends = np.zeros(self.total, np.int64)
        for places, first, one in zip(self.mix.at, self.start, self.mix.applications, strict=True):
            assert one.whole is not None
            rows = one.whole.rows[places >= first]
            ends[places[places >= first]] = np.diff(rows, prepend=rows[:1] - 1)
        return np.cumsum(ends)[self.counts] - 1

    @property
    def sampled(self) -> bool:
        """Whether the mix is a sample, so that figures are estimates of what it is a sample of."""
        return self.mix.rate < 1

    @cached_property
    def weights(self) -> F64:
        """float64[A]: misses of all that one here stands for."""
        return np.array([one.weight for one in self.mix.applications])

    def mean(self, values: npt.NDArray[Any], further: I64 | int = 0) -> float:
        """Pages a reference that counts.

        Args:
            values: [M] of each reference, whole numbers; 0 where nothing counts.
            further: int64[A] pages of each application besides, or the same of all.
        """
        if self.sampled:
            return float(((self.each(values) + further) * self.weights).sum()) / self.counted
        total = np.count_nonzero(values) if values.dtype == np.bool_ else int(values.sum(dtype=np.int64))
        return float(total + int(np.sum(further))) / self.counted

    def by_block(self, values: npt.NDArray[Any]) -> F64:
        """float64[B]: means of what counts, in blocks of as many references that count.

        Args:
            values: [M] of each reference, whole numbers; 0 where nothing counts.
        """
        if not self.blocks:
            return np.zeros(0)
        places = np.flatnonzero(self.counts)
        if self.sampled:
            edges = np.linspace(0, self.counted, self.blocks + 1)
            sums = np.append(0, np.cumsum((values * self.weights[self.mix.app])[places]))
            of_each = np.diff(sums[np.searchsorted(self._counted_before, edges)])
            return of_each * (self.blocks / self.counted)
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
        missed = ((self.mix.distance < 0) | (self.mix.distance >= self.mix.own(pages))) & self.counts
        with np.errstate(invalid="ignore"):
            ratios: F64 = (self.references - self.each(missed) * self.weights) / self.references
        return np.maximum(ratios, 0.0)

    def page_us(self, hit_ratio: F64) -> F64:
        """float64[A]: mean time of a page of each application."""
        return hit_ratio * CACHE_US + (1 - hit_ratio) * self.disk_us

    def score(self, candidate: Candidate) -> "Score":
        """Run a candidate; of a sample on its groups too.

        Raises:
            Unfit: the cache has too few fragments for it.
            ConfigError: the cache is too large for it.
        """
        own = Score.of(self, candidate, self._run(candidate))
        if not self.groups:
            return own
        try:
            again = [Score.of(group, candidate, group.run_again(own)) for group in self.groups]
        except Unfit:  # where the whole sample does, so that all that is not known is how far it may be off
            return replace(own, blocks=np.zeros(0))
        figures = np.array([one.figures for one in again])
        means, hits = (np.array(found) for found in zip(*((one.mean, one.hit_ratio) for one in again), strict=True))
        return replace(own, groups=means, group_hits=hits, group_figures=figures)

    def _run(self, candidate: Candidate) -> Shared:
        if not self.sampled:
            return candidate.run(self.mix, self.pages, self.counts, self.floors)
        rate, fixed = self.mix.rate, PARTS in candidate.options.texts
        own = shrunk(candidate, rate, self.pages)
        floors = tuple(replace(one, pages=ceil(one.pages * rate - ROUNDING)) for one in self.floors)
        pages = self.mix.own(self.pages if fixed else self.usable(candidate))
        with candidate.named():
            Task(self.mix, self.pages, self.counts, self.floors).total(candidate.fragment)
            task = Task(self.mix, pages, self.counts, floors, rate)
            return self._as_whole(own.partitioner.run(task, own.options))

    def run_again(self, one: "Score") -> Shared:
        """What a candidate does here, with the parts and policies that were chosen elsewhere where these stay."""
        names, candidate = one.shared.policies, one.candidate
        if not candidate.splits:
            return self._run(with_policy(candidate, names[0]))
        if len(names) != self.mix.count:
            return self._run(candidate)
        sizes, hulls = one.shared.splits[0].tolist(), list[Hull]()
        for own in one.shared.hulls:
            hulls.append(replace(own, ends=(self.mix.own(own.ends[0]), self.mix.own(own.ends[1]))))
        dealt = [own.parts(size) for own, size in zip(one.shared.hulls, sizes, strict=True)] if hulls else []
        names = tuple(hulls[a].policies[1] if a < len(dealt) and dealt[a] else name for a, name in enumerate(names))
        return self._as_whole(run_parts(self.mix, [self.mix.own(size) for size in sizes], names, hulls))

    def _as_whole(self, shared: Shared) -> Shared:
        """What was done in a sample, with the pages that each application has in the whole cache."""
        rate = self.mix.rate
        hulls = [replace(own, ends=(int(own.ends[0] / rate), int(own.ends[1] / rate))) for own in shared.hulls]
        splits = (shared.splits / rate + ROUNDING).astype(np.int64)
        return replace(shared, splits=splits, hulls=tuple(hulls))


@dataclass(frozen=True)
class Served:
    """One application's figures; None where none of its references counts."""

    name: str
    references: int  # that count
    hit_ratio: float | None  # of them
    transfers: float | None  # pages read for it, a reference: misses, and what its runs and its share read besides them
    beside: float | None  # of `transfers` those that are no misses
    slowdown: float | None  # mean page time over that with the whole cache to itself under LRU
    pages: float | None  # of its share, on average over time; None where the cache does not say whose pages it holds


@dataclass(frozen=True)
class Score(Estimated):
    """A candidate's figures; its cost is the pages read from the disk, a reference that counts."""

    case: Case
    candidate: Candidate
    shared: Shared
    by_split: I64  # int64[A] pages that new splits and mappings read for each application, where they count
    # of a sample's groups, each its hit ratio (float64[GROUPS]), and each application's hit ratio and transfers there
    # (float64[GROUPS, A, 2]; not a number where none of its references counts, or no page of it is there)
    group_hits: F64 | None = field(default=None, kw_only=True)
    group_figures: F64 | None = field(default=None, kw_only=True)

    @classmethod
    def of(cls, case: Case, candidate: Candidate, shared: Shared) -> "Score":
        """Of what a candidate did."""
        at = np.maximum(shared.begins - 1, 0)  # each split begins after another reference
        new = shared.allocation * (at[:, None] >= case.start[None, :])
        read = (~shared.hit & case.counts) + np.where(case.counts, shared.fragmentation, 0).astype(np.int64)
        mean = case.mean(read, new.sum(axis=0))
        read[at] += new.sum(axis=1)
        return cls(mean, case.by_block(read), case, candidate, shared, new.sum(axis=0))

    def lead(self, rival: Outcome, goal: Goal) -> Lead:
        """As of any estimate; against one of which nobody knows how far it is off, nobody knows how sure it is."""
        if len(self.blocks) != len(rival.blocks):
            return Lead(goal.lead(self.mean, rival.mean), None, 0.0, np.zeros(0))
        return super().lead(rival, goal)

    @property
    def transfers(self) -> float:
        """Pages read from the disk, a reference."""
        return self.mean

    @cached_property
    def hits(self) -> Estimated:
        """The hit ratio of all references that count, and its blocks."""
        case, missed = self.case, ~self.shared.hit & self.case.counts
        if case.sampled:
            blocks = 1 - case.by_block(missed) if len(self.blocks) else self.blocks  # none without an error
            return Estimated(max(0.0, 1 - case.mean(missed)), blocks, groups=self.group_hits)
        hit = self.shared.hit & case.counts
        return Estimated(np.count_nonzero(hit) / case.counted, case.by_block(hit))

    @property
    def hit_ratio(self) -> float:
        """Of all references that count."""
        return self.hits.mean

    @cached_property
    def misses(self) -> float:
        """Of `transfers`."""
        return self.case.mean(~self.shared.hit & self.case.counts)

    @cached_property
    def parts(self) -> tuple[float, float]:
        """Of `transfers`: pages that entered runs away from the head, and pages that new splits or mappings read."""
        runs, none = np.where(self.case.counts, self.shared.fragmentation, 0), np.zeros(len(self.case.mix), np.bool_)
        return self.case.mean(runs), self.case.mean(none, self.by_split)

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
        # of what no page was drawn nothing is known, though it misses none
        known = np.array([1.0 if one.whole is None or one.whole.drawn else np.nan for one in case.mix.applications])
        references, misses = case.references, case.each(~shared.hit & counts) * case.weights * known
        besides = (case.each(np.where(counts, shared.fragmentation, 0)) + self.by_split) * case.weights
        with np.errstate(invalid="ignore"):
            ratio, reads = np.maximum(1 - misses / references, 0.0), (misses + besides) / references
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

    @cached_property
    def unmet(self) -> tuple[str, ...]:
        """The floors that it does not keep, where they count, a phrase each."""
        found = []
        for a, floor in enumerate(self.case.floors):
            name, hits = self.case.mix.names[a], self.applications[a].hit_ratio
            if floor.hits and hits is not None and hits < floor.hits:
                found.append(f"{name} has a hit ratio of {hits:.3f}, not {floor.hits:g}")
            if floor.pages and not self.candidate.splits:
                found.append(f"{name} has no part of its own")
            elif floor.pages and self._least_pages(a) < floor.pages:
                found.append(f"{name} has {human_pages(self._least_pages(a))}, not {human_pages(floor.pages)}")
        return tuple(found)

    def _least_pages(self, a: int) -> int:
        """Of an application's part, from where it counts on."""
        ends = np.append(self.shared.begins[1:], self.case.total)
        return int(self.shared.splits[ends > self.case.start[a], a].min())

    @property
    def figures(self) -> F64:
        """float64[A, 2]: each application's hit ratio and transfers; not a number where none counts."""
        return np.array([[one.hit_ratio, one.transfers] for one in self.applications], np.float64)

    @property
    def hits_error_90(self) -> float | None:
        """Half the 90 % interval of what a sample's hit ratio may be off."""
        return self.hits.error_90

    @cached_property
    def application_errors(self) -> F64 | None:
        """float64[A, 2]: the same of each application's hit ratio and transfers; None where nothing is estimated.

        By the groups that have pages of an application; not a number where fewer than two have any.
        """
        if self.group_figures is None:
            return None
        widths = half_widths(self.figures, self.group_figures)
        for a in np.flatnonzero(np.isnan(widths[:, 0])).tolist():
            known = self.group_figures[~np.isnan(self.group_figures[:, a, 0]), a]
            if len(known) > 1:  # its mean is of so many groups, not of GROUPS, and varies the more
                mean = known.mean(axis=0)
                widths[a] = half_widths(self.figures[a], mean + (known - mean) * np.sqrt(GROUPS / len(known)))
        return widths

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
            "split": [[int(self.case.mix.before(begins[k])) if begins[k] else 0, *splits[k].tolist()] for k in changes],
            "policies": list(self.shared.policies),
            "unmet": list(self.unmet),
            **self._errors(),
        }

    def _errors(self) -> dict[str, Any]:
        """Half the 90 % intervals of estimates, for JSON; nothing where nothing is estimated."""
        if (each := self.application_errors) is None:
            return {}
        known = [[None if np.isnan(value) else value for value in own] for own in each.tolist()]
        return {
            "hit_ratio_error_90": self.hits_error_90,
            "transfers_error_90": self.error_90,
            "applications_error_90": [{"hit_ratio": hits, "transfers": read} for hits, read in known],
        }


def score_all(
    case: Case, candidates: Sequence[Candidate], advance: Advance | None = None, must_fit: bool = False
) -> tuple[list[Score], dict[Candidate, Unfit]]:
    """Run candidates on one case.

    Args:
        case: the mix and the cache.
        candidates: which.
        advance: progress, in candidates.
        must_fit: a case that a candidate cannot have is an error.

    Returns:
        The scores of those that can have this case, in their order, and why the others cannot.

    Raises:
        Unfit: a candidate that must fit cannot have it.
        ConfigError: it is too large for one.
    """
    scores, small = list[Score](), dict[Candidate, Unfit]()
    for done, one in enumerate(candidates):
        if advance is not None:
            advance(done, str(one))
        try:
            scores.append(case.score(one))
        except Unfit as error:
            if must_fit:
                raise
            small[one] = error
    if advance is not None:
        advance(len(candidates))
    return scores, small


@dataclass(frozen=True)
class Comparison:
    """Candidates on the same mix and cache."""

    case: Case
    rows: tuple[Score, ...]  # of each candidate, in their order
    now: Candidate  # what runs today: to change nothing
    earlier: Mapping[Candidate, float | None]  # transfers on the case to choose on; None where a floor is not kept
    left_out: tuple[str, ...] = ()  # candidates that cannot have this case, and why, a line for each reason
    fitted: tuple[str, ...] = ()  # those of which a sample has other values than were given, or no error

    def row(self, candidate: Candidate) -> Score | None:
        """Of a candidate."""
        return next((row for row in self.rows if row.candidate == candidate), None)

    def best(self, splits: bool | None = None) -> Score | None:
        """The row of what reads least on the case to choose on; of equals what runs today, then the first.

        Args:
            splits: of those that split, or share, alone; None: of all.
        """
        own = {one: [mean] for one, mean in self.earlier.items() if splits is None or one.splits == splits}
        found = choose(dict(sorted(own.items(), key=lambda item: item[0] != self.now)), Goal.COST)
        return None if found is None else self.row(found.chosen)

    def keeps_floors(self, row: Score) -> bool:
        """Whether a row keeps its floors, before what counts and where it counts."""
        return not row.unmet and self.earlier.get(row.candidate) is not None

    @property
    def advised(self) -> Score | None:
        """What to change to: the best, where it surely saves enough or what runs today keeps no floor; else None."""
        best, now = self.best(), self.row(self.now)
        if best is None or now is None or not self.keeps_floors(now):
            return best
        return best if verdict(best.lead(now, Goal.COST), LEAST_SAVING) == Verdict.BETTER else None


def compare(
    mix: Mix, candidates: Sequence[Candidate], pages: int, count: str, hdd: Hdd, advance: Advance | None = None,
    must_fit: bool = False, now: Candidate | None = None, floors: Sequence[Floor] = (),
) -> Comparison:  # fmt: skip
    """Compare candidates as the command does.

    What knows nothing ahead is chosen on the references before those that count, and quoted on these.

    Args:
        mix: the applications, with their traces.
        candidates: which; what runs today is added.
        pages: of the whole cache.
        count: as `counted_from` takes it.
        hdd: the disk that holds the pages.
        advance: progress, in candidates.
        must_fit: refuse a case that any of them cannot have; otherwise these are left out while others fit.
        now: what runs today; None: the first of the candidates that runs one cache for all, else the first.
        floors: of each application; none where empty.

    Raises:
        ConfigError: the cache holds more than all pages, is too small or too large, nothing counts, or fragments of
            candidates differ.
    """
    if now is None:
        now = next((one for one in candidates if not one.splits), candidates[0])
    candidates = list(dict.fromkeys((*candidates, now)))
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
    wanted, candidates = candidates, [fitted(one, mix, pages) for one in candidates]
    now = candidates[wanted.index(now)]
    changed = _changed(wanted, candidates)
    disk = disk_us(mix, hdd)
    groups = [Case.of(one, pages, disk, counted_from(one, count, pages), floors) for one in mix.groups]
    case = replace(Case.of(mix, pages, disk, counted_from(mix, count, pages), floors), groups=tuple(groups))
    if not case.counted:
        raise ConfigError(f"a sample of {mix.rate:g} has no reference that counts; use a higher one, or exact")
    for group in groups:
        vars(group)["references"] = case.references  # a group may have none that counts
    rows, small = score_all(case, candidates, _half(advance, 0), must_fit)
    if small and not rows:
        raise next(iter(small.values()))
    reasons = dict[str, list[str]]()
    for one, error in small.items():
        reasons.setdefault(str(error.__cause__), []).append(str(one))
    lines = tuple(f"left out: {', '.join(names)}: {reason}" for reason, names in reasons.items())
    changed += tuple(
        f"no ± of {row.candidate}: it takes more fragments than a group of the sample has; give a higher --sample"
        for row in rows if groups and row.groups is None
    )  # fmt: skip
    able = [row.candidate for row in rows if not row.candidate.knows]
    return Comparison(case, tuple(rows), now, _earlier(case, able, _half(advance, len(candidates))), lines, changed)


def _changed(wanted: Sequence[Candidate], ran: Sequence[Candidate]) -> tuple[str, ...]:
    """What candidates have in a sample in place of what was given, a line each; of fragments, which all share, one."""

    def rest(one: Candidate) -> list[tuple[str, str]]:
        return [pair for pair in one.given if pair[0] != FRAGMENT.name]

    lines = [f"{one} runs as {own}" for one, own in zip(wanted, ran, strict=True) if rest(one) != rest(own)]
    if wanted[0].fragment != ran[0].fragment:
        lines.insert(0, f"fragments of {ran[0].fragment:,} pages in place of {wanted[0].fragment:,}, as in the sample")
    return tuple(lines)


def _half(advance: Advance | None, begun: int) -> Advance | None:
    """Progress in candidates of which each runs twice."""
    if advance is None:
        return None

    def report(done: float, note: str = "") -> None:
        advance((begun + done) / 2, note)

    return report


def _earlier(case: Case, able: Sequence[Candidate], advance: Advance | None) -> dict[Candidate, float | None]:
    """Transfers of candidates on the case to choose on; nothing where there is no such case."""
    if case.earlier is None:
        return {}
    scores, _ = score_all(case.earlier, able, advance)
    return {one.candidate: None if one.unmet else one.transfers for one in scores}
