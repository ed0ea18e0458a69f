"""The Makefile: its help, and what Ctrl-C in it looks like."""

import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
ASLEEP = "import signal, sys, time; signal.signal(signal.SIGINT, lambda *_: sys.exit({})); print('asleep', flush=True)"


def test_make_alone_lists_every_target():
    make = shutil.which("make")
    assert make is not None
    shown = subprocess.run([make], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    phony = re.search(r"^\.PHONY: (.*)$", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert phony is not None
    assert [line.split()[1] for line in shown.splitlines()] == phony[1].split()
    assert all(len(line) <= 100 for line in shown.splitlines())


def test_help_says_that_the_environment_is_of_another_folder(tmp_path):
    def said():
        done = subprocess.run(["make"], cwd=tmp_path, capture_output=True, text=True, check=True)
        assert done.stdout.startswith("make help ")
        return done.stderr

    (tmp_path / "scripts").mkdir()
    shutil.copy(ROOT / "Makefile", tmp_path)
    for name in ("run.sh", "moved.sh"):
        shutil.copy(ROOT / "scripts" / name, tmp_path / "scripts")
    assert said() == ""
    (tmp_path / ".venv").mkdir()
    stamp = tmp_path / ".venv/.installed-0123456789abcdef"
    stamp.write_text(f"{tmp_path}\n")
    assert said() == ""
    stamp.write_text("/elsewhere/old clone\n")
    line = "note: .venv is of /elsewhere/old clone, whose code it runs; `make install` sets it to this folder\n"
    assert said() == line


def interrupted(folder, status):
    (folder / "Makefile").write_text(f"all:\n\t@{ROOT}/scripts/run.sh {sys.executable} sleeper.py\n\t@echo went on\n")
    (folder / "sleeper.py").write_text(f"{ASLEEP.format(status)}\ntime.sleep(60)\n")
    process = subprocess.Popen(
        ["make"], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "asleep\n"
    os.killpg(process.pid, signal.SIGINT)
    said, _ = process.communicate(timeout=300)
    return process.returncode, said


def test_an_interrupted_target_is_no_error_of_make(tmp_path):
    """A shell shows the status of a program that SIGINT ended as 130."""
    assert interrupted(tmp_path, 130) == (-signal.SIGINT, "")


@pytest.mark.parametrize("status", [1, 2])
def test_another_status_is_one(tmp_path, status):
    (tmp_path / "Makefile").write_text(f"all:\n\t@{ROOT}/scripts/run.sh sh -c 'exit {status}'\n")
    done = subprocess.run(["make"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (2, f"make: *** [Makefile:2: all] Error {status}\n")


def with_free(folder, mib):
    """An environment in which df says that so much is free."""
    (folder / "bin").mkdir()
    (folder / "bin/df").write_text(f"#!/bin/sh\necho head\necho /dev/x 9 9 {mib} 0% /\n")
    (folder / "bin/df").chmod(0o755)
    return {**os.environ, "PATH": f"{folder / 'bin'}:{os.environ['PATH']}"}


@pytest.mark.parametrize(("status", "mib", "lines"), [(0, 0, 0), (1, 63, 1), (1, 64, 0), (255, 0, 1)])
def test_a_program_that_fails_on_a_full_disk_ends_with_a_line_that_says_so(tmp_path, status, mib, lines):
    env = with_free(tmp_path, mib)
    done = subprocess.run(
        [ROOT / "scripts/run.sh", "sh", "-c", f"exit {status}"], env=env, capture_output=True, text=True, check=False
    )
    assert done.returncode == status
    assert done.stderr == f"make: {mib} MiB are free here; make room and run the same again\n" * lines


def test_no_target_begins_on_a_full_disk(tmp_path):
    env = with_free(tmp_path, 63)
    (tmp_path / "scripts").mkdir()
    shutil.copy(ROOT / "scripts/bootstrap.sh", tmp_path / "scripts")
    done = subprocess.run(
        ["sh", "scripts/bootstrap.sh", "requirements.lock"],
        cwd=tmp_path, env=env, capture_output=True, text=True, check=False,
    )  # fmt: skip
    said = "bootstrap: 63 MiB are free here, too few to run anything; make room and run it again\n"
    assert (done.returncode, done.stderr) == (1, said)


def test_every_program_of_a_target_is_run_so():
    recipes = [line for line in (ROOT / "Makefile").read_text().splitlines() if line.startswith("\t@")]
    own = re.compile(r"\t@(\$\(RUN\)|\$\(DEV\)|\$\(MAKE\)|\$\(if \$\(\w+\),\$\(RUN\)|awk) ?")
    assert [line for line in recipes if not own.match(line)] == []
