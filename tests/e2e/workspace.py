"""The tiny pipeline, run once for all tests of a session: by `dvc repro`, in a clone of this repository's HEAD."""

import contextlib
import fcntl
import importlib.util
import io
import os
import runpy
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from cachezoo.config.load import load_params
from cachezoo.to_go import FILE

ROOT = Path(__file__).resolve().parents[2]
TINY = Path(__file__).parent / "tiny"
GIT = ["git", "-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "commit.gpgsign=false"]
# What tests that run stages in their own process have no use for; the raw traces are the real pipeline's.
LEFT_OUT = (".git", ".venv", ".dvc", ".cache", "__pycache__", "captured")


def clone(folder: Path, origin: Path = ROOT) -> Path:
    """A clone of a repository's HEAD on the tiny traces, committed as such."""
    for name in ("home", "tmp"):
        (folder.parent / name).mkdir()
    subprocess.run(["git", "clone", "-q", str(origin), str(folder)], check=True, timeout=120)
    (folder / ".venv").symlink_to(ROOT / ".venv")
    spec = importlib.util.spec_from_file_location("make_traces", TINY / "make_traces.py")
    make = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(make)
    make.write(folder / "data/raw/tiny")
    for name in ("matrix.yaml", "overrides.yaml"):
        shutil.copy(TINY / name, folder / "conf" / name)
    # Of the real pipeline: its stages' state, its values, and champions whose archives are elsewhere.
    for name in ("dvc.lock", "params.yaml", "zoo.json"):
        (folder / name).unlink(missing_ok=True)
    settle(folder)
    subprocess.run([*GIT, "add", "-A"], cwd=folder, check=True, timeout=60)
    subprocess.run([*GIT, "commit", "-q", "--allow-empty", "-m", "tiny"], cwd=folder, check=True, timeout=60)
    return folder


def settle(folder: Path) -> None:
    """What scripts/bootstrap.sh does but for the packages: DVC's caches in the clone, which nobody else may enter."""
    (folder / ".dvc/config.local").write_text(f"[core]\n    site_cache_dir = {folder}/.cache/dvc\n")
    (folder / ".cache").mkdir(mode=0o700, exist_ok=True)


def environment(folder: Path) -> dict[str, str]:
    """Of a program in a clone: its own sources, and the kernels that this checkout has compiled."""
    kept = {name: value for name, value in os.environ.items() if name in ("PATH", "LANG") or name.startswith("AWS_")}
    outside = {"HOME": str(folder.parent / "home"), "TMPDIR": str(folder.parent / "tmp")}
    kernels = os.environ.get("CACHEZOO_CACHE_DIR", str(ROOT / ".cache"))
    # One job at a time: on tiny traces a process takes longer to start than its job.
    own = {"PYTHONPATH": str(folder / "src"), "CACHEZOO_CACHE_DIR": kernels, "CACHEZOO_JOBS": "1"}
    return {**kept, **outside, **own}


def dvc(folder: Path, *args: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [".venv/bin/dvc", *args], cwd=folder, env=environment(folder), capture_output=True, text=True, timeout=900,
        check=False,
    )  # fmt: skip


def repro(folder: Path, *targets: str) -> str:
    """What `dvc repro` says, which must succeed."""
    done = dvc(folder, "repro", *targets)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return done.stdout + done.stderr


def at_work(folder: Path) -> list[str]:
    """Command lines of the processes that work in a folder."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            if os.readlink(entry / "cwd").startswith(str(folder)):
                found.append((entry / "cmdline").read_bytes().decode(errors="replace").replace("\0", " "))
        except OSError:
            continue
    return found


def wait_until(condition, process: subprocess.Popen, seconds: float = 600) -> None:
    """Wait for something that a process brings about."""
    end = time.monotonic() + seconds
    while not condition():
        assert process.poll() is None, f"ended with {process.returncode}"
        assert time.monotonic() < end, "nothing happened"
        time.sleep(0.05)


def kill_in(folder: Path, script: str) -> None:
    """Start `dvc repro` and kill DVC alone while a stage works; the stage must end with it."""
    command, log = [".venv/bin/dvc", "repro"], (folder.parent / "log").open("ab")
    process = subprocess.Popen(command, cwd=folder, env=environment(folder), stdout=log, stderr=log)
    try:
        # Its interpreter has started, and so DVC does not write its own files at this moment.
        wait_until(lambda: any(f"pipelines/stages.py {script}" in line for line in at_work(folder)), process)
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()
        log.close()
    end = time.monotonic() + 60
    while at_work(folder):
        assert time.monotonic() < end, at_work(folder)
        time.sleep(0.05)


@contextlib.contextmanager
def turn(folder: Path) -> Iterator[None]:
    """One process of the session at a time."""
    with (folder / "turn").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def run_once(folder: Path) -> Path:
    """The clone in which the tiny pipeline has run, killed on its way; made by the first that asks for it."""
    folder.mkdir(exist_ok=True)
    made, ended = folder / "clone", folder / "ended"
    with turn(folder):
        if not ended.exists():
            clone(made)
            kill_in(made, "fit_admission")
            (folder / "said").write_text(repro(made))
            ended.touch()
    return made


@dataclass(frozen=True)
class Stage:
    """One stage of dvc.yaml, or the first job of one: its command without the interpreter, its inputs and outputs.

    Sources and params.yaml are left out.
    """

    name: str
    command: tuple[str, ...]
    deps: tuple[str, ...]
    outs: tuple[str, ...]

    @property
    def script(self) -> str:
        return self.command[1]


@dataclass
class Workspace:
    folder: Path
    stages: list[Stage] = field(default_factory=list)

    def of(self, script: str) -> Stage:
        """A stage, by its name in pipelines/stages.py; its first job, where it has several."""
        whole = next(stage for stage in self.stages if stage.script == script)
        each = runpy.run_path(str(ROOT / whole.command[0]))["STAGES"][script].each
        if each is None:
            return whole
        with contextlib.chdir(self.folder):
            job = min(each.jobs(script, load_params()), key=lambda job: job.key)
            deps, outs = (tuple(str(path) for path in paths if path.exists()) for paths in (job.reads, job.writes))
        words = [job.key] if job.key else []
        return Stage(f"{script} {job.key}", (*whole.command, *words), deps, outs)


def forget_times() -> None:
    """What stages took before is what they say as they begin, beside which a test looks for one line."""
    FILE.unlink(missing_ok=True)


def run(*command: str) -> tuple[int, str]:
    """Exit status and standard error of a stage, run in the working folder and this process."""
    forget_times()
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


def listing(*apart: str) -> set[str]:
    """Every path in the working folder but those in whose name one of some words is; os.walk, as Path.rglob is slow."""
    found: set[str] = set()
    for place, folders, files in os.walk("."):
        folders[:] = [name for name in folders if not any(word in name for word in apart)]
        kept = (name for name in files if not any(word in name for word in apart))
        found.update(os.path.normpath(f"{place}/{name}") for name in (*folders, *kept))
    return found


def contents(paths: tuple[str, ...]) -> dict[str, bytes]:
    """Every file under paths, with what it holds."""
    files = [file for path in paths for file in (Path(path).rglob("*") if Path(path).is_dir() else [Path(path)])]
    return {str(file): file.read_bytes() for file in files if file.is_file()}


def copied(origin: Path, folder: Path) -> Workspace:
    """A copy of the clone that has run, for tests that damage it and run stages in their own process."""
    from dvc.repo import Repo

    shutil.copytree(origin, folder, ignore=shutil.ignore_patterns(*LEFT_OUT), symlinks=True)
    (folder / ".cache").mkdir(mode=0o700)
    return Workspace(folder, [_stage(stage) for stage in Repo(str(origin)).index.stages])


def _stage(stage) -> Stage:
    deps = [str(dep) for dep in stage.deps]
    own = tuple(dep for dep in deps if not dep.startswith(("data/sources", "src", "pipelines", "params.yaml")))
    command = tuple(stage.cmd.removeprefix("exec scripts/python ").split())
    return Stage(stage.name, command, own, tuple(str(out) for out in stage.outs))
