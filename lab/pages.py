"""What people are shown of the figures: tables in the terminal, and the claims on a page of docs/."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from cachezoo.errors import CachezooError
from cachezoo.evaluation.results import printed
from cachezoo.io import atomic_file
from cachezoo.metrics.files import MAKE, present, read
from cachezoo.view import Cell, Column, Table
from lab.finding import Figure, Finding, shown
from lab.fios import document as fios
from lab.fios import plot as fios_plot
from lab.hca import document as hca
from lab.hca import plot as hca_plot
from lab.rcrnn.listed import FIGURES, Listed
from lab.virtual import document as virtual
from lab.virtual.tables import tables as tables_of_virtual

if TYPE_CHECKING:
    from rich.table import Table as Printed

PAGE = Path("docs/figures.md")
BEGIN, END = "<!-- figures -->\n", "<!-- end of figures -->\n"
HCA_BEGIN, HCA_END = "<!-- tiers -->\n", "<!-- end of tiers -->\n"
VIRTUAL_BEGIN, VIRTUAL_END = "<!-- virtual -->\n", "<!-- end of virtual -->\n"
FIOS_BEGIN, FIOS_END = "<!-- streams -->\n", "<!-- end of streams -->\n"


def read_figures() -> list[tuple[Listed, Figure]]:
    """Every figure as the stage rcrnn wrote it.

    Raises:
        CachezooError: one is missing or damaged.
    """
    return [(listed, read(listed.file, listed.type, MAKE)) for listed in FIGURES]


def findings(figures: Sequence[Figure]) -> Table:
    """Every claim of every figure and its verdict; how it is at our size only where some claim has it."""
    sized = any(one.own_size is not None for figure in figures for one in figure.findings)
    heads = ["figure", "the paper", "held against it", "paper", "here", *["at our size"] * sized, "verdict"]
    rows = []
    for figure in figures:
        for one in figure.findings:
            own = [Cell(shown(one.own_size, one.unit) if one.own_size is not None else "")] * sized
            said = [Cell(figure.source), Cell(one.claim), Cell(one.measured), Cell(_bound(one))]
            rows.append([*said, Cell(one.shown, one.ours), *own, Cell(one.judged)])
    numeric = {"paper", "here", "at our size"}
    columns = [Column(one, numeric=one in numeric) for one in heads]
    return Table("The paper's claims, and whether they hold here", columns, rows)


def _bound(one: Finding) -> str:
    return f"{'≤' if one.at_most else '≥'} {shown(one.bound, one.unit)}"


def tables(figures: Sequence[tuple[Listed, Figure]]) -> list["Printed"]:
    """A table a figure, and the claims."""
    return [*(printed(listed.table(one)) for listed, one in figures), printed(findings([one for _, one in figures]))]


def fios_tables(found: fios.FiosFigure) -> list["Printed"]:
    """A line a drive, and the claims."""
    return [printed(fios_plot.table(found)), printed(findings([found]))]


def hca_tables(found: hca.HcaFigure) -> list["Printed"]:
    """A line a run, set-up and size, and the claims."""
    return [*(printed(table) for table in hca_plot.tables(found)), printed(findings([found]))]


def virtual_tables(found: virtual.VirtualFigure) -> list["Printed"]:
    """A line a size, an application, a workload, a setting and a disk, and the claims."""
    return [*(printed(table) for table in tables_of_virtual(found)), printed(findings([found]))]


def markdown(table: Table) -> str:
    """A table of docs/figures.md."""
    lines = [f"| {' | '.join(column.title for column in table.columns)} |"]
    lines.append(f"|{'|'.join('---:' if column.numeric else '---' for column in table.columns)}|")
    lines += [f"| {' | '.join(cell.text.replace('|', chr(92) + '|') for cell in row)} |" for row in table.rows]
    return "\n".join(lines) + "\n"


def _between(text: str, begin: str, end: str, inside: str) -> str:
    """A text with something else between two marks.

    Raises:
        CachezooError: it has no marks.
    """
    before, found, rest = text.partition(begin)
    _, closed, after = rest.partition(end)
    if not found or not closed:
        message = f"{PAGE}: has no lines {begin.strip()} and {end.strip()}; get it from Git"
        raise CachezooError(message)
    return f"{before}{begin}\n{inside}\n{end}{after}"


def with_claims(text: str, figures: Sequence[Figure]) -> str:
    """docs/figures.md with RC-RNN's claims between its marks.

    Raises:
        CachezooError: it has no marks.
    """
    return _between(text, BEGIN, END, markdown(findings(figures)))


def with_streams(text: str, found: fios.FiosFigure) -> str:
    """docs/figures.md with FIOS's claims, and a line a drive, between its marks.

    Raises:
        CachezooError: it has no marks.
    """
    inside = f"{found.note}\n\n{markdown(findings([found]))}\n{markdown(fios_plot.table(found))}"
    return _between(text, FIOS_BEGIN, FIOS_END, inside)


def with_tiers(text: str, found: hca.HcaFigure) -> str:
    """docs/figures.md with HCA's claims and tables between its marks.

    Raises:
        CachezooError: it has no marks.
    """
    return _between(text, HCA_BEGIN, HCA_END, _inside(found, hca_plot.tables(found)))


def with_virtual(text: str, found: virtual.VirtualFigure) -> str:
    """docs/figures.md with the virtual I/O cache's claims and tables between its marks.

    Raises:
        CachezooError: it has no marks.
    """
    return _between(text, VIRTUAL_BEGIN, VIRTUAL_END, _inside(found, tables_of_virtual(found)))


def _inside(found: Figure, own: Sequence[Table]) -> str:
    """A figure's note, its claims and its tables."""
    parts = [markdown(findings([found])), *(f"{one.caption}:\n\n{markdown(one)}" for one in own)]
    return "\n".join([f"{found.note}\n", *parts])


def write_page(
    figures: Sequence[Figure], streams: fios.FiosFigure, tiers: hca.HcaFigure, shared: virtual.VirtualFigure
) -> None:
    """Put the claims into docs/figures.md.

    Raises:
        CachezooError: it is missing, has no marks, or cannot be written.
    """
    text = with_claims(present(PAGE, "git checkout docs/figures.md").read_text(encoding="utf-8"), figures)
    text = with_virtual(with_tiers(with_streams(text, streams), tiers), shared)
    with atomic_file(PAGE) as temporary:
        temporary.write_text(text, encoding="utf-8")
