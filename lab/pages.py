"""What people are shown of the figures: tables in the terminal, and a page with the claims."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from cachezoo.io import atomic_file
from cachezoo.metrics.files import MAKE, read
from cachezoo.show import markdown
from cachezoo.show.output import drawn
from cachezoo.show.table import Cell, Column, Table
from lab.baleen import document as baleen
from lab.baleen import plot as baleen_plot
from lab.claims.finding import Figure, Finding, shown
from lab.fios import document as fios
from lab.fios import plot as fios_plot
from lab.hca import document as hca
from lab.hca import plot as hca_plot
from lab.rcrnn.figures import FIGURES, RcrnnFigure
from lab.virtual import document as virtual
from lab.virtual.tables import tables as tables_of_virtual

if TYPE_CHECKING:
    from rich.table import Table as Printed

PAGE = Path("lab/results/claims.md")
HEAD = """# What the papers say, and whether it holds here

Written by `make figures` from the documents beside it and lab/claims/. How each figure is made, and what the verdicts
mean: [docs/figures.md](../../docs/figures.md).
"""


def read_figures() -> list[tuple[RcrnnFigure, Figure]]:
    """Every figure as the stage rcrnn wrote it.

    Raises:
        CachezooError: one is missing or damaged.
    """
    return [(listed, read(listed.file, listed.type, MAKE)) for listed in FIGURES]


def findings(figures: Sequence[Figure]) -> Table:
    """Every claim of every figure and its verdict; how it is at our size only where some claim has it.

    Where the paper's own network is judged too, its column is behind ours.
    """
    sized = any(one.own_size is not None for figure in figures for one in figure.findings)
    both = any(figure.published for figure in figures)
    judged = ["here", *["at our size"] * sized, "verdict"]
    behind = [f"its network: {one}" for one in judged * both]
    heads = ["figure", "the paper", "held against it", "paper", *judged, *behind]
    rows = []
    for figure in figures:
        for place, one in enumerate(figure.findings):
            said = [Cell(figure.source), Cell(one.claim), Cell(_measured(figure, place)), Cell(_bound(one))]
            columns_of = [one, *figure.published[place : place + 1]]
            rows.append([*said, *(cell for own in columns_of for cell in _judged(own, sized))])
    numeric = {"paper", *(head for head in heads if head.endswith(("here", "at our size")))}
    columns = [Column(one, numeric=one in numeric) for one in heads]
    return Table("The paper's claims, and whether they hold here", columns, rows)


def _measured(figure: Figure, place: int) -> str:
    """What is held against a claim; of the paper's network too where that is something else."""
    own, *other = (each[place].measured for each in (figure.findings, figure.published) if each)
    return own if other in ([], [own]) else f"{own}. Its network: {other[0]}"


def _judged(one: Finding, sized: bool) -> list[Cell]:
    own = [Cell(shown(one.own_size, one.unit) if one.own_size is not None else "")] * sized
    return [Cell(one.shown, one.ours), *own, Cell(one.judged)]


def _bound(one: Finding) -> str:
    return f"{'≤' if one.at_most else '≥'} {shown(one.bound, one.unit)}"


def tables(figures: Sequence[tuple[RcrnnFigure, Figure]]) -> list["Printed"]:
    """A table a figure, and the claims."""
    return [*(drawn(listed.table(one)) for listed, one in figures), drawn(findings([one for _, one in figures]))]


def fios_tables(found: fios.FiosFigure) -> list["Printed"]:
    """A line a drive, and the claims."""
    return [drawn(fios_plot.table(found)), drawn(findings([found]))]


def hca_tables(found: hca.HcaFigure) -> list["Printed"]:
    """A line a run, set-up and size, and the claims."""
    return [*(drawn(table) for table in hca_plot.tables(found)), drawn(findings([found]))]


def virtual_tables(found: virtual.VirtualFigure) -> list["Printed"]:
    """A line a size, an application, a workload, a setting and a disk, and the claims."""
    return [*(drawn(table) for table in tables_of_virtual(found)), drawn(findings([found]))]


def baleen_tables(found: baleen.BaleenFigure) -> list["Printed"]:
    """A line a trace, size and budget, and one a prefetch mode, and the claims."""
    return [*(drawn(table) for table in baleen_plot.tables(found)), drawn(findings([found]))]


def page(figures: Sequence[Figure], others: Mapping[str, Figure]) -> str:
    """The claims of all papers: a table a paper, below what a reader has to know of its figures.

    Args:
        figures: RC-RNN's.
        others: one figure of each other paper, by the paper's name.
    """
    parts = [HEAD, "## RC-RNN\n", f"{_both(figures)}\n", markdown.table(drawn(findings(figures)))]
    for paper, figure in others.items():
        parts += [f"## {paper}\n", f"{figure.note}\n", markdown.table(drawn(findings([figure])))]
    return "\n".join(parts)


def _both(figures: Sequence[Figure]) -> str:
    """How many claims hold of our networks, of the paper's, and of either."""
    pairs = [pair for one in figures for pair in zip(one.findings, one.published, strict=True)]
    ours, published = ([one.verdict == "holds" for one in column] for column in zip(*pairs, strict=True))
    either = sum(map(max, ours, published))
    return (
        f"Of {len(pairs)} claims {sum(ours)} hold of our networks, {sum(published)} of the paper's own, trained here, "
        f"and {either} of one of the two."
    )


def read_others() -> dict[str, Figure]:
    """The figures of the papers but RC-RNN, as the stages wrote them, by the paper's name.

    Raises:
        CachezooError: one is missing or damaged.
    """
    return {
        "FIOS": fios.read_fios(fios.FILE),
        "HCA": hca.read_hca(hca.FILE),
        "The virtual I/O cache": virtual.read_virtual(virtual.FILE),
        "Baleen": baleen.read_baleen(baleen.FILE),
    }


def read_page() -> str:
    """The page of what the stages wrote.

    Raises:
        CachezooError: a document is missing or damaged.
    """
    return page([one for _, one in read_figures()], read_others())


def totals(papers: Mapping[str, Sequence[Figure]]) -> dict[str, tuple[int, int]]:
    """By paper, how many of its claims hold, and how many there are; the project's goals for it are among them."""
    found = {name: [one for figure in figures for one in figure.findings] for name, figures in papers.items()}
    return {name: (sum(one.verdict == "holds" for one in own), len(own)) for name, own in found.items()}


def read_totals() -> dict[str, tuple[int, int]]:
    """The totals of every paper, see `totals`.

    Raises:
        CachezooError: a document is missing or damaged.
    """
    others = {name: [figure] for name, figure in read_others().items()}
    return totals({"RC-RNN": [one for _, one in read_figures()], **others})


def write_page() -> None:
    """Write it.

    Raises:
        CachezooError: a document is missing or damaged, or the page cannot be written.
    """
    text = read_page()
    with atomic_file(PAGE) as temporary:
        temporary.write_text(text, encoding="utf-8")
