"""Baleen through validation at several write budgets and cache sizes, and its ablations, on the test traces.

A *cell* is a category at a size of the cache. Its admission is labelled and trained for the size, once for each seed,
and serves every budget, as a bundle does. At each budget validation chooses the first threshold and the prefetch mode
of each training, the prefetch mode and the eviction of every policy without a model, and which of these is the rival.
On the test traces the same controller keeps the model and every rival to the budget; OPT may write as much as the model
then does.

The cell of the base size has all budgets, and at the base budget two ablations. In one OPT labels by another cost: in
place of disk-head time the I/Os, or the bytes read from the disks; thresholds and modes are chosen by disk-head time in
all, and figures are of it. The other has each plain prefetch mode, with the threshold that validation set for it.

A cell that is done is kept (`cachezoo.kept`), so that an interrupted run goes on.
"""

from collections.abc import Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cachezoo import paths
from cachezoo.arrays import F64
from cachezoo.contest.lead import over_savings
from cachezoo.documents import Document
from cachezoo.flash_cache.modes import NONE
from cachezoo.flash_cache.policies import ACCEPT_ALL, BUDGETED, controlled, prefetch_of
from cachezoo.flash_cache.problem import flash_problem, label_of
from cachezoo.io import write_json
from cachezoo.jobs import run_all
from cachezoo.kept import Hashes, Job, keep, restore
from cachezoo.kernels.write_budget import Controller
from cachezoo.labels.episode_file import episode_rows
from cachezoo.meanings import Each
from cachezoo.metrics.files import MAKE, read
from cachezoo.metrics.flash import FlashRow
from cachezoo.models.forest import forest_scorer
from cachezoo.params import At, Picked
from cachezoo.questions.flash.bench import FlashOutcome
from cachezoo.questions.flash.stage import (
    Baselines,
    Comparisons,
    Decisions,
    LabelledTrace,
    choose_baseline_modes,
    chosen_baselines,
)
from cachezoo.questions.flash.stage import Settings as Evaluation
from cachezoo.seeds import derive_seed
from cachezoo.settings.data import Roles
from cachezoo.settings.flash import EpisodeLabel, FlashPolicy, HistoryFeatures
from cachezoo.traces.table import Trace
from cachezoo.training.episodes import Prepared, read_traces
from cachezoo.zoo.admission.fit import Settings as Fitting
from cachezoo.zoo.admission.fit import fit_prepared
from cachezoo.zoo.admission.judge import Setting, plain_settings
from cachezoo.zoo.admission.serve import history_of, serve_trace
from cachezoo.zoo.admission.settings import Fit, Model
from lab.baleen.document import (
    BALEEN,
    BUDGET,
    DISK_TIME,
    OPT,
    REJECTX,
    REJECTX_ALONE,
    SIZE,
    BaleenFigure,
    ModeRun,
    PolicyRun,
    SweepCase,
    Taught,
    figure_of,
)

if TYPE_CHECKING:
    from cachezoo.settings.params import Params

STAGE, SOURCES = "baleen", Path("lab/sources.baleen.json")
DONE = Path(".cache/baleen")
BUDGETS = (0.05, 0.1, 0.25, 0.5)
SIZES = (0.01, 0.02, 0.05, 0.1, 0.2, 0.4)
SEEDS = 5
# What OPT saves, in place of what `policy.flash` says: constants of an I/O and of its bytes.
LESSONS: Mapping[Taught, Mapping[str, float | str]] = {
    DISK_TIME: {}, "I/Os": {"disk": "baleen", "rate_mib_s": 1e9}, "bytes": {"disk": "baleen", "seek_ms": 1e-6},
}  # fmt: skip
Traces = Mapping[str, Trace]  # by key
Scores = Mapping[str, F64]  # [n] of each trace, by key


@dataclass(frozen=True)
class Settings(Picked):
    """What the stage reads of params.yaml."""

    label: Annotated[EpisodeLabel, At("label.episodes")]
    history: Annotated[HistoryFeatures, At("features.history")]
    model: Annotated[Model, At("model.admission")]
    fit: Annotated[Fit, At("fit.admission")]
    flash: Annotated[FlashPolicy, At("policy.flash")]
    roles: Annotated[dict[str, Roles], At("data.roles")]
    seed: Annotated[int, At("seed")]


@dataclass(frozen=True)
class Cell:
    """A category at a size."""

    category: str
    capacity_fraction: float = SIZE

    @property
    def key(self) -> str:
        """Of its file."""
        return f"{self.category}.size{self.capacity_fraction:g}"

    @property
    def budgets(self) -> tuple[float, ...]:
        """That it is run at."""
        return BUDGETS if self.capacity_fraction == SIZE else (BUDGET,)

    @property
    def lessons(self) -> tuple[Taught, ...]:
        """That its models are trained by; others than disk-head time are run at the base budget alone."""
        return tuple(LESSONS) if self.capacity_fraction == SIZE else (DISK_TIME,)


