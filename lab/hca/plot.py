"""Tables and plots of HCA's figures."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from cachezoo.show.formats import NONE, number, percent
from cachezoo.show.palette import HIERARCHIES, SERVERS
from cachezoo.show.style import AMBER, BLUE, GREEN, GREY, PINK, SKY
from cachezoo.show.table import Cell, Column, Table
from cachezoo.sizes import human
from lab.claims.plot import headed, page
from lab.hca.document import LONG, NAMES, SIZED, CurvePoint, HcaFigure, LongRun, System, Ten
from lab.hca.paper import MAIN, SET_GB, WORKLOADS, Main

if TYPE_CHECKING:
    from matplotlib.axes import Axes

COLOURS: dict[System, str] = {system: HIERARCHIES[system].colour for system in ("ram", "l2arc", "hca")}
BUFFER_COLOURS = (SKY, BLUE, GREEN, AMBER, PINK)
PANEL_INCHES = 2.2
BUFFER = 65536  # of Figs. 23 and 24
CURVES = ("Fig. 2", "Figs. 2")  # how the claims of Figs. 23 to 28 begin
Value = Callable[[CurvePoint], float]
TIME_NOTE = (
    "Figs. 5 to 13 are of random read, 14 to 22 of OLTP, from empty caches; RAM alone is the paper's baseline, L2ARC "
    "its hybrid storage. The paper prints these curves as pictures, so that none of its points is shown here."
)


def tables(found: HcaFigure) -> list[Table]:
    """All of them, for the terminal."""
    return [main_table(found), sized_table(found), curve_table(found)]


def main_table(found: HcaFigure) -> Table:
    """Tables I and II; a line a run, the paper's below ours."""
    heads = ("RAM", "SSD", "disk", "IOPS", "ms an I/O", "$ / IOPS", "SSD full after", "MB/s to the SSD")
    rows = []
    for workload in WORKLOADS:
        paper = dict(zip(("ram", "l2arc"), MAIN[workload], strict=True))
        for system in LONG:
            one = found.long_run(workload, system)
            hours = NONE if one.filled_hours is None else f"{number(one.filled_hours, 1)} h"
            shares = [Cell(percent(part), part) for part in (one.ram, one.ssd, one.disk)]
            rows.append(
                [Cell(workload), Cell(NAMES[system]), *shares, Cell(number(one.iops), one.iops),
                 Cell(number(one.latency_ms, 2), one.latency_ms), Cell(number(one.cost, 2), one.cost),
                 Cell(hours, one.filled_hours),
                 Cell(number(one.ssd_writes_mb_s, 2), one.ssd_writes_mb_s)]
            )  # fmt: skip
            if system in paper:
                rows.append([Cell(workload), Cell(f"{NAMES[system]}, the paper"), *_printed(paper[system])])
    columns = [Column("workload", numeric=False), Column("caches", numeric=False), *(Column(head) for head in heads)]
    return Table("Tables I and II: six hours, 2 GB of RAM, 32 GB of SSD, 10 GB of records", columns, rows)


def _printed(one: Main) -> list[Cell]:
    shares = [Cell(percent(part), part) for part in (one.ram, one.ssd, one.disk)]
    rest = [Cell(number(one.iops), one.iops), Cell(number(one.latency_ms, 2), one.latency_ms),
            Cell(number(one.cost, 2), one.cost)]  # fmt: skip
    return [*shares, *rest, Cell(NONE), Cell(NONE)]


def sized_table(found: HcaFigure) -> Table:
    """Tables III to VIII; a line a set-up: paper, L2ARC here, HCA here."""
    heads = [f"{what}: {who}" for what in ("disk", "SSD", "IOPS") for who in ("paper", "L2ARC", "HCA")]
    rows = []
    for workload in WORKLOADS:
        ours, hca = found.sized(workload, "l2arc"), found.sized(workload, "hca")
        for key, one in ours.items():
            other = hca[key]
            cells = [Cell(percent(part), part) for part in (one.paper_disk, one.disk, other.disk)]
            cells += [Cell(percent(part), part) for part in (one.paper_ssd, one.ssd, other.ssd)]
            cells += [Cell(number(rate), rate) for rate in (one.paper_iops, one.iops, other.iops)]
            rows.append([Cell(workload), Cell(f"{one.ram_gb} + {one.ssd_gb} / {one.set_gb}"), *cells])
    columns = [Column("workload", numeric=False), Column("GB of RAM + SSD / records", numeric=False)]
    return Table("Tables III to VIII: six hours each", [*columns, *(Column(head) for head in heads)], rows)


