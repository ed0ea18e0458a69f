"""A pool of processes that die with this one."""

from collections.abc import Iterator
from concurrent.futures import Executor, ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing import active_children, get_context

from cachezoo.stage import die_with_parent


@contextmanager
def workers(jobs: int = 2) -> Iterator[Executor]:
    """A pool of so many processes; where what uses it fails, they end at once."""
    with ProcessPoolExecutor(jobs, get_context("spawn"), die_with_parent) as pool:
        try:
            yield pool
        except BaseException:
            # Else the pool would wait for jobs whose results nobody takes.
            for worker in active_children():
                worker.terminate()
            raise
