"""How far the forest carries over: fitted without a program, or without a set-up, and run on what was left out.

Train traces alone, at home and of the corpus; no validation or test trace is read. Rows of each trace, and of each two
that take turns, are drawn once and shared by all fits. A fold leaves out all traces of one program, or one set-up of
every program of the corpus at a time; traces at home have no set-up and stay in those fits. The rivals are the classics
with their defaults: the best of a trace in hindsight, and the one that is best on average on the traces fitted on,
which a user would have deployed.
"""

from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import numpy as np

from cachezoo.contest.counting import first_access
from cachezoo.contest.gap import gap
from cachezoo.errors import TrainingError
from cachezoo.jobs import run_all
from cachezoo.kernels.outcome import HIT
from cachezoo.models.forest import forest_scorer
from cachezoo.params import At
from cachezoo.policies.engine import simulate
from cachezoo.policies.registry import OPTIMUM, classics
from cachezoo.policies.simulate import Simulator
from cachezoo.traces.pages import capacity_pages
from cachezoo.zoo.reuse import fit
from cachezoo.zoo.reuse.cache import forest_cache, policy_of
from cachezoo.zoo.reuse.fit import Learned, learn
from cachezoo.zoo.reuse.judge import allowed
from cachezoo.zoo.reuse.prepared import Prepared, places
from cachezoo.zoo.reuse.settings import Judge
from lab.carry_over.document import WAYS, CarryOver, Fold, Row, Split, ours, summary_of

if TYPE_CHECKING:
    from cachezoo.settings.params import Params

# Programs of the project's own traces, which conf/matrix.yaml does not name; of another it is its key.
PROGRAMS = {
    "database_train": "postgres", "web_train": "nginx", "mail_train": "postmark", "fileserver_train": "dbench",
}  # fmt: skip
SPLITS: tuple[Split, ...] = ("program", "set-up")


@dataclass(frozen=True)
class Settings(fit.Settings):
    """What the stage reads of params.yaml: what the fit reads, and the judge's capacity and weights."""

    judge: Annotated[Judge, At("judge.reuse")]

    @property
    def weight(self) -> float:
        """The largest weight of the counts: the rows of a fold are of many programs."""
        return max(self.judge.weights)


class Source(NamedTuple):
    """A train trace: key, file, program, and set-up (empty at home)."""

    key: str
    path: Path
    program: str
    setup: str


class Left(NamedTuple):
    """A fold: what is left out, and the keys of the traces fitted on and run."""

    split: Split
    name: str
    fitted: tuple[str, ...]
    tested: tuple[str, ...]


class Trial(NamedTuple):
    """A trace's hit ratios: of classics and the optimum by id, and of each fold's seeds, alone and followed."""

    capacity: int
    counted: int
    rivals: dict[str, float]
    alone: list[list[float]]
    followed: list[list[float]]


def sources_of(settings: Settings) -> list[Source]:
    """Train traces by key."""
    entries = {key: row for rows in settings.corpus.values() for key, row in rows.items()}
    found = []
    for key, path in places(settings.categories, settings.roles, settings.corpus, "train").items():
        entry = entries.get(key)
        found.append(
            Source(key, path, entry.program, entry.setup) if entry else Source(key, path, PROGRAMS.get(key, key), "")
        )
    return sorted(found)


def folds(sources: Sequence[Source]) -> list[Left]:
    """Every program left out, then every set-up; one that leaves nothing to fit on is no fold."""
    found = []
    for split in SPLITS:
        names = [source.program if split == "program" else source.setup for source in sources]
        for name in sorted(set(names) - {""}):
            tested = tuple(source.key for source, own in zip(sources, names, strict=True) if own == name)
            fitted = tuple(source.key for source, own in zip(sources, names, strict=True) if own != name)
            if fitted:
                found.append(Left(split, name, fitted, tested))
    return found


def rows_of(source: Source, settings: Settings) -> fit.Rows:
    """A trace's rows, those that the stage fit_reuse draws of it."""
    return fit.rows_at_all(Prepared.read(source.key, source.path), settings)


def rows_in_turns(first: Source, second: Source, settings: Settings) -> fit.Rows:
    """The rows of two traces in turns, those that the stage fit_reuse draws of them."""
    parts = [Prepared.read(source.key, source.path) for source in (first, second)]
    return fit.rows_in_turns(parts[0], parts[1], settings)


def fit_fold(rows: fit.Rows, settings: Settings) -> list[Learned]:
    """Fit every seed's forest on a fold's rows.

    Raises:
        TrainingError: there is no row.
    """
    if not len(rows.target):
        message = "carry-over: no trace of a fold has an access whose next use is settled; give longer train traces"
        raise TrainingError(message)
    return learn(rows, settings, policy_of(settings.model.model_dump(), fit.seeds_of(settings)[0]), settings.weight)


