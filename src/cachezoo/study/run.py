"""Runs the trainings of a study that are not done yet, some at a time, and keeps what they found.

Optuna's storage has a trial for each training, by a name made from all that it depends on. So a study that was
interrupted, or is to have more seeds, goes on from there.
"""

import fcntl
import os
import time
import traceback
from collections.abc import Iterator, Sequence
from concurrent.futures import Executor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import chdir, contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from cachezoo import paths
from cachezoo.config.load import load_params
from cachezoo.console import Advance, err, progress
from cachezoo.errors import CachezooError, ConfigError, os_message
from cachezoo.io import atomic_dir
from cachezoo.jobs import workers
from cachezoo.params import categories_of
from cachezoo.pinned import PINNED
from cachezoo.private import closed_folder
from cachezoo.settings.params import Params
from cachezoo.stage import settle_environment
from cachezoo.study.depends import CHOOSING, WHOLE, Pipeline, Training
from cachezoo.study.grid import Setting, grid
from cachezoo.study.summary import Cell, summary
from cachezoo.zoo.base import System
from cachezoo.zoo.registry import SYSTEMS

if TYPE_CHECKING:
    import optuna

STUDIES = Path(".cache/study")
FITS, LOG = STUDIES / "fits", STUDIES / "log.txt"


def begin(root: Path) -> None:
    """What a process of the pool does first: what libraries say goes into a file, and caches stay in the project."""
    settle_environment(root)
    with (root / LOG).open("ab") as log:
        for descriptor in (1, 2):
            os.dup2(log.fileno(), descriptor)


def train(root: Path, system: str, trainings: Sequence[Training]) -> list[dict[str, Any]]:
    """Fit a model, unless that was done before, and judge it.

    Args:
        root: the project.
        system: id of the model's.
        trainings: at least one; they differ in their judging alone.

    Returns:
        What each judging found.

    Raises:
        CachezooError: one failed; the training is named.
    """
    from cachezoo.config.load import load_params
    from cachezoo.zoo.base import studied_of
    from cachezoo.zoo.registry import SYSTEMS

    studied, found = studied_of(SYSTEMS[system]), []
    one = trainings[0]
    keys = [one.category] if one.category else []
    try:
        folder = root / FITS / one.fit
        if not folder.is_dir():
            with atomic_dir(folder) as made:
                _lay_out(made, root, one)
                with chdir(made):
                    studied.fit(load_params(), *keys)
        for one in trainings:
            _lay_out(folder, root, one)
            with chdir(folder):
                params = load_params()
                studied.judge(params, *keys)
                found.append(_figures(studied, one, params, keys))
    except Exception as error:  # whatever a library raises ends the study with the training's name
        traceback.print_exc()
        said = os_message(error) if isinstance(error, OSError) else str(error).strip() or type(error).__name__
        raise CachezooError(f"{one.title}: {said.splitlines()[-1]}; its log is {root / LOG}") from error
    return found


def _lay_out(folder: Path, root: Path, training: Training) -> None:
    """Write params.yaml, and link what is read of the project."""
    text = yaml.safe_dump(dict(training.tree), sort_keys=True, allow_unicode=True)
    (folder / paths.PARAMS).write_text(text, encoding="utf-8")
    for place in map(Path, ("data", *training.reads)):
        (folder / place).parent.mkdir(parents=True, exist_ok=True)
        if not (folder / place).is_symlink():
            (folder / place).symlink_to(root / place)


def _figures(studied: Any, training: Training, params: Any, keys: Sequence[str]) -> dict[str, Any]:  # noqa: ANN401
    """What is asked of a trained model, below the working folder."""
    from cachezoo.models.trained import read_trained

    model = paths.trained(training.model)
    trained = read_trained(model)
    found: dict[str, Any] = {"trained": trained.trained, "promoted": trained.promoted}
    if trained.trained:
        found["choosing"] = studied.choosing(model)
        if training.depth != CHOOSING:
            found["judging"] = trained.validation.get(studied.judging)
        if training.depth == WHOLE:
            found["tests"] = studied.tests(params, *keys)
    return found


FILE = STUDIES / "optuna.db"
JOBS = 2


