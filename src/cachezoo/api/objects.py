"""Caches of objects from Python: what `simulate`, `compare`, `curve`, `recommend` and `flash` do with such a trace."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from cachezoo.api.results import Result
from cachezoo.cli import objects as command
from cachezoo.errors import TraceError
from cachezoo.questions.objects.answer import lines
from cachezoo.questions.objects.recommendation import Aim
from cachezoo.questions.objects.recommendation import recommend as recommended
from cachezoo.questions.page.sentences import SAVED
from cachezoo.sizes import Size
from cachezoo.traces.objects import Either, ObjectTrace
from cachezoo.traces.read import replayed
from cachezoo.traces.store import NO_ADDRESSES
from cachezoo.traces.table import Trace

if TYPE_CHECKING:
    from cachezoo.questions.flash.options import FlashOptions

SAVED_AS = f"{SAVED}.parquet"  # canonical: a command needs no word on how to read it


def asked(
    trace: ObjectTrace, ignore: str | None, first: int | None = None, writes: str = "back", count: str = "half",
    of_pages: Mapping[str, bool] | None = None,
) -> command.Asked:  # fmt: skip
    """A trace of objects, and how it is to be taken; `of_pages` says which options of pages were given.

    Raises:
        ConfigError: one was, or a cache cannot heed what `ignore` says.
    """
    command.refuse_of_pages(of_pages or {})
    taken = command.first_of(trace, first)
    return command.Asked(taken, trace.meta.trace_id, command.rules_of(ignore, writes), count)


def addressed(trace: Either, *, each_access: bool = True) -> Trace:
    """A trace for what needs addresses; rows that stand for several accesses as so many requests where wanted.

    Raises:
        TraceError: its requests are of objects.
    """
    if isinstance(trace, ObjectTrace):
        raise TraceError(f"{trace.meta.trace_id}: {NO_ADDRESSES}")
    return replayed(trace) if each_access else trace


def _result(title: str, found: command.Answer, name: str, says: Sequence[str] = ()) -> Result:
    def draw(path: Path) -> None:
        command.draw(path, found.bench, found.rows, name)

    return Result(title, found.values, found.rows, says, found.bench, draw)


def simulate(own: command.Asked, policies: Sequence[str], sizes: Sequence[Size]) -> Result:
    """As `cachezoo.simulate`."""
    found = command.simulated(own, policies, sizes)
    return _result(f"{', '.join(found.values['policies'])} on {own.name}", found, own.name)


def compare(own: command.Asked, policies: Sequence[str], every: bool, sizes: Sequence[Size]) -> Result:
    """As `cachezoo.compare`."""
    found = command.compared(own, policies, every or not policies, sizes)
    best = dict.fromkeys(run["best_classic"] for run in found.values["runs"] if run["best_classic"] is not None)
    says = [f"best classic with defaults: {', '.join(best)}"] if best else []
    return _result(f"{len(found.rows) // len(sizes)} caches on {own.name}", found, own.name, says)


def curve(own: command.Asked, policies: Sequence[str], points: int, sizes: Sequence[Size]) -> Result:
    """As `cachezoo.curve`."""
    return _result(f"{own.name}: object and byte hit ratio", command.measured(own, policies, points, sizes), own.name)


def flash(own: command.Asked, options: "FlashOptions", chosen: bool) -> Result:
    """As `cachezoo.flash`; `chosen` says whether its policies were named."""
    bench, found = command.flashed(own, options, chosen)
    values = command.flash_values(own.name, found)
    title = f"{own.name}: a flash cache of objects before hard disks"
    return Result(title, values, values["rows"], command.leads_of(bench, found), found)


def recommend(own: command.Asked, aim: Aim, name: str, *, piped: bool) -> Result:
    """As `cachezoo.recommend`; `name` and `piped` are those of `pages.named`."""
    found = recommended(own.trace, own.rules, aim)
    values = {"trace": name, **found.values()}
    says = [f"{label}: {text}" for label, text in lines(found, SAVED_AS if piped else name)]
    if piped and found.useful:
        says[-1] += f" (save the trace as {SAVED_AS} first)"
    return Result(f"Which cache for {name}?", values, values["sizes"], says, found)