def curve_table(found: HcaFigure) -> Table:
    """Figs. 23 to 28 with a buffer of 64 KiB; a line a trace and ratio."""
    heads = (
        "RAM",
        "SSD",
        "disk",
        "RAM alone: RAM",
        "disk",
        "HCRTA, µs",
        "XCIOPS",
        "AMAT, ms",
        "alone, ms",
        "SSD writes",
    )
    rows = []
    for one in fixed(found.points):
        shares = (one.ram, one.ssd, one.disk, one.base_ram, one.base_disk)
        rows.append(
            [Cell(one.trace), Cell(ratio_text(one.ratio)),
             *(Cell(percent(share), share) for share in shares), Cell(number(one.hcrta_us, 2), one.hcrta_us),
             Cell(number(one.xciops), one.xciops), Cell(number(one.amat_us / 1000, 2), one.amat_us / 1000),
             Cell(number(one.base_amat_us / 1000, 2), one.base_amat_us / 1000),
             Cell(number(one.ssd_writes), float(one.ssd_writes))]
        )  # fmt: skip
    columns = [Column(head, numeric=False) for head in ("trace", "RAM : SSD")]
    return Table(
        "Figs. 23 to 28: HCA on captured traces, 64 KiB of buffer", [*columns, *(Column(head) for head in heads)], rows
    )


def fixed(points: Sequence[CurvePoint]) -> list[CurvePoint]:
    """Those of Figs. 23 and 24, whose buffer is one."""
    return [one for one in points if one.buffer_bytes == BUFFER]


def ratio_text(ratio: float) -> str:
    """1:4, 2:1."""
    return f"1:{round(1 / ratio)}" if ratio < 1 else f"{round(ratio)}:1"


def buffer_text(size: int) -> str:
    """64 KiB; none."""
    return human(size) if size else "none"


def draw_tables(found: HcaFigure, path: Path) -> None:
    """Tables III to VIII: ours over the paper's, a column a table.

    Raises:
        CachezooError: the file cannot be written.
    """
    own = _with(found, "Tables I to VIII: hit ratios and IOPS, ours over the paper's", curves=False)
    with page(own, path, 2, 3, 2 * 2.9) as (canvas, axes):
        for row, workload in enumerate(WORKLOADS):
            for column, (name, title) in enumerate(
                (("disk", "disk's share, %"), ("ssd", "SSD's share, %"), ("iops", "IOPS"))
            ):
                number_ = ("III", "IV", "V", "VI", "VII", "VIII")[3 * row + column]
                _against(axes[row][column], found, workload, name)
                axes[row][column].set(title=f"Table {number_}, {workload}: {title}")
        for panel in axes[1]:
            panel.set(xlabel="the paper's")
        for panel in axes[:, 0]:
            panel.set(ylabel="here")
        headed(canvas, own, axes[0][0])


Point = Callable[[Ten], float | None]
RATES: tuple[tuple[str, Point], ...] = (
    ("IOPS of the file system", lambda one: one.iops),
    ("IOPS of SSD and disk", lambda one: one.storage_iops),
    ("ms a read", lambda one: one.latency_ms),
    ("$ / IOPS", lambda one: one.cost),
)
PARTS: tuple[tuple[str, str, Point], ...] = (
    ("from RAM", SERVERS["RAM"], lambda one: one.ram),
    ("from the SSD", SERVERS["SSD"], lambda one: one.ssd),
    ("from the disk", SERVERS["disk"], lambda one: one.disk),
)
OVER_TIME: tuple[System, ...] = ("ram", "l2arc", "hca")


def draw_time(found: HcaFigure, path: Path) -> None:
    """Figs. 5 to 22: a column a workload; where reads are served by set-up, then rates, time and cost.

    Raises:
        CachezooError: the file cannot be written.
    """
    own = found.model_copy(
        update={"title": "Figs. 5 to 22: six hours, by ten minutes", "findings": [], "note": TIME_NOTE}
    )
    rows = len(OVER_TIME) + len(RATES)
    with page(own, path, rows, len(WORKLOADS), rows * 1.7) as (canvas, axes):
        for column, workload in enumerate(WORKLOADS):
            for row, system in enumerate(OVER_TIME):
                _sources(axes[row][column], found.long_run(workload, system))
                axes[row][column].set(title=f"{workload}: {NAMES[system]}")
            for row, (_, value) in enumerate(RATES, start=len(OVER_TIME)):
                for system in OVER_TIME:
                    tens = found.long_run(workload, system).over_time
                    axes[row][column].plot(*_known(tens, value), color=COLOURS[system], label=NAMES[system])
                axes[row][column].set_ylim(bottom=0)
            axes[-1][column].set(xlabel="hours")
        for row in range(len(OVER_TIME)):
            axes[row][0].set(ylabel="reads, %")
        for row, (label, _) in enumerate(RATES, start=len(OVER_TIME)):
            axes[row][0].set(ylabel=label)
        headed(canvas, own, axes[0][0], axes[len(OVER_TIME)][0])


