"""Jobs side by side: processes that end together, and all jobs done by a pool, their results in their order."""

import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, Future, ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from multiprocessing import active_children, get_context
from multiprocessing.process import BaseProcess
from typing import Any, ParamSpec, TypeVar

from cachezoo.console import progress

Done = TypeVar("Done")
Asked = ParamSpec("Asked")


class _Pool(ProcessPoolExecutor):
    """A pool that knows its own processes, which begin when jobs are handed in."""

    def __init__(self, count: int, begin: Callable[[], None] | None) -> None:
        super().__init__(count, get_context("spawn"), begin)
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
    """A pool of processes; where what uses it fails or is interrupted, they end at once, and no other child does.

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
