"""Plots of the virtual I/O cache's figures: transfers stand below every hit ratio."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from cachezoo.show.style import AMBER, BLUE, GREEN, GREY, PINK, SKY, VERMILION
from lab.claims.plot import headed, page
from lab.virtual.document import (
    CURVES_PLOT,
    GAINS_PLOT,
    HEATS_PLOT,
    KINDS,
    PROFILES_PLOT,
    QUEUES,
    SHARED_PLOT,
    SWEEPS_PLOT,
    Heat,
    Kind,
    Mixed,
    Parameter,
    Point,
    Profile,
    VirtualFigure,
    saved,
)
from lab.virtual.paper import COMPARED_MB, LOOPING, QUEUE_MB, SHOWN

if TYPE_CHECKING:
    from matplotlib.axes import Axes

PANEL_INCHES = 1.9
PLAIN, OWN = GREY, BLUE
PARAMETERS: dict[Parameter, str] = {
    "f": "f, runs", "alpha": "alpha, decay", "q": "q, thousand references", "n": "N, MB", "cost": "cost of an entry",
}  # fmt: skip
SIZED = Sequence[Point] | Sequence[Profile] | Sequence[Mixed]


def _part(found: VirtualFigure, title: str, begins: tuple[str, ...]) -> VirtualFigure:
    """The figure with the claims of one plot; its note is the page's."""
    findings = [one for one in found.findings if one.claim.startswith(begins)]
    return found.model_copy(update={"title": title, "findings": findings, "note": ""})


def _over_size(axes: "Axes", sizes: Sequence[int]) -> None:
    axes.set_xscale("log", base=2)
    shown = [size for size in sizes if size in (2, 8, 32, 128, 512)]
    axes.set_xticks(shown, [str(size) for size in shown])
    axes.minorticks_off()


def _hits(axes: "Axes", rows: SIZED, plain: str = "the policy", own: str = "under VRM") -> None:
    """Hit ratios over the cache's size, with their intervals where they are means."""
    sizes = [one.megabytes for one in rows]
    _over_size(axes, sizes)
    for values, colour, label in (([one.plain for one in rows], PLAIN, plain), ([one.hits for one in rows], OWN, own)):
        axes.plot(sizes, [100 * value for value in values], "-o", color=colour, markersize=3, label=label)
    points = [one for one in rows if isinstance(one, Point)]
    for middle, half, colour in (
        ([one.plain for one in points], [one.plain_half for one in points], PLAIN),
        ([one.hits for one in points], [one.hits_half for one in points], OWN),
    ):
        low, high = np.array(middle) - np.array(half), np.array(middle) + np.array(half)
        axes.fill_between(sizes[: len(points)], 100 * low, 100 * high, color=colour, alpha=0.15, linewidth=0)
    axes.set_ylim(0, 100)


def _transfers(axes: "Axes", rows: SIZED, plain: str = "misses of the policy", own: str = "VRM") -> None:
    """Pages read per reference: misses, allocation and fragmentation on top of each other, and the plain misses."""
    sizes = [one.megabytes for one in rows]
    _over_size(axes, sizes)
    parts = [[1 - one.hits for one in rows], [one.allocation for one in rows], [one.fragmentation for one in rows]]
    labels = (f"misses under {own}", "allocation", "fragmentation")
    axes.stackplot(sizes, parts, colors=(SKY, PINK, AMBER), labels=labels, linewidth=0)
    axes.plot(sizes, [1 - one.plain for one in rows], "-o", color=PLAIN, markersize=3, label=plain)
    axes.set_ylim(bottom=0)


def draw_curves(found: VirtualFigure, path: Path) -> None:
    """Fig. 3: a column a queue; hit ratios above, transfers below, of both kinds of applications.

    Raises:
        CachezooError: the file cannot be written.
    """
    title = "Fig. 3: mean hit ratios with 95 % intervals, and what is read from the disk for them"
    said = _part(found, title, ("Section 1", "Fig. 3"))
    with page(said, path, 4, 3, 4 * PANEL_INCHES) as (canvas, axes):
        for row, (kind, name) in enumerate(KINDS.items()):
            for column, queue in enumerate(QUEUES):
                rows = found.curve(kind, queue)
                _hits(axes[2 * row][column], rows)
                _transfers(axes[2 * row + 1][column], rows)
                axes[2 * row][column].set(title=f"{queue.upper()}, {name}")
            axes[2 * row][0].set(ylabel="hit ratio, %")
            axes[2 * row + 1][0].set(ylabel="pages read / reference")
        for panel in axes[3]:
            panel.set(xlabel="cache, MB")
        headed(canvas, said, *axes[:2, 0])


