"""What people see: one console, progress bars with ETA, plain lines where there is no terminal."""

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from rich.console import Console

PLAIN_INTERVAL_S = 10.0
TOLD_SHARE, TOLD_S = 0.1, 60.0
"""Of the work and of time: before both no time to go is told, as first steps compile and read what others reuse."""
WIDTH = 160  # characters of a table that nothing limits


class Advance(Protocol):
    """Reports progress: `advance(done, note)` with the work done so far."""

    def __call__(self, done: float, note: str = "") -> None:
        """Say that `done` units are finished."""


@cache
def err() -> "Console":
    """The console on standard error, for progress and notes; results go to standard output."""
    from rich.console import Console

    return Console(stderr=True, highlight=False)


@cache
def out() -> "Console":
    """The console on standard output, for results; not a terminal, it is as wide as COLUMNS says or a report needs."""
    from rich.console import Console

    console = Console(highlight=False)
    return console if console.is_terminal or asked_width() else Console(highlight=False, width=WIDTH)


def asked_width() -> bool:
    """Whether COLUMNS says how wide tables are to be, which rich then takes them to be."""
    return os.environ.get("COLUMNS", "").isdecimal()


_HUSHED: list[bool] = []


def hush() -> None:
    """Show no progress in this process: the one that it works for shows how many such jobs have ended."""
    _HUSHED.append(True)


@contextmanager
def progress(title: str, total: float, eta: bool = True) -> Iterator[Advance]:
    """A progress bar on a terminal; elsewhere a plain line at most every ten seconds.

    Args:
        title: what is done.
        total: its units.
        eta: say how long the rest takes at the pace so far, once that is known; without it the notes have to.
    """
    if _HUSHED:
        yield lambda done, note="": None
        return
    if err().is_terminal:
        from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

        columns = (
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            TimeElapsedColumn(),
            *([TimeRemainingColumn()] if eta else []),
            TextColumn("{task.fields[note]}", markup=False),
        )
        with Progress(*columns, console=err()) as bar:
            task = bar.add_task(title, total=total, note="")
            yield lambda done, note="": bar.update(task, completed=done, note=note)
        return
    start = last = time.monotonic()

    def plain(done: float, note: str = "") -> None:
        nonlocal last
        now = time.monotonic()
        if now - last >= PLAIN_INTERVAL_S and done > 0:
            last = now
            told = eta and (done >= TOLD_SHARE * total or now - start >= TOLD_S)
            rest = f"{(now - start) * (total - done) / done:.0f} s to go " if told else ""
            said = f"{title}: {100 * done / total:.0f} %, {rest}{note}".rstrip(", ")
            err().print(said, markup=False, soft_wrap=True)

    yield plain
