"""Runs the trainings of a study that are not done yet, some at a time, and gathers their figures.

Every training has a folder named by all that it hangs on. What is done there stays, so a study that was interrupted, or
is asked for more seeds, goes on where it stood.
"""

import contextlib
import fcntl
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from multiprocessing.connection import wait
from pathlib import Path
from typing import Any

import yaml

from cachezoo.config.schema import Params
from cachezoo.console import Advance, err, progress
from cachezoo.errors import CachezooError, ConfigError
from cachezoo.io import read_json, write_json
from cachezoo.params import categories_of
from cachezoo.pinned import PINNED
from cachezoo.private import closed_folder
from cachezoo.study.depends import Pipeline, Stage, value_at, within
from cachezoo.study.grid import Setting
from cachezoo.study.training import CHOOSING, DONE, JOB, LOG, WHOLE
from cachezoo.systems.base import System
from cachezoo.systems.registry import SYSTEMS

STUDIES = Path(".cache/study")
JOBS = 2
STEPS = ("fit", "judge")


@dataclass(frozen=True)
class Training:
    """A step of a training of the study: a fit, or the judging of one.

    Attributes:
        folder: its own.
        job: what `cachezoo.study.training` is told.
        params: its params.yaml, as plain values.
        links: what it reads of the project or of another training, by path in its folder.
        title: for people.
    """

    folder: Path
    job: Mapping[str, Any]
    params: Mapping[str, Any]
    links: Mapping[str, Path]
    title: str

    @property
    def done(self) -> bool:
        """Whether it has come to its end."""
        return (self.folder / DONE).is_file()

    def figures(self) -> dict[str, Any]:
        """What it found."""
        found: dict[str, Any] = read_json(self.folder / DONE)
        return found

    def prepare(self) -> None:
        """Lay out its folder anew: what an interrupted run left there counts for nothing."""
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir(parents=True)
        write_json(self.folder / JOB, self.job)
        text = yaml.safe_dump(dict(self.params), sort_keys=True, allow_unicode=True)
        (self.folder / "params.yaml").write_text(text, encoding="utf-8")
        for place, target in self.links.items():
            (self.folder / place).parent.mkdir(parents=True, exist_ok=True)
            (self.folder / place).symlink_to(target)


def studied_system(name: str) -> System:
    """A system whose trainings can be compared.

    Raises:
        ConfigError: there is none of that name.
    """
    able = [key for key, system in SYSTEMS.items() if system.study is not None]
    if name not in able:
        message = f"--system {name}: cannot be studied; {', '.join(able)} can"
        raise ConfigError(message)
    return SYSTEMS[name]


def studied_categories(system: System, asked: Sequence[str], params: Params) -> list[str]:
    """The categories of a study; one empty name for a system of all.

    Raises:
        ConfigError: one that the system has no models of, or names for a system of all categories.
    """
    if system.scope == "all":
        if asked:
            message = f"--category {asked[0]}: a model of {system.id} is of all categories; leave it out"
            raise ConfigError(message)
        return [""]
    of_scope = {"page category": params.data.page_categories, "stream category": params.data.cycles}
    known = list(of_scope.get(system.scope, categories_of(params)))
    unknown = [name for name in asked if name not in known]
    if unknown:
        message = f"--category {unknown[0]}: {system.id} has models of {', '.join(known)}"
        raise ConfigError(message)
    return list(dict.fromkeys(asked)) or known


def check_seeds(seeds: int) -> None:
    """Refuse fewer than have a spread.

    Raises:
        ConfigError: there are fewer than two.
    """
    if seeds < 2:
        message = f"--seeds {seeds}: a spread takes two at least"
        raise ConfigError(message)


def check_keys(pipeline: Pipeline, system: System, category: str, setting: Setting) -> None:
    """Refuse a setting that the fit and the judge do not read, or that what they read was made with.

    Raises:
        ConfigError: the key is named.
    """
    fit, judge = (pipeline.stage(f"{step}_{system.id}", category, setting.params) for step in STEPS)
    read, before = {*fit.params, *judge.params}, pipeline.upstream(fit, judge)
    for path in sorted(setting.changed):
        if within(path, before):
            message = f"--set {path}: earlier stages read it too; change it in conf/ and run `make repro`"
            raise ConfigError(message)
        if not within(path, read) or within(path, {"seed"}):
            message = f"--set {path}: neither fit nor judge of {system.id} takes it; a study changes what they do"
            raise ConfigError(message)


