"""Whether applications should share one cache or split it, and by what.

Captured traces of the page categories run at the same time in front of one cache. Every way to share it chooses its
values on mixes of validation traces, by the pages that it reads from the disk. Each of its values is scored on every
validation mix at every size; a value that some mix cannot have, as its cache is too small, is none of that size's. What
was chosen runs on mixes of test traces, which choose nothing.

Source: Frasca et al., "Virtual I/O Caching", SC 2011, Sec. 5.2, runs mixes of applications under a G-VPA and compares
hit rates with one LRU; rivals as freely tuned, transfers besides hit ratios, and intervals are ours.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from statistics import fmean
from typing import Annotated

import numpy as np

from cachezoo import paths
from cachezoo.arrays import F64, I64
from cachezoo.console import progress
from cachezoo.contest.blocks import BLOCKS
from cachezoo.contest.choice import Goal
from cachezoo.contest.choice import choose as best_of
from cachezoo.devices.built_in import BUILT_IN
from cachezoo.errors import ConfigError
from cachezoo.metrics.base import Role
from cachezoo.params import At, Picked
from cachezoo.questions.share.case import Case, Score, counted_from, disk_us, score_all
from cachezoo.questions.share.columns import (
    SHARED_LRU,
    STATIC,
    App,
    AppRow,
    Chosen,
    Count,
    Kind,
    Read,
    Saved,
    ShareMetrics,
    ShareMix,
    ShareRow,
    Size,
    Timeline,
)
from cachezoo.questions.share.mix import Application, Mix, mix_pages, reference_times
from cachezoo.questions.share.partition import Candidate, Shared
from cachezoo.questions.share.partitioners import parse
from cachezoo.settings.data import TraceEntry
from cachezoo.settings.device import Device, Hdd, RealDevice
from cachezoo.settings.share import EQUAL, SharePolicy
from cachezoo.traces.clock import has_clock
from cachezoo.traces.store import read_pages, read_trace

SECTION = "policy.share"
Families = Mapping[str, Sequence[Candidate]]
Tried = dict[tuple[float, Candidate], Read | None]
Choices = dict[float, dict[str, tuple[Candidate, Chosen]]]


@dataclass(frozen=True)
class Settings(Picked):
    """What the stage reads of params.yaml."""

    device: Annotated[Device, At("device")]
    categories: Annotated[list[str], At("data.page_categories")]
    traces: Annotated[Mapping[str, TraceEntry], At("data.traces")]
    share: Annotated[SharePolicy, At("policy.share")]


@dataclass(frozen=True)
class Named:
    """A mix by the keys of its traces."""

    name: str
    kind: Kind
    keys: tuple[str, ...]


def mixes_of(entries: Mapping[str, TraceEntry], categories: Sequence[str], role: Role, pairs: int) -> list[Named]:
    """The mixes of a role.

    One of a trace of each category, whose program was seen in training; one of all traces, where there are more, as of
    unseen programs; and two and two of the first.

    Args:
        entries: traces by key.
        categories: of page traces.
        role: of the traces.
        pairs: most pairs, those that are farthest apart in the list of categories first, so that few hold all.
    """
    own = {
        category: sorted(key for key, one in entries.items() if (one.category, one.role) == (category, role))
        for category in categories
    }
    seen = [key for keys in own.values() for key in [key for key in keys if not entries[key].unseen][:1]]
    every = [key for keys in own.values() for key in keys]
    found = [Named("all", "all", tuple(seen))] if len(seen) > 1 else []
    if len(every) > max(len(seen), 1):
        found.append(Named("unseen", "unseen", tuple(every)))
    if len(seen) > 2:
        places = sorted(combinations(range(len(seen)), 2), key=lambda two: (abs(two[1] - two[0] - len(seen) // 2), two))
        for left, right in places[:pairs]:
            name = "+".join(entries[seen[at]].category for at in (left, right))
            found.append(Named(name, "pair", (seen[left], seen[right])))
    return found


@dataclass(frozen=True)
class Traces:
    """Captured traces as applications, read when a mix first needs them."""

    entries: Mapping[str, TraceEntry]
    order: str  # `auto`, by the clocks where all of a mix have one, or `lockstep`
    _read: dict[str, tuple[Application, I64 | None]] = field(default_factory=dict, repr=False, compare=False)

    def mix(self, named: Named) -> Mix:
        """The applications of a mix, and the order of their references."""
        found = [self._application(key) for key in named.keys]
        return mix_pages([one for one, _ in found], [times for _, times in found if self.order == "auto"])

    def _application(self, key: str) -> tuple[Application, I64 | None]:
        if key not in self._read:
            path = paths.requests(self.entries[key].category, key)
            trace, pages = read_trace(path), read_pages(path)
            times = reference_times(trace, pages.request_start) if has_clock(trace) else None
            self._read[key] = Application(key, pages.page_ids, pages.n_pages, trace, reused=True), times
        return self._read[key]


def disk_of(device: Device) -> Hdd:
    """The model of the disk: a real one would have to read every page of every trace, so the built-in one stands in."""
    return BUILT_IN.hdd if isinstance(device, RealDevice) else device.hdd


def cases_of(mix: Mix, sizes: Sequence[float], hdd: Hdd) -> dict[float, Case]:
    """A mix in front of caches of parts of its footprint."""
    disk = disk_us(mix, hdd)
    pages = {size: max(1, round(size * mix.n_pages)) for size in sizes}
    return {size: Case.of(mix, own, disk, counted_from(mix, pages=own)) for size, own in pages.items()}


def families(settings: SharePolicy) -> tuple[Families, dict[str, Candidate]]:
    """The ways to share that validation chooses from, by family, and the bounds.

    Raises:
        ConfigError: one cannot be read, or a family knows the future, or both shares and splits.
    """

    def read(place: str, text: str) -> Candidate:
        try:
            return parse(text)
        except ConfigError as error:
            raise ConfigError(f"{SECTION}.{place}: {error}") from error

    found = {}
    for name, texts in settings.families.items():
        found[name] = list(dict.fromkeys(read(f"families.{name}", text) for text in texts))
        if known := [one for one in found[name] if one.knows]:
            message = f"{SECTION}.families.{name}: {known[0]} knows {known[0].knows} ahead; list it under bounds"
            raise ConfigError(message)
        if len({one.splits for one in found[name]}) > 1:
            message = f"{SECTION}.families.{name}: some of it share one cache and some split it; make two of it"
            raise ConfigError(message)
    return found, {name: read(f"bounds.{name}", text) for name, text in settings.bounds.items()}


def tried(cases: Mapping[float, Case], known: Families) -> Tried:
    """What every value does on a mix at every size; None where the cache is too small for it."""
    found: Tried = {}
    for size, case in cases.items():
        for one in dict.fromkeys(candidate for own in known.values() for candidate in own):
            scores, _ = score_all(case, [one])  # one by one: what a candidate did takes memory
            found[size, one] = Read(hit_ratio=scores[0].hit_ratio, transfers=scores[0].transfers) if scores else None
    return found


def choose(found: Sequence[Tried], known: Families, size: float) -> dict[str, tuple[Candidate, Chosen]]:
    """The value of each family that reads least on the mean of the mixes; of equals the first listed.

    Families without a value that all mixes can have at this size are left out.
    """
    chosen = {}
    for name, own in known.items():
        reads = {one: [mix[size, one] for mix in found] for one in own}
        means = {one: [None if mix is None else mix.transfers for mix in each] for one, each in reads.items()}
        best = best_of(means, Goal.COST)
        if best is not None:
            hits = fmean(read.hit_ratio for read in reads[best.chosen] if read is not None)
            mean = Read(hit_ratio=hits, transfers=best.mean)
            chosen[name] = best.chosen, Chosen(partitioner=str(best.chosen), tried=len(best.means), validation=mean)
    return chosen


def best_family(choices: Sequence[Mapping[str, Chosen]], names: Sequence[str]) -> str | None:
    """Of some families that which reads least, on the mean of sizes; only those that each size has a choice of."""
    means = {name: [own[name].validation.transfers if name in own else None for own in choices] for name in names}
    best = best_of(means, Goal.COST)
    return None if best is None else best.chosen


@dataclass(frozen=True)
class Plan:
    """What runs on every test mix."""

    chosen: Mapping[float, Mapping[str, Candidate]]  # by size and family
    bounds: Mapping[str, Candidate]  # by name
    rivals: Sequence[str]  # families and bounds that each row is compared with
    lines: str | None  # the family whose split over time is kept; None where none splits


def evaluate_mix(named: Named, mix: Mix, plan: Plan, settings: Settings) -> ShareMix:
    """Every family's choice and every bound at every size."""
    rows: list[ShareRow] = []
    lines: list[Timeline] = []
    cases = cases_of(mix, list(plan.chosen), disk_of(settings.device))
    for size, case in cases.items():
        candidates = {**plan.chosen[size], **plan.bounds}
        scores, _ = score_all(case, list(dict.fromkeys(candidates.values())))
        known = {one.candidate: one for one in scores}
        run = {name: known[one] for name, one in candidates.items() if one in known}
        rivals = {name: run[name] for name in plan.rivals if name in run}
        rows += [_row(size, name, own, rivals, name in plan.bounds) for name, own in run.items()]
        if plan.lines is not None and plan.lines in run:
            shares = timeline(run[plan.lines].shared, len(mix), BLOCKS)
            parts = {name: shares[:, a].tolist() for a, name in enumerate(mix.names)}
            lines.append(Timeline(size=size, family=plan.lines, shares=parts))
    return ShareMix(
        role="test", kind=named.kind, order=mix.order, references=len(mix),
        counted=[case.counted for case in cases.values()][-1], pages=mix.n_pages,
        apps={
            one.name: App(category=settings.traces[one.name].category, references=len(one), pages=one.n_pages)
            for one in mix.applications
        },
        rows=rows, timelines=lines,
    )  # fmt: skip


