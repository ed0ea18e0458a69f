"""Baleen through validation at several write budgets and cache sizes, and its ablations, on the test traces.

A *cell* is a category at a size and a budget. Its admission is labelled and trained for them, once for each seed.
Validation chooses the first threshold and the prefetch mode of each training, the prefetch mode and the eviction of
every policy without a model, and which of these is the rival. On the test traces the model's controller keeps the
budget's rate, and every rival may write as much as the model then does.

In three cells of a category OPT labels by another cost: in place of disk-head time the I/Os, or the bytes read from the
disks. Thresholds and modes are chosen by disk-head time in all of them, and figures are of it.

The prefetch ablation takes the model as shipped, in each mode with the threshold that meets the budget on validation.

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
from cachezoo.flash_cache.policies import ACCEPT_ALL, BUDGETED, Tuned, prefetch_of
from cachezoo.flash_cache.problem import FlashProblem, flash_problem, label_of
from cachezoo.io import write_json
from cachezoo.jobs import run_all
from cachezoo.kept import Hashes, Job, keep, restore
from cachezoo.kernels.write_budget import Controller
from cachezoo.labels.episode_file import episode_rows
from cachezoo.meanings import Each
from cachezoo.metrics.files import MAKE, read
from cachezoo.models.forest import forest_scorer
from cachezoo.params import At, Picked
from cachezoo.questions.flash.bench import Bench, FlashOutcome
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
from cachezoo.settings.data import Role, Roles
from cachezoo.settings.flash import EpisodeLabel, FlashPolicy, HistoryFeatures
from cachezoo.traces.table import Trace
from cachezoo.training.episodes import Prepared, Unlabelled, read_traces
from cachezoo.zoo.admission.fit import Settings as Fitting
from cachezoo.zoo.admission.fit import fit_prepared
from cachezoo.zoo.admission.judge import plain_settings
from cachezoo.zoo.admission.model import load_admission
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
    """A category at a size and a budget."""

    category: str
    capacity_fraction: float = SIZE
    write_budget: float = BUDGET
    taught: Taught = DISK_TIME

    @property
    def key(self) -> str:
        """Of its file."""
        taught = self.taught.replace("/", "").replace(" ", "_")
        return f"{self.category}.size{self.capacity_fraction:g}.budget{self.write_budget:g}.{taught}"


def cells(categories: Sequence[str]) -> list[Cell]:
    """All of them; the base of each category, at which both ways cross, once."""
    found = [Cell(name, write_budget=budget) for name in categories for budget in BUDGETS]
    found += [Cell(name, capacity_fraction=size) for name in categories for size in SIZES]
    found += [Cell(name, taught=taught) for name in categories for taught in LESSONS]
    return list(dict.fromkeys(found))


class Done(Document):
    """A cell's file, or that of a category's modes."""

    cases: Annotated[list[SweepCase], Each("one test trace", "trace")]
    modes: Annotated[list[ModeRun], Each("one policy in a prefetch mode", "trace, policy and mode")]


def evaluation(cell: Cell, settings: Settings) -> Evaluation:
    """The cache of a cell."""
    label = label_of(settings.label, cell.category)
    own = {"cache_fraction": cell.capacity_fraction, "write_budget": cell.write_budget}
    return Evaluation(label.model_copy(update=own), settings.flash, settings.seed)


def measure(cell: Cell, settings: Settings) -> Done:
    """A cell: trained, chosen on validation, judged on the test traces.

    Raises:
        TraceError: a trace is missing or damaged.
        TrainingError: there is nothing to learn from.
    """
    roles = settings.roles[cell.category]
    traces = {
        role: {part.key: part.trace for part in read_traces(cell.category, roles.get(role, []))[0]}
        for role in ("train", "validation", "test")
    }
    own = evaluation(cell, settings)
    chosen = chosen_baselines(choose_baseline_modes(traces["validation"], own))
    lesson = own.flash.model_copy(update=dict(LESSONS[cell.taught]))
    parts = [
        Prepared(key, trace, episode_rows(flash_problem(trace, own.label, lesson), own.label))
        for key, trace in traces["train"].items()
    ]
    problems = [flash_problem(trace, own.label, own.flash) for trace in traces["validation"].values()]
    tests = {key: LabelledTrace.of(trace, own) for key, trace in traces["test"].items()}
    found: dict[str, list[dict[str, FlashOutcome]]] = {key: [] for key in tests}
    benches: dict[str, Comparisons] = {}
    for k in range(SEEDS):
        seed = derive_seed(settings.seed, "lab_baleen", str(k))
        fitting = Fitting(own.label, settings.history, settings.model, settings.fit, roles, seed)
        fitted, forest = fit_prepared(cell.category, parts, fitting, {})
        scorer = forest_scorer(forest.text, settings.fit.threads)

        def scores(trace: Trace) -> F64:
            return scorer(serve_trace(history_of(fitted), trace))  # noqa: B023 - called before the next seed

        plain = plain_settings(problems, [scores(trace) for trace in traces["validation"].values()])
        ours = plain[0]
        alone = next(one.threshold for one in plain if one.mode == NONE)
        for key, test in tests.items():
            fetched = prefetch_of(test.problem, ours.mode)
            decided = Decisions(scores(test.trace), ours.threshold, alone, ours.mode, fetched, Controller())
            benches[key] = Comparisons(test, decided, chosen, own)
            found[key].append(_run_all(benches[key], chosen, ours.mode))
    return Done(cases=[_case(cell, chosen, key, benches[key], runs) for key, runs in found.items()], modes=[])


def _run_all(bench: Comparisons, chosen: Baselines, mode: str) -> dict[str, FlashOutcome]:
    """The model as trained, and the others at its writes."""
    ours = bench.outcome(mode, bench.shipped())
    rivals = {name: bench.plain(name, chosen.modes[name]) for name in dict.fromkeys((*BUDGETED, chosen.best))}
    rivals |= {REJECTX_ALONE: bench.plain(REJECTX, NONE), OPT: bench.opt()}
    return {BALEEN: ours, **{name: bench.as_much_as(candidate, ours.writes) for name, candidate in rivals.items()}}


def _case(
    cell: Cell, chosen: Baselines, key: str, bench: Comparisons, runs: list[dict[str, FlashOutcome]]
) -> SweepCase:
    saved = over_savings([one[BALEEN].blocks for one in runs], [one[chosen.best].blocks for one in runs])

    def row(policy: str) -> PolicyRun:
        rows = [bench.row(one[policy].tuned, one[policy].mode) for one in runs]
        return PolicyRun(
            policy=policy, prefetch=[one.prefetch for one in rows], mean_dt=[one.read_dt.mean for one in rows],
            peak_dt=[one.read_dt.peak for one in rows], writes=[one.writes_of_accept_all for one in rows],
            io_hit_ratio=[one.io_hit_ratio for one in rows], byte_hit_ratio=[one.byte_hit_ratio for one in rows],
        )  # fmt: skip

    return SweepCase(
        trace=key, category=cell.category, capacity_fraction=cell.capacity_fraction, write_budget=cell.write_budget,
        taught=cell.taught, best_policy=chosen.best, saved=saved.value,
        saved_interval=saved.interval, runs=[row(policy) for policy in runs[0]],
    )  # fmt: skip


def measure_modes(category: str, settings: Settings) -> Done:
    """The model as shipped in every prefetch mode, and policies without one.

    Raises:
        CachezooError: a model or a trace is missing or damaged.
    """
    own, roles = evaluation(Cell(category), settings), settings.roles[category]
    admits = load_admission(paths.trained(f"admission.{category}.{settings.model.arch}"))[1]

    def scored(role: Role) -> tuple[list[FlashProblem], list[F64], list[Unlabelled]]:
        parts = read_traces(category, roles.get(role, []))[0]
        problems = [flash_problem(part.trace, own.label, own.flash) for part in parts]
        return problems, [admits.scores(serve_trace(admits, part.trace)) for part in parts], parts

    tried = plain_settings(*scored("validation")[:2])
    rows = []
    for problem, scores, part in zip(*scored("test"), strict=True):
        bench = Bench(part.trace, problem, own.flash, own.seed)

        def add(policy: str, mode: str, tuned: Tuned, key: str = part.key, bench: Bench = bench) -> None:
            row = bench.row(tuned, mode)
            rows.append(
                ModeRun(trace=key, policy=policy, mode=mode, mean_dt=row.read_dt.mean,
                        peak_dt=row.read_dt.peak, writes=row.writes_of_accept_all)
            )  # fmt: skip

        for one in tried:
            fetched = prefetch_of(problem, one.mode)
            add(BALEEN, one.mode, Tuned(problem.run(scores >= one.threshold, fetched), one.threshold, True))
        for policy in (ACCEPT_ALL, *BUDGETED):
            for one in tried:
                add(policy, one.mode, bench.plain(policy, one.mode).run(problem).tuned)
    return Done(cases=[], modes=rows)


def job_of(cell: Cell | str, settings: Settings) -> Job:
    """What a cell, or a category's modes, reads and writes."""
    category = cell if isinstance(cell, str) else cell.category
    key = f"{cell}.modes" if isinstance(cell, str) else cell.key
    reads = [SOURCES, paths.REQUESTS / category]
    if isinstance(cell, str):
        reads += [paths.trained(f"admission.{category}.{settings.model.arch}")]
    values = {"settings": asdict(replace(settings, roles={category: settings.roles[category]})), "seeds": SEEDS}
    return Job(STAGE, key, values, reads, [DONE / f"{key}.json"])


def do(cell: Cell | str, settings: Settings) -> Done:
    """A cell, or a category's modes; what is kept of it where nothing has changed since."""
    job = job_of(cell, settings)
    digest = job.digest(Hashes())
    file = Path(job.writes[0])
    if not restore(job, digest):
        found = measure_modes(cell, settings) if isinstance(cell, str) else measure(cell, settings)
        write_json(file, found.model_dump(mode="json"))
        keep(job, digest)
    return read(file, Done, MAKE)


def baleen(params: "Params", pool: Executor) -> BaleenFigure:
    """All cells and modes, side by side.

    Args:
        params: as read.
        pool: a cell is a job.

    Raises:
        CachezooError: as `measure` and `measure_modes`.
    """
    settings = Settings.of(params)
    categories = sorted(settings.roles)
    jobs = [(cell, settings) for cell in (*cells(categories), *categories)]
    done = run_all("Baleen's cells", pool, do, jobs)
    return figure_of([case for one in done for case in one.cases], [row for one in done for row in one.modes], SEEDS)
