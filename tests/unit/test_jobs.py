"""A pool of processes: one job that fails ends the others, and no child that is not the pool's."""

import contextlib
import os
import shlex
import signal
import subprocess
import sys
import time
from multiprocessing import get_context
from pathlib import Path

import pytest

from cachezoo.errors import ConfigError
from cachezoo.jobs import processes, run_all, side_by_side, spread

LONG_S = 600


def wait(folder, name):
    (folder / f"{name}.{os.getpid()}").touch()
    time.sleep(LONG_S)


def fail_once_begun(folder, name):
    while not list(folder.glob(f"{name}.*")):
        time.sleep(0.01)
    message = "no such policy"
    raise ConfigError(message)


def call(work, *arguments):
    return work(*arguments)


def handler_of(_):
    return signal.getsignal(signal.SIGINT) is signal.SIG_IGN


@pytest.fixture
def bystander():
    started = []

    def start():
        started.append(get_context("spawn").Process(target=time.sleep, args=(LONG_S,)))
        started[-1].start()

    yield start, started
    for process in started:
        process.kill()
        process.join()


def test_a_job_that_fails_ends_the_others_and_no_other_child(tmp_path, bystander):
    start, started = bystander
    start()
    jobs = [(wait, tmp_path, "long"), (fail_once_begun, tmp_path, "long"), (wait, tmp_path, "late")]
    with pytest.raises(ConfigError, match=r"^no such policy$"), processes(2) as pool:
        start()
        run_all("jobs", pool, call, jobs)
    pids = [int(path.suffix[1:]) for path in tmp_path.iterdir()]
    assert pids
    assert not any(Path(f"/proc/{pid}").exists() for pid in pids)
    assert [process.is_alive() for process in started] == [True, True]


def test_processes_leave_interrupts_to_who_made_them():
    before = signal.getsignal(signal.SIGINT)
    with processes(2) as pool:
        assert run_all("jobs", pool, handler_of, [(1,), (2,)]) == [True, True]
    assert signal.getsignal(signal.SIGINT) is before


def test_jobs_are_done_here_or_by_processes_with_results_in_their_order(monkeypatch):
    jobs = [(divmod, 17, k) for k in (3, 5, 2)]
    found = []
    for count in ("1", "2"):
        monkeypatch.setenv("CACHEZOO_JOBS", count)
        found.append(spread("jobs", call, jobs))
    assert found == [[(5, 2), (3, 2), (8, 1)]] * 2
    assert spread("nothing", call, []) == []


def test_as_many_jobs_run_at_once_as_there_are_cores_or_as_is_said(monkeypatch):
    monkeypatch.delenv("CACHEZOO_JOBS", raising=False)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1, 2})
    assert [side_by_side(count) for count in (0, 1, 7)] == [0, 1, 3]
    monkeypatch.setenv("CACHEZOO_JOBS", "2")
    assert [side_by_side(count) for count in (1, 7)] == [1, 2]
    for wrong in ("0", "two", "-1"):
        monkeypatch.setenv("CACHEZOO_JOBS", wrong)
        with pytest.raises(ConfigError, match=f"CACHEZOO_JOBS={wrong}: is no number of jobs"):
            side_by_side(2)


CHILD = """
import pathlib, sys, time
from cachezoo.jobs import die_with_parent
die_with_parent()
pathlib.Path(sys.argv[1]).touch()
time.sleep(600)
"""


@pytest.mark.parametrize("shell", ["", "sh", "bash"])
def test_a_process_ends_with_what_started_it_even_past_a_shell_that_waits(tmp_path, shell):
    words = [sys.executable, "-c", CHILD, str(tmp_path / "begun")]
    # The second command keeps a shell from putting the first one in its own place.
    command = [shell, "-c", f"{shlex.join(words)}; true"] if shell else words
    starter = f"import subprocess; subprocess.run({command!r}, check=False)"
    process = subprocess.Popen([sys.executable, "-c", starter], start_new_session=True)
    try:
        wait_until(lambda: (tmp_path / "begun").exists())
        said = {entry: _command(entry) for entry in Path("/proc").glob("[0-9]*")}
        own = [entry for entry, line in said.items() if str(tmp_path) in line and line.startswith(sys.executable)]
        (child,) = [int(entry.name) for entry in own if int(entry.name) != process.pid]
        process.kill()  # it alone
        process.wait()
        wait_until(lambda: not _command(Path(f"/proc/{child}")))
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)


def _command(entry):
    try:
        return (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
    except OSError:
        return ""


def wait_until(condition):
    end = time.monotonic() + 120
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)
