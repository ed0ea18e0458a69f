"""What the trainings of a system depend on, as pipelines/ and dvc.yaml say, and names made from that."""

import hashlib
import runpy
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from pydantic_core import to_jsonable_python

from cachezoo.closure import STAGES, TABLE, Project, sources_of
from cachezoo.errors import ConfigError
from cachezoo.io import dump_json, sha256_file
from cachezoo.kept import Each, Job
from cachezoo.settings.params import Params
from cachezoo.study.grid import Setting
from cachezoo.yaml_file import read_yaml
from cachezoo.zoo.base import System, studied_of

SOURCES = "data/sources/"
# What is asked of a trained model: the figure that may choose; with the verdict's; with those of the test traces too.
CHOOSING, JUDGED, WHOLE = "choosing", "judged", "whole"


@dataclass(frozen=True)
class Training:
    """The fit of a setting with one seed, and its judging."""

    key: str  # made from all that its figures depend on
    fit: str  # made from all that its weights depend on
    title: str  # for people
    category: str  # empty for a system of all
    tree: Mapping[str, Any]  # its params.yaml, as plain values
    reads: tuple[str, ...]  # models of the project that it reads
    model: str  # name of the trained model
    depth: str  # what is asked of that


class Pipeline:
    """The fit and the judge of a system in a project, and the stages before them."""

    def __init__(self, root: Path, system: System) -> None:
        """Read dvc.yaml and the two stages.

        Raises:
            ConfigError: dvc.yaml is missing or no YAML.
        """
        self.root, self.system = root.resolve(), system
        self._stages: dict[str, Any] = read_yaml(root / "dvc.yaml")["stages"]
        self._project = Project(self.root)
        self._scripts = [self.root / STAGES / f"{step}_{system.id}" for step in ("fit", "judge")]
        table = runpy.run_path(str(self.root / STAGES))[TABLE]
        self._each: list[Each] = [table[own.name].each for own in self._scripts]

    def jobs(self, category: str, params: Params) -> list[Job]:
        """The fit and the judge of a category; an empty name for a system of all."""
        return [own.job(script.name, category, params) for script, own in zip(self._scripts, self._each, strict=True)]

    def check(self, category: str, setting: Setting) -> None:
        """Refuse a setting that the fit and the judge do not read, or that what they read was made with.

        Raises:
            ConfigError: the key is named.
        """
        jobs = self.jobs(category, setting.params)
        read, before = {path for job in jobs for path in job.values}, self._upstream(jobs)
        for path in sorted(setting.changed):
            if _within(path, before):
                raise ConfigError(f"--set {path}: earlier stages read it too; change it in conf/ and run `make repro`")
            if not _within(path, read) or path == "seed":
                id_ = self.system.id
                message = f"--set {path}: neither fit nor judge of {id_} takes it; a study changes what they do"
                raise ConfigError(message)

    def _upstream(self, jobs: Sequence[Job]) -> set[str]:
        """Paths of params.yaml that earlier stages read for what these jobs read of others."""
        own, found = {str(path) for job in jobs for path in job.writes}, set()
        todo, seen = [str(path) for job in jobs for path in job.reads if str(path) not in own], set()
        while todo:
            dep = todo.pop()
            for name, stage in self._stages.items():
                # A file or folder that is the other, or in it.
                pairs = [pair for out in _outs(stage) for pair in ((dep, out), (out, dep))]
                if name not in seen and any(f"{path}/".startswith(f"{folder}/") for path, folder in pairs):
                    seen.add(name)
                    found |= set(stage.get("params", ()))
                    todo += [path for path in stage["deps"] if not path.startswith(SOURCES)]
        return found

    def made_from(self, categories: Sequence[str], params: Params) -> dict[str, dict[str, Any]]:
        """What two studies can differ in besides what was asked: values of params.yaml, data, sources, libraries.

        Args:
            categories: those studied.
            params: params.yaml as it is.
        """
        found: dict[str, dict[str, Any]] = {"params": {}, "data": {}, "sources": {}, "libraries": {}}
        for script in self._scripts:
            sources = sources_of(self._project, script)
            found["sources"] |= sources["files"]
            found["libraries"] |= sources["libraries"]
        for category in categories:
            jobs = self.jobs(category, params)
            for job in jobs:
                found["params"] |= {path: value for path, value in _values(job).items() if path != "seed"}
                found["data"] |= self._inputs(job, jobs[0].writes)
        return {part: dict(sorted(values.items())) for part, values in found.items()}

    def training(self, category: str, setting: Setting, seed: int, depth: str) -> Training:
        """A setting's training with a seed, counted from that of params.yaml.

        Raises:
            ConfigError: an earlier stage's output is missing.
        """
        params = setting.params.model_copy(update={"seed": setting.params.seed + seed})
        fit, judge = self.jobs(category, params)
        figures = self.root / studied_of(self.system).source
        made = self._key(fit, [self._scripts[0]], ())
        key = self._key(judge, [self._scripts[1], figures], fit.writes, made, depth)
        reads = {str(path) for job in (fit, judge) for path in job.reads if path not in fit.writes}
        models = tuple(sorted(path for path in reads if path.startswith("models/")))
        title = f"{category or self.system.id}, {setting.name}, seed {seed}"
        tree = params.model_dump(mode="json")
        return Training(key, made, title, category, tree, models, fit.writes[0].name, depth)

    def _key(self, job: Job, scripts: Sequence[Path], made: Collection[Path], *more: str) -> str:
        sources = [sources_of(self._project, script) for script in scripts]
        said = {"values": _values(job), "inputs": self._inputs(job, made), "sources": sources, "more": more}
        return hashlib.sha256(dump_json(said).encode()).hexdigest()[:24]

    def _inputs(self, job: Job, made: Collection[Path]) -> dict[str, str]:
        """The sha256 of every file that a job reads, by path, but for what the study makes itself."""
        found: dict[str, str] = {}
        for dep in job.reads:
            path = self.root / dep
            if dep in made:
                continue
            if not path.exists():
                raise ConfigError(f"{path}: is not there; run `make repro`, whose outputs a study reads")
            files = sorted(file for file in path.rglob("*") if file.is_file()) if path.is_dir() else [path]
            found |= {file.relative_to(self.root).as_posix(): _sha256(file) for file in files}
        return found


@cache
def _sha256(path: Path) -> str:
    return sha256_file(path)


def _values(job: Job) -> dict[str, Any]:
    found: dict[str, Any] = to_jsonable_python(job.values)
    return found


def _outs(stage: Mapping[str, Any]) -> Iterator[str]:
    for out in [*stage.get("outs", ()), *stage.get("metrics", ())]:
        yield next(iter(out)) if isinstance(out, dict) else out


def _within(path: str, others: set[str]) -> bool:
    """Whether a dotted path is one of others, or in it."""
    return any(f"{path}.".startswith(f"{other}.") for other in others)
