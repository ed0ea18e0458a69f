"""What a page's template is given besides tables: figures, boxes with what to run, and sections of these and texts."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from cachezoo.show.table import Table

LEAST = re.compile(r"min-width:(\d+)px")  # of a drawing
PHONE_PX = 366  # of a column on a phone


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

    @property
    def fits(self) -> bool:
        """Whether a phone shows all of it."""
        return all(int(least) <= PHONE_PX for least in LEAST.findall(self.svg))


@dataclass(frozen=True)
class Choice:
    """What to run, in a box of its own."""

    title: str  # where: `Page cache`
    answer: str  # what: the id of a policy or bundle, with its size; shown large
    verdict: str  # whether to do it, in a few words
    tone: str = ""  # `good`, `bad`, `unsure` or empty; the verdict says the same, colour only helps
    texts: Sequence[str] = ()  # why; one line each
    code: str = ""  # lines to copy, or empty
    link: str = ""  # where the answer leads, or empty


@dataclass(frozen=True)
class Section:
    """A part of the page; what it holds is texts, choices, tables, figures, HTML, parts."""

    id: str  # anchor
    title: str  # heading
    texts: Sequence[str] = ()  # paragraphs
    tables: Sequence[Table] = ()  # below them, and below the choices
    figures: Sequence[Figure | Drawing] = ()  # files beside the page, or drawings in it
    html: str = ""  # trusted HTML, made by this package from escaped text
    parts: Sequence["Section"] = field(default_factory=tuple)  # sections within, one below the other
    folded: bool = False  # its body is shown when it is opened
    choices: Sequence[Choice] = ()  # what to run, side by side where there is room
