"""Jobs side by side: processes that end together and with what started them, and all jobs done by a pool.

The pool is of this machine, or of the machines of a Dask cluster, as CACHEZOO_ENGINE says. No result depends on it. A
job may itself be done by several machines of a cluster, `together`, where its settings say by how many.
"""

import ctypes
import os
import re
import signal
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import BrokenExecutor, CancelledError, Executor, Future, ProcessPoolExecutor, as_completed
from contextlib import contextmanager, suppress
from functools import partial
from multiprocessing import active_children, get_context, parent_process
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

from cachezoo.console import hush, progress
from cachezoo.errors import CachezooError, ClusterError, ConfigError
from cachezoo.numerals import whole
from cachezoo.pinned import PINNED

Done = TypeVar("Done")
Asked = ParamSpec("Asked")


PR_SET_PDEATHSIG = 1
JOBS = "CACHEZOO_JOBS"
"""Environment variable: how many jobs run side by side; as many as this process has cores, where it is not set."""
ENGINE, SCHEDULER = "CACHEZOO_ENGINE", "CACHEZOO_SCHEDULER"
"""Environment variables: `local` or `dask`, what does jobs; and the address of Dask's scheduler."""
LOCAL, DASK = "local", "dask"
ADDRESS = re.compile(r"(tcp|tls|ws|wss)://[^\s/]+:[0-9]{1,5}")
DVC_STAGE = "DVC_STAGE"
"""Environment variable that DVC sets for the commands of stages."""
START_TIME = 19  # place of a process's start among the figures of /proc/<pid>/stat that follow its name


