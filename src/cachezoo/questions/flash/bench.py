"""One test trace in the flash cache: policies at one write budget, their rows, and what ours saves against rivals."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal

from cachezoo.arrays import F64
from cachezoo.contest.lead import ratio_of, saving
from cachezoo.flash.load import LoadWindows, load_curve, load_windows, time_scale
from cachezoo.flash.measure import STATISTICS, measure
from cachezoo.flash.modes import NONE
from cachezoo.flash.policies import ACCEPT_ALL, BASELINES, BUDGETED, REJECTX, Tuned, baseline, beside, learned
from cachezoo.flash.problem import FlashProblem
from cachezoo.kernels.flash import FlashRun, Prefetch
from cachezoo.labels.episodes import NO_PREFETCH, OPT_MODES, EpisodeLabels, OptMode, choose_episodes
from cachezoo.metrics.flash import Comparison, FlashRow, Gap
from cachezoo.settings.flash import FlashPolicy
from cachezoo.traces.table import Trace

MODEL = "baleen"
OPT = "opt"
WITHOUT = "_no_prefetch"


@dataclass(frozen=True)
class Decisions:
    """What the models decide on a trace of n requests.

    Attributes:
        scores: float64[n] the admission's.
        threshold: of the admission as shipped with the prefetch.
        alone: of the admission as shipped by itself, without prefetch.
        mode: the prefetch mode that validation chose for it.
        prefetch: what that mode fetches beside; None nothing.
    """

    scores: F64
    threshold: float
    alone: float
    mode: str
    prefetch: Prefetch | None


@dataclass(frozen=True)
class Baselines:
    """What validation chose for the policies without a model.

    Attributes:
        modes: the prefetch mode of each of `BASELINES`.
        best: the best of `BUDGETED`, each in its mode.
        best_alone: the best of them without prefetch.
    """

    modes: Mapping[str, str]
    best: str
    best_alone: str


@dataclass(frozen=True)
class _Share:
    """What a model saves against a rival by one statistic, and of the gap to OPT."""

    closed: float | None
    saved: float
    opt_saved: float


class Bench:
    """A test trace with its windows, OPT in each mode, and what the models decide on it."""

    def __init__(
        self,
        trace: Trace,
        problem: FlashProblem,
        opt: Mapping[OptMode, EpisodeLabels],
        ours: Decisions,
        chosen: Baselines,
        flash: FlashPolicy,
        seed: int,
    ) -> None:
        """Set up.

        Args:
            trace: the requests.
            problem: their cache and budget.
            opt: OPT's labels in each mode.
            ours: the models' decisions.
            chosen: what validation chose for the baselines.
            flash: `policy.flash`.
            seed: the project's.
        """
        self.problem, self.flash = problem, flash
        self.windows: LoadWindows = load_windows(trace.time_us, problem, flash, time_scale(trace))
        trace_id = trace.meta.trace_id
        self._opt, self._ours, self._chosen = opt, ours, chosen
        self._policies = {name: baseline(name, seed, trace_id) for name in BASELINES}

    @property
    def scores(self) -> F64:
        """float64[n]: the admission's."""
        return self._ours.scores

    def row(self, tuned: Tuned, mode: str, budgeted: bool = True) -> FlashRow:
        """A policy's figures."""
        load = measure(self.problem, tuned.run, self.windows, self.flash.disks)
        knob, reached = (tuned.knob, tuned.reached) if budgeted else (None, None)
        return FlashRow(**dict(load), prefetch=mode, knob=knob, reached=reached)

    def curve(self, run: FlashRun) -> F64:
        """Its load in each window."""
        return load_curve(self.problem.dt_seconds(run), self.windows)

    def unbudgeted(self) -> dict[str, FlashRow]:
        """AcceptAll in its mode, and without prefetch: plain LRU (or FIFO)."""
        accept_all = self._policies[ACCEPT_ALL]
        pairs = ((ACCEPT_ALL, self._chosen.modes[ACCEPT_ALL]), (ACCEPT_ALL + WITHOUT, NONE))
        return {
            name: self.row(accept_all(self.problem, beside(self.problem, mode)), mode, False) for name, mode in pairs
        }

    def shipped(self) -> Tuned:
        """The models as shipped."""
        ours = self._ours
        return Tuned(self.problem.run(ours.scores >= ours.threshold, ours.prefetch), ours.threshold, True)

    def opt(self, problem: FlashProblem, modes: tuple[OptMode, ...] = OPT_MODES) -> tuple[str, Tuned]:
        """OPT in the best of some modes on this very trace, as a bound may: the lowest mean load."""
        found: dict[str, Tuned] = {}
        for mode in modes:
            choice = choose_episodes(problem, self._opt[mode].episodes, mode)
            found[mode] = Tuned(choice.run, float(choice.calibration.index), choice.calibration.reached)
        best = min(found, key=lambda mode: float(self.curve(found[mode].run).mean()))
        return best, found[best]

    def compare(self, budget: float, ours: Tuned | None) -> Comparison:
        """Every policy with its prefetch and without at one write budget.

        Args:
            budget: segment writes.
            ours: the model's run; None has its threshold calibrated to the budget as well.
        """
        problem = replace(self.problem, budget=budget)
        if ours is None:
            ours = learned(problem, self.scores, self._ours.prefetch)
        with_mode = self._rivals(problem, {name: self._chosen.modes[name] for name in BUDGETED}, OPT_MODES)
        with_mode[MODEL] = (self._ours.mode, ours)
        without = self._rivals(problem, dict.fromkeys(BUDGETED, NONE), (NO_PREFETCH,))
        without[MODEL] = (NONE, learned(problem, self.scores))
        named = with_mode | {name + WITHOUT: own for name, own in without.items()}
        return self._comparison(budget, named, self._ours.prefetch, self._chosen.best, REJECTX + WITHOUT)

    def compare_shipped(self) -> Comparison:
        """The models as shipped, and the others at their writes."""
        ours = self.shipped()
        return self.compare(float(max(1, ours.run.segment_writes)), ours)

    def compare_alone(self) -> Comparison:
        """The admission as shipped by itself, and the others at its writes, all without prefetch."""
        ours = Tuned(self.problem.run(self._ours.scores >= self._ours.alone), self._ours.alone, True)
        budget = float(max(1, ours.run.segment_writes))
        problem = replace(self.problem, budget=budget)
        named = self._rivals(problem, dict.fromkeys(BUDGETED, NONE), (NO_PREFETCH,)) | {MODEL: (NONE, ours)}
        return self._comparison(budget, named, None, self._chosen.best_alone, REJECTX)

    def _rivals(
        self, problem: FlashProblem, modes: Mapping[str, str], opt_modes: tuple[OptMode, ...]
    ) -> dict[str, tuple[str, Tuned]]:
        rivals = {name: (mode, self._policies[name](problem, beside(problem, mode))) for name, mode in modes.items()}
        return rivals | {OPT: self.opt(problem, opt_modes)}

    def _comparison(
        self, budget: float, named: Mapping[str, tuple[str, Tuned]], prefetch: Prefetch | None, best: str, plain: str
    ) -> Comparison:
        ours, ideal = named[MODEL][1].run, named[OPT][1].run
        against = {name: self.gap(ours, named[name][1].run, ideal, prefetch) for name in sorted({best, REJECTX, plain})}
        return Comparison(
            budget_writes=budget,
            rows={name: self.row(tuned, mode) for name, (mode, tuned) in named.items()},
            best_policy=best,
            best=against[best],
            gap=against[REJECTX],
            plain=against[plain],
        )

    def gap(self, ours: FlashRun, theirs: FlashRun, ideal: FlashRun, prefetch: Prefetch | None) -> Gap:
        """What ours saves against a rival, and of the gap to OPT; the mean's figures with 90 % intervals.

        Shares of the gap are null where there is hardly one, or where the model writes more than the rival can; a model
        that writes more only by what both miss their budget by is raised in threshold, `gap_segment_writes` being what
        it then writes.
        """
        no_more = ours.segment_writes <= theirs.segment_writes * (1 + 2 * self.problem.tolerance)
        if no_more and ours.segment_writes > theirs.segment_writes:
            strict = replace(self.problem, budget=float(theirs.segment_writes), tolerance=0.0)
            ours = learned(strict, self.scores, prefetch).run
        curves = [self.curve(run) for run in (ours, theirs, ideal)]
        peak, mean = (self._share(curves, name, no_more) for name in ("peak", "mean"))
        saved, room = curves[1] - curves[0], curves[1] - curves[2]
        known = mean.closed is not None and saving(curves[2], curves[1]).ends[0] > 0
        return Gap(
            no_more_writes=no_more,
            gap_segment_writes=ours.segment_writes,
            peak_gap_closed=peak.closed,
            peak_dt_saved=peak.saved,
            peak_opt_dt_saved=peak.opt_saved,
            mean_gap_closed=mean.closed,
            mean_gap_closed_interval=ratio_of(saved, room).ends if known else None,
            mean_dt_saved=mean.saved,
            mean_opt_dt_saved=mean.opt_saved,
            mean_dt_saved_interval=saving(curves[0], curves[1]).ends,
        )

    def _share(self, curves: list[F64], name: Literal["peak", "mean"], no_more: bool) -> _Share:
        """By one statistic of the model's, the rival's and OPT's load in each window."""
        model, rival, ideal = (float(STATISTICS[name](curve)) for curve in curves)
        wide = no_more and rival > 0 and rival - ideal >= self.flash.min_gap * rival
        return _Share(
            closed=(rival - model) / (rival - ideal) if wide else None,
            saved=(rival - model) / rival if rival > 0 else 0.0,
            opt_saved=(rival - ideal) / rival if rival > 0 else 0.0,
        )