@contextmanager
def runs(pipeline: Pipeline, jobs: int, planned: int) -> Iterator["Runs"]:
    """The runs of a study, of which a project has one at a time, with a bar of its trainings.

    Args:
        pipeline: of the system that is studied.
        jobs: how many trainings at a time.
        planned: trainings of the study, those included that are done already.

    Raises:
        ConfigError: another study is running.
    """
    root = pipeline.root
    closed_folder(root / ".cache")
    with _alone(root / STUDIES):
        (root / LOG).write_bytes(b"")
        kept = _kept(root / FILE, pipeline.system.id)
        # A process of the pool begins in the environment of the pipeline's stages.
        with workers(jobs, partial(begin, root), PINNED, shared=True) as pool:
            with progress("study", planned, eta=False) as advance:
                yield Runs(pipeline, kept, pool, planned, advance)


class Runs:
    """Runs trainings, those with the same weights one after the other in one process."""

    def __init__(
        self, pipeline: Pipeline, kept: "optuna.Study", pool: Executor, planned: int, advance: Advance
    ) -> None:
        """Begin with none done.

        Args:
            pipeline: of the system that is studied.
            kept: its trainings of earlier studies.
            pool: what trains.
            planned: trainings of the study.
            advance: gets the number of those that are done.
        """
        self.done, self.planned = 0, planned
        self._pipeline, self._kept, self._pool, self._advance = pipeline, kept, pool, advance
        trials = kept.get_trials(deepcopy=False)
        self._found = {trial.user_attrs["key"]: trial.user_attrs["figures"] for trial in trials}
        self._ran, self._seconds, self._begun = 0, 0.0, False

    def cells(self, asked: Sequence[tuple[str, Setting, str]], seeds: range) -> list[Cell]:
        """Train settings with some seeds.

        Args:
            asked: category, setting, and how much of it; see `cachezoo.study.depends`.
            seeds: counted from that of params.yaml.

        Raises:
            CachezooError: a training failed; the others that ran with it are ended, and what is done stays.
            KeyboardInterrupt: Ctrl-C; its text says how many are done, which stay.
        """
        planned = [[self._pipeline.training(category, own, k, depth) for k in seeds] for category, own, depth in asked]
        self.run([one for own in planned for one in own])
        return [
            Cell(category, setting, [self._found[one.key] for one in own], depth != CHOOSING)
            for (category, setting, depth), own in zip(asked, planned, strict=True)
        ]

    def run(self, trainings: Sequence[Training]) -> None:
        """Run those that are not done; for arguments and errors see `cells`."""
        start = time.monotonic()
        left = {one.key: one for one in trainings if one.key not in self._found}
        self.skip(len(trainings) - len(left))
        if left and not self._begun and not err().is_terminal:  # where no bar is seen, the first end may take minutes
            err().print(f"study: {self.planned} trainings, {self.done or 'none'} done yet; each may take minutes")
        self._begun = True
        by_fit: dict[str, list[Training]] = {}
        for one in left.values():
            by_fit.setdefault(one.fit, []).append(one)
        root, system = self._pipeline.root, self._pipeline.system.id
        try:
            futures = {self._pool.submit(train, root, system, own): own for own in by_fit.values()}
            for future in as_completed(futures):
                for one, figures in zip(futures[future], future.result(), strict=True):
                    self._keep(one, figures)
                    self._ran += 1
                    self._count(1, self._minutes(self._seconds + time.monotonic() - start))
        except BrokenProcessPool as error:
            message = f"a process of the study was killed, perhaps for want of memory; its log is {root / LOG}"
            raise CachezooError(message) from error
        except KeyboardInterrupt as error:
            raise KeyboardInterrupt(f"{self.done} of {self.planned} trainings are done") from error
        self._seconds += time.monotonic() - start

    def skip(self, trainings: int) -> None:
        """Count planned trainings as done that were done before, or turned out not to be needed."""
        self._count(trainings, "")

    def _keep(self, training: Training, figures: dict[str, Any]) -> None:
        import optuna

        state = optuna.trial.TrialState.COMPLETE if figures["trained"] else optuna.trial.TrialState.FAIL
        said = {"key": training.key, "training": training.title, "figures": figures}
        with _usable(self._pipeline.root / FILE):
            self._kept.add_trial(optuna.create_trial(state=state, value=figures.get("choosing"), user_attrs=said))
        self._found[training.key] = figures

    def _minutes(self, seconds: float) -> str:
        """How long the rest takes if it takes as long as what ran, in words."""
        left = seconds / self._ran * (self.planned - self.done - 1)
        return f", about {left / 60:.0f} min left" if left >= 60 else f", about {left:.0f} s left"

    def _count(self, more: int, left: str) -> None:
        self.done += more
        self._advance(self.done, f"{self.done} of {self.planned} trainings{left}")


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Keep other studies of the project out: they would train in the same folders."""
    folder.mkdir(mode=0o700, exist_ok=True)
    with (folder / "lock").open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise ConfigError(f"{folder}: another study of this project is running; wait for it, or end it") from error
        yield


@contextmanager
def _usable(path: Path) -> Iterator[None]:
    """Say in one line what is wrong with Optuna's storage."""
    from optuna.exceptions import StorageInternalError
    from sqlalchemy.exc import SQLAlchemyError

    try:
        yield
    except (SQLAlchemyError, StorageInternalError, RuntimeError) as error:
        said = str(error.__cause__ or error).splitlines()[0]
        message = f"{path}: Optuna cannot use it ({said}); delete it, and its trainings are run again"
        raise CachezooError(message) from error


