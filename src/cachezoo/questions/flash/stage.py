"""Baleen on the test traces: the admission with its prefetch mode, next to AcceptAll, CoinFlip, RejectX and OPT.

All run in the same flash simulator. A policy's prefetch mode is chosen on validation, the baselines' as well as the
model's; OPT, a bound, takes the mode that is best on the very trace. The headline is the mean read disk-head time saved
against the best policy without a model: of the baselines with a budget, each in its mode and in several evictions, the
one with the lowest mean on validation, kept to its budget there as on the test trace. Three comparisons, two as one
would run them, and one in hindsight:

- `deployed`: the admission as shipped, in the prefetch mode that goes with it, and the baselines. The same controller
  keeps the budget's rate over the trace's time for all of them, without knowing what is to come; the model's begins
  with the threshold of validation. The headline comes from here.
- `admission_alone`: the same without prefetch.
- `at_budget`: every policy's knob, the model's too, meets the configured budget on the test trace itself: a diagnostic.
  Baselines then write at least what the model does, where they can: so it is never ahead for what it writes.
  Where RejectX cannot reach the budget, `at_rejectx_rate` repeats this at the writes RejectX does reach.

OPT writes what the model does in each. The further admission models (`cachezoo.zoo.admission.fit`) run as shipped, each
in its plain mode, beside the same baselines, and at the budget: `FlashMetrics.beside`.

Source: Baleen post, "Evaluation"; the best policy without a model, and the share of the gap to OPT, are ours.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Literal

from cachezoo import paths
from cachezoo.arrays import F64
from cachezoo.contest.lead import ratio_of, saving
from cachezoo.flash_cache.load import STATISTICS
from cachezoo.flash_cache.modes import NONE
from cachezoo.flash_cache.policies import (
    ACCEPT_ALL,
    BASELINES,
    BUDGETED,
    EVICTIONS,
    REJECTX,
    Tuned,
    baseline,
    best_of,
    choose_mode,
    controlled,
    learned,
    modes_of,
    prefetch_of,
    rejectx,
)
from cachezoo.flash_cache.problem import FlashProblem, flash_problem, label_of
from cachezoo.kernels.flash import FlashRun, Prefetch
from cachezoo.kernels.write_budget import Controller
from cachezoo.labels.episode_file import describe
from cachezoo.labels.episodes import NO_PREFETCH, OPT_MODES, EpisodeLabels, OptMode, choose_episodes, label_problem
from cachezoo.metrics.flash import (
    Comparison,
    FlashMetrics,
    FlashRow,
    FlashTrace,
    FlashVerdict,
    FurtherModel,
    FurtherTrace,
    Gap,
    PolicyModes,
    Windows,
)
from cachezoo.models.trained import TrainedModel
from cachezoo.params import traces_of
from cachezoo.questions.flash.bench import OPT, Bench, Candidate, FlashOutcome
from cachezoo.settings.flash import EpisodeLabel, FlashPolicy
from cachezoo.traces.store import read_trace
from cachezoo.traces.table import Trace
from cachezoo.zoo.admission.fit import BESIDE
from cachezoo.zoo.admission.model import load_admission
from cachezoo.zoo.admission.serve import serve_trace

if TYPE_CHECKING:
    from cachezoo.settings.params import Params

MODEL, ALONE = "baleen", "_no_prefetch"
FEW_TRANSFERS = 0.1


@dataclass(frozen=True)
class Settings:
    """The parameters that the evaluation reads."""

    label: EpisodeLabel
    flash: FlashPolicy
    seed: int

    @classmethod
    def of(cls, params: "Params", category: str) -> "Settings":
        """Pick a category's from params.yaml."""
        return cls(label_of(params.label.episodes, category), params.policy.flash, params.seed)


