"""Baleen on the test traces: admission and prefetch, next to AcceptAll, CoinFlip, RejectX and OPT.

All run in the same flash simulator. A policy's prefetch mode is chosen on validation, the baselines' as well as the
model's; OPT, a bound, takes the mode that is best on the very trace. The headline is the mean read disk-head time saved
against the best policy without a model: of the baselines with a budget, each in its mode, the one with the lowest mean
on validation. Three comparisons, since a threshold chosen on validation need not meet the budget on a test trace:

- `deployed`: admission and prefetch as shipped, mode and threshold untouched (the prefetch model's where it ships,
  else the admission's plain mode); the others are given their segment writes, which they meet within
  `budget_tolerance`; the headline comes from here.
- `admission_alone`: the admission as shipped, without prefetch, and the others at its writes without prefetch.
- `at_budget`: every policy's knob, the model's too, meets the configured budget on the test trace itself.
  Where RejectX cannot reach the budget, `at_rejectx_rate` repeats this at the writes RejectX does reach.

The admission models beside the full one (`cachezoo.zoo.admission.fit`) run as shipped, each in its plain mode
and the others at its writes, and at the budget: `FlashMetrics.beside`.

A rival is compared with at no more writes than it makes: where the model is ahead of it within the tolerance, its
threshold is raised until it writes no more.

Source: Baleen post, "Evaluation"; the best policy without a model, and the share of the gap to OPT, are ours.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from cachezoo import paths
from cachezoo.flash.geometry import label_of
from cachezoo.flash.modes import NONE, is_plain
from cachezoo.flash.policies import (
    BASELINES,
    BUDGETED,
    REJECTX,
    ModeChoice,
    baseline,
    beside,
    best_of,
    choose_mode,
    learned,
    modes_of,
)
from cachezoo.flash.problem import FlashProblem, flash_problem
from cachezoo.kernels.flash import Prefetch
from cachezoo.labels.episode_file import describe
from cachezoo.labels.episodes import NO_PREFETCH, OPT_MODES, label_problem
from cachezoo.metrics.flash import (
    BesideModel,
    BesideTrace,
    FlashMetrics,
    FlashTrace,
    FlashVerdict,
    ModeFigures,
    ModelModes,
    PolicyModes,
    TriedMode,
    Windows,
)
from cachezoo.models.trained import TrainedModel
from cachezoo.params import traces_of
from cachezoo.questions.flash.bench import MODEL, Baselines, Bench, Decisions
from cachezoo.settings.flash import EpisodeLabel, FlashPolicy
from cachezoo.traces.store import read_trace
from cachezoo.traces.table import Trace
from cachezoo.zoo.admission.fit import BESIDE
from cachezoo.zoo.admission.model import load_admission
from cachezoo.zoo.admission.serve import serve_trace
from cachezoo.zoo.prefetch.model import load_prefetch

if TYPE_CHECKING:
    from cachezoo.config.schema import Params

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


class Models:
    """A category's admission and prefetch models, as trained."""

    def __init__(self, admission: Path, prefetch: Path) -> None:
        """Read both.

        Args:
            admission: `models/trained/admission/admission.<category>.<arch>`.
            prefetch: `models/trained/prefetch/prefetch.<category>.<arch>`.

        Raises:
            CachezooError: a folder holds no readable model of its kind.
        """
        self._folders = admission, prefetch
        self.admission: TrainedModel = load_admission(admission)[0]
        self.prefetch: TrainedModel = load_prefetch(prefetch)[0]

    @property
    def ranged(self) -> bool:
        """The prefetch model ships: it trained, and beat the plain modes on validation."""
        return self.prefetch.promoted

    @property
    def mode(self) -> str:
        """The prefetch mode that they ship with; without the prefetch model, the admission's plain one."""
        return str(self.prefetch.policy["mode"] if self.ranged else self.admission.calibration["with_prefetch"]["mode"])

    def decide(self, trace: Trace, problem: FlashProblem) -> Decisions:
        """Their decisions on a trace, from a fresh history."""
        admits = load_admission(self._folders[0])[1]
        ranges = None if is_plain(self.mode) else load_prefetch(self._folders[1])[1]
        if ranges is not None:
            prefetch: Prefetch | None = ranges.prefetch(serve_trace(ranges, trace))
        else:
            prefetch = beside(problem, self.mode)
        setting = self.prefetch.calibration if self.ranged else self.admission.calibration["with_prefetch"]
        scores = admits.scores(serve_trace(admits, trace))
        return Decisions(scores, float(setting["threshold"]), admits.threshold, self.mode, prefetch)


def choose_baseline_modes(traces: Mapping[str, Trace], settings: Settings) -> dict[str, ModeChoice]:
    """Each baseline's prefetch mode, its knob set to the budget in each mode on each of these traces."""
    problems = [flash_problem(trace, settings.label, settings.flash) for trace in traces.values()]

    def choice(name: str) -> ModeChoice:
        policies = [baseline(name, settings.seed, trace.meta.trace_id) for trace in traces.values()]
        return choose_mode(problems, policies, modes_of(problems))

    return {name: choice(name) for name in BASELINES}


def chosen_baselines(choices: Mapping[str, ModeChoice]) -> Baselines:
    """The baselines' modes, and which of those with a budget are best."""
    return Baselines(
        {name: choice.mode for name, choice in choices.items()},
        best_of({name: choices[name].figures[choices[name].mode] for name in BUDGETED}),
        best_of({name: choices[name].figures[NONE] for name in BUDGETED}),
    )