def _row(size: float, family: str, own: Score, rivals: Mapping[str, Score], bound: bool) -> ShareRow:
    pages = own.case.usable(own.candidate)
    apps = {
        one.name: AppRow(
            hit_ratio=one.hit_ratio,
            transfers=one.transfers,
            slowdown=one.slowdown,
            share=None if one.pages is None else one.pages / pages,
        )
        for one in own.applications
        if one.hit_ratio is not None and one.transfers is not None and one.slowdown is not None
    }
    return ShareRow(
        size=size,
        pages=pages,
        family=family,
        partitioner=str(own.candidate),
        splits=own.candidate.splits,
        bound=bound,
        hit_ratio=own.hit_ratio,
        hit_interval=own.hits.estimate.ends,
        transfers=own.transfers,
        transfers_interval=own.estimate.ends,
        moved=own.moved,
        fairness=own.fairness,
        slowest=max(one.slowdown for one in apps.values()),
        apps=apps,
        saved={name: saved(own, rival) for name, rival in rivals.items() if name != family},
    )


def saved(own: Score, rival: Score) -> Saved:
    """How much less a candidate reads than a rival on the same case."""
    reads, hits = own.lead(rival, Goal.COST), own.hits.lead(rival.hits, Goal.GAIN)
    return Saved(transfers=reads.value, interval=reads.ends, hits=hits.value, hits_interval=hits.ends)


