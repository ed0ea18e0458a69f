"""The tiny pipeline in a folder of its own, its stages run in this process: without DVC they take seconds."""

import contextlib
import importlib.util
import io
import runpy
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TINY = Path(__file__).parent / "tiny"
NAMES = ("conf", "docs", "pipelines", "src", "scripts", "dvc.yaml", "requirements.lock", "VERSIONS.json")


@dataclass(frozen=True)
class Stage:
    """One stage of dvc.yaml: its command without the interpreter, its inputs and outputs but its sources."""

    name: str
    command: tuple[str, ...]
    deps: tuple[str, ...]
    outs: tuple[str, ...]

    @property
    def script(self) -> str:
        return Path(self.command[0]).stem


@dataclass
class Workspace:
    folder: Path
    stages: list[Stage] = field(default_factory=list)

    def of(self, script: str) -> list[Stage]:
        """The first stage of each group (`foreach`) that a script runs."""
        first = {stage.name.split("@")[0]: stage for stage in reversed(self.stages) if stage.script == script}
        return list(first.values())


def run(*command: str) -> tuple[int, str]:
    """Exit status and standard error of a stage's script, run in the working folder."""
    said, before = io.StringIO(), sys.argv
    sys.argv = [command[0], *command[1:]]
    try:
        with contextlib.redirect_stderr(said), contextlib.redirect_stdout(io.StringIO()):
            runpy.run_path(str(ROOT / command[0]), run_name="__main__")
    except SystemExit as left:
        return int(left.code or 0), said.getvalue()
    finally:
        sys.argv = before
    return 0, said.getvalue()


def contents(paths: tuple[str, ...]) -> dict[str, bytes]:
    """Every file under paths, with what it holds."""
    files = [file for path in paths for file in (Path(path).rglob("*") if Path(path).is_dir() else [Path(path)])]
    return {str(file): file.read_bytes() for file in files if file.is_file()}


def make(folder: Path) -> Workspace:
    """Configure the tiny pipeline and run every stage."""
    from dvc.repo import Repo

    for name in NAMES:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(ROOT / name, folder / name)
    spec = importlib.util.spec_from_file_location("make_traces", TINY / "make_traces.py")
    traces = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(traces)
    traces.write(folder / "data/raw/tiny")
    for name in ("matrix.yaml", "overrides.yaml"):
        shutil.copy(TINY / name, folder / "conf" / name)
    (folder / ".cache").mkdir(mode=0o700)  # as scripts/bootstrap.sh does
    with contextlib.chdir(folder):
        assert run("pipelines/sources.py") == (0, "")
        assert run("pipelines/compose.py") == (0, "")
        subprocess.run([ROOT / ".venv/bin/dvc", "init", "-q", "--no-scm"], check=True, timeout=60)
        made = Workspace(folder, [_stage(stage) for stage in Repo().index.stages])
        for stage in made.stages:
            if stage.script not in ("sources", "compose"):
                status, said = run(*stage.command)
                assert status == 0, f"{stage.name}: {said}"
    return made


def _stage(stage) -> Stage:
    deps = [str(dep) for dep in stage.deps]
    own = tuple(dep for dep in deps if not dep.startswith(("data/sources", "src", "pipelines", "params.yaml")))
    return Stage(stage.name, tuple(stage.cmd.split()[1:]), own, tuple(str(out) for out in stage.outs))
