"""Jobs on the machines of a Dask cluster.

Each worker does them in processes that begin as those of one machine do: no more at a time than the worker has threads,
and none outlives its worker. So a kernel that lets no other thread run keeps no worker from answering its scheduler.
Dask places the jobs, and does those of a worker that died again, on another.
"""

import hashlib
import logging
import platform
import tempfile
import uuid
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError, Executor, Future
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, suppress
from importlib.metadata import PackageNotFoundError, version
from multiprocessing import current_process
from pathlib import Path
from socket import socket
from threading import Event, Thread
from typing import Any, TypeVar
from urllib.parse import urlsplit

from dask.base import annotate
from distributed import Client, KilledWorker, Worker
from distributed.diagnostics.plugin import WorkerPlugin
from distributed.protocol import pickle as wire

from cachezoo.errors import ClusterError

Done = TypeVar("Done")
TIMEOUT_S = 10
"""How long a scheduler, and its first worker, may take to answer."""
GONE_S = 60
"""How long a cluster may be without workers, which may come back, before its jobs are given up."""
DECIDING = ("numpy", "numba", "pyarrow", "lightgbm", "torch", "distributed")
"""Distributions that results depend on, or by which machines understand each other."""
MISSING = "none"


def installed() -> dict[str, str]:
    """What runs here: of Python and of what decides results the version, of this package sha256 of its sources."""
    digest, package = hashlib.sha256(), Path(__file__).parent
    for file in sorted(package.rglob("*.py")):
        digest.update(file.relative_to(package).as_posix().encode() + b"\0" + file.read_bytes())
    found = {"cachezoo": digest.hexdigest()[:12], "Python": platform.python_version().rpartition(".")[0]}
    for name in DECIDING:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = MISSING
    return found


LOADED = installed()
"""The same as this module was imported, which a worker may have done long ago."""


class Processes(WorkerPlugin):  # type: ignore[misc]
    """A plugin of Dask's workers: the pool of each for the jobs of one run, where it has what this process has."""

    def __init__(self, pool: Callable[[int], Any], folder: Path | None, token: Path | None) -> None:
        """Begin without pools.

        Args:
            pool: makes one of so many processes, which `end` ends at once.
            folder: a working folder that the workers have to share; None where they need not.
            token: a file in it that is there as long as the run.
        """
        self.name, self._pool, self._needs = f"cachezoo-{uuid.uuid4().hex}", pool, installed()
        self._folder, self._token = folder, token

    def setup(self, worker: Worker) -> None:
        """Make the worker's pool.

        Raises:
            ClusterError: it has something else installed, or not the folder.
        """
        for has in (installed(), LOADED):
            for name, needed in self._needs.items():
                if has[name] != needed:
                    said = f"worker {worker.address}: has {name} {has[name]}, and this machine {needed}"
                    raise ClusterError(f"{said}; install the same there, and start it again")
        if self._token is not None and not self._token.exists():
            message = f"worker {worker.address}: has another {self._folder}, or none; share this folder with it (NFS)"
            raise ClusterError(message)
        current_process().daemon = False  # a nanny's worker is a daemon, which could start no process
        worker.executors[self.name] = self._pool(worker.state.nthreads)

    def teardown(self, worker: Worker) -> None:
        """End its jobs."""
        pool: Any = worker.executors.pop(self.name, None)
        if pool is not None:
            pool.end()


class _Cluster(Executor):
    """Dask's own executor, whose jobs go to the workers' pools, and are cancelled where there are no workers left."""

    def __init__(self, client: Client, pools: str) -> None:
        self._client, self._jobs, self._pools = client, client.get_executor(pure=False), pools
        self.deserted = False

    def together(self, work: Callable[..., Done], jobs: Sequence[tuple[Any, ...]]) -> list[Future[Done]]:
        """Hand in jobs that talk to each other, each to a worker of its own, see `jobs.together`.

        Raises:
            ClusterError: there are fewer workers.
        """
        known = self._client.scheduler_info(n_workers=-1)
        workers = sorted(known["workers"])
        if len(workers) < len(jobs):
            message = f"has {len(workers)} of the {len(jobs)} workers that train together; start more"
            raise ClusterError(f"{known['address']}: {message}")
        own = [
            self._client.get_executor(pure=False, workers=[worker], allow_other_workers=False)
            for worker in workers[: len(jobs)]
        ]
        with annotate(executor=self._pools):
            ports = [one.submit(_free_port).result() for one in own]
            addresses = [f"{urlsplit(worker).hostname}:{port}" for worker, port in zip(workers, ports, strict=False)]
            found = []
            for place, (one, worker, job) in enumerate(zip(own, workers, jobs, strict=False)):
                # What a job is given may be large: as data, it is no part of what the scheduler keeps of the job.
                text = wire.dumps((work, (addresses, place, *job), {}))
                found.append(one.submit(_call, self._client.scatter(text, workers=[worker], hash=False)))
            return found

    def watch(self, over: Event) -> None:
        """Look after the workers until this is over."""
        alone_s = 0
        while not over.wait(1) and not self.deserted:
            with suppress(OSError, TimeoutError):
                alone_s = 0 if self._client.scheduler_info()["workers"] else alone_s + 1
                if alone_s >= GONE_S:
                    self.deserted = True
                    self._jobs.shutdown(wait=False)

    def submit(self, fn: Callable[..., Done], /, *args: Any, **kwargs: Any) -> Future[Done]:  # noqa: ANN401
        # Of what a script itself defines, as stages are, a worker's processes have nothing but what comes with the job.
        with annotate(executor=self._pools):
            return self._jobs.submit(_call, wire.dumps((fn, args, kwargs)))  # type: ignore[no-any-return]