class Planner:
    """Makes the trainings of one system."""

    def __init__(self, root: Path, system: System) -> None:
        """Take a project and one of its systems."""
        self.root, self.system, self.pipeline = root.resolve(), system, Pipeline(root.resolve())

    def made_from(self, categories: Sequence[str], params: Params) -> dict[str, dict[str, Any]]:
        """What two studies can differ in besides what was asked: values of params.yaml, data, sources, libraries.

        Args:
            categories: those studied.
            params: params.yaml as it is.
        """
        tree = params.model_dump(mode="json")
        found: dict[str, dict[str, Any]] = {"params": {}, "data": {}, "sources": {}, "libraries": {}}
        for category in categories:
            fit, judge = (self.pipeline.stage(f"{step}_{self.system.id}", category, params) for step in STEPS)
            for stage in (fit, judge):
                found["params"] |= {path: value_at(tree, path) for path in stage.params if path != "seed"}
                found["data"] |= self.pipeline.inputs(stage, dict.fromkeys(fit.outs, ""))
                sources = self.pipeline.sources(stage)
                found["sources"] |= sources["files"]
                found["libraries"] |= sources["libraries"]
            for out in fit.outs:
                found["data"].pop(out, None)
        return {part: dict(sorted(values.items())) for part, values in found.items()}

    def trainings(
        self, category: str, setting: Setting, seed: int, depth: str | None = None
    ) -> tuple[Training, Training]:
        """The fit and its judging.

        Args:
            category: an empty name for a system of all.
            setting: of params.yaml.
            seed: added to that of params.yaml.
            depth: what is asked of the trained model, see `cachezoo.study.training`; without it all is asked of the
                setting of params.yaml, and only what may choose of the others.

        Raises:
            ConfigError: an earlier stage's output is missing.
        """
        params = setting.params.model_copy(update={"seed": setting.params.seed + seed})
        steps = [self.pipeline.stage(f"{step}_{self.system.id}", category, params) for step in STEPS]
        module = Path("src", *f"cachezoo.systems.{self.system.id}.study".split(".")).with_suffix(".py")
        fit_key = self.pipeline.key(steps[0], params, self.pipeline.inputs(steps[0], {}))
        given = dict.fromkeys(steps[0].outs, fit_key)
        judge_key = self.pipeline.key(steps[1], params, self.pipeline.inputs(steps[1], given), module)
        depth = depth or (CHOOSING if setting.changed else WHOLE)
        job = {"system": self.system.id, "category": category, "depth": depth, "model": Path(steps[0].outs[0]).name}
        name = f"{category or self.system.id}, {setting.name}, seed {seed}"

        def training(step: str, stage: Stage, key: str, made: Mapping[str, Path]) -> Training:
            links = {"data": self.root / "data", **{d: self.root / d for d in stage.deps if d.startswith("models/")}}
            tree = params.model_dump(mode="json")
            own = {**job, "step": step}
            return Training(self.root / STUDIES / key, own, tree, {**links, **made}, f"{step} of {name}")

        fit = training("fit", steps[0], fit_key, {})
        made = {out: fit.folder / out for out in steps[0].outs}
        return fit, training("judge", steps[1], f"{judge_key}-{depth}", made)


