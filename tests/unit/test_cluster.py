"""Jobs on a Dask cluster on the loopback: of a worker with a nanny, and of one without, which dies."""

import os
import shutil
import signal
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path
from threading import Thread

import pytest

from cachezoo import cluster, console
from cachezoo.errors import ClusterError, ConfigError
from cachezoo.jobs import DASK, ENGINE, SCHEDULER, run_all, scheduler, spread, workers
from cachezoo.kept import Job
from cachezoo.pinned import PINNED
from cachezoo.stage import run_jobs
from cachezoo.traces.store import write_trace
from tests.command_line import run
from tests.dask_cluster import ROOT, Cluster, end, wait_until
from tests.dask_cluster import cluster as started
from tests.dask_jobs import about, begin, die, die_once, refuse, stage
from tests.page_data import seeded_trace
from tests.s3_server import BUCKET, s3_server


@pytest.fixture(scope="module")
def s3():
    with s3_server() as server:
        yield server


@pytest.fixture(scope="module")
def one(s3, tmp_path_factory):
    """A worker with a nanny."""
    with started(tmp_path_factory.mktemp("cluster")) as made:
        made.add(env=s3.env)
        yield made


@pytest.fixture
def dask(one, monkeypatch, tmp_path):
    """The cluster does what follows."""
    use(one, monkeypatch)
    monkeypatch.chdir(tmp_path)
    return one