def _free_port() -> int:
    """A port of this machine that nothing listens on."""
    with socket() as made:
        made.bind(("", 0))
        return int(made.getsockname()[1])


def _call(job: bytes) -> Any:  # noqa: ANN401 - whatever the job returns
    """Do a job that `dumps` has written."""
    work, args, kwargs = wire.loads(job)
    return work(*args, **kwargs)


@contextmanager
def connected(address: str, pool: Callable[[int], Any], folder: Path | None = None) -> Iterator[Executor]:
    """A pool of all workers of a scheduler; its jobs end with this.

    Args:
        address: of the scheduler, such as `tcp://10.0.0.1:8786`.
        pool: makes a worker's processes, see `Processes`.
        folder: a working folder that all machines have to share; None where jobs need none.

    Raises:
        ClusterError: no scheduler or worker answers, one has something else installed or not the folder, or the
            scheduler is lost, or a job's process is killed.
    """
    for name in ("distributed", "tornado"):
        logging.getLogger(name).setLevel(logging.CRITICAL + 1)  # what they say is said here in one line
    warnings.filterwarnings("ignore", module="distributed")
    try:
        client = Client(address, timeout=TIMEOUT_S, set_as_default=False)
    except (OSError, ValueError) as error:
        message = f"{address}: no scheduler of Dask answers within {TIMEOUT_S:g} s; check --address, or start one"
        raise ClusterError(message) from error
    over, made = Event(), None
    try:
        with _token(folder) as token:
            plugin = Processes(pool, folder, token)
            try:
                _register(client, address, plugin)
                made = _Cluster(client, plugin.name)
                Thread(target=made.watch, args=(over,), daemon=True).start()
                yield made
            finally:
                over.set()
                if client.status == "running":
                    with suppress(OSError, TimeoutError, ValueError, KeyError):  # of a worker that never had it
                        client.unregister_worker_plugin(plugin.name)
    except CancelledError as error:
        lost = "every worker is" if made is not None and made.deserted else "its scheduler is"
        message = f"{address}: {lost} lost; start it, and run the same again: what is kept is there"
        raise ClusterError(message) from error
    except BrokenProcessPool as error:
        raise ClusterError(f"{address}: a job's process was killed, perhaps for want of memory") from error
    except KilledWorker as error:
        message = f"{address}: {error.allowed_failures + 1} workers died of one job, perhaps for want of memory"
        raise ClusterError(message) from error
    finally:
        client.close(timeout=1)


@contextmanager
def _token(folder: Path | None) -> Iterator[Path | None]:
    """A file in the folder for as long as this runs."""
    if folder is None:
        yield None
        return
    cache = folder / ".cache"  # where what a killed run leaves bothers nobody
    with tempfile.NamedTemporaryFile(prefix="shared.", dir=cache if cache.is_dir() else folder) as file:
        yield Path(file.name)


def _register(client: Client, address: str, plugin: Processes) -> None:
    """Give every worker its pool.

    Raises:
        ClusterError: there is no worker, or one cannot have it.
    """
    try:
        client.wait_for_workers(1, timeout=TIMEOUT_S)
    except (OSError, TimeoutError) as error:
        raise ClusterError(f"{address}: has no workers; start some: dask worker {address}") from error
    try:
        client.register_plugin(plugin)
    except ClusterError:
        raise
    except Exception as error:
        said = " ".join(str(error).split())[:200]
        message = f"{address}: a worker cannot run this cachezoo ({type(error).__name__}: {said}); install it there"
        raise ClusterError(message) from error
