"""One test trace in the flash cache: policies at one write budget, their rows, and the gap they close."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import numpy.typing as npt

from cachezoo.documents import Interval
from cachezoo.flash.load import LoadWindows, load_curve, load_windows, resamples, time_scale
from cachezoo.flash.measure import STATISTICS, measure
from cachezoo.flash.policies import Policy, Tuned, accept_all, coin_flip, learned, plain_prefetches, rejectx
from cachezoo.flash.problem import FlashProblem
from cachezoo.kernels.flash import FlashRun, Prefetch
from cachezoo.labels.episodes import NO_PREFETCH, OPT_MODES, EpisodeLabels, OptMode, choose_episodes
from cachezoo.measures.bootstrap import interval
from cachezoo.metrics.flash import Comparison, FlashRow, Gap
from cachezoo.seeds import derive_seed
from cachezoo.settings.flash import FlashPolicy
from cachezoo.traces.table import Trace

F64 = npt.NDArray[np.float64]
I64 = npt.NDArray[np.int64]
MODEL = "baleen"
OPT = "opt"
ACCEPT_ALL, COIN_FLIP, REJECTX = "accept_all", "coin_flip", "rejectx"
BASELINES = (ACCEPT_ALL, COIN_FLIP, REJECTX)
BUDGETED = (COIN_FLIP, REJECTX)
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


def baseline(name: str, seed: int, trace_id: str) -> Policy:
    """One of `BASELINES`; CoinFlip's draws depend on the trace alone."""
    if name == COIN_FLIP:
        coin_seed = derive_seed(seed, COIN_FLIP, trace_id)
        return lambda problem, prefetch: coin_flip(problem, coin_seed, prefetch)
    return {ACCEPT_ALL: accept_all, REJECTX: rejectx}[name]


@dataclass(frozen=True)
class _Share:
    """What a model saves against RejectX by one statistic, and of the gap to OPT."""

    closed: float | None
    interval: Interval | None
    saved: float
    opt_saved: float


