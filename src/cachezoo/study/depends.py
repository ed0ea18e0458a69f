"""What a training hangs on, as dvc.yaml says: values of params.yaml, files, sources, libraries; and a name for it."""

import hashlib
import runpy
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from cachezoo.closure import Project, sources_of
from cachezoo.config.schema import Params
from cachezoo.errors import ConfigError
from cachezoo.io import dump_json, sha256_file
from cachezoo.kept import Each
from cachezoo.yaml_file import read_yaml

SOURCES = "data/sources/"


@dataclass(frozen=True)
class Stage:
    """A stage for one category, or for all.

    Attributes:
        script: its file of pipelines/.
        deps: files and folders that it reads, its list of sources left out.
        params: dotted paths of the values that it reads.
        outs: what it writes.
    """

    script: str
    deps: tuple[str, ...]
    params: tuple[str, ...]
    outs: tuple[str, ...]


class Pipeline:
    """The stages of a project: pipelines/ says what their jobs read and write, dvc.yaml what comes before them."""

    def __init__(self, root: Path) -> None:
        """Read dvc.yaml.

        Raises:
            ConfigError: it is missing or no YAML.
        """
        self.root = root
        self._stages: dict[str, Any] = read_yaml(root / "dvc.yaml")["stages"]
        self._project = Project(root)
        self._each: dict[str, Each] = {}

    def stage(self, name: str, category: str, params: Params) -> Stage:
        """A stage's job for one category, or its only job.

        Raises:
            ConfigError: there is no such stage.
        """
        if name not in self._stages:
            message = f"{self.root / 'dvc.yaml'}: has no stage {name}, which a study runs"
            raise ConfigError(message)
        script = str(self._stages[name]["cmd"]).split()[-1]
        if name not in self._each:
            self._each[name] = runpy.run_path(str(self.root / script), run_name=name)["EACH"]
        job = self._each[name].job(name, category, params)
        deps, outs = (tuple(map(str, files)) for files in (job.reads, job.writes))
        return Stage(script, deps, tuple(job.values), outs)

    def upstream(self, *stages: Stage) -> set[str]:
        """Paths of params.yaml that earlier stages read for what these stages read of others."""
        own, found = {out for stage in stages for out in stage.outs}, set()
        todo, seen = [dep for stage in stages for dep in stage.deps if dep not in own], set()
        while todo:
            dep = todo.pop()
            for name, stage in self._stages.items():
                if name not in seen and any(_overlap(dep, out) for out in _outs(stage)):
                    seen.add(name)
                    found |= set(stage.get("params", ()))
                    todo += [path for path in stage["deps"] if not path.startswith(SOURCES)]
        return found

    def sources(self, stage: Stage) -> dict[str, dict[str, str]]:
        """The sources that a stage runs, and its libraries; see `cachezoo.closure.sources_of`."""
        return sources_of(self._project, self.root / stage.script)

    def key(self, stage: Stage, params: Params, inputs: Mapping[str, str], figures: Path | None = None) -> str:
        """A name for what a training hangs on.

        Args:
            stage: its stage.
            params: its settings.
            inputs: of what it reads, by path; see `inputs`.
            figures: a module whose sources count too.
        """
        tree = params.model_dump(mode="json")
        scripts = [self.root / stage.script, *([self.root / figures] if figures else [])]
        said = {
            "values": {path: value_at(tree, path) for path in stage.params},
            "inputs": dict(inputs),
            "sources": [sources_of(self._project, script) for script in scripts],
        }
        return hashlib.sha256(dump_json(said).encode()).hexdigest()[:24]

    def inputs(self, stage: Stage, given: Mapping[str, str]) -> dict[str, str]:
        """The sha256 of every file that a stage reads, by path.

        Args:
            stage: the stage.
            given: names of what other trainings of the study make, by path, in place of the files.

        Raises:
            ConfigError: a file or folder is missing.
        """
        found = {}
        for dep in stage.deps:
            if dep in given:
                found[dep] = given[dep]
                continue
            path = self.root / dep
            if not path.exists():
                message = f"{path}: is not there; run `make repro`, whose outputs a study reads"
                raise ConfigError(message)
            files = sorted(file for file in path.rglob("*") if file.is_file()) if path.is_dir() else [path]
            found |= {file.relative_to(self.root).as_posix(): _sha256(file) for file in files}
        return found


@cache
def _sha256(path: Path) -> str:
    return sha256_file(path)


def _outs(stage: Mapping[str, Any]) -> Iterator[str]:
    for out in [*stage.get("outs", ()), *stage.get("metrics", ())]:
        yield next(iter(out)) if isinstance(out, dict) else out


def _overlap(one: str, other: str) -> bool:
    """Whether a file or folder is another, or in it."""
    return any(f"{path}/".startswith(f"{folder}/") for path, folder in ((one, other), (other, one)))


def value_at(tree: Mapping[str, Any], path: str) -> Any:  # noqa: ANN401 - any value
    """A value of params.yaml by its dotted path; None where there is none."""
    value: Any = tree
    for part in path.split("."):
        value = value.get(part) if isinstance(value, Mapping) else None
    return value


def within(path: str, others: set[str]) -> bool:
    """Whether a dotted path is one of others, or in it."""
    return any(path == other or path.startswith(f"{other}.") for other in others)
