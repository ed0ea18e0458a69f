"""A table of results, every number with the value that it was made from."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from cachezoo.show.formats import NONE, number, percent, span


@dataclass(frozen=True)
class Cell:
    """A table's cell."""

    text: str  # as shown
    value: float | None = None  # the number it was made from, as the metrics have it; None for a text
    note: str = ""  # in small type below
    link: str = ""  # where the text leads, or empty
    tone: str = ""  # `good`, `bad`, `unsure` or empty; the text says the same, colour only helps
    code: bool = False  # the text is an id or a command


@dataclass(frozen=True)
class Column:
    """A table's column: its title, what it is, and whether it holds numbers."""

    title: str
    hint: str = ""
    numeric: bool = True


@dataclass(frozen=True)
class Table:
    """A table; the first cell of each row names it."""

    caption: str
    columns: Sequence[Column]
    rows: Sequence[Sequence[Cell]]


def text_table(caption: str, heads: Sequence[str], rows: Iterable[Sequence[str]], left: int | None = None) -> Table:
    """A table of texts.

    Args:
        caption: what it shows.
        heads: titles of its columns; without a header where all are empty.
        rows: a text a column.
        left: how many columns, from the first, hold no numbers; None: all.
    """
    columns = [Column(head, numeric=left is not None and place >= left) for place, head in enumerate(heads)]
    return Table(caption, columns, [list(map(Cell, row)) for row in rows])


def share_cell(value: float | None, ends: Sequence[float] | None = None, digits: int = 1) -> Cell:
    """A share with its interval."""
    return Cell(NONE) if value is None else Cell(percent(value, digits), value, span(ends, digits))


def number_cell(value: float | None, digits: int = 0, ends: Sequence[float] | None = None, **more: Any) -> Cell:  # noqa: ANN401
    """A number with its interval."""
    if value is None:
        return Cell(NONE)
    return Cell(number(value, digits), value, span(ends, digits, 1), **more)


def name_cell(text: str, link: str = "", note: str = "") -> Cell:
    """An id."""
    return Cell(text, note=note, link=link, code=True)