@dataclass(frozen=True)
class LabelledTrace:
    """A test trace with its cache and budget, and OPT's labels in each mode."""

    trace: Trace
    problem: FlashProblem
    opt: Mapping[OptMode, EpisodeLabels]

    @classmethod
    def of(cls, trace: Trace, settings: Settings) -> "LabelledTrace":
        """Label a trace.

        Raises:
            TraceError: it has no reads.
        """
        problem = flash_problem(trace, settings.label, settings.flash)
        return cls(trace, problem, {mode: label_problem(problem, settings.label, mode) for mode in OPT_MODES})


@dataclass(frozen=True)
class Decisions:
    """What an admission decides on a trace of n requests."""

    scores: F64  # float64[n]
    threshold: float  # as shipped with the prefetch
    alone: float  # as shipped without prefetch
    mode: str  # of prefetch, that validation chose for it
    prefetch: Prefetch | None  # what that mode fetches
    controller: Controller  # that keeps the budget, as shipped


@dataclass(frozen=True)
class Baselines:
    """What validation chose for the policies without a model."""

    modes: Mapping[str, str]  # of prefetch, of each of `BASELINES` and its evictions
    best: str  # of those with a budget, each in its mode
    best_alone: str  # of them without prefetch


class Comparisons(Bench):
    """A test trace: the model and its rivals at one write budget, and what the model saves."""

    def __init__(self, test: LabelledTrace, ours: Decisions, chosen: Baselines, settings: Settings) -> None:
        """Set up the decisions of the model, and what validation chose for the baselines."""
        super().__init__(test.trace, test.problem, settings.flash, settings.seed)
        self._opt, self._ours, self._chosen = test.opt, ours, chosen

    def opt(self, modes: tuple[OptMode, ...] = OPT_MODES) -> Candidate:
        """OPT, its episodes those of the labels."""
        return self.oracle(modes, lambda own, mode: choose_episodes(own, self._opt[mode].episodes, mode), "best")

    def unbudgeted(self) -> dict[str, FlashRow]:
        """AcceptAll in its mode, and without prefetch: plain LRU (or FIFO)."""
        pairs = ((ACCEPT_ALL, self._chosen.modes[ACCEPT_ALL]), (ACCEPT_ALL + ALONE, NONE))
        runs = {name: self.plain(ACCEPT_ALL, mode).run(self.problem) for name, mode in pairs}
        return {name: self.row(one.tuned, one.mode, False) for name, one in runs.items()}

    def shipped(self) -> Tuned:
        """The model as shipped, its controller at the budget's rate."""
        ours = self._ours
        return controlled(self.problem, ours.scores, ours.threshold, ours.controller, ours.prefetch)

    def alone(self) -> Tuned:
        """The admission as shipped by itself, without prefetch."""
        return controlled(self.problem, self._ours.scores, self._ours.alone, self._ours.controller)

    def compare(self, budget: float) -> Comparison:
        """Every policy with its prefetch and without, its knob set to one write budget in hindsight.

        Args:
            budget: segment writes.
        """
        ours = learned(replace(self.problem, budget=budget), self._ours.scores, self._ours.prefetch)
        writes = ours.run.segment_writes
        alone = self.as_much_as(self.model(MODEL, self._ours.scores, NONE, None), writes)

        def rival(candidate: Candidate) -> FlashOutcome:
            return self.as_much_as(candidate, writes)

        return self._compare(budget, ours, alone, rival)

    def compare_shipped(self) -> Comparison:
        """The models as shipped, with their prefetch and without, and the others under the same controller."""
        return self._compare(self.problem.budget, self.shipped(), self.outcome(NONE, self.alone()), self.kept)

    def compare_alone(self) -> Comparison:
        """The admission as shipped by itself, and the others under its controller, all without prefetch."""
        ours, names = self.alone(), dict.fromkeys((*BUDGETED, self._chosen.best_alone), NONE)
        named = self._rivals(ours, names, (NO_PREFETCH,), self.kept) | {MODEL: self.outcome(NONE, ours)}
        return self._comparison(self.problem.budget, named, self._chosen.best_alone, REJECTX)

    def kept(self, candidate: Candidate) -> FlashOutcome:
        """A candidate as a cache would run it at the budget's rate."""
        assert candidate.shipped is not None
        return self.outcome(candidate.mode, candidate.shipped(self.problem))

    def _compare(
        self, budget: float, ours: Tuned, alone: FlashOutcome, rival: Callable[[Candidate], FlashOutcome]
    ) -> Comparison:
        names = dict.fromkeys((*BUDGETED, self._chosen.best))
        with_mode = self._rivals(ours, {name: self._chosen.modes[name] for name in names}, OPT_MODES, rival)
        with_mode[MODEL] = self.outcome(self._ours.mode, ours)
        without = self._rivals(ours, dict.fromkeys(BUDGETED, NONE), (NO_PREFETCH,), rival) | {MODEL: alone}
        named = with_mode | {name + ALONE: own for name, own in without.items()}
        return self._comparison(budget, named, self._chosen.best, REJECTX + ALONE)

    def _rivals(
        self, ours: Tuned, modes: Mapping[str, str], opt_modes: tuple[OptMode, ...],
        rival: Callable[[Candidate], FlashOutcome],
    ) -> dict[str, FlashOutcome]:  # fmt: skip
        """Policies without a model in their modes, and OPT, its knob set to what the model writes."""
        plain = (self.plain(name, mode, self._ours.controller) for name, mode in modes.items())
        optimum = self.as_much_as(self.opt(opt_modes), ours.run.segment_writes)
        return {**{one.policy: rival(one) for one in plain}, OPT: optimum}

    def _comparison(self, budget: float, named: Mapping[str, FlashOutcome], best: str, plain: str) -> Comparison:
        runs = {name: one.tuned.run for name, one in named.items()}
        rivals = sorted({best, REJECTX, plain})
        against = {name: self.gap(runs[MODEL], runs[name], runs[OPT]) for name in rivals}
        return Comparison(
            budget_writes=budget,
            rows={name: self.row(one.tuned, one.mode) for name, one in named.items()},
            best_policy=best,
            best=against[best],
            gap=against[REJECTX],
            plain=against[plain],
        )

    def gap(self, ours: FlashRun, theirs: FlashRun, ideal: FlashRun) -> Gap:
        """What ours saves against a rival, and of the gap to OPT; the mean's figures with 90 % intervals.

        Shares of the gap are null where there is hardly one, or where the model writes more than the rival can.
        """
        no_more = ours.segment_writes <= theirs.segment_writes * (1 + 2 * self.problem.tolerance)
        curves = [self.curve(run) for run in (ours, theirs, ideal)]

        def shares(name: Literal["peak", "mean"]) -> tuple[float | None, float, float]:
            """Of the gap that is closed, and of the rival's load that is saved, by the model and by OPT."""
            model, rival, least = (float(STATISTICS[name](curve)) for curve in curves)
            wide = no_more and rival > 0 and rival - least >= self.flash.min_gap * rival
            saved, opt_saved = (((rival - own) / rival if rival > 0 else 0.0) for own in (model, least))
            return (rival - model) / (rival - least) if wide else None, saved, opt_saved

        (peak_closed, peak_saved, peak_opt), (closed, saved, opt_saved) = shares("peak"), shares("mean")
        room = curves[1] - curves[2]
        known = closed is not None and saving(curves[2], curves[1]).ends[0] > 0
        return Gap(
            no_more_writes=no_more,
            peak_gap_closed=peak_closed,
            peak_dt_saved=peak_saved,
            peak_opt_dt_saved=peak_opt,
            mean_gap_closed=closed,
            mean_gap_closed_interval=ratio_of(curves[1] - curves[0], room).ends if known else None,
            mean_dt_saved=saved,
            mean_opt_dt_saved=opt_saved,
            mean_dt_saved_interval=saving(curves[0], curves[1]).ends,
        )


