"""A pool of processes: one job that fails ends the others, and no child that is not the pool's."""

import contextlib
import os
import shlex
import shutil
import signal
import subprocess
import sys
import time
from multiprocessing import get_context
from pathlib import Path

import pytest

from cachezoo.errors import ConfigError
from cachezoo.jobs import die_with_parent, processes, run_all, side_by_side, spread

LONG_S = 600
ROOT = Path(__file__).resolve().parents[2]


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


def test_processes_have_the_variables_that_they_are_given(monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "7")
    monkeypatch.delenv("OMP_DYNAMIC", raising=False)
    given = {"OMP_NUM_THREADS": "1", "OMP_DYNAMIC": "FALSE"}
    with processes(1, env=given) as pool:
        assert run_all("jobs", pool, os.getenv, [(name,) for name in given]) == list(given.values())
    assert os.environ["OMP_NUM_THREADS"] == "7" and "OMP_DYNAMIC" not in os.environ


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
import ctypes, os, pathlib, sys
from cachezoo.jobs import die_with_parent
die_with_parent()
pathlib.Path(sys.argv[1]).write_text(f"{os.getpid()} {os.getppid()}")
ctypes.PyDLL(None).pause()  # as a compiled kernel, which lets no other thread of the interpreter run
"""
SHELLS = [name for name in ("sh", "dash", "bash", "zsh", "ksh", "fish") if shutil.which(name)]


@pytest.mark.parametrize("shell", SHELLS)
def test_a_stage_ends_with_dvc_whatever_the_shell_and_whatever_it_does(tmp_path, shell):
    words = [sys.executable, "-c", CHILD, str(tmp_path / "begun")]
    command = [shell, "-c", f"exec {shlex.join(words)}"]
    starter = f"import os, subprocess; os.environ['DVC_STAGE'] = 'x'; subprocess.run({command!r}, check=False)"
    process = subprocess.Popen([sys.executable, "-c", starter], start_new_session=True)
    try:
        wait_until(lambda: (tmp_path / "begun").exists() and (tmp_path / "begun").read_text())
        child, parent = map(int, (tmp_path / "begun").read_text().split())
        assert parent == process.pid
        process.kill()  # it alone
        process.wait()
        wait_until(lambda: not _command(Path(f"/proc/{child}")))
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)


def orphan(folder, before):
    """Begin while the parent is there, and go on when it is not."""
    (folder / "own").write_text(str(os.getpid()))
    (folder / "own").rename(folder / "begun")
    while os.getppid() == before:
        time.sleep(0.01)
    (folder / "alone").touch()
    die_with_parent()
    (folder / "survived").touch()


ORPHAN = "import sys; from pathlib import Path; from tests.unit.test_jobs import orphan; "
ORPHAN += "orphan(Path(sys.argv[1]), int(sys.argv[2]))"
# Starts the orphan, and ends when it has begun.
STARTER = f"""
import os, subprocess, sys, time
from multiprocessing import get_context
from pathlib import Path
from tests.unit.test_jobs import orphan

if __name__ == "__main__":
    folder = Path(sys.argv[1])
    if sys.argv[2] == "of a pool":
        get_context("spawn").Process(target=orphan, args=(folder, os.getpid())).start()
    else:
        command = [sys.executable, "-c", {ORPHAN!r}, str(folder), str(os.getpid())]
        subprocess.Popen(command, env={{**os.environ, "DVC_STAGE": "x"}})
    while not (folder / "begun").exists():
        time.sleep(0.01)
    os._exit(0)
"""


@pytest.mark.parametrize("whose", ["of DVC", "of a pool"])
def test_a_process_whose_parent_died_before_it_could_ask_ends_before_it_works(tmp_path, whose):
    (tmp_path / "starter.py").write_text(STARTER)
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), *filter(None, sys.path)])}
    command = [sys.executable, str(tmp_path / "starter.py"), str(tmp_path), whose]
    subprocess.run(command, env=env, start_new_session=True, check=True)
    child = Path(f"/proc/{(tmp_path / 'begun').read_text()}")
    wait_until(lambda: not _command(child))
    assert (tmp_path / "alone").exists()
    assert not (tmp_path / "survived").exists()


def test_a_stage_started_by_hand_is_no_orphan(tmp_path):
    script = "from cachezoo.jobs import die_with_parent; die_with_parent(); print('alive')"
    env = {name: value for name, value in os.environ.items() if name != "DVC_STAGE"}
    done = subprocess.run(
        [sys.executable, "-c", script], env=env, start_new_session=True, capture_output=True, text=True, check=True
    )
    assert done.stdout == "alive\n"


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