def use(made: Cluster, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv(ENGINE, DASK)
    monkeypatch.setenv(SCHEDULER, made.address)


def test_jobs_run_in_processes_as_they_do_here_with_results_in_their_order(dask, tmp_path):
    found = spread("jobs", about, [(k,) for k in range(4)])
    assert [k for k, *_ in found] == list(range(4))
    assert {folder for _, folder, *_ in found} == {str(tmp_path)}
    assert all(env == PINNED for _, _, env, *_ in found)
    assert {engine for *_, engine, _ in found} == {"local"}
    assert os.getpid() not in {parent for *_, parent in found}
    assert spread("nothing", about, []) == []
    assert not list(tmp_path.iterdir())


SCRIPT = """
from cachezoo.jobs import spread

TIMES = 3

def times(k):
    return TIMES * k

if __name__ == "__main__":
    print(spread("jobs", times, [(1,), (2,)]))
"""


def test_jobs_of_a_script_are_what_it_defines(dask, tmp_path):
    (tmp_path / "script.py").write_text(SCRIPT)
    env = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    done = subprocess.run([sys.executable, "script.py"], env=env, capture_output=True, text=True, timeout=60)
    assert done.stdout == "[3, 6]\n", done.stderr


def test_a_job_that_fails_says_so_and_ends_the_others(dask, tmp_path):
    with pytest.raises(ConfigError, match=r"^job 2 is refused$"):
        spread("jobs", refuse, [(2,), (2,)])
    with pytest.raises(ConfigError, match=r"^job 1 is refused$"), workers(1) as pool:
        wait = pool.submit(begin, tmp_path, 0)
        wait_until(lambda: (tmp_path / "0.begun").exists() and (tmp_path / "0.begun").read_text())
        refuse(1)
    pid = int((tmp_path / "0.begun").read_text())
    wait_until(lambda: not Path(f"/proc/{pid}").exists())
    assert not wait.done() or wait.cancelled() or wait.exception()


def test_a_job_whose_process_is_killed_is_one_line(dask):
    with pytest.raises(ClusterError, match=r"^tcp://[^\n]*: a job's process was killed, perhaps for want of memory$"):
        spread("jobs", die, [(0,)])


@pytest.mark.parametrize("name", ["cachezoo", "numpy"])
def test_another_version_on_a_worker_is_one_line_before_work_begins(dask, monkeypatch, tmp_path, name):
    has = cluster.installed()
    monkeypatch.setattr(cluster, "installed", lambda: {**has, name: "0.0"})
    with pytest.raises(ClusterError) as error:
        spread("jobs", begin, [(tmp_path, 0)])
    said = f": has {name} {has[name]}, and this machine 0.0; install the same there, and start it again"
    assert str(error.value).startswith("worker tcp://127.0.0.1:")
    assert str(error.value).endswith(said)
    assert not list(tmp_path.iterdir())


def test_a_stage_needs_a_folder_that_all_see(dask, monkeypatch, tmp_path):
    @contextmanager
    def unseen(folder):
        yield None if folder is None else Path("/nowhere/token")

    monkeypatch.setattr(cluster, "_token", unseen)
    with pytest.raises(ClusterError, match=f": has another {tmp_path}, or none; share this folder with it"):
        spread("jobs", about, [(0,)])
    with workers(1) as pool:  # what reads URLs alone needs none
        assert run_all("jobs", pool, about, [(3,)])[0][0] == 3


def test_a_sweep_on_a_cluster_that_loses_a_worker_has_the_bytes_of_one_here(dask, s3, monkeypatch, tmp_path):
    names = [f"{k}.parquet" for k in range(3)]
    for k, name in enumerate(names):
        write_trace(seeded_trace(4000, 300, seed=k), tmp_path / name)
        s3.client.upload_file(str(tmp_path / name), BUCKET, name)
    asked = ("--policy", "lru", "--policy", "s3fifo", "--policy", "arc", "--size", "5%,20p")
    monkeypatch.setenv(ENGINE, "local")
    run("sweep", *names, *asked, "-o", "here.csv")
    for name, value in s3.env.items():
        monkeypatch.setenv(name, value)
    victim = dask.add("--no-nanny", env=s3.env)

    @contextmanager
    def ending_a_worker(*_, **__):
        """Each worker has jobs when the first of nine has ended."""
        yield lambda *_: victim.kill()

    monkeypatch.setattr(console, "progress", ending_a_worker)
    urls = [f"s3://{BUCKET}/{name}" for name in names]
    run("sweep", *urls, *asked, "--engine", "dask", "--address", dask.address, "-o", "there.csv")
    assert victim.wait(10) == -signal.SIGKILL
    assert Path("there.csv").read_bytes() == Path("here.csv").read_bytes()


def test_what_a_killed_worker_did_is_done_again(dask, tmp_path):
    assert spread("jobs", die_once, [(tmp_path, k) for k in range(3)]) == [0, 1, 2]


def test_a_worker_without_cachezoo_is_one_line(dask, tmp_path):
    (tmp_path / "cachezoo.py").write_text("raise ImportError('not here')")
    other = dask.add("--no-nanny", env={"PYTHONPATH": str(tmp_path)})
    with pytest.raises(ClusterError, match=f"^{dask.address}: a worker cannot run this cachezoo .*; install it there$"):
        spread("jobs", about, [(0,)])
    end(other)


def test_a_cluster_that_is_lost_is_one_line_and_a_stage_goes_on_from_there(monkeypatch, tmp_path):
    with started(tmp_path) as made:
        use(made, monkeypatch)
        monkeypatch.setattr(cluster, "TIMEOUT_S", 1)
        with pytest.raises(ClusterError, match=f"^{made.address}: has no workers; start some: dask worker "):
            spread("jobs", about, [(0,)])
        monkeypatch.setattr(cluster, "TIMEOUT_S", 60)
        monkeypatch.setattr(cluster, "GONE_S", 2)
        worker = made.add("--no-nanny")
        with pytest.raises(ClusterError, match=f"^{made.address}: every worker is lost; "), workers(1) as pool:
            waits = pool.submit(begin, tmp_path, 1)
            wait_until((tmp_path / "1.begun").exists)
            end(worker)
            waits.result(60)
        worker = made.add("--no-nanny")
        shutil.copy(ROOT / "params.yaml", tmp_path)
        (tmp_path / "out").mkdir()
        monkeypatch.chdir(tmp_path)
        own = [Job("tiny", key, {}, [], [Path("out", key)]) for key in "ab"]
        killer = Thread(target=lambda: (wait_until(Path("b.runs").exists), made.scheduler.kill()))
        killer.start()
        with pytest.raises(ClusterError, match=f"^{made.address}: its scheduler is lost; "):
            run_jobs(stage, own, "tiny")
        killer.join()
        monkeypatch.setattr(cluster, "TIMEOUT_S", 1)
        with pytest.raises(ClusterError, match=f"^{made.address}: no scheduler of Dask answers within 1 s; "):
            spread("jobs", about, [(0,)])
        end(worker)
        assert [path.name for path in Path("out").iterdir()] == ["a"]
        monkeypatch.setenv(ENGINE, "local")
        run_jobs(stage, own, "tiny")
        assert [len(Path(f"{key}.runs").read_text()) for key in "ab"] == [1, 2]
        assert [Path("out", key).read_text() for key in "ab"] == ["a", "b"]


@pytest.mark.parametrize(
    ("engine", "address", "said"),
    [
        ("cluster", "", "CACHEZOO_ENGINE=cluster: is no engine; give local or dask"),
        (
            "dask",
            "",
            "CACHEZOO_ENGINE=dask: needs its scheduler; give --address or CACHEZOO_SCHEDULER, tcp://HOST:8786",
        ),
        (
            "dask",
            "host:1",
            "CACHEZOO_SCHEDULER=host:1: is no address; give --address or CACHEZOO_SCHEDULER, tcp://HOST:8786",
        ),
    ],
)
def test_an_engine_that_cannot_be_is_one_line(monkeypatch, tmp_path, engine, address, said):
    monkeypatch.setenv(ENGINE, engine)
    monkeypatch.setenv(SCHEDULER, address)
    with pytest.raises(ConfigError) as error:
        scheduler()
    assert str(error.value) == said
    write_trace(seeded_trace(50, 9, seed=1), tmp_path / "a.parquet")
    options = ["--engine", engine, *(["--address", address] if address else [])]
    assert run("sweep", tmp_path / "a.parquet", *options, ok=False).stderr == f"cachezoo: {said}\n"
    monkeypatch.setenv(ENGINE, "local")
    refused = run("sweep", tmp_path / "a.parquet", "--address", "tcp://h:1", ok=False)
    assert refused.stderr == "cachezoo: --address tcp://h:1: is of a cluster; add --engine dask\n"
