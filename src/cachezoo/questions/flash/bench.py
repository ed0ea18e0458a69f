"""One trace's flash cache: candidates at a write budget, and their rows; for `recommend --only flash` and the stage."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from cachezoo.arrays import F64
from cachezoo.contest.sampled import Estimated
from cachezoo.flash_cache.cost import MOST_BUSY, yearly
from cachezoo.flash_cache.load import LoadWindows, load_curve, load_windows, measure
from cachezoo.flash_cache.policies import Tuned, baseline, controlled, learned, prefetch_of
from cachezoo.flash_cache.problem import FlashProblem
from cachezoo.kernels.flash import FlashRun, Prefetch
from cachezoo.kernels.write_budget import Controller
from cachezoo.labels.episodes import Admission, OptMode
from cachezoo.metrics.flash import FlashRow, Yearly
from cachezoo.settings.flash import FlashPolicy
from cachezoo.settings.prices import BUILT_IN, Prices
from cachezoo.traces.clock import time_scale
from cachezoo.traces.table import Trace

OPT = "opt"
Kind = Literal["without model", "model", "oracle"]
WITHOUT: Kind = "without model"
MODEL: Kind = "model"
ORACLE: Kind = "oracle"
Choose = Callable[[FlashProblem, OptMode], Admission]


@dataclass(frozen=True)
class FlashOutcome(Estimated):
    """A policy's run: disk-head seconds a second that its missing reads take, in the mean and by window of time."""

    mode: str  # of prefetch
    tuned: Tuned
    reached: bool = True  # it writes as much as the limit allows, to 2.5 %
    more_helps: bool = True  # no setting that writes more, and keeps the limit, was tried and is no better

    @property
    def writes(self) -> int:
        """Segments written."""
        return self.tuned.run.segment_writes


@dataclass(frozen=True)
class Candidate:
    """A policy in a prefetch mode."""

    policy: str
    kind: Kind
    mode: str
    run: Callable[[FlashProblem], FlashOutcome]  # with its knob set to the problem's budget
    # As a cache would run it, with nothing set on the trace; None of the oracle, and of what nothing was chosen for.
    shipped: Callable[[FlashProblem], Tuned] | None = None