def _kept(path: Path, system: str) -> "optuna.Study":
    import optuna

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    with _usable(path):
        storage = optuna.storages.RDBStorage(f"sqlite:///{path}")
        return optuna.create_study(storage=storage, study_name=system, load_if_exists=True)


def study(
    root: Path, system: str, categories: Sequence[str], changes: Sequence[str], seeds: int, jobs: int = JOBS
) -> dict[str, Any]:
    """Compare settings of a system over seeds.

    Args:
        root: the project, with the outputs of the stages before the system's fit.
        system: its id.
        categories: none takes all that it has models of.
        changes: `KEY=VALUE,VALUE`, see `cachezoo.study.grid.grid`.
        seeds: trainings of each setting, with the seed of params.yaml, the next one, and so on.
        jobs: processes at a time.

    Returns:
        See `cachezoo.study.summary.summary`.

    Raises:
        ConfigError: what is asked for cannot be studied, or an earlier stage's output is missing.
        CachezooError: a training failed.
    """
    check_seeds(seeds)
    known = studied_system(system)
    settings, params = grid(root, changes), load_params(root / paths.PARAMS)
    names, pipeline = studied_categories(known, categories, params), Pipeline(root, known)
    for setting in settings:
        pipeline.check(names[0], setting)
    asked = [(name, own, CHOOSING if own.changed else WHOLE) for name in names for own in settings]
    with runs(pipeline, jobs, len(asked) * seeds) as running:
        found = running.cells(asked, range(seeds))
    return summary(known, params.seed, seeds, found, pipeline.made_from(names, params))


def studied_system(name: str) -> System:
    """A system whose trainings can be compared.

    Raises:
        ConfigError: there is none of that name.
    """
    able = [key for key, system in SYSTEMS.items() if system.study is not None]
    if name not in able:
        raise ConfigError(f"--system {name}: cannot be studied; {', '.join(able)} can")
    return SYSTEMS[name]


def studied_categories(system: System, asked: Sequence[str], params: Params) -> list[str]:
    """The categories of a study; one empty name for a system of all.

    Raises:
        ConfigError: one that the system has no models of, or names for a system of all categories.
    """
    if system.scope == "all":
        if asked:
            raise ConfigError(f"--category {asked[0]}: a model of {system.id} is of all categories; leave it out")
        return [""]
    of_scope = {"page category": params.data.page_categories, "stream category": params.data.cycles}
    known = list(of_scope.get(system.scope, categories_of(params)))
    unknown = [name for name in asked if name not in known]
    if unknown:
        raise ConfigError(f"--category {unknown[0]}: {system.id} has models of {', '.join(known)}")
    return list(dict.fromkeys(asked)) or known


def check_seeds(seeds: int) -> None:
    """Refuse fewer than have a spread.

    Raises:
        ConfigError: there are fewer than two.
    """
    if seeds < 2:
        raise ConfigError(f"--seeds {seeds}: a spread takes two at least")
