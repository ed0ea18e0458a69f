"""Steps of a long work side by side: each in a thread of its own, one thing at a time, in order."""

from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import Generic, TypeVarTuple

Things = TypeVarTuple("Things")


class _Step(Generic[*Things]):
    """A step, and what it is doing."""

    def __init__(self, work: Callable[[*Things], None], pool: ThreadPoolExecutor) -> None:
        self._work, self._pool = work, pool
        self._doing: Future[None] | None = None

    def give(self, *things: *Things) -> None:
        """Begin the next thing as soon as the one before is done, so that never more than one waits in memory.

        Raises:
            Exception: what the one before raised.
        """
        self.wait()
        self._doing = self._pool.submit(self._work, *things)

    def wait(self) -> None:
        """Wait until all that was given is done.

        Raises:
            Exception: what the last raised.
        """
        doing, self._doing = self._doing, None
        if doing is not None:
            doing.result()


@contextmanager
def aside(work: Callable[[*Things], None]) -> Iterator[Callable[[*Things], None]]:
    """Do a step of a work in a thread, which has ended when this block ends, however it ends.

    What goes wrong is what would go wrong without threads: an error in what was given before comes first.

    Args:
        work: the step; what it is given no other thread may touch, and big work in it must let other threads run.

    Yields:
        What takes the next thing, and returns when the one before is done; raises what that raised.
    """
    with ThreadPoolExecutor(1) as pool:
        step = _Step(work, pool)
        try:
            yield step.give
        except Exception:
            step.wait()
            raise
        step.wait()
