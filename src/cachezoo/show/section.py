"""What a page's template is given besides tables: figures, boxes with what to run, and sections of these and texts."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from cachezoo.show.table import Table


@dataclass(frozen=True)
class Figure:
    """A plot: its file beside the page, what a reader who cannot see it is told, and its caption."""

    file: str
    alt: str
    caption: str


@dataclass(frozen=True)
class Drawing:
    """A plot inside the page: an `<svg>` element of `cachezoo.show.drawing.svg`, what is told of it, its caption."""

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