def mode_of(trained: TrainedModel) -> str:
    """The prefetch mode that a trained admission ships with."""
    return str(trained.calibration["with_prefetch"]["mode"])


def decide(folder: Path, trace: Trace, problem: FlashProblem) -> Decisions:
    """What a trained admission decides on a trace, from a fresh history, with the prefetch mode that goes with it."""
    trained, serving = load_admission(folder)
    setting = trained.calibration["with_prefetch"]
    mode, scores = mode_of(trained), serving.scores(serve_trace(serving, trace))
    controller, fetched = Controller(**trained.calibration["controller"]), prefetch_of(problem, mode)
    return Decisions(scores, float(setting["threshold"]), serving.threshold, mode, fetched, controller)


def choose_baseline_modes(
    traces: Mapping[str, Trace], settings: Settings, controller: Controller | None = None
) -> dict[str, PolicyModes]:
    """Each baseline's prefetch mode, kept to the budget by a controller in each mode on each of these traces.

    Without a controller its knob is set to the budget on each.

    In the cache's own eviction all plain modes are tried, in the others the best of these and none.
    """
    problems = [flash_problem(trace, settings.label, settings.flash) for trace in traces.values()]

    def choice(name: str, modes: Sequence[str]) -> PolicyModes:
        policies = [baseline(name, settings.seed, trace.meta.trace_id, controller) for trace in traces.values()]
        return choose_mode(problems, policies, modes)

    owns = {name: choice(name, modes_of(problems)) for name in BASELINES}
    others = {
        f"{name}+{eviction}": choice(f"{name}+{eviction}", list(dict.fromkeys((NONE, own.mode))))
        for name, own in owns.items()
        if name != ACCEPT_ALL
        for eviction in EVICTIONS
    }
    return {**owns, **others}


