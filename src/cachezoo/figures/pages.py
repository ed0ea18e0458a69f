"""What people are shown of the figures: tables in the terminal, and the claims on a page of docs/."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from cachezoo.errors import CachezooError
from cachezoo.evaluation.results import printed
from cachezoo.figures.finding import Figure, Finding, shown
from cachezoo.figures.listed import FIGURES, Listed
from cachezoo.io import atomic_file
from cachezoo.metrics.files import MAKE, present, read
from cachezoo.view import Cell, Column, Table

if TYPE_CHECKING:
    from rich.table import Table as Printed

PAGE = Path("docs/figures.md")
BEGIN, END = "<!-- figures -->\n", "<!-- end of figures -->\n"


def read_figures() -> list[tuple[Listed, Figure]]:
    """Every figure as the stage rcrnn wrote it.

    Raises:
        CachezooError: one is missing or damaged.
    """
    return [(listed, read(listed.file, listed.type, MAKE)) for listed in FIGURES]


def findings(figures: Sequence[Figure]) -> Table:
    """Every claim of every figure and its verdict."""
    heads = ("figure", "the paper", "held against it", "paper", "here", "at our size", "verdict")
    rows = [
        [Cell(figure.source), Cell(one.claim), Cell(one.measured), Cell(_bound(one)), Cell(one.shown, one.ours),
         Cell(shown(one.own_size, one.unit) if one.own_size is not None else ""), Cell(one.judged)]
        for figure in figures for one in figure.findings
    ]  # fmt: skip
    numeric = {"paper", "here", "at our size"}
    columns = [Column(one, numeric=one in numeric) for one in heads]
    return Table("The paper's claims, and whether they hold here", columns, rows)


def _bound(one: Finding) -> str:
    return f"{'≤' if one.at_most else '≥'} {shown(one.bound, one.unit)}"


def tables(figures: Sequence[tuple[Listed, Figure]]) -> list["Printed"]:
    """A table a figure, and the claims."""
    return [*(printed(listed.table(one)) for listed, one in figures), printed(findings([one for _, one in figures]))]


def markdown(figures: Sequence[Figure]) -> str:
    """The claims as a table of docs/figures.md."""
    table = findings(figures)
    lines = [f"| {' | '.join(column.title for column in table.columns)} |"]
    lines.append(f"|{'|'.join('---:' if column.numeric else '---' for column in table.columns)}|")
    lines += [f"| {' | '.join(cell.text.replace('|', chr(92) + '|') for cell in row)} |" for row in table.rows]
    return "\n".join(lines) + "\n"


def with_claims(text: str, figures: Sequence[Figure]) -> str:
    """docs/figures.md with the claims between its marks.

    Raises:
        CachezooError: it has no marks.
    """
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        message = f"{PAGE}: has no lines {BEGIN.strip()} and {END.strip()}; get it from Git"
        raise CachezooError(message)
    return f"{before}{BEGIN}\n{markdown(figures)}\n{END}{after}"


def write_page(figures: Sequence[Figure]) -> None:
    """Put the claims into docs/figures.md.

    Raises:
        CachezooError: it is missing, has no marks, or cannot be written.
    """
    text = with_claims(present(PAGE, "git checkout docs/figures.md").read_text(encoding="utf-8"), figures)
    with atomic_file(PAGE) as temporary:
        temporary.write_text(text, encoding="utf-8")
