"""Baleen's protocol on one trace: the first day trains an admission, and the rest of the trace judges it.

The first day is cut in time. Its first part gives labels and rows, its last part chooses: the prefetch mode of every
policy, the model's threshold, and which policy without a model is the rival. Nothing is chosen on the rest, which gives
the figures. The cache is equally large everywhere; a share is of the first day's distinct segments. So all that is set
beforehand is known when the first day is over.

Two comparisons: *as trained*, the model with the threshold and the mode that were chosen, and rivals with theirs, all
kept to the rate by the same controller; and *at the limit*, every policy with its knob set on the rest itself, which is
hindsight.

Source: Wong et al., "Baleen: ML Admission & Prefetching for Flash Caches", FAST 2024, whose models learn from the first
day of seven; there thresholds were set on the days that are reported.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from decimal import Decimal

import numpy as np

from cachezoo.arrays import F64
from cachezoo.console import Advance
from cachezoo.contest.choice import Goal
from cachezoo.contest.lead import Mean, over_savings
from cachezoo.errors import TraceError
from cachezoo.flash_cache.load import DAY_S
from cachezoo.flash_cache.modes import NONE
from cachezoo.flash_cache.policies import BUDGETED, REJECTX, best_without_model, prefetch_of
from cachezoo.flash_cache.problem import FlashProblem
from cachezoo.kernels.segments import Geometry, expand_segments
from cachezoo.kernels.write_budget import Controller
from cachezoo.labels.episode_file import episode_rows
from cachezoo.metrics.flash import RateRow
from cachezoo.models.forest import Scorer, forest_scorer
from cachezoo.models.trained import FittedModel
from cachezoo.questions.flash.bench import OPT, Candidate
from cachezoo.questions.flash.options import (
    BALEEN,
    TOLERANCE,
    FlashOptions,
    WriteRate,
    capacity_segments,
    flash_problem_of,
)
from cachezoo.questions.flash.table import OPT_SEARCH, RateBench
from cachezoo.questions.objects.learned import EARLY_STOPPING, HOLDOUT_EVERY, SHAPE, THREADS
from cachezoo.serving.requests import batch_of
from cachezoo.settings.flash import EpisodeLabel, HistoryFeatures
from cachezoo.sized.baleen import BUCKET_OF_AGE, WINDOWS
from cachezoo.sizes import Size
from cachezoo.traces.clock import time_scale
from cachezoo.traces.read import silent
from cachezoo.traces.table import OP_READ, Trace
from cachezoo.training.episodes import Prepared
from cachezoo.zoo.admission.fit import Settings, fit_prepared
from cachezoo.zoo.admission.judge import plain_settings
from cachezoo.zoo.admission.serve import history_of, score_batch
from cachezoo.zoo.admission.settings import Fit, Model, Small

NAME = "first_day"
CHOOSING = 0.25
"""Of the first day, its last part: it chooses and trains nothing."""
LEAST_REQUESTS = 10_000
"""Of a first day; fewer leave a model too little to learn from and a rival too little to be chosen on."""
SEEDS = (0, 1, 2, 3, 4)
STEPS = 2
"""Of progress, before the trainings."""
REJECTX_ALONE = f"{REJECTX}, no prefetch"
"""The paper's baseline."""


@dataclass(frozen=True)
class Days:
    """A trace cut for the protocol; times of each part count from its first request."""

    first: Trace  # the first day whole
    train: Trace
    validation: Trace  # the last part of the first day
    test: Trace  # the rest