@contextlib.contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Keep other studies of the project out: they would lay out the same folders."""
    folder.mkdir(mode=0o700, exist_ok=True)
    with (folder / "lock").open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            message = f"{folder}: another study of this project is running; wait for it, or end it"
            raise ConfigError(message) from error
        yield


Chain = Sequence[Training]


class Runs:
    """Runs chains of trainings, in each of which a training needs the one before: a fit, then its judging."""

    def __init__(self, root: Path, jobs: int, planned: int, advance: Advance) -> None:
        """Begin with none done.

        Args:
            root: the project.
            jobs: how many trainings at a time.
            planned: chains that the study will hand in, all calls of `run` together.
            advance: told how many are done.
        """
        self.done, self.planned = 0, planned
        self._root, self._jobs, self._advance = root, jobs, advance
        self._ran, self._seconds, self._begun = 0, 0.0, False

    def run(self, chains: Sequence[Chain]) -> None:
        """Run those that are not done; a training that several need runs once.

        Raises:
            CachezooError: one failed; the others that ran with it are ended, and what is done stays.
            KeyboardInterrupt: Ctrl-C; its text says how many are done, which stay.
        """
        start = time.monotonic()
        left = {chain[-1].folder: chain for chain in chains if not chain[-1].done}
        self._count(len(chains) - len(left), "")
        if left and not self._begun and not err().is_terminal:  # where no bar is seen, the first end may take minutes
            err().print(f"study: {self.planned} trainings, {self.done or 'none'} done yet; each may take minutes")
        self._begun = True
        try:
            self._run(left, start)
        except KeyboardInterrupt as error:
            self.done += sum(chain[-1].done for chain in left.values())  # ended, and not seen to have left
            message = f"{self.done} of {self.planned} trainings are done"
            raise KeyboardInterrupt(message) from error
        finally:
            self._seconds += time.monotonic() - start

    def skip(self, chains: int) -> None:
        """Count planned chains as done that turned out not to be needed."""
        self._count(chains, "")

    def _run(self, left: dict[Path, Chain], start: float) -> None:
        running = dict[int, tuple[Training, subprocess.Popen[bytes]]]()
        try:
            while left:
                for training in self._ready(left, [training.folder for training, _ in running.values()]):
                    process = _start(self._root, training)
                    running[os.pidfd_open(process.pid)] = (training, process)
                for ended in [own for own in wait(list(running)) if isinstance(own, int)]:
                    training, process = running.pop(ended)
                    os.close(ended)
                    _end(training, process)
                    if left.pop(training.folder, None):
                        self._ran += 1
                        self._count(1, self._minutes(self._seconds + time.monotonic() - start))
        finally:
            for descriptor, (_, process) in running.items():
                process.kill()
                process.wait()
                os.close(descriptor)

    def _ready(self, left: Mapping[Path, Chain], running: Sequence[Path]) -> list[Training]:
        """The next ones to start: the first of each chain that is to do, judgings before fits of other chains."""
        following = {}
        for chain in left.values():
            # One that has written its end may still be on its way out: it is running until it has left.
            place, training = next((k, one) for k, one in enumerate(chain) if one.folder in running or not one.done)
            if training.folder not in running:
                following[training.folder] = (-place, training)
        ordered = sorted(following.values(), key=lambda own: own[0])
        return [training for _, training in ordered][: self._jobs - len(running)]

    def _minutes(self, seconds: float) -> str:
        """How long the rest takes if it takes as long as what ran, in words."""
        left = seconds / self._ran * (self.planned - self.done - 1)
        return f", about {left / 60:.0f} min left" if left >= 60 else f", about {left:.0f} s left"

    def _count(self, more: int, left: str) -> None:
        self.done += more
        self._advance(self.done, f"{self.done} of {self.planned} trainings{left}")


@contextlib.contextmanager
def runs(root: Path, jobs: int, planned: int) -> Iterator[Runs]:
    """The runs of a study, of which a project has one at a time, with a bar of its trainings.

    Args:
        root: the project.
        jobs: how many trainings at a time.
        planned: chains that the study will run, those included that are done already.

    Raises:
        ConfigError: another study is running.
    """
    closed_folder(root / ".cache")
    with _alone(root / STUDIES), progress("study", planned, eta=False) as advance:
        yield Runs(root, jobs, planned, advance)


def _start(root: Path, training: Training) -> subprocess.Popen[bytes]:
    training.prepare()
    command = [sys.executable, "-m", "cachezoo.study.training", str(training.folder), str(root)]
    with (training.folder / LOG).open("wb") as log:
        return subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=os.environ | PINNED)


def _end(training: Training, process: subprocess.Popen[bytes]) -> None:
    status = process.wait()
    if status == 0 and training.done:
        return
    lines = (training.folder / LOG).read_text(encoding="utf-8", errors="replace").strip().splitlines()
    said = lines[-1] if lines else "it said nothing"
    message = f"{training.title}: ended with status {status} ({said}); its log is {training.folder / LOG}"
    raise CachezooError(message)