def cells(categories: Sequence[str]) -> list[Cell]:
    """All of them."""
    return [Cell(name, size) for name in categories for size in SIZES]


class Done(Document):
    """A cell's file."""

    cases: Annotated[list[SweepCase], Each("one test trace", "trace, write_budget and taught")]
    modes: Annotated[list[ModeRun], Each("one policy in a prefetch mode", "trace, policy and mode")]


def evaluation(cell: Cell, settings: Settings, budget: float = BUDGET) -> Evaluation:
    """The cache of a cell at a budget."""
    label = label_of(settings.label, cell.category)
    own = {"cache_fraction": cell.capacity_fraction, "write_budget": budget}
    return Evaluation(label.model_copy(update=own), settings.flash, settings.seed)


def measure(cell: Cell, settings: Settings) -> Done:
    """A cell: trained, chosen on validation, judged on the test traces.

    Raises:
        TraceError: a trace is missing or damaged.
        TrainingError: there is nothing to learn from.
    """
    roles = settings.roles[cell.category]
    train, validation, tests = (
        {part.key: part.trace for part in read_traces(cell.category, roles.get(role, []))[0]}
        for role in ("train", "validation", "test")
    )
    trained = {one: trainings(cell, one, settings, train, {**validation, **tests}) for one in cell.lessons}
    found = []
    for budget in cell.budgets:
        own = trained if budget == BUDGET else {DISK_TIME: trained[DISK_TIME]}
        found.append(judge(cell, evaluation(cell, settings, budget), own, validation, tests))
    return Done(cases=[case for one in found for case in one.cases], modes=[row for one in found for row in one.modes])


def trainings(cell: Cell, taught: Taught, settings: Settings, train: Traces, served: Traces) -> Sequence[Scores]:
    """What the model of each seed scores the served traces; labels are those of the base budget."""
    own = evaluation(cell, settings)
    lesson = own.flash.model_copy(update=dict(LESSONS[taught]))
    parts = [
        Prepared(key, trace, episode_rows(flash_problem(trace, own.label, lesson), own.label))
        for key, trace in train.items()
    ]
    fit = settings.fit.model_copy(update={"threads": 1})  # which forest grows does not depend on it; cells share cores
    rows, found = None, []
    for k in range(SEEDS):
        seed = derive_seed(settings.seed, "lab_baleen", str(k))
        fitting = Fitting(own.label, settings.history, settings.model, fit, roles={}, seed=seed)
        fitted, forest = fit_prepared(cell.category, parts, fitting, {})
        if rows is None:  # the inputs are those of every seed
            rows = {key: serve_trace(history_of(fitted), trace) for key, trace in served.items()}
        scorer = forest_scorer(forest.text)
        found.append({key: scorer(own_rows) for key, own_rows in rows.items()})
    return found


def judge(
    cell: Cell, own: Evaluation, trained: Mapping[Taught, Sequence[Scores]], validation: Traces, tests: Traces
) -> Done:
    """The trainings of a cell at a budget: chosen on validation, run on the test traces with their rivals."""
    chosen = chosen_baselines(choose_baseline_modes(validation, own, Controller()), own.label)
    problems = [flash_problem(trace, own.label, own.flash) for trace in validation.values()]
    labelled = {key: LabelledTrace.of(trace, own) for key, trace in tests.items()}
    cases, modes = [], []
    for taught, scored in trained.items():
        settings = [plain_settings(problems, [scores[key] for key in validation]) for scores in scored]
        for key, test in labelled.items():
            benches = [
                Comparisons(test, _decisions(test, scores[key], plain), chosen, own)
                for scores, plain in zip(scored, settings, strict=True)
            ]
            runs = [_run_all(bench, chosen, plain[0].mode) for bench, plain in zip(benches, settings, strict=True)]
            cases.append(_case(cell, own, taught, chosen, key, benches[0], runs))
            if taught == DISK_TIME and cases[-1].is_base:
                modes += mode_runs(key, benches[0], [scores[key] for scores in scored], settings)
    return Done(cases=cases, modes=modes)


def _decisions(test: LabelledTrace, scores: F64, plain: Sequence[Setting]) -> Decisions:
    """Of a training, in the mode that is best on validation."""
    alone = next(one.threshold for one in plain if one.mode == NONE)
    ours = plain[0]
    return Decisions(scores, ours.threshold, alone, ours.mode, prefetch_of(test.problem, ours.mode), Controller())