def evaluate_test(trace: Trace, models: Models, chosen: Baselines, settings: Settings) -> FlashTrace:
    """One test trace.

    Args:
        trace: the requests.
        models: the trained models.
        chosen: what validation chose for the baselines.
        settings: parameters.

    Raises:
        TraceError: the trace has no reads.
    """
    label, flash = settings.label, settings.flash
    problem = flash_problem(trace, label, flash)
    opt = {mode: label_problem(problem, label, mode) for mode in OPT_MODES}
    bench = Bench(trace, problem, opt, models.decide(trace, problem), chosen, flash, settings.seed)
    at_budget = bench.compare(problem.budget, None)
    reference = at_budget.rows[REJECTX]
    short = not reference.reached and reference.segment_writes > 0
    return FlashTrace(
        figures=describe(trace, problem, opt[NO_PREFETCH]),
        opt_eviction_ages={mode: labels.episodes.age for mode, labels in opt.items()},
        warmup_request=bench.windows.first,
        windows=Windows(
            count=bench.windows.count,
            seconds=bench.windows.seconds,
            reads=bench.windows.reads,
            enough_reads=bench.windows.reads >= flash.window_min_reads,
        ),
        **bench.unbudgeted(),
        deployed=bench.compare_shipped(),
        admission_alone=bench.compare_alone(),
        at_budget=at_budget,
        at_rejectx_rate=bench.compare(float(reference.segment_writes), None) if short else None,
    )


def evaluate_beside(folder: Path, tests: Mapping[str, Trace], chosen: Baselines, settings: Settings) -> BesideModel:
    """An admission model beside the full one on the test traces, in the plain mode that goes with it.

    Args:
        folder: `models/trained/admission/admission.<category>.<arch>`.
        tests: test traces by key.
        chosen: what validation chose for the baselines.
        settings: parameters.

    Raises:
        CachezooError: the folder holds no readable model of its kind.
    """
    trained = load_admission(folder)[0]
    setting, flash = trained.calibration["with_prefetch"], settings.flash
    mode, traces = str(setting["mode"]), {}
    for key, trace in tests.items():
        serving, problem = load_admission(folder)[1], flash_problem(trace, settings.label, flash)
        scores, fetched = serving.scores(serve_trace(serving, trace)), beside(problem, mode)
        ours = Decisions(scores, float(setting["threshold"]), serving.threshold, mode, fetched)
        opt = {name: label_problem(problem, settings.label, name) for name in OPT_MODES}
        bench = Bench(trace, problem, opt, ours, chosen, flash, settings.seed)
        traces[key] = BesideTrace(
            deployed=bench.compare_shipped(), at_budget=bench.row(learned(problem, scores, fetched), mode)
        )
    return BesideModel(**dict(_verdict(trained)), mode=mode, traces=traces)


def evaluate_models(
    category: str,
    models: Models,
    validation: Mapping[str, Trace],
    tests: Mapping[str, Trace],
    settings: Settings,
    others: Sequence[Path] = (),
) -> FlashMetrics:
    """Evaluate a category's models.

    The headline is `traces[key].deployed.best.mean_dt_saved`: (rival - model) / rival on mean read disk-head time, the
    rival being the best policy without a model, each with its prefetch.

    Args:
        category: theirs.
        models: the trained models.
        validation: traces that choose the baselines' prefetch modes, by key; at least one.
        tests: test traces by key.
        settings: parameters.
        others: folders of the trained admission models beside the full one.
    """
    choices = choose_baseline_modes(validation, settings)
    chosen = chosen_baselines(choices)
    traces = {key: evaluate_test(trace, models, chosen, settings) for key, trace in tests.items()}
    rows = [row for trace in traces.values() for row in trace.deployed.rows.values()]
    few = bool(rows) and max(row.transfer_share for row in rows) < FEW_TRANSFERS
    tried = [TriedMode.model_validate(row) for row in models.prefetch.calibration["modes"]]
    return FlashMetrics(
        category=category,
        **dict(_verdict(models.admission)),
        prefetch=_verdict(models.prefetch),
        transfer_note="transfer is below 10 % of disk-head time: it amounts to an I/O count" if few else None,
        modes={
            **{name: _modes(choice) for name, choice in choices.items()},
            MODEL: ModelModes(mode=models.mode, figures=tried),
        },
        best_without_model=chosen.best,
        best_without_prefetch=chosen.best_alone,
        modes_chosen_on=sorted(validation),
        traces=traces,
        beside={path.name: evaluate_beside(path, tests, chosen, settings) for path in others},
    )


def _verdict(trained: TrainedModel) -> FlashVerdict:
    return FlashVerdict(
        model_id=trained.model_id,
        trained=trained.trained,
        beats_baseline=trained.beats_baseline,
        reason=trained.reason,
    )


def _modes(choice: ModeChoice) -> PolicyModes:
    return PolicyModes(
        mode=choice.mode, figures={mode: ModeFigures(**asdict(found)) for mode, found in choice.figures.items()}
    )


def evaluate_flash(params: "Params", category: str) -> FlashMetrics:
    """What stage evaluate_flash writes, see `evaluate_models`.

    A category without a validation trace has its modes chosen on the train traces, as its thresholds were.

    Raises:
        CachezooError: a model or a trace is missing or damaged.
    """
    kinds = {"admission": params.model.admission.arch, "prefetch": params.model.prefetch.arch}
    folders = [paths.trained(f"{kind}.{category}.{arch}") for kind, arch in kinds.items()]

    def traces(role: str) -> dict[str, Trace]:
        return {key: read_trace(paths.requests(category, key)) for key in traces_of(params, category, role)}

    models, settings = Models(*folders), Settings.of(params, category)
    others = [paths.trained(variant.arch(f"admission.{category}.{kinds['admission']}")) for variant in BESIDE]
    return evaluate_models(category, models, traces("validation") or traces("train"), traces("test"), settings, others)
