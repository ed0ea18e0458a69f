"""Jobs side by side: all of them done by a pool, their results in their order."""

from collections.abc import Callable, Sequence
from concurrent.futures import Executor, as_completed
from typing import Any, TypeVar

from cachezoo.console import progress

Done = TypeVar("Done")


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
        pool.shutdown(wait=False, cancel_futures=True)
        raise
    return [future.result() for future in futures]