class Bench:
    """A test trace with its windows, draws, OPT in each mode, and what the models decide on it."""

    def __init__(
        self,
        trace: Trace,
        problem: FlashProblem,
        opt: Mapping[OptMode, EpisodeLabels],
        ours: Decisions,
        modes: Mapping[str, str],
        flash: FlashPolicy,
        seed: int,
    ) -> None:
        """Set up.

        Args:
            trace: the requests.
            problem: their cache and budget.
            opt: OPT's labels in each mode.
            ours: the models' decisions.
            modes: the baselines' prefetch modes, by policy.
            flash: `policy.flash`.
            seed: the project's.
        """
        self.problem, self.flash = problem, flash
        self.windows: LoadWindows = load_windows(trace.time_us, problem, flash, time_scale(trace))
        trace_id = trace.meta.trace_id
        draw_seed = derive_seed(seed, "flash_bootstrap", trace_id)
        self.draws: I64 = resamples(self.windows.count, flash.bootstrap_samples, draw_seed)
        self._opt, self._ours, self._modes = opt, ours, modes
        self._policies = {name: baseline(name, seed, trace_id) for name in BASELINES}
        self._prefetches = plain_prefetches(problem)

    def row(self, tuned: Tuned, mode: str, budgeted: bool = True) -> FlashRow:
        """A policy's figures."""
        load = measure(self.problem, tuned.run, self.windows, self.draws, self.flash.disks)
        knob, reached = (tuned.knob, tuned.reached) if budgeted else (None, None)
        return FlashRow(**dict(load), prefetch=mode, knob=knob, reached=reached)

    def curve(self, run: FlashRun) -> F64:
        """Its load in each window."""
        return load_curve(self.problem.dt_seconds(run), self.windows)

    def unbudgeted(self) -> dict[str, FlashRow]:
        """AcceptAll in its mode, and without prefetch: plain LRU (or FIFO)."""
        mode = self._modes[ACCEPT_ALL]
        pairs = ((ACCEPT_ALL, mode), (ACCEPT_ALL + WITHOUT, "none"))
        return {name: self.row(accept_all(self.problem, self._prefetches[own]), own, False) for name, own in pairs}

    def shipped(self) -> Tuned:
        """The models as shipped."""
        ours = self._ours
        return Tuned(self.problem.run(ours.scores >= ours.threshold, ours.prefetch), ours.threshold, True)

    def shipped_alone(self) -> Tuned:
        """The admission as shipped, without prefetch."""
        ours = self._ours
        return Tuned(self.problem.run(ours.scores >= ours.alone), ours.alone, True)

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
            ours = learned(problem, self._ours.scores, self._ours.prefetch)
        with_mode = self._rivals(problem, {name: self._modes[name] for name in BUDGETED}, OPT_MODES)
        with_mode[MODEL] = (self._ours.mode, ours)
        without = self._rivals(problem, dict.fromkeys(BUDGETED, "none"), (NO_PREFETCH,))
        without[MODEL] = ("none", learned(problem, self._ours.scores))
        named = with_mode | {name + WITHOUT: own for name, own in without.items()}
        return self._comparison(budget, named, self._ours.prefetch)

    def compare_alone(self) -> Comparison:
        """The admission as shipped by itself, and the others at its writes, all without prefetch."""
        ours = self.shipped_alone()
        budget = float(max(1, ours.run.segment_writes))
        problem = replace(self.problem, budget=budget)
        named = self._rivals(problem, dict.fromkeys(BUDGETED, "none"), (NO_PREFETCH,)) | {MODEL: ("none", ours)}
        return self._comparison(budget, named, None)

    def _rivals(
        self, problem: FlashProblem, modes: Mapping[str, str], opt_modes: tuple[OptMode, ...]
    ) -> dict[str, tuple[str, Tuned]]:
        rivals = {name: (mode, self._policies[name](problem, self._prefetches[mode])) for name, mode in modes.items()}
        return rivals | {OPT: self.opt(problem, opt_modes)}

    def _comparison(
        self, budget: float, named: Mapping[str, tuple[str, Tuned]], prefetch: Prefetch | None
    ) -> Comparison:
        ours, theirs, best = (named[name][1].run for name in (MODEL, REJECTX, OPT))
        return Comparison(
            budget_writes=budget,
            rows={name: self.row(tuned, mode) for name, (mode, tuned) in named.items()},
            gap=self.gap(ours, theirs, best, prefetch),
        )

    def gap(self, ours: FlashRun, theirs: FlashRun, best: FlashRun, prefetch: Prefetch | None) -> Gap:
        """Share of the RejectX to OPT gap closed, by peak and by mean, with 90 % intervals.

        Null where there is hardly a gap, or where the model writes more than RejectX can; a model that writes more
        only by what both miss their budget by is raised in threshold, `gap_segment_writes` being what it then writes.
        """
        no_more = ours.segment_writes <= theirs.segment_writes * (1 + 2 * self.problem.tolerance)
        if no_more and ours.segment_writes > theirs.segment_writes:
            strict = replace(self.problem, budget=float(theirs.segment_writes), tolerance=0.0)
            ours = learned(strict, self._ours.scores, prefetch).run
        curves = [self.curve(run) for run in (ours, theirs, best)]
        peak, mean = (self._share(curves, name, no_more) for name in ("peak", "mean"))
        difference = (curves[1] - curves[0])[self.draws].mean(axis=1)
        scale = max(float(curves[1].mean()), 1e-12)
        low, high = interval(difference)
        return Gap(
            no_more_writes=no_more,
            gap_segment_writes=ours.segment_writes,
            peak_gap_closed=peak.closed,
            peak_gap_closed_interval=peak.interval,
            peak_dt_saved=peak.saved,
            peak_opt_dt_saved=peak.opt_saved,
            mean_gap_closed=mean.closed,
            mean_gap_closed_interval=mean.interval,
            mean_dt_saved=mean.saved,
            mean_opt_dt_saved=mean.opt_saved,
            mean_dt_saved_interval=(low / scale, high / scale),
        )

    def _share(self, curves: list[F64], name: Literal["peak", "mean"], no_more: bool) -> _Share:
        """By one statistic of the model's, RejectX's and OPT's load in each window."""
        model, rival, ideal = (float(STATISTICS[name](curve)) for curve in curves)
        wide = no_more and rival > 0 and rival - ideal >= self.flash.min_gap * rival
        return _Share(
            closed=(rival - model) / (rival - ideal) if wide else None,
            interval=self._share_interval(curves, name) if wide else None,
            saved=(rival - model) / rival if rival > 0 else 0.0,
            opt_saved=(rival - ideal) / rival if rival > 0 else 0.0,
        )

    def _share_interval(self, curves: list[F64], name: Literal["peak", "mean"]) -> Interval | None:
        """Of the share closed, over the resamples in which the gap is wide; None where it seldom is."""
        model, rival, ideal = (np.asarray(STATISTICS[name](curve[self.draws])) for curve in curves)
        wide = rival - ideal >= self.flash.min_gap * rival
        if 2 * np.count_nonzero(wide) < len(wide):
            return None
        return interval((rival - model)[wide] / (rival - ideal)[wide])
