"""How every plot looks: colours, sizes, and matplotlib's settings."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Okabe and Ito's colours, which colour-blind readers tell apart; `cachezoo.show.palette` says which a policy has.
BLUE, VERMILION, GREEN, PINK, SKY, AMBER, GREY, BLACK = (
    "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#8C8C8C", "#222222",
)  # fmt: skip
LIGHT = "#D9D9D9"
LINE_COLOURS, LINES = (BLUE, VERMILION, GREEN, PINK, SKY), ("-", "--")
DPI = 110
WIDTH = 9.0
NARROW, PANEL, SMALL = 6.4, 4.2, 10.0  # inches, of a plot, and of one that a phone shows whole; points, of their text
SETTINGS: dict[Any, Any] = {
    "font.family": "DejaVu Sans", "font.size": 9, "axes.titlesize": 10, "axes.spines.top": False,
    "axes.spines.right": False, "axes.grid": True, "grid.color": "#E3E3E3", "grid.linewidth": 0.6,
    "axes.axisbelow": True, "legend.frameon": False, "legend.fontsize": 9,
    "figure.facecolor": "white", "savefig.facecolor": "white",
}  # fmt: skip
NARROW_SETTINGS: dict[Any, Any] = {"font.size": 10.5, "axes.titlesize": 11, "legend.fontsize": SMALL}

LEGEND_LINE, LEGEND_COLUMNS, LETTER = 0.25, 3, 0.085  # inches of a line and of a letter


@contextmanager
def settings(narrow: bool = False) -> Iterator[None]:
    """Matplotlib as it comes, whatever a matplotlibrc says, with these settings.

    Args:
        narrow: for a plot of the width NARROW, whose text is larger.
    """
    import matplotlib as mpl

    with mpl.rc_context():
        mpl.rcdefaults()
        mpl.rcParams.update(SETTINGS | (NARROW_SETTINGS if narrow else {}))
        yield


def panels(rows: int, columns: int, height: float, heights: Sequence[float] | None = None) -> tuple["Figure", Any]:
    """Panels that make room for labels of any length; `heights` are in proportion, equal where none are given."""
    from matplotlib.figure import Figure

    canvas = Figure(figsize=(WIDTH, height), layout="constrained")
    return canvas, canvas.subplots(rows, columns, squeeze=False, gridspec_kw={"height_ratios": heights})


def legend_room(names: Sequence[str]) -> tuple[int, float]:
    """How many columns a legend beneath a narrow plot has, and the inches that it takes.

    Args:
        names: in the legend.
    """
    longest = max(map(len, names), default=1)
    columns = max(1, min(LEGEND_COLUMNS, int(NARROW / (LETTER * (longest + 5)))))
    return columns, LEGEND_LINE * -(-len(names) // columns)


def save(canvas: "Figure", folder: Path, file: str) -> None:
    """Write a PNG whose bytes depend on the figure alone."""
    canvas.savefig(folder / file, dpi=DPI, metadata={"Software": None})


def write(canvas: "Figure", to: Path, name: Path) -> None:
    """Write a figure, inside `settings`, as the PNG or SVG that a name asks for; its bytes depend on the figure alone.

    Args:
        canvas: the figure.
        to: the file, which may be a temporary one.
        name: the name that it is to have: .svg, or .png.
    """
    import matplotlib as mpl

    if name.suffix == ".svg":
        with mpl.rc_context({"svg.hashsalt": "cachezoo"}):
            canvas.savefig(to, format="svg", metadata={"Date": None, "Creator": None})
    else:
        canvas.savefig(to, format="png", dpi=DPI, metadata={"Software": None})