def started_by() -> tuple[int, int]:
    """The process that started this one: its id, and when it began in ticks."""
    parent = os.getppid()
    try:
        figures = Path(f"/proc/{parent}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
    except OSError:  # it has ended
        return parent, 0
    return parent, int(figures[START_TIME])


def die_with_parent() -> None:
    """Let the kernel end this process when its parent dies, whatever it does then; at once if the parent has died.

    So no stage outlives a killed `dvc repro`, which starts a command by the user's shell: `exec` in dvc.yaml lets each
    shell put the command in its own place. And no process of a pool outlives what made the pool.
    """
    if ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    if _is_orphan():
        os.kill(os.getpid(), signal.SIGKILL)


def _is_orphan() -> bool:
    """Whether the parent died before the kernel knew what to do then.

    Of a pool's process the parent is known. DVC and its commands are of one session, and whoever takes in a process
    without a parent is of another, or the first of all, with which every process ends.
    """
    maker = parent_process()
    if maker is not None:
        return os.getppid() != maker.pid
    try:
        return DVC_STAGE in os.environ and os.getsid(os.getppid()) != os.getsid(0)
    except ProcessLookupError:
        return True


def side_by_side(count: int) -> int:
    """How many of so many jobs run at once.

    Raises:
        ConfigError: CACHEZOO_JOBS is no number.
    """
    asked = os.environ.get(JOBS, "")
    if asked and (whole(asked) or 0) < 1:
        raise ConfigError(f"{JOBS}={asked}: is no number of jobs; give 1 or more")
    return min(count, int(asked) if asked else len(os.sched_getaffinity(0)))


def _begin(more: Callable[[], None] | None) -> None:
    """What a process of a pool does first."""
    die_with_parent()
    hush()
    if more is not None:
        more()


class _Pool(ProcessPoolExecutor):
    """A pool that knows its own processes, which begin when jobs are handed in."""

    def __init__(self, count: int, begin: Callable[[], None] | None, env: Mapping[str, str]) -> None:
        super().__init__(count, get_context("spawn"), _begin, (begin,))
        self._own: set[BaseProcess] = set()
        self._env = env

    def submit(self, fn: Callable[Asked, Done], /, *args: Asked.args, **kwargs: Asked.kwargs) -> Future[Done]:
        others = set(active_children())
        with _interrupts_ignored(), _environment(self._env):
            future = super().submit(fn, *args, **kwargs)
        self._own |= set(active_children()) - others
        return future

    def end(self) -> None:
        """End its processes at once, with the jobs that they do, and drop those that wait."""
        for process in self._own:
            process.terminate()
        self.shutdown(cancel_futures=True)


@contextmanager
def processes(
    count: int, begin: Callable[[], None] | None = None, env: Mapping[str, str] | None = None
) -> Iterator[Executor]:
    """A pool of processes, which end with this one.

    Where what uses it fails or is interrupted, they end at once, and no other child does.

    Args:
        count: processes, at least 1.
        begin: what each does first.
        env: environment variables of theirs.
    """
    with _Pool(count, begin, env or {}) as pool:
        try:
            yield pool
        except BaseException:
            # Else the pool would wait for jobs whose results nobody takes.
            pool.end()
            raise


def scheduler() -> str | None:
    """The address of Dask's scheduler, where it does the jobs; None where this machine does.

    Raises:
        ConfigError: CACHEZOO_ENGINE is neither of its words, or CACHEZOO_SCHEDULER is no address.
    """
    engine, address = os.environ.get(ENGINE) or LOCAL, os.environ.get(SCHEDULER, "")
    if engine not in (LOCAL, DASK):
        raise ConfigError(f"{ENGINE}={engine}: is no engine; give {LOCAL} or {DASK}")
    if engine == DASK and not ADDRESS.fullmatch(address):
        given = f"{SCHEDULER}={address}: is no address" if address else f"{ENGINE}={DASK}: needs its scheduler"
        raise ConfigError(f"{given}; give --address or {SCHEDULER}, tcp://HOST:8786")
    return address if engine == DASK else None


@contextmanager
def workers(
    count: int, begin: Callable[[], None] | None = None, env: Mapping[str, str] | None = None, *, shared: bool = False
) -> Iterator[Executor]:
    """A pool of processes, of this machine or of a cluster, as CACHEZOO_ENGINE says.

    Args:
        count: processes here, at least 1; a cluster's workers have as many as threads.
        begin: as of `processes`.
        env: as of `processes`; those of a cluster begin in the stages' environment.
        shared: whether jobs read and write below the working folder, which a cluster's machines then have to share.

    Raises:
        ConfigError: see `scheduler`.
        ClusterError: see `cachezoo.cluster.connected`.
    """
    address = scheduler()
    if address is None:
        with processes(count, begin, env) as pool:
            yield pool
        return
    try:
        from cachezoo.cluster import connected
    except ModuleNotFoundError as error:
        raise ClusterError(f"{error.name} is not installed: pip install '.[cluster]' on every machine") from error
    folder = Path.cwd()
    own = partial(_Pool, begin=partial(_enter, folder, begin), env={**PINNED, **(env or {}), ENGINE: LOCAL})
    with connected(address, own, folder if shared else None) as pool:
        yield pool


def _enter(folder: Path, begin: Callable[[], None] | None) -> None:
    """Work where the one that asked works, if that is here."""
    with suppress(OSError):
        os.chdir(folder)
    if begin is not None:
        begin()


@contextmanager
def _environment(env: Mapping[str, str]) -> Iterator[None]:
    """Processes that begin here have these variables."""
    before = {name: os.environ.get(name) for name in env}
    os.environ.update(env)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


@contextmanager
def _interrupts_ignored() -> Iterator[None]:
    """Processes that begin here leave Ctrl-C to this one, which ends them; else each would print a traceback."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def run_all(title: str, pool: Executor, work: Callable[..., Done], jobs: Sequence[tuple[Any, ...]]) -> list[Done]:
    """Do all jobs.

    Args:
        title: of the progress bar.
        pool: what runs them.
        work: called with each job's arguments.
        jobs: arguments.

    Returns:
        Results in the jobs' order, whichever ends first.
    """
    return _all_done(title, [pool.submit(work, *job) for job in jobs])


def _all_done(title: str, futures: Sequence[Future[Done]]) -> list[Done]:
    """The results of jobs that are handed in, in their order; where one fails the others are cancelled."""
    try:
        with progress(title, len(futures)) as advance:
            for done, future in enumerate(as_completed(futures)):
                future.result()
                advance(done + 1)
    except BaseException:
        # The pool is ended by who made it: one that was told to shut down without waiting can no longer be waited for.
        for future in futures:
            future.cancel()
        raise
    return [future.result() for future in futures]


def together(title: str, work: Callable[..., Done], jobs: Sequence[tuple[Any, ...]]) -> list[Done]:
    """Do jobs that talk to each other, all at once, each on a worker of a Dask cluster of its own.

    Args:
        title: of the progress bar.
        work: called with the addresses `HOST:PORT` that the jobs may listen on, the job's place among them, and its
            arguments.
        jobs: arguments.

    Returns:
        Results in the jobs' order.

    Raises:
        ConfigError: there is no cluster.
        ClusterError: it has fewer workers, or one of the jobs failed or was lost; see also `workers`.
    """
    if scheduler() is None:
        message = f"a stage with {ENGINE}={DASK} alone trains on {len(jobs)} machines; set machines to 1 in conf/fit"
        raise ConfigError(f"{title}: {message}")
    with workers(len(jobs)) as pool:
        try:
            return _all_done(title, pool.together(work, jobs))  # type: ignore[attr-defined]
        except (CachezooError, BrokenExecutor, CancelledError, KeyboardInterrupt):
            raise
        except Exception as error:  # the libraries', where what a job listens to has ended
            said = " ".join(str(error).split())[:200]
            message = f"{title}: machines that train together lost each other ({said}); run the same again"
            raise ClusterError(message) from error


def spread(
    title: str, work: Callable[..., Done], jobs: Sequence[tuple[Any, ...]], *, one_by_one: bool = False
) -> list[Done]:
    """Do all jobs of a stage, on a cluster or as many at a time as `side_by_side` says.

    One at a time they are done in this process.

    Args:
        title: of the progress bar.
        work: called with each job's arguments.
        jobs: arguments.
        one_by_one: whether each takes a whole cluster, see `together`.

    Returns:
        See `run_all`.
    """
    count = 1 if one_by_one else side_by_side(len(jobs))
    if count > 1 or (jobs and not one_by_one and scheduler() is not None):
        with workers(count, shared=True) as pool:
            return run_all(title, pool, work, jobs)
    results = []
    with progress(title, len(jobs)) as advance:
        for job in jobs:
            results.append(work(*job))
            advance(len(results))
    return results