def draw_heats(found: VirtualFigure, path: Path) -> None:
    """Fig. 2: a panel an application; time to the right, the queue's head below.

    Raises:
        CachezooError: the file cannot be written.
    """
    said = _part(found, "Fig. 2: where an LRU queue is asked for, over time", ("Goal", "Fig. 2"))
    with page(said, path, 1, len(found.heats), 3.2) as (canvas, axes):
        for panel, heat in zip(axes[0], found.heats, strict=True):
            _heat(panel, heat)
        axes[0][0].set(ylabel="MB of the queue from its head")
        canvas.suptitle(f"{said.source}. {said.title}", x=0.01, ha="left", fontsize=11)


def _heat(axes: "Axes", heat: Heat) -> None:
    values = np.log10(1 + np.array(heat.rows, np.float64))
    top = heat.mb_a_row * len(heat.rows)
    shown = axes.imshow(values, origin="lower", aspect="auto", cmap="magma",
                        extent=(0, heat.references / 1e6, 0, top))  # fmt: skip
    axes.set(xlabel="million references", title=f"{heat.application}, {KINDS[heat.kind]}")
    axes.grid(visible=False)
    axes.figure.colorbar(shown, ax=axes, location="bottom", label="log10(1 + value of the row)")


def draw_gains(found: VirtualFigure, path: Path) -> None:
    """Fig. 4: gains of all applications, from the largest down; a panel a kind.

    Raises:
        CachezooError: the file cannot be written.
    """
    said = _part(found, "Fig. 4: what VRM adds to LRU's hit ratio, by application", ("Fig. 4",))
    with page(said, path, 2, 1, 2 * 2.7) as (canvas, axes):
        for panel, kind in zip(axes[:, 0], KINDS, strict=True):
            _ranked(panel, found, kind)
        headed(canvas, said, axes[0][0])


def draw_profiles(found: VirtualFigure, path: Path) -> None:
    """Fig. 5: a column an application; hit ratios above, transfers below.

    Raises:
        CachezooError: the file cannot be written.
    """
    said = _part(found, "Fig. 5: four applications with an LRU queue", ("Fig. 5",))
    with page(said, path, 2, len(SHOWN), 2 * PANEL_INCHES) as (canvas, axes):
        for column, name in enumerate(SHOWN):
            rows = list(found.profile(name).values())
            _hits(axes[0][column], rows)
            _transfers(axes[1][column], rows)
            axes[0][column].set(title=name)
            axes[1][column].set(xlabel="cache, MB")
        axes[0][0].set(ylabel="hit ratio, %")
        axes[1][0].set(ylabel="pages read / reference")
        headed(canvas, said, *axes[:, 0])


def _ranked(axes: "Axes", found: VirtualFigure, kind: Kind) -> None:
    """Hit ratios of LRU and what VRM adds, at three sizes, applications by their gain; the most that LRU ever has."""
    own = [found.profile(name) for name in found.applications(kind)]
    own.sort(key=lambda rows: -sum(rows[size].gain for size in COMPARED_MB))
    places = np.arange(len(own))
    for k, (size, colour) in enumerate(zip(COMPARED_MB, (SKY, BLUE, GREEN), strict=True)):
        gains = [100 * rows[size].gain for rows in own]
        axes.bar(places + 0.27 * (k - 1), gains, width=0.25, color=colour, label=f"gain with {size} MB")
    axes.plot(places, [100 * rows[QUEUE_MB].plain for rows in own], "_", color=VERMILION, markersize=5,
              label="LRU with 1 GB")  # fmt: skip
    axes.set_xticks(places, [rows[QUEUE_MB].application for rows in own], rotation=90, fontsize=8)
    axes.set_xlim(-0.7, len(own) - 0.3)
    axes.grid(visible=False, axis="x")
    axes.set(ylabel="points; %", title=KINDS[kind])


def draw_shared(found: VirtualFigure, path: Path) -> None:
    """Figs. 6 and 7: a column a workload.

    Raises:
        CachezooError: the file cannot be written.
    """
    said = _part(found, "Figs. 6, 7: applications in lockstep on one cache", ("Fig. 6", "Fig. 7"))
    ordered = sorted(found.mixed, key=lambda one: (one.kind == "captured", one.applications))
    names = list(dict.fromkeys(one.workload for one in ordered))
    with page(said, path, 3, len(names), 3 * PANEL_INCHES) as (canvas, axes):
        for column, name in enumerate(names):
            rows = found.workload(name)
            _hits(axes[0][column], rows, "one LRU over all", "G-VPA")
            _transfers(axes[1][column], rows, "misses of one LRU over all", "G-VPA")
            sizes, split = [one.megabytes for one in rows], np.array([one.split for one in rows])
            for panel, values in ((axes[0][column], 100 * split), (axes[1][column], 1 - split)):
                panel.plot(sizes, values, ":", color=VERMILION, label="UCP, LRU in each part")
            _saved(axes[2][column], rows)
            axes[0][column].set(title=f"{name}, {KINDS[rows[0].kind]}")
            axes[1][column].set(xlabel="cache, MB")
        for row, label in enumerate(("hit ratio, %", "pages read / reference", "Fig. 7: cache saved, %")):
            axes[row][0].set(ylabel=label)
        headed(canvas, said, *axes[:2, 0])