def fixed_window(traces: Mapping[str, Trace], mode: str, settings: Settings) -> float:
    """RejectX's window for a cache that does not move it: the mean of those that meet the budget on some traces."""
    problems = [flash_problem(trace, settings.label, settings.flash) for trace in traces.values()]
    return fmean(rejectx(problem, prefetch_of(problem, mode)).knob for problem in problems)


def chosen_baselines(choices: Mapping[str, PolicyModes], label: EpisodeLabel) -> Baselines:
    """The baselines' modes, and which of those with a budget are best; one that writes more than it may is none."""
    most = label.write_budget * (1 + 2 * label.budget_tolerance)
    rivals = {name: choice for name, choice in choices.items() if name != ACCEPT_ALL}
    return Baselines(
        {name: choice.mode for name, choice in choices.items()},
        best_of({name: choice.figures[choice.mode] for name, choice in rivals.items()}, most),
        best_of({name: choice.figures[NONE] for name, choice in rivals.items()}, most),
    )


def evaluate_test(test: LabelledTrace, admission: Path, chosen: Baselines, settings: Settings) -> FlashTrace:
    """The model on one test trace, and what validation chose for the baselines."""
    problem = test.problem
    bench = Comparisons(test, decide(admission, test.trace, problem), chosen, settings)
    at_budget = bench.compare(problem.budget)
    reference = at_budget.rows[REJECTX]
    short = not reference.reached and reference.segment_writes > 0
    return FlashTrace(
        figures=describe(test.trace, problem, test.opt[NO_PREFETCH]),
        opt_eviction_ages={mode: labels.episodes.age for mode, labels in test.opt.items()},
        warmup_request=bench.windows.first,
        windows=Windows(
            count=bench.windows.count,
            seconds=bench.windows.seconds,
            reads=bench.windows.reads,
            enough_reads=bench.windows.reads >= settings.flash.window_min_reads,
        ),
        **bench.unbudgeted(),
        deployed=bench.compare_shipped(),
        admission_alone=bench.compare_alone(),
        at_budget=at_budget,
        at_rejectx_rate=bench.compare(float(reference.segment_writes)) if short else None,
    )


