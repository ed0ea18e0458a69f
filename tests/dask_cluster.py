"""A Dask cluster on the loopback, of processes that end with the test."""

import contextlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from distributed import Client

ROOT = Path(__file__).resolve().parents[1]
STARTS_S = 60


class Cluster:
    """A scheduler, and workers of one thread each.

    Attributes:
        address: of the scheduler.
        scheduler, workers: their processes.
    """

    def __init__(self, folder: Path) -> None:
        self._folder, self.workers = folder, list[subprocess.Popen]()
        file = folder / "scheduler.json"
        self.scheduler = self._start("scheduler", "--port", "0", "--scheduler-file", str(file))
        try:
            wait_until(file.exists)
            self.address = json.loads(file.read_text())["address"]
        except BaseException:
            end(self.scheduler)
            raise

    def add(self, *options: str, env: dict[str, str] | None = None) -> subprocess.Popen:
        """One more worker, which the scheduler knows when it has begun."""
        words = [self.address, "--nthreads", "1", "--death-timeout", str(STARTS_S), *options]
        self.workers.append(self._start("worker", *words, "--local-directory", str(self._folder), env=env))
        with Client(self.address, timeout=STARTS_S, set_as_default=False) as client:
            client.wait_for_workers(sum(worker.poll() is None for worker in self.workers), timeout=STARTS_S)
        return self.workers[-1]

    def _start(self, what: str, *words: str, env: dict[str, str] | None = None) -> subprocess.Popen:
        paths = os.pathsep.join([str(ROOT / "src"), str(ROOT)])
        with (self._folder / "log.txt").open("ab") as log:
            return subprocess.Popen(
                [sys.executable, "-m", f"distributed.cli.dask_{what}", "--no-dashboard", "--host", "127.0.0.1", *words],
                env={**os.environ, "PYTHONPATH": paths, **(env or {})},
                cwd=self._folder,
                stdout=log,
                stderr=log,
            )


@contextlib.contextmanager
def cluster(folder: Path) -> Iterator[Cluster]:
    """A cluster without workers."""
    made = Cluster(folder)
    try:
        yield made
    finally:
        for process in (*made.workers, made.scheduler):
            end(process)


def end(process: subprocess.Popen) -> None:
    """End a process: a worker's nanny ends its worker."""
    process.terminate()
    try:
        process.wait(10)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def wait_until(condition, most_s: float = STARTS_S) -> None:
    """Wait for something that another process does."""
    stop = time.monotonic() + most_s
    while not condition():
        assert time.monotonic() < stop
        time.sleep(0.02)