def _known(tens: Sequence[Ten], value: Point) -> tuple[list[float], list[float]]:
    points = [(one.hours, own) for one in tens if (own := value(one)) is not None]
    return [hours for hours, _ in points], [own for _, own in points]


def _sources(axes: "Axes", run: LongRun) -> None:
    for label, colour, value in PARTS:
        hours, shares = _known(run.over_time, value)
        axes.plot(hours, [100 * share for share in shares], color=colour, label=label)
    axes.set_ylim(0, 100)


def _with(found: HcaFigure, title: str, *, curves: bool) -> HcaFigure:
    """The figure with the claims of one plot."""
    findings = [one for one in found.findings if one.claim.startswith(CURVES) == curves]
    return found.model_copy(update={"title": title, "findings": findings, "note": "" if curves else found.note})


def _against(axes: "Axes", found: HcaFigure, workload: str, name: str) -> None:
    scale = 1 if name == "iops" else 100
    paper = [scale * getattr(one, f"paper_{name}") for one in found.sized(workload, "l2arc").values()]
    low, high = min(paper), max(paper)
    axes.plot([low, high], [low, high], color=GREY, linewidth=1, label="as in the paper")
    markers = dict(zip(SET_GB, "os^", strict=True))
    for system in SIZED:
        for set_gb, marker in markers.items():
            own = [one for one in found.sized(workload, system).values() if one.set_gb == set_gb]
            axes.plot(
                [scale * getattr(one, f"paper_{name}") for one in own], [scale * getattr(one, name) for one in own],
                marker, markersize=4, color=COLOURS[system], fillstyle="full" if system == "l2arc" else "none",
                label=f"{NAMES[system]}, {set_gb} GB",
            )  # fmt: skip


def draw_curves(found: HcaFigure, path: Path) -> None:
    """Figs. 23 to 28: a column a trace, over the ratio of RAM to SSD.

    Raises:
        CachezooError: the file cannot be written.
    """
    traces = list(dict.fromkeys(one.trace for one in found.points))
    said = _with(found, "Figs. 23 to 28: RAM, transient buffer and SSD on captured traces", curves=True)
    with page(said, path, 3, len(traces), 3 * PANEL_INCHES) as (canvas, axes):
        for column, trace in enumerate(traces):
            own = [one for one in found.points if one.trace == trace]
            _shares(axes[0][column], fixed(own))
            axes[0][column].set(title=trace)
            _lines(axes[1][column], own, lambda one: one.hcrta_us)
            _lines(axes[2][column], own, lambda one: one.xciops)
            axes[2][column].set(xlabel="RAM : SSD")
        labels = ("Figs. 23, 24: reads, % (64 KiB)", "Figs. 25, 26: HCRTA, µs", "Figs. 27, 28: XCIOPS")
        for row, label in enumerate(labels):
            axes[row][0].set(ylabel=label)
        headed(canvas, said, *axes[:2, 0])


def _over_ratio(axes: "Axes", points: Sequence[CurvePoint]) -> list[float]:
    ratios = sorted({one.ratio for one in points})
    axes.set_xscale("log", base=2)
    axes.set_xticks(ratios, [ratio_text(one) for one in ratios])
    axes.minorticks_off()
    return ratios


def _shares(axes: "Axes", points: Sequence[CurvePoint]) -> None:
    rows = sorted(points, key=lambda one: one.ratio)
    ratios = _over_ratio(axes, rows)
    lines: tuple[tuple[str, str, str, Value], ...] = (
        ("RAM, HCA", SERVERS["RAM"], "-o", lambda one: one.ram),
        ("SSD, HCA", SERVERS["SSD"], "-o", lambda one: one.ssd),
        ("disk, HCA", SERVERS["disk"], "-o", lambda one: one.disk),
        ("RAM, RAM alone", SERVERS["RAM"], ":", lambda one: one.base_ram),
        ("disk, RAM alone", SERVERS["disk"], ":", lambda one: one.base_disk),
    )
    for label, colour, style, value in lines:
        axes.plot(ratios, [100 * value(one) for one in rows], style, color=colour, markersize=3, label=label)
    axes.set_ylim(0, 100)


def _lines(axes: "Axes", points: Sequence[CurvePoint], value: Value) -> None:
    ratios = _over_ratio(axes, points)
    buffers = sorted({one.buffer_bytes for one in points})
    for colour, size in zip(BUFFER_COLOURS, buffers, strict=False):
        rows = sorted((one for one in points if one.buffer_bytes == size), key=lambda one: one.ratio)
        axes.plot(ratios, [value(one) for one in rows], "-o", color=colour, markersize=3,
                  label=f"buffer: {buffer_text(size)}")  # fmt: skip
    axes.set_ylim(bottom=0)
