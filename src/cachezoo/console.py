"""What people see: one console, progress bars with ETA, plain lines where there is no terminal.

Names of files and texts of traces may hold what a terminal takes for a command. Whatever is printed is `plain`.
"""

import os
import re
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from typing import TYPE_CHECKING, Protocol, TextIO

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, ConsoleRenderable, RenderResult

PLAIN_INTERVAL_S = 10.0
TOLD_SHARE, LONG_TOLD_SHARE, LONG_S = 0.1, 0.05, 60.0
"""Of the work, before which no time to go is said, as first steps compile and read what others reuse; of work that has
taken this long, the lesser share."""
WIDTH = 160  # characters of a table that nothing limits


# Control characters, marks that turn the direction of writing, and what bytes that are no UTF-8 are decoded to.
UNPRINTABLE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
PICTURES, DELETE, PICTURE_OF_DELETE, UNKNOWN = 0x2400, "\x7f", "\u2421", "\ufffd"
UNIT_SPACE = "\N{NO-BREAK SPACE}"  # which pages have before units


def plain(text: str) -> str:
    """A text without what a terminal obeys: pictures in place of control characters (``␛`` of an ESC), plain spaces."""
    return UNPRINTABLE.sub(_picture, text.replace(UNIT_SPACE, " "))


def _picture(found: re.Match[str]) -> str:
    if found[0] == DELETE:
        return PICTURE_OF_DELETE
    return chr(PICTURES + ord(found[0])) if found[0] < " " else UNKNOWN


def complain(text: str) -> None:
    """Say a line on standard error."""
    sys.stderr.write(f"{plain(text)}\n")


def drop_lost_output() -> None:
    """Forget what standard output does not take; else the interpreter tries again as it ends, and says so in lines."""
    output: TextIO | None = sys.stdout  # None where it was closed before the interpreter began
    if output is None:
        return
    try:
        output.flush()
    except OSError:
        with suppress(OSError):
            output.close()


class _Plain:
    """Something to print, each of whose texts is plain."""

    def __init__(self, own: "ConsoleRenderable") -> None:
        self._own = own

    def __rich_console__(self, console: "Console", options: "ConsoleOptions") -> "RenderResult":
        for segment in console.render(self._own, options):
            yield segment if segment.control else segment._replace(text=plain(segment.text))


def _console(*, stderr: bool = False, width: int | None = None) -> "Console":
    from rich.console import Console, RenderHook

    class Hook(RenderHook):
        def process_renderables(self, renderables: "list[ConsoleRenderable]") -> "list[ConsoleRenderable]":
            return [_Plain(one) for one in renderables]

    console = Console(stderr=stderr, highlight=False, width=width)
    console.push_render_hook(Hook())
    return console


class Advance(Protocol):
    """Reports progress: `advance(done, note)` with the work done so far."""

    def __call__(self, done: float, note: str = "") -> None:
        """Say that `done` units are finished."""


@cache
def err() -> "Console":
    """The console on standard error, for progress and notes; results go to standard output."""
    return _console(stderr=True)


@cache
def out() -> "Console":
    """The console on standard output, for results; not a terminal, it is as wide as COLUMNS says or a report needs."""
    console = _console()
    return console if console.is_terminal or asked_width() else _console(width=WIDTH)


def wide_err(width: int) -> "Console":
    """As `err`, and so wide where it is no terminal and nobody says how wide it is."""
    return err() if err().is_terminal or asked_width() else _console(stderr=True, width=width)


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
            task = bar.add_task(plain(title), total=total, note="")
            yield lambda done, note="": bar.update(task, completed=done, note=plain(note))
        return
    start = last = time.monotonic()

    def say(done: float, note: str = "") -> None:
        nonlocal last
        now = time.monotonic()
        if now - last >= PLAIN_INTERVAL_S and done > 0:
            last = now
            least = LONG_TOLD_SHARE if now - start >= LONG_S else TOLD_SHARE
            told = eta and done >= least * total
            rest = f", {(now - start) * (total - done) / done:.0f} s to go" if told else ""
            noted = f"{'; ' if told else ', '}{note}" if note else ""
            err().print(f"{title}: {100 * done / total:.0f} %{rest}{noted}", markup=False, soft_wrap=True)

    yield say