def evaluate_further(
    folder: Path, tests: Mapping[str, LabelledTrace], chosen: Baselines, settings: Settings
) -> FurtherModel:
    """A further admission model of the category on the test traces, in the plain mode that goes with it.

    Args:
        folder: `models/trained/admission/admission.<category>.<arch>`.
        tests: by key.
        chosen: what validation chose for the baselines.
        settings: parameters.

    Raises:
        CachezooError: the folder holds no readable model of its kind.
    """
    trained, traces = load_admission(folder)[0], {}
    for key, test in tests.items():
        ours = decide(folder, test.trace, test.problem)
        bench = Comparisons(test, ours, chosen, settings)
        tuned = learned(test.problem, ours.scores, ours.prefetch)
        traces[key] = FurtherTrace(deployed=bench.compare_shipped(), at_budget=bench.row(tuned, ours.mode))
    return FurtherModel(**dict(_verdict(trained)), mode=mode_of(trained), traces=traces)


def evaluate_models(
    category: str,
    admission: Path,
    validation: Mapping[str, Trace],
    tests: Mapping[str, Trace],
    settings: Settings,
    others: Sequence[Path] = (),
) -> FlashMetrics:
    """Evaluate a category's admission models.

    The headline is `traces[key].deployed.best.mean_dt_saved`: (rival - model) / rival on mean read disk-head time, the
    rival being the best policy without a model, each with its prefetch.

    Args:
        category: theirs.
        admission: `models/trained/admission/admission.<category>.<arch>`.
        validation: traces that choose the baselines' prefetch modes, by key; at least one.
        tests: test traces by key.
        settings: parameters.
        others: folders of the further trained admission models.
    """
    trained = load_admission(admission)[0]
    choices = choose_baseline_modes(validation, settings, Controller(**trained.calibration["controller"]))
    chosen = chosen_baselines(choices, settings.label)
    labelled = {key: LabelledTrace.of(trace, settings) for key, trace in tests.items()}
    traces = {key: evaluate_test(test, admission, chosen, settings) for key, test in labelled.items()}
    rows = [row for trace in traces.values() for row in trace.deployed.rows.values()]
    few = settings.flash.disk == "baleen" and bool(rows) and max(row.transfer_share for row in rows) < FEW_TRANSFERS
    return FlashMetrics(
        category=category,
        **dict(_verdict(trained)),
        mode=mode_of(trained),
        transfer_note="transfer is below 10 % of disk-head time: it amounts to an I/O count" if few else None,
        modes=choices,
        best_without_model=chosen.best,
        best_without_prefetch=chosen.best_alone,
        window=fixed_window(validation, chosen.modes[REJECTX], settings),
        modes_chosen_on=sorted(validation),
        traces=traces,
        beside={path.name: evaluate_further(path, labelled, chosen, settings) for path in others},
    )


def _verdict(trained: TrainedModel) -> FlashVerdict:
    return FlashVerdict(**{name: getattr(trained, name) for name in FlashVerdict.model_fields})


def evaluate_flash(params: "Params", category: str) -> FlashMetrics:
    """What stage evaluate_flash writes, see `evaluate_models`.

    A category without a validation trace has its modes chosen on the train traces, as its thresholds were.

    Raises:
        CachezooError: a model or a trace is missing or damaged.
    """
    name = f"admission.{category}.{params.model.admission.arch}"

    def traces(role: str) -> dict[str, Trace]:
        return {key: read_trace(paths.requests(category, key)) for key in traces_of(params, category, role)}

    settings, others = Settings.of(params, category), [paths.trained(variant.arch(name)) for variant in BESIDE]
    chosen_on = traces("validation") or traces("train")
    return evaluate_models(category, paths.trained(name), chosen_on, traces("test"), settings, others)