class Bench:
    """A trace with its cache and its windows of time."""

    def __init__(
        self, trace: Trace, problem: FlashProblem, flash: FlashPolicy, seed: int, prices: Prices = BUILT_IN,
        most_busy: float = MOST_BUSY,
    ) -> None:  # fmt: skip
        """Set up.

        Args:
            trace: the requests.
            problem: their cache.
            flash: `policy.flash`.
            seed: of CoinFlip's draws.
            prices: of disks and flash.
            most_busy: share of a disk's time that may be taken in the busiest window.
        """
        self.problem, self.flash, self.prices, self.most_busy = problem, flash, prices, most_busy
        self.clock, (first_us, last_us) = problem.clock, problem.ends(trace.time_us)
        self.seconds = float(last_us - first_us) / 1e6 if self.clock else 0.0
        self.scale = time_scale(trace)
        self.windows: LoadWindows = load_windows(trace.time_us, problem, flash, self.scale)
        self._seed, self.trace_id = seed, trace.meta.trace_id

    def curve(self, run: FlashRun) -> F64:
        """Disk-head seconds a second of its reads, in each window."""
        return load_curve(self.problem.dt_seconds(run), self.windows)

    def outcome(self, mode: str, tuned: Tuned) -> FlashOutcome:
        """What a run costs the disks."""
        curve = self.curve(tuned.run)
        return FlashOutcome(float(curve.mean()), curve, mode, tuned)

    def row(self, tuned: Tuned, mode: str, budgeted: bool = True) -> FlashRow:
        """A run's figures; its knob where it was set to a budget."""
        load = measure(self.problem, tuned.run, self.windows, self.flash.disks)
        knob, reached = (tuned.knob, tuned.reached) if budgeted else (None, None)
        year = self.year(load.total_dt.peak, self.problem.whole_capacity, load.segment_writes)
        return FlashRow(**dict(load), prefetch=mode, knob=knob, reached=reached, year=year)

    def year(self, peak_busy: float, segments: int, written: int) -> Yearly | None:
        """The cost of a year with a cache of so many segments that are written so often; None without a clock."""
        if not self.clock:
            return None
        one = self.problem.geometry.segment_bytes
        return yearly(self.prices, peak_busy, segments * one, written * one / self.seconds, self.most_busy)

    def year_without(self) -> Yearly | None:
        """The same of the disks alone: every read is theirs."""
        nothing = self.problem.run(np.zeros(len(self.problem), np.bool_))
        curve = load_curve(self.problem.disk_times(nothing)[0], self.windows)
        return self.year(float(curve.max()), 0, 0)

    def as_much_as(self, candidate: Candidate, segments: int) -> FlashOutcome:
        """A candidate with its knob set to write so many segments at least, and as few more as it can.

        Some knobs are coarse: a window of one request more may write much more than is wanted. One that cannot write as
        much writes all it can, and has not reached it.
        """
        half = self.problem.tolerance / 2
        wanted = replace(self.problem, budget=max(1, segments) * (1 + half), tolerance=half, at_least=True)
        found = candidate.run(wanted)
        tuned = replace(found.tuned, reached=found.writes >= segments)
        return replace(found, tuned=tuned, reached=tuned.reached)

    def plain(self, name: str, mode: str, controller: Controller | None = None) -> Candidate:
        """A policy without a model; a controller keeps the problem's budget as it is shipped."""
        policy = baseline(name, self._seed, self.trace_id)
        kept = None if controller is None else baseline(name, self._seed, self.trace_id, controller)

        def run(problem: FlashProblem) -> FlashOutcome:
            return self.outcome(mode, policy(problem, prefetch_of(problem, mode)))

        def shipped(problem: FlashProblem) -> Tuned:
            assert kept is not None
            return kept(problem, prefetch_of(problem, mode))

        return Candidate(name, WITHOUT, mode, run, None if kept is None else shipped)

    def model(
        self, name: str, scores: F64, mode: str, prefetch: Prefetch | None, threshold: float | None = None,
        controller: Controller | None = None, whole_block: bool | None = None,
    ) -> Candidate:  # fmt: skip
        """A model.

        Args:
            name: of it.
            scores: float64[n] its admission's.
            mode: of prefetch.
            prefetch: what that fetches; None nothing.
            threshold: as shipped; None: it ships in other modes alone.
            controller: that keeps the problem's budget, as shipped; None: the threshold is fixed.
            whole_block: what reads touch in its cache; None: as in the problem's.
        """

        def own(problem: FlashProblem) -> FlashProblem:
            return problem if whole_block is None else replace(problem, whole_block=whole_block)

        def shipped(problem: FlashProblem) -> Tuned:
            assert threshold is not None
            if controller is not None:
                return controlled(own(problem), scores, threshold, controller, prefetch)
            return Tuned(own(problem).run(scores >= threshold, prefetch), threshold, True)

        def run(problem: FlashProblem) -> FlashOutcome:
            return self.outcome(mode, learned(own(problem), scores, prefetch))

        return Candidate(name, MODEL, mode, run, None if threshold is None else shipped)

    def oracle(self, modes: Sequence[OptMode], choose: Choose, mode: str) -> Candidate:
        """OPT in the best of some modes on this very trace, as a bound may: the lowest mean load.

        Args:
            modes: to choose from.
            choose: what OPT admits at a problem's budget in a mode.
            mode: that stands for them.
        """

        def outcome(problem: FlashProblem, own: OptMode) -> FlashOutcome:
            found = choose(problem, own)
            return self.outcome(own, Tuned(found.run, float(found.calibration.index), found.calibration.reached))

        def run(problem: FlashProblem) -> FlashOutcome:
            return min((outcome(problem, own) for own in modes), key=lambda one: one.mean)

        return Candidate(OPT, ORACLE, mode, run)
