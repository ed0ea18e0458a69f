"""What people are shown of the figures: tables in the terminal, and the claims on a page of docs/."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from cachezoo.evaluation.results import printed
from cachezoo.figures import fios, fios_plot, hca, hca_plot, virtual
from cachezoo.figures.finding import Figure, Finding, shown
from cachezoo.figures.listed import FIGURES, Listed
from cachezoo.figures.virtual_tables import tables as tables_of_virtual
from cachezoo.metrics.files import MAKE, read
from cachezoo.show import markdown
from cachezoo.show.table import Cell, Column, Table

if TYPE_CHECKING:
    from rich.table import Table as Printed

PAGE = Path("docs/figures.md")
BLOCKS = ("figures", "streams", "tiers", "virtual")


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


def claims(found: Figure, own: Sequence[Table]) -> str:
    """A figure's note, its claims and its tables."""
    parts = [markdown.table(printed(findings([found])))]
    parts += [f"{one.caption}:\n\n{markdown.table(printed(one))}" for one in own]
    return "\n".join([f"{found.note}\n", *parts])


def blocks(
    figures: Sequence[Figure], streams: fios.FiosFigure, tiers: hca.HcaFigure, shared: virtual.VirtualFigure
) -> dict[str, str]:
    """What docs/figures.md has between its marks, by their names."""
    drives = markdown.table(printed(fios_plot.table(streams)))
    return {
        "figures": markdown.table(printed(findings(figures))),
        "streams": f"{claims(streams, [])}\n{drives}",
        "tiers": claims(tiers, hca_plot.tables(tiers)),
        "virtual": claims(shared, tables_of_virtual(shared)),
    }


def read_blocks() -> dict[str, str]:
    """The same, of the stored figures.

    Raises:
        CachezooError: one is missing or damaged.
    """
    own = [one for _, one in read_figures()]
    return blocks(own, fios.read_fios(fios.FILE), hca.read_hca(hca.FILE), virtual.read_virtual(virtual.FILE))