def timeline(shared: Shared, references: int, blocks: int) -> F64:
    """float64[blocks, A]: mean part of what is split that each application has, in blocks of as many references.

    Args:
        shared: what a partitioner did.
        references: of all applications.
        blocks: of time, over the whole mix.
    """
    kept = shared.begins < references
    begins, splits = shared.begins[kept], shared.splits[kept]
    spans = np.diff(np.append(begins, references))[:, None]
    area = np.concatenate([np.zeros((1, splits.shape[1])), np.cumsum(splits * spans, axis=0)])
    edges, ends = np.linspace(0, references, blocks + 1), np.append(begins, references)
    at = np.stack([np.interp(edges, ends, area[:, a]) for a in range(splits.shape[1])], axis=1)
    means = np.diff(at, axis=0)
    found: F64 = means / means.sum(axis=1, keepdims=True)
    return found


def counts(mixes: Sequence[ShareMix], family: str, near: float) -> Count:
    """On how many mixes and sizes a family reads least, near the best fixed split, or less or more than equal parts.

    Args:
        mixes: test mixes.
        family: which.
        near: how much above the best fixed split is near it.
    """
    rows = [(mix, row) for mix in mixes for row in mix.rows if row.family == family]
    against = [row.saved[EQUAL] for _, row in rows if EQUAL in row.saved]
    fixed = [(row, best) for mix, row in rows if (best := mix.row(row.size, STATIC)) is not None]
    least = [
        min(other.transfers for other in mix.rows if other.size == row.size and not other.bound) for mix, row in rows
    ]
    return Count(
        cases=len(rows),
        least=sum(row.transfers == own for (_, row), own in zip(rows, least, strict=True)),
        near_static=sum(row.transfers <= (1 + near) * best.transfers for row, best in fixed),
        below_equal=sum(one.interval[0] > 0 for one in against),
        above_equal=sum(one.transfers < 0 for one in against),
        surely_above_equal=sum(one.interval[1] < 0 for one in against),
    )


