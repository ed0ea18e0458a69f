"""A pool of processes: one job that fails ends the others, and no child that is not the pool's."""

import os
import signal
import time
from multiprocessing import get_context
from pathlib import Path

import pytest

from cachezoo.errors import ConfigError
from cachezoo.jobs import processes, run_all
from cachezoo.workers import die_with_parent as real
from cachezoo.workers import workers

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


@pytest.mark.parametrize("pool_of", [processes, workers])
def test_a_job_that_fails_ends_the_others_and_no_other_child(tmp_path, bystander, pool_of, monkeypatch):
    # What other tests put in its place for their own process cannot be sent to another one.
    monkeypatch.setattr("cachezoo.stage.die_with_parent", real)
    start, started = bystander
    start()
    jobs = [(wait, tmp_path, "long"), (fail_once_begun, tmp_path, "long"), (wait, tmp_path, "late")]
    with pytest.raises(ConfigError, match=r"^no such policy$"), pool_of(2) as pool:
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
