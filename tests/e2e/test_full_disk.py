"""A disk without room: one clear line, outputs as they were, and success once there is room."""

import contextlib
import errno
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from cachezoo.cli import app
from cachezoo.closure import Project
from cachezoo.errors import CachezooError
from tests.e2e.workspace import ROOT, contents, forget_times, listing, run

SCRIPTS = sorted(path.name for path in Project(ROOT).stages())
# MLflow keeps its database open for as long as a process lives, which a disk that is to be unmounted must not see; and
# LSTMs are the same bytes in the environment of a stage alone (cachezoo.pinned).
APART = ("track", "fit_caching", "fit_workload", "judge_caching", "judge_workload")
SIZE_MIB = 192
FILLER = "filler"
OTHERS = ("mlflow", ".cache", FILLER)
ROOM = 16 * 1024

pytestmark = [pytest.mark.slow(seconds=300), pytest.mark.needs("root", "loop")]


@pytest.fixture(scope="module")
def disk(made, tmp_path_factory):
    """The workspace on a small ext4 of its own."""
    folder = tmp_path_factory.mktemp("disk")
    image, mount = folder / "image", folder / "mount"
    mount.mkdir()
    with image.open("wb") as file:
        file.truncate(SIZE_MIB << 20)
    subprocess.run(["mkfs.ext4", "-q", "-m", "0", "-F", image], check=True, timeout=60)
    subprocess.run(["mount", "-o", "loop", image, mount], check=True, timeout=60)
    try:
        ignored = shutil.ignore_patterns(".dvc", "__pycache__", "mlflow*")
        shutil.copytree(made.folder, mount / "project", symlinks=True, ignore=ignored)
        with contextlib.chdir(mount / "project"):
            yield made
    finally:
        if subprocess.run(["umount", mount], check=False, timeout=60).returncode != 0:
            subprocess.run(["umount", "-l", mount], check=True, timeout=60)
        image.unlink()


def fill(room: int) -> None:
    """Leave no more than so many bytes."""
    with Path(FILLER).open("wb", buffering=0) as file:
        # What deleted files have held is free once the journal says so, which is after the first round.
        for _ in range(2):
            os.sync()
            for piece in (1 << 20, 4096, 1):
                with contextlib.suppress(OSError):
                    while file.write(bytes(piece)) == piece:
                        pass
            os.fsync(file.fileno())
        file.truncate(max(0, file.tell() - room))
        os.fsync(file.fileno())


def test_the_disk_is_full(disk):
    fill(0)
    try:
        with pytest.raises(OSError, match="No space left") as error, Path("more").open("wb", buffering=0) as file:
            while True:
                file.write(bytes(4096))
        assert error.value.errno == errno.ENOSPC
    finally:
        Path("more").unlink(missing_ok=True)
        Path(FILLER).unlink()


def apart(*command: str) -> tuple[int, str]:
    forget_times()
    kernels = os.environ.get("CACHEZOO_CACHE_DIR", str(ROOT / ".cache"))
    env = {**os.environ, "CACHEZOO_PYTHON": sys.executable, "CACHEZOO_CACHE_DIR": kernels}
    for name in ("MPLCONFIGDIR", "TORCHINDUCTOR_CACHE_DIR", "XDG_CACHE_HOME", "XDG_CONFIG_HOME"):
        env[name] = kernels  # what libraries keep for themselves is not what is looked at
    done = subprocess.run(
        ["scripts/python", *command], env=env, capture_output=True, text=True, timeout=300, check=False
    )  # fmt: skip
    return done.returncode, done.stderr


def without_room(stage, start, room: int) -> None:
    """Start a stage where so many bytes are free: it says so in one line, or has room enough; nothing is lost."""
    before, names = contents(stage.outs), listing(*OTHERS)
    assert before
    fill(room)
    try:
        status, said = start(*stage.command)
    finally:
        Path(FILLER).unlink()
    assert listing(*OTHERS) == names
    assert contents(stage.outs) == before
    if room and status == 0:
        return
    assert status == 1, said
    lines = said.strip().splitlines()
    assert sum(not line.endswith(" to go") for line in lines) == 1, said  # a busy machine is slow enough for progress
    assert "No space left on device" in said or "disk is full" in said, said
    assert "make room" in said, said


# What writes as another stage does, in test-long alone: documents are written by cachezoo.stage, LSTMs by
# cachezoo.training.fitted.
DOCUMENTS = [name for name in SCRIPTS if name.startswith("evaluate") and name != "evaluate_workload"]
ALIKE = (*DOCUMENTS, "fit_workload", "judge_workload")


@pytest.mark.parametrize(
    "script", [pytest.param(name, marks=pytest.mark.long if name in ALIKE else ()) for name in SCRIPTS]
)
def test_a_stage_without_room_says_so_and_loses_nothing(disk, script):
    without_room(disk.of(script), apart if script in APART else run, 0)


@pytest.mark.long
@pytest.mark.parametrize("script", SCRIPTS)
def test_a_stage_with_some_room_loses_nothing_and_succeeds_once_there_is_more(disk, script):
    stage, start = disk.of(script), apart if script in APART else run
    without_room(stage, start, ROOM)
    before = contents(stage.outs)
    assert start(*stage.command)[0] == 0
    assert contents(stage.outs) == before


COMMANDS = {
    "ingest": ("ingest", "{raw}", "-o", "{out}"),
    "cut": ("cut", "{trace}", "-o", "{out}", "--last-row", "1500"),
    "sample": ("sample", "{trace}", "-o", "{out}", "--rate", "0.9"),
    "merge": ("merge", "{trace}", "{other}", "-o", "{out}"),
    "convert": ("convert", "{trace}", "-o", "{out}", "--to", "csv"),
}


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_without_room_says_so_and_loses_nothing(disk, name):
    traces = sorted(Path("data/requests").rglob("*.parquet"))
    raw = sorted(Path("data/raw/tiny").glob("*.csv"))[0]
    out = Path("out.csv" if name == "convert" else "out.parquet")
    values = {"raw": raw, "trace": traces[0], "other": traces[-1], "out": out}
    command = ["trace", *(word.format(**values) for word in COMMANDS[name])]
    CliRunner().invoke(app, command, catch_exceptions=False)
    before, names = out.read_bytes(), listing(*OTHERS)
    fill(0)
    try:
        with pytest.raises(CachezooError, match=f"{out}: cannot be written .No space left on device.*make room"):
            CliRunner().invoke(app, command, catch_exceptions=False)
    finally:
        Path(FILLER).unlink()
    assert out.read_bytes() == before
    assert listing(*OTHERS) == names
    out.unlink()
    CliRunner().invoke(app, command, catch_exceptions=False)
    assert out.read_bytes() == before
    out.unlink()
