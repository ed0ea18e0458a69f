"""Jobs side by side: processes that end together and with what started them, and all jobs done by a pool."""

import ctypes
import os
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, Future, ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from multiprocessing import active_children, get_context, parent_process
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

from cachezoo.console import hush, progress
from cachezoo.errors import ConfigError
from cachezoo.numerals import whole

Done = TypeVar("Done")
Asked = ParamSpec("Asked")


PR_SET_PDEATHSIG = 1
JOBS = "CACHEZOO_JOBS"
"""Environment variable: how many jobs run side by side; as many as this process has cores, where it is not set."""
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

    def __init__(self, count: int, begin: Callable[[], None] | None) -> None:
        super().__init__(count, get_context("spawn"), _begin, (begin,))
        self._own: set[BaseProcess] = set()

    def submit(self, fn: Callable[Asked, Done], /, *args: Asked.args, **kwargs: Asked.kwargs) -> Future[Done]:
        others = set(active_children())
        with _interrupts_ignored():
            future = super().submit(fn, *args, **kwargs)
        self._own |= set(active_children()) - others
        return future

    def end(self) -> None:
        """End its processes at once, with the jobs that they do, and drop those that wait."""
        for process in self._own:
            process.terminate()
        self.shutdown(cancel_futures=True)


@contextmanager
def processes(count: int, begin: Callable[[], None] | None = None) -> Iterator[Executor]:
    """A pool of processes, which end with this one.

    Where what uses it fails or is interrupted, they end at once, and no other child does.

    Args:
        count: processes, at least 1.
        begin: what each does first.
    """
    with _Pool(count, begin) as pool:
        try:
            yield pool
        except BaseException:
            # Else the pool would wait for jobs whose results nobody takes.
            pool.end()
            raise


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
    futures = [pool.submit(work, *job) for job in jobs]
    try:
        with progress(title, len(jobs)) as advance:
            for done, future in enumerate(as_completed(futures)):
                future.result()
                advance(done + 1)
    except BaseException:
        # The pool is ended by who made it: one that was told to shut down without waiting can no longer be waited for.
        for future in futures:
            future.cancel()
        raise
    return [future.result() for future in futures]


def spread(title: str, work: Callable[..., Done], jobs: Sequence[tuple[Any, ...]]) -> list[Done]:
    """Do all jobs, as many at a time as `side_by_side` says; one at a time they are done in this process.

    Args, Returns: see `run_all`.
    """
    count = side_by_side(len(jobs))
    if count > 1:
        with processes(count) as pool:
            return run_all(title, pool, work, jobs)
    results = []
    with progress(title, len(jobs)) as advance:
        for job in jobs:
            results.append(work(*job))
            advance(len(results))
    return results
