"""A pool of processes that die with this one."""

from concurrent.futures import Executor
from contextlib import AbstractContextManager

from cachezoo.jobs import processes
from cachezoo.stage import die_with_parent


def workers(jobs: int = 2) -> AbstractContextManager[Executor]:
    """A pool of so many processes, see `cachezoo.jobs.processes`; they end too where this process is killed."""
    return processes(jobs, die_with_parent)