def evaluate_share(settings: Settings) -> ShareMetrics:
    """Stage evaluate_share: choose on validation mixes, compare on test mixes.

    Raises:
        ConfigError: a partitioner of policy.share cannot be read.
    """
    share, traces = settings.share, Traces(settings.traces, settings.share.order)
    known, bounds = families(share)
    validation, tests = (
        mixes_of(settings.traces, settings.categories, role, share.pairs) for role in ("validation", "test")
    )
    if not validation or not tests:
        role = "test" if validation else "validation"
        return _nothing(f"fewer than two page categories have a {role} trace of a program seen in training", share)
    made = _choices(traces, validation, known, settings)
    if not made:
        return _nothing("no cache of policy.share.sizes is large enough for equal parts", share)
    chosen = [{name: chosen for name, (_, chosen) in own.items()} for own in made.values()]
    advised = best_family(chosen, list(known))
    splits = {name: own[0].splits for name, own in known.items()}
    own = advised is not None and splits[advised]
    rival = best_family(chosen, [name for name in known if splits[name] != own])
    lines = next((name for name in (advised, rival) if name is not None and splits[name]), None)
    run = {size: {name: one for name, (one, _) in own.items()} for size, own in made.items()}
    rivals = dict.fromkeys((EQUAL, *(name for name in (SHARED_LRU,) if name in known), STATIC, advised, rival))
    plan = Plan(run, bounds, [name for name in rivals if name], lines)
    mixes: dict[str, ShareMix] = {}
    with progress("shared caches on test mixes", len(tests)) as advance:
        for named in tests:
            mixes[named.name] = evaluate_mix(named, traces.mix(named), plan, settings)
            advance(len(mixes), named.name)
    return ShareMetrics(
        reason="",
        validation={named.name: list(named.keys) for named in validation},
        sizes=[Size(share=size, choices=own) for size, own in zip(made, chosen, strict=True)],
        advised=advised,
        rival=rival,
        splits=own,
        near=share.near,
        mixes=mixes,
        counts={name: counts(list(mixes.values()), name, share.near) for name in known},
    )


def _choices(traces: Traces, validation: Sequence[Named], known: Families, settings: Settings) -> Choices:
    """The value of each family at each size, by size; without those at which equal parts cannot be had."""
    found = []
    with progress("shared caches on validation", len(validation)) as advance:
        for named in validation:
            cases = cases_of(traces.mix(named), settings.share.sizes, disk_of(settings.device))
            found.append(tried(cases, known))
            advance(len(found), named.name)
    made = {size: choose(found, known, size) for size in settings.share.sizes}
    return {size: own for size, own in made.items() if EQUAL in own}


def _nothing(reason: str, share: SharePolicy) -> ShareMetrics:
    return ShareMetrics(
        reason=reason, validation={}, sizes=[], advised=None, rival=None, splits=False, near=share.near, mixes={},
        counts={},
    )  # fmt: skip