def _saved(axes: "Axes", rows: Sequence[Mixed]) -> None:
    """The share of the plain cache that is not needed, over the hit ratio that both have."""
    low, high = rows[0].plain, rows[-1].plain
    targets = np.linspace(low, high, 41)
    values = [saved(rows, float(target)) for target in targets]
    axes.plot(100 * targets, [np.nan if value is None else 100 * value for value in values], color=GREEN)
    axes.set(xlabel="hit ratio, %", ylim=(-105, 105))
    axes.axhline(0, color=GREY, linewidth=0.8)


def draw_sweeps(found: VirtualFigure, path: Path) -> None:
    """Fig. 8: a column a parameter; Fig. 9 below: two applications.

    Raises:
        CachezooError: the file cannot be written.
    """
    said = _part(found, "Figs. 8, 9: the parameters, and a disk of constant latency", ("Fig. 8", "Fig. 9"))
    with page(said, path, 3, len(PARAMETERS), 3 * PANEL_INCHES + 0.3) as (canvas, axes):
        for column, (parameter, label) in enumerate(PARAMETERS.items()):
            _swept(axes[0][column], axes[1][column], found, parameter)
            axes[1][column].set(xlabel=label)
        for k, name in enumerate(LOOPING):
            _busy(axes[2][2 * k], axes[2][2 * k + 1], found, name)
        axes[2][-1].set_axis_off()
        for row, label in enumerate(("hit ratio, %", "moved pages / reference")):
            axes[row][0].set(ylabel=label)
        headed(canvas, said, axes[0][0], axes[2][0])


def _swept(above: "Axes", below: "Axes", found: VirtualFigure, parameter: Parameter) -> None:
    sizes = sorted({one.megabytes for one in found.swept})
    for kind, colour in zip(KINDS, (BLUE, VERMILION), strict=True):
        for size, style in zip(sizes, ("--o", "-o"), strict=True):
            rows = found.sweep(kind, parameter, size)
            values = [f"{one.value / (1000 if parameter == 'q' else 1):g}" for one in rows]
            label = f"{KINDS[kind]}, {size} MB"
            above.plot(values, [100 * one.hits for one in rows], style, color=colour, markersize=3, label=label)
            below.plot(values, [one.moved for one in rows], style, color=colour, markersize=3)
    for panel in (above, below):
        panel.tick_params(axis="x", labelsize=6.5)
    below.set_ylim(bottom=0)


def _busy(left: "Axes", right: "Axes", found: VirtualFigure, name: str) -> None:
    rows = [one for one in found.disk if one.application == name]
    times = [one.latency_us for one in rows]
    series = (
        ("disk under LRU", PLAIN, [one.plain for one in rows]),
        ("under VRM, misses alone", SKY, [one.demand for one in rows]),
        ("under VRM", AMBER, [one.busy for one in rows]),
    )
    for label, colour, values in series:
        left.plot(times, [100 * value for value in values], "-o", color=colour, markersize=3, label=label)
    for colour, values in ((PLAIN, [one.plain_us for one in rows]), (AMBER, [one.mean_us for one in rows])):
        right.plot(times, [value / 1000 for value in values], "-o", color=colour, markersize=3)
    for panel, what in ((left, "disk busy, %"), (right, "ms a reference")):
        panel.set_xscale("log", base=2)
        panel.set_xticks(times[::3], [str(one) for one in times[::3]])
        panel.minorticks_off()
        panel.set(title=f"Fig. 9, {name}:\n{what}", xlabel="latency, µs")


PLOTS: dict[Path, Callable[[VirtualFigure, Path], None]] = {
    CURVES_PLOT: draw_curves,
    HEATS_PLOT: draw_heats,
    GAINS_PLOT: draw_gains,
    PROFILES_PLOT: draw_profiles,
    SHARED_PLOT: draw_shared,
    SWEEPS_PLOT: draw_sweeps,
}
"""Every plot of the stage, by its file."""