def run(source: Source, fits: Sequence[Sequence[Learned]], settings: Settings) -> Trial:
    """Run the classics, the optimum, and every seed's cache of each fit on a trace."""
    part = Prepared.read(source.key, source.path)
    capacity = capacity_pages(settings.judge.capacity, part.pages.n_pages)
    warmup = first_access(part.pages)
    simulator = Simulator(part.trace, part.pages)
    rivals = {name: simulator.run(name, capacity, warmup).hit_ratio for name in (*classics(), OPTIMUM)}
    policy = policy_of(settings.model.model_dump(), fit.seeds_of(settings)[0])
    seen = part.look(capacity, policy)
    alone: list[list[float]] = [[] for _ in fits]
    followed: list[list[float]] = [[] for _ in fits]
    for k, seeds in enumerate(fits):
        for text, plan in seeds:
            scores = forest_scorer(text)(seen.inputs)
            single = simulate(forest_cache(seen.classes(scores, plan), plan), part.stream, capacity)
            both = seen.serve(scores, plan).run
            alone[k].append(float((single.outcome[warmup:] == HIT).mean()))
            followed[k].append(float((both.outcome[warmup:] == HIT).mean()))
    return Trial(capacity, len(part.pages.page_ids) - warmup, rivals, alone, followed)


def _row(source: Source, fold: Left, place: int, chosen: str, trial: Trial) -> Row:
    best = max(classics(), key=lambda name: trial.rivals[name])
    ratios = trial.rivals[best], trial.rivals[chosen], trial.rivals[OPTIMUM]
    below = allowed(trial.capacity, trial.counted)
    return Row(
        trace=source.key,
        program=source.program,
        split=fold.split,
        left_out=fold.name,
        capacity=trial.capacity,
        counted=trial.counted,
        best_classic=best,
        best_classic_hit_ratio=ratios[0],
        chosen=chosen,
        chosen_hit_ratio=ratios[1],
        chosen_gap_closed=gap(ratios[1], ratios[0], ratios[2])[0],
        optimum_hit_ratio=ratios[2],
        alone=ours(trial.alone[place], *ratios, below),
        followed=ours(trial.followed[place], *ratios, below),
    )


def chosen_classic(fitted: Iterable[str], trials: Mapping[str, Trial]) -> str:
    """The classic with the best mean hit ratio on these traces; the first of the registry's among equals."""
    keys = list(fitted)
    return max(classics(), key=lambda name: float(np.mean([trials[key].rivals[name] for key in keys])))


def measure(sources: Sequence[Source], settings: Settings, pool: Executor) -> CarryOver:
    """Fit every fold and run it on what it was kept from.

    Args:
        sources: train traces.
        settings: parameters.
        pool: what runs the jobs; no figure depends on how many at a time.

    Raises:
        TrainingError: the traces are of one program and set-up, so that nothing can be left out, or are too short.
        TraceError: a trace is missing or damaged.
    """
    left = folds(sources)
    if not left:
        message = "carry-over: the train traces are all of one program, so nothing can be left out; add another's"
        raise TrainingError(message)
    rows = run_all("rows of each trace", pool, rows_of, [(source, settings) for source in sources])
    own = dict(zip((source.key for source in sources), rows, strict=True))
    of = {source.key: source for source in sources}
    taken = [fit.pairs_of(fold.fitted, settings) for fold in left]
    pairs = sorted({pair for own_pairs in taken for pair in own_pairs})
    rows = run_all(
        "rows of traces in turns", pool, rows_in_turns,
        [(of[first], of[second], settings) for first, second in pairs],
    )  # fmt: skip
    turns = dict(zip(pairs, rows, strict=True))
    fits = run_all(
        "fits without a program or set-up", pool, fit_fold,
        [
            (fit.joined([*(own[key] for key in fold.fitted), *(turns[pair] for pair in own_pairs)]), settings)
            for fold, own_pairs in zip(left, taken, strict=True)
        ],
    )  # fmt: skip
    jobs = [(source, [fits[k] for k in _folds_of(source, left)], settings) for source in sources]
    found = run_all("traces left out", pool, run, jobs)
    return document(sources, left, dict(zip((source.key for source in sources), found, strict=True)), settings)


def _folds_of(source: Source, left: Sequence[Left]) -> list[int]:
    """The folds that a trace is left out of, by their place."""
    return [k for k, fold in enumerate(left) if source.key in fold.tested]


def document(
    sources: Sequence[Source], left: Sequence[Left], trials: Mapping[str, Trial], settings: Settings
) -> CarryOver:
    """The table of what was run, by fold and trace, and its summary."""
    chosen = [chosen_classic(fold.fitted, trials) for fold in left]
    rows = [
        _row(source, fold, _folds_of(source, left).index(k), chosen[k], trials[source.key])
        for k, fold in enumerate(left) for source in sources if source.key in fold.tested
    ]  # fmt: skip
    splits = [split for split in SPLITS if any(fold.split == split for fold in left)]
    return CarryOver(
        capacity_fraction=settings.judge.capacity,
        weight=settings.weight,
        folds=[
            Fold(split=fold.split, left_out=fold.name, fitted=list(fold.fitted), chosen=name)
            for fold, name in zip(left, chosen, strict=True)
        ],
        rows=rows,
        summary=[summary_of(rows, split, way) for split in splits for way in WAYS],
    )


def carry_over(params: "Params", pool: Executor) -> CarryOver:
    """What the stage carry_over of lab/dvc.yaml finds, see `measure`."""
    settings = Settings.of(params)
    return measure(sources_of(settings), settings, pool)