def first_day(trace: Trace, days: float = 1.0, least: int = LEAST_REQUESTS) -> Days:
    """Cut a trace: the first day, or the first half of the requests where that is shorter, and the rest.

    Where little comes in a day, the first part is longer.

    Args:
        trace: in the order of time. A day is one of recorded time (`time_scale` of its metadata); a trace whose times
            are row numbers is cut at its half.
        days: that train and choose.
        least: requests that do so, where half of the trace has as many.

    Raises:
        TraceError: a part would have no reads.
    """
    day_us = days * DAY_S / time_scale(trace) * 1e6
    cut = min(max(int(np.searchsorted(trace.time_us, trace.time_us[0] + day_us)), least), len(trace) // 2)
    chosen = cut - int(cut * CHOOSING)
    edges = ((0, cut), (0, chosen), (chosen, cut), (cut, len(trace)))
    if any(not (trace.op[a:b] == OP_READ).any() for a, b in edges):
        message = "its first day and the rest have too few reads to train on the one and report on the other"
        raise TraceError(f"{trace.meta.trace_id}: {message}; give a longer trace")
    return Days(*(trace.rows(a, b) for a, b in edges))


@dataclass(frozen=True)
class Run:
    """A policy on the test part: its figures, and disk-head seconds a second of its reads in each window."""

    row: RateRow
    curve: F64


@dataclass(frozen=True)
class Training:
    """One training."""

    seed: int
    mode: str  # of prefetch, that the validation part chose
    threshold: float  # that meets the rate there
    trees: int
    trained: Run  # with these
    at_limit: Run  # with its threshold set to the rate on the test part


@dataclass(frozen=True)
class Judged:
    """What the protocol says of a trace at one rate."""

    capacity: int  # segments
    eviction_age: int  # requests, that OPT of the train part assumes
    best: str  # policy without a model that the validation part chose
    kept: dict[str, Run]  # it, RejectX and RejectX without prefetch, kept to the rate by a controller, on the test part
    rivals: dict[str, Run]  # the same and OPT with their knobs set to the rate there
    trainings: tuple[Training, ...]  # none where the train part has nothing to learn from
    least: float  # gap from a rival to OPT, as a part of the rival's load, below which no share of it is given

    @property
    def rows(self) -> list[RateRow]:
        """All that ran on the test part: without a model and OPT, then each training as trained and at the limit."""
        own = [run for one in self.trainings for run in (one.trained, one.at_limit)]
        return [run.row for run in (*self.rivals.values(), *self.kept.values(), *own)]

    def saved(self, rival: str | None = None) -> Mean:
        """The share of a rival's mean load that the models save as trained, over seeds and windows.

        None is the best policy without a model.
        """
        held = self.kept[rival or self.best].curve
        return over_savings([one.trained.curve for one in self.trainings], [held] * len(self.trainings))

    def peak_saved(self, rival: str | None = None) -> list[float]:
        """The same of the busiest window, of each seed."""
        held = self.kept[rival or self.best].row.read_dt.peak
        return [Goal.COST.lead(one.trained.row.read_dt.peak, held) for one in self.trainings]

    def gap_closed(self, rival: str | None = None, peak: bool = False) -> list[float] | None:
        """At the limit, the share of the way from a rival to OPT, of each seed, in mean or peak load.

        None where OPT is hardly ahead of the rival, or the rival cannot write as much as a model does.
        """
        held = self.rivals[rival or self.best]
        theirs, bound = self._load(held, peak), self._load(self.rivals[OPT], peak)
        most = max(one.at_limit.row.segment_writes for one in self.trainings)
        if theirs - bound < self.least * theirs or theirs <= 0 or held.row.segment_writes < most * (1 - 2 * TOLERANCE):
            return None
        return [(theirs - self._load(one.at_limit, peak)) / (theirs - bound) for one in self.trainings]

    @staticmethod
    def _load(run: Run, peak: bool) -> float:
        return run.row.read_dt.peak if peak else run.row.read_dt.mean


def settings_of(geometry: Geometry, seed: int) -> Settings:
    """What params.yaml would say, for a trace that no matrix knows."""
    return Settings(
        label=label_of(geometry),
        history=HistoryFeatures(bucket_of_age=BUCKET_OF_AGE, windows=list(WINDOWS)),
        model=Model(arch="lgbm", **SHAPE, small=Small(num_leaves=16, max_trees=16, learning_rate=0.3)),
        fit=Fit(
            open_weight=1.0, holdout_every=HOLDOUT_EVERY,
            early_stopping=EARLY_STOPPING, threads=THREADS, machines=1,
        ),
        roles={},
        seed=seed,
    )  # fmt: skip


def label_of(geometry: Geometry) -> EpisodeLabel:
    """How episodes are labelled; capacity and budget are the problem's."""
    return EpisodeLabel(**asdict(geometry), **OPT_SEARCH)


def scores_of(model: FittedModel, scorer: Scorer, trace: Trace) -> F64:
    """Log-odds float64[n] of a trace's requests, from a fresh history."""
    return score_batch(history_of(model), batch_of(trace), scorer)


class _Part:
    """A part with its cache, and the segments that it may write at the rate."""

    def __init__(self, trace: Trace, geometry: Geometry, options: FlashOptions, rate: WriteRate) -> None:
        (size,) = options.sizes
        self.bench = RateBench(trace, flash_problem_of(trace, geometry, size, options), size, options, SEEDS[0])
        self.problem: FlashProblem = replace(self.bench.problem, budget=self.bench.limit(rate))
        self._rate = rate

    def within_rate(self, candidate: Candidate) -> Run:
        """A candidate with its knob set to the rate."""
        found = self.bench.within(candidate, self.problem.budget)
        return Run(self.bench.rate_row(candidate, self._rate, found, False), found.blocks)

    def as_trained(self, candidate: Candidate) -> Run:
        """A candidate under a controller that keeps the rate; a model begins with the threshold that was chosen."""
        found = self.bench.as_shipped(candidate, self.problem.budget)
        return Run(self.bench.rate_row(candidate, self._rate, found, True), found.blocks)


def _runs(candidates: Mapping[str, Candidate], run: Callable[[Candidate], Run]) -> dict[str, Run]:
    """What each did; those that are one policy in one mode run once."""
    made: dict[tuple[str, str], Run] = {}
    for one in candidates.values():
        if (one.policy, one.mode) not in made:
            made[one.policy, one.mode] = run(one)
    return {name: made[one.policy, one.mode] for name, one in candidates.items()}


def fit_and_judge(
    days: Days,
    geometry: Geometry,
    options: FlashOptions,
    rate: WriteRate,
    seeds: Sequence[int] = SEEDS,
    advance: Advance = silent,
) -> Judged:
    """Train on the train part, choose on the validation part, report on the test part.

    Args:
        days: the trace, see `first_day`.
        geometry: segments and blocks.
        options: one size of the cache, and what counts of the test part; all plain prefetch modes are tried.
        rate: what may be written; a share is of what AcceptAll writes on each part.
        seeds: of the trainings, at least one.
        advance: progress: steps done, `STEPS` and one a seed, and the next one's name.

    Returns:
        Without trainings where one of them learns nothing: the labels tell no reads apart.

    Raises:
        ConfigError: the cache or the rate is less than one segment.
        TrainingError: the train part is too short for labels.
    """
    advance(0, "labels")
    first = expand_segments(days.first.volume.codes, days.first.offset, days.first.size, geometry)
    (size,) = options.sizes
    capacity = capacity_segments(size, first.n_segments, geometry)
    own = replace(options, sizes=[Size(str(size), Decimal(capacity * geometry.segment_bytes), "B")])
    del first
    train, validation = (_Part(trace, geometry, own, rate).problem for trace in (days.train, days.validation))
    part = Prepared("train", days.train, episode_rows(train, label_of(geometry)))
    advance(1, "policies without a model")
    trace_id, controller = days.validation.meta.trace_id, Controller()
    best = best_without_model([validation], [trace_id], SEEDS[0], BUDGETED, controller=controller)
    alone = best_without_model([validation], [trace_id], SEEDS[0], (REJECTX,), (), controller)
    test = _Part(days.test, geometry, own, rate)
    modes = {REJECTX: alone.mode, best.policy: best.mode}
    plain = {name: test.bench.plain(name, mode, controller) for name, mode in modes.items()}
    plain[REJECTX_ALONE] = test.bench.plain(REJECTX, NONE, controller)
    kept, rivals = _runs(plain, test.as_trained), _runs(plain, test.within_rate)
    rivals[OPT] = test.within_rate(test.bench.opt(prefetching=True))

    def training(seed: int) -> Training | None:
        fitted, forest = fit_prepared(NAME, [part], settings_of(geometry, seed), {})
        if not fitted.trained:
            return None
        scorer = forest_scorer(forest.text)
        chosen = plain_settings([validation], [scores_of(fitted, scorer, days.validation)])[0]
        fetched = prefetch_of(test.problem, chosen.mode)
        scores = scores_of(fitted, scorer, days.test)
        ours = test.bench.model(BALEEN, scores, chosen.mode, fetched, chosen.threshold, controller)
        at_limit = test.within_rate(ours)
        return Training(seed, chosen.mode, chosen.threshold, forest.trees, test.as_trained(ours), at_limit)

    trainings: list[Training] = []
    for done, seed in enumerate(seeds):
        advance(STEPS + done, f"training {done + 1} of {len(seeds)}")
        found = training(seed)
        if found is None:
            trainings.clear()
            break
        trainings.append(found)
    age, least = part.labels.eviction_age, test.bench.flash.min_gap
    return Judged(capacity, age, best.policy, kept, rivals, tuple(trainings), least)
