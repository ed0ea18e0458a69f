"""What a page's template is given: texts, tables and figures, every number with the value it was made from."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

UNIT_SPACE = "\N{NO-BREAK SPACE}"
MINUS = "\N{MINUS SIGN}"
NONE = "\N{EN DASH}"


@dataclass(frozen=True)
class Cell:
    """A table's cell.

    Attributes:
        text: as shown.
        value: the number it was made from, as the metrics have it; None for a text.
        note: in small type below.
        link: where the text leads, or empty.
        tone: `good`, `bad`, `unsure` or empty; the text says the same, colour only helps.
        code: the text is an id or a command.
    """

    text: str
    value: float | None = None
    note: str = ""
    link: str = ""
    tone: str = ""
    code: bool = False


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


@dataclass(frozen=True)
class Figure:
    """A plot: its file beside the page, what a reader who cannot see it is told, and its caption."""

    file: str
    alt: str
    caption: str


@dataclass(frozen=True)
class Drawing:
    """A plot inside the page: an `<svg>` element of `cachezoo.pages.drawing.svg`, what is told of it, its caption."""

    svg: str
    alt: str
    caption: str


@dataclass(frozen=True)
class Choice:
    """What to run, in a box of its own.

    Attributes:
        title: where: `Page cache`.
        answer: what: the id of a policy or bundle, with its size; shown large.
        verdict: whether to do it, in a few words.
        tone: `good`, `bad`, `unsure` or empty; the verdict says the same, colour only helps.
        texts: why; one line each.
        code: lines to copy, or empty.
        link: where the answer leads, or empty.
    """

    title: str
    answer: str
    verdict: str
    tone: str = ""
    texts: Sequence[str] = ()
    code: str = ""
    link: str = ""


@dataclass(frozen=True)
class Section:
    """A part of the page; what it holds is texts, choices, tables, figures, HTML, parts.

    Attributes:
        id: anchor.
        title: heading.
        texts: paragraphs.
        tables: below them, and below the choices.
        figures: files beside the page, or drawings in it.
        html: trusted HTML, made by this package from escaped text.
        parts: sections within, one below the other.
        folded: its body is shown when it is opened.
        choices: what to run, side by side where there is room.
    """

    id: str
    title: str
    texts: Sequence[str] = ()
    tables: Sequence[Table] = ()
    figures: Sequence[Figure | Drawing] = ()
    html: str = ""
    parts: Sequence["Section"] = field(default_factory=tuple)
    folded: bool = False
    choices: Sequence[Choice] = ()


def number(value: float, digits: int = 0, signed: bool = False) -> str:
    """`1,234.5`, with a true minus; what rounds to zero has no sign."""
    text = f"{value:{'+' if signed else ''},.{digits}f}"
    if not any(digit in text for digit in "123456789"):
        text = text.lstrip("+-")
    return text.replace("-", MINUS)


def percent(value: float, digits: int = 1, signed: bool = False) -> str:
    """A share as `12.3 %`."""
    return f"{number(100 * value, digits, signed)}{UNIT_SPACE}%"


def points(value: float) -> str:
    """A difference of hit ratios, given in points of 0.01."""
    return f"{number(value, 1, signed=True)}{UNIT_SPACE}points"


def span(ends: Sequence[float] | None, digits: int = 0, scale: float = 100) -> str:
    """The 90 % interval `[low, high]` in the unit of the figure it stands beside; empty where there is none."""
    return "" if ends is None else f"[{number(scale * ends[0], digits)}, {number(scale * ends[1], digits)}]"


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


def words(items: Sequence[str]) -> str:
    """`a, b and c`."""
    return " and ".join([", ".join(items[:-1]), items[-1]] if len(items) > 1 else list(items))