def _run_all(bench: Comparisons, chosen: Baselines, mode: str) -> dict[str, FlashOutcome]:
    """The model and policies without one, kept to the budget by one controller, and OPT at the model's writes."""
    ours = bench.outcome(mode, bench.shipped())
    modes = {name: (name, chosen.modes[name]) for name in dict.fromkeys((*BUDGETED, chosen.best))}
    modes[REJECTX_ALONE] = REJECTX, NONE
    rivals = {name: bench.kept(bench.plain(*own, Controller())) for name, own in modes.items()}
    return {BALEEN: ours, **rivals, OPT: bench.as_much_as(bench.opt(), ours.writes)}


def _case(
    cell: Cell, own: Evaluation, taught: Taught, chosen: Baselines, key: str, bench: Comparisons,
    runs: list[dict[str, FlashOutcome]],
) -> SweepCase:  # fmt: skip
    saved = over_savings([one[BALEEN].blocks for one in runs], [one[chosen.best].blocks for one in runs])

    def row(policy: str) -> PolicyRun:
        rows = [bench.row(one[policy].tuned, one[policy].mode) for one in runs]
        return PolicyRun(
            policy=policy, prefetch=[one.prefetch for one in rows], mean_dt=[one.read_dt.mean for one in rows],
            peak_dt=[one.read_dt.peak for one in rows], writes=[one.writes_of_accept_all for one in rows],
            io_hit_ratio=[one.io_hit_ratio for one in rows], byte_hit_ratio=[one.byte_hit_ratio for one in rows],
        )  # fmt: skip

    return SweepCase(
        trace=key, category=cell.category, capacity_fraction=cell.capacity_fraction,
        write_budget=own.label.write_budget, taught=taught, best_policy=chosen.best, saved=saved.value,
        saved_interval=saved.interval, runs=[row(policy) for policy in runs[0]],
    )  # fmt: skip


def mode_runs(
    key: str, bench: Comparisons, scored: Sequence[F64], settings: Sequence[Sequence[Setting]]
) -> list[ModeRun]:
    """Every training and policies without a model in every plain mode, kept to the budget."""
    problem = bench.problem

    def row(policy: str, mode: str, rows: Sequence[FlashRow]) -> ModeRun:
        return ModeRun(
            trace=key, policy=policy, mode=mode, mean_dt=[one.read_dt.mean for one in rows],
            peak_dt=[one.read_dt.peak for one in rows], writes=[one.writes_of_accept_all for one in rows],
        )  # fmt: skip

    found = []
    for mode in sorted(one.mode for one in settings[0]):
        fetched = prefetch_of(problem, mode)
        thresholds = [next(one.threshold for one in plain if one.mode == mode) for plain in settings]
        runs = [
            controlled(problem, scores, threshold, Controller(), fetched)
            for scores, threshold in zip(scored, thresholds, strict=True)
        ]
        found.append(row(BALEEN, mode, [bench.row(run, mode) for run in runs]))
        for policy in (ACCEPT_ALL, *BUDGETED):
            tuned = bench.kept(bench.plain(policy, mode, Controller())).tuned
            found.append(row(policy, mode, [bench.row(tuned, mode)]))
    return found


def job_of(cell: Cell, settings: Settings) -> Job:
    """What a cell reads and writes."""
    values = {"settings": asdict(replace(settings, roles={cell.category: settings.roles[cell.category]}))}
    return Job(STAGE, cell.key, values, [SOURCES, paths.REQUESTS / cell.category], [DONE / f"{cell.key}.json"])


def do(cell: Cell, settings: Settings) -> Done:
    """A cell; what is kept of it where nothing has changed since."""
    job = job_of(cell, settings)
    digest = job.digest(Hashes())
    file = Path(job.writes[0])
    if not restore(job, digest):
        write_json(file, measure(cell, settings).model_dump(mode="json"))
        keep(job, digest)
    return read(file, Done, MAKE)


def baleen(params: "Params", pool: Executor) -> BaleenFigure:
    """All cells, side by side.

    Args:
        params: as read.
        pool: a cell is a job; the longest come first.

    Raises:
        CachezooError: as `measure`.
    """
    settings = Settings.of(params)
    listed = cells(sorted(settings.roles))
    ordered = sorted(
        listed, key=lambda cell: (len(cell.budgets) + len(cell.lessons), job_of(cell, settings).size()), reverse=True
    )
    done = run_all("Baleen's cells", pool, do, [(cell, settings) for cell in ordered])
    found = [one for _, one in sorted(zip(map(listed.index, ordered), done, strict=True), key=lambda pair: pair[0])]
    return figure_of([case for one in found for case in one.cases], [row for one in found for row in one.modes], SEEDS)
