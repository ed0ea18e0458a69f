"""One trace's flash cache: candidates run at a write budget, and their rows; for `cachezoo flash` as for the stage."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from cachezoo.arrays import F64
from cachezoo.flash.load import LoadWindows, load_curve, load_windows, measure, time_scale
from cachezoo.flash.policies import Tuned, baseline, beside, learned
from cachezoo.flash.problem import FlashProblem
from cachezoo.kernels.flash import FlashRun, Prefetch
from cachezoo.labels.episodes import Choice, OptMode
from cachezoo.metrics.flash import FlashRow
from cachezoo.settings.flash import FlashPolicy
from cachezoo.traces.table import Trace

OPT = "opt"
Kind = Literal["without model", "model", "oracle"]
WITHOUT: Kind = "without model"
MODEL: Kind = "model"
ORACLE: Kind = "oracle"
Choose = Callable[[FlashProblem, OptMode], Choice]


@dataclass(frozen=True)
class Candidate:
    """A policy in a prefetch mode."""

    policy: str
    kind: Kind
    mode: str
    run: Callable[[FlashProblem], tuple[str, Tuned]]  # with its knob set to the problem's budget; the mode it takes
    shipped: Tuned | None = None  # a model at the threshold that it was shipped with


class Bench:
    """A trace with its cache and its windows of time."""

    def __init__(self, trace: Trace, problem: FlashProblem, flash: FlashPolicy, seed: int) -> None:
        """Set up.

        Args:
            trace: the requests.
            problem: their cache.
            flash: `policy.flash`.
            seed: of CoinFlip's draws.
        """
        self.problem, self.flash = problem, flash
        self.scale = time_scale(trace)
        self.windows: LoadWindows = load_windows(trace.time_us, problem, flash, self.scale)
        self._seed, self._trace_id = seed, trace.meta.trace_id

    def curve(self, run: FlashRun) -> F64:
        """Disk-head seconds a second of its reads, in each window."""
        return load_curve(self.problem.dt_seconds(run), self.windows)

    def row(self, tuned: Tuned, mode: str, budgeted: bool = True) -> FlashRow:
        """A run's figures; its knob where it was set to a budget."""
        load = measure(self.problem, tuned.run, self.windows, self.flash.disks)
        knob, reached = (tuned.knob, tuned.reached) if budgeted else (None, None)
        return FlashRow(**dict(load), prefetch=mode, knob=knob, reached=reached)

    def plain(self, name: str, mode: str) -> Candidate:
        """A policy without a model."""
        policy = baseline(name, self._seed, self._trace_id)
        return Candidate(name, WITHOUT, mode, lambda problem: (mode, policy(problem, beside(problem, mode))))

    def model(
        self, name: str, scores: F64, mode: str, prefetch: Prefetch | None, threshold: float | None = None
    ) -> Candidate:
        """A model.

        Args:
            name: of it.
            scores: float64[n] its admission's.
            mode: of prefetch.
            prefetch: what that fetches; None nothing.
            threshold: as shipped; None: it ships in other modes alone.
        """
        shipped = None
        if threshold is not None:
            shipped = Tuned(self.problem.run(scores >= threshold, prefetch), threshold, True)
        return Candidate(name, MODEL, mode, lambda problem: (mode, learned(problem, scores, prefetch)), shipped)

    def oracle(self, modes: Sequence[OptMode], choose: Choose, mode: str) -> Candidate:
        """OPT in the best of some modes on this very trace, as a bound may: the lowest mean load.

        Args:
            modes: to choose from.
            choose: what OPT admits at a problem's budget in a mode.
            mode: that stands for them.
        """

        def run(problem: FlashProblem) -> tuple[str, Tuned]:
            found: dict[str, Tuned] = {}
            for own in modes:
                choice = choose(problem, own)
                found[own] = Tuned(choice.run, float(choice.calibration.index), choice.calibration.reached)
            best = min(found, key=lambda name: float(self.curve(found[name].run).mean()))
            return best, found[best]

        return Candidate(OPT, ORACLE, mode, run)
