"""What simulates points: a sample of a trace and the whole of it, here or in processes that hold both."""

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, as_completed
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

from cachezoo.console import progress
from cachezoo.jobs import processes
from cachezoo.questions.tiers.judged import Judged
from cachezoo.questions.tiers.response import Tiered
from cachezoo.questions.tiers.sizing.miniature import Miniature, Shares
from cachezoo.questions.tiers.sizing.points import Point
from cachezoo.questions.tiers.sizing.shared import hierarchy_of
from cachezoo.questions.tiers.sizing.whole import Whole

Done = TypeVar("Done")
FEW_ACCESSES = 500_000
"""Page accesses of a trace up to which processes take longer to begin than they save."""


@dataclass(frozen=True)
class Task:
    """A trace to be searched.

    Attributes:
        name: of the trace, for progress bars.
        miniature: a sample of it.
        whole: the trace and the devices.
    """

    name: str
    miniature: Miniature
    whole: Whole


# The task of this process: one trace at a time is in memory.
_held: list[Task] = []


def _hold(task: Task) -> None:
    _held[:] = [task]


def _sampled(points: Sequence[Point]) -> list[Shares]:
    return _held[0].miniature.shares(points)


def _in_full(points: Sequence[Point]) -> list[Tiered]:
    return _held[0].whole.chosen(points)


def _judged(points: Sequence[Point]) -> list[Judged]:
    return _held[0].whole.judged(points)


def by_ram(points: Sequence[Point]) -> list[list[Point]]:
    """The points in groups whose RAM runs the same, which is then simulated once."""
    groups = defaultdict(list)
    for point in points:
        groups[hierarchy_of(point.hierarchy).ram, point.ram_pages].append(point)
    return list(groups.values())


class Runner:
    """Simulates points of a task."""

    def __init__(self, task: Task, pool: Executor | None) -> None:
        """Take a task; without a pool it is run here."""
        self._task, self._pool = task, pool
        if pool is None:
            _hold(task)

    def sampled(self, points: Sequence[Point]) -> dict[Point, Shares]:
        """What each point does in the half that chooses, by the sample."""
        return self._run("sampled", _sampled, by_ram(points))

    def in_full(self, points: Sequence[Point], note: Callable[[Point, Tiered], None]) -> dict[Point, Tiered]:
        """What each point does in the half that chooses, with all pages.

        Args:
            points: what to simulate.
            note: told each point as soon as it is done, so that an interrupt loses little.
        """
        return self._run("simulated", _in_full, by_ram(points), note)

    def judged(self, points: Sequence[Point]) -> dict[Point, Judged]:
        """What each point does in the half that judges."""
        return self._run("judged", _judged, by_ram(points))

    def _run(
        self,
        what: str,
        work: Callable[[Sequence[Point]], list[Done]],
        groups: list[list[Point]],
        note: Callable[[Point, Done], None] | None = None,
    ) -> dict[Point, Done]:
        found = dict[Point, Done]()
        count = sum(map(len, groups))
        with progress(f"{self._task.name}: {count} points {what}", count) as advance:
            for group, done in self._done(work, groups):
                for point, own in zip(group, done, strict=True):
                    found[point] = own
                    if note is not None:
                        note(point, own)
                advance(len(found))
        return found

    def _done(
        self, work: Callable[[Sequence[Point]], list[Done]], groups: list[list[Point]]
    ) -> Iterator[tuple[list[Point], list[Done]]]:
        """Groups with their results, as they get ready."""
        if self._pool is None:
            yield from ((group, work(group)) for group in groups)
            return
        futures = {self._pool.submit(work, group): group for group in groups}
        yield from ((futures[future], future.result()) for future in as_completed(futures))


@contextmanager
def runner(task: Task, workers: int) -> Iterator[Runner]:
    """A runner with so many processes; of a short trace, or with one worker, none but this one."""
    if workers == 1 or len(task.whole.stream.write) <= FEW_ACCESSES:
        yield Runner(task, None)
        return
    with processes(workers, partial(_hold, task)) as pool:
        yield Runner(task, pool)
