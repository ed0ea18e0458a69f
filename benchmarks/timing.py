"""How long something takes: the least of several runs."""

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


def least(run: Callable[[], T], repeats: int, clock: Callable[[], float] = time.process_time) -> tuple[float, T]:
    """Seconds of the fastest of several runs by a clock, and what the last one gave."""
    seconds = []
    for _ in range(repeats):
        start = clock()
        found = run()
        seconds.append(clock() - start)
    return min(seconds), found


def compiled(run: Callable[[], T], repeats: int) -> tuple[float, T]:
    """The same after a run that compiles."""
    run()
    return least(run, repeats)
