"""A device profile as a picture: the disk's response time over distance, and both devices' throughput over size."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from cachezoo.devices.profile import OPS, Modelled, Row, distance_us, size_text
from cachezoo.io import atomic_file
from cachezoo.settings.device import Hdd
from cachezoo.show.style import AMBER, BLUE, GREEN, GREY, SKY, VERMILION, WIDTH, settings, write

if TYPE_CHECKING:
    from matplotlib.axes import Axes
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy.typing as npt

from cachezoo.arrays import F64
from cachezoo.devices.calibration import Calibration
from cachezoo.devices.fit_hdd import distances
from cachezoo.show.style import BLACK, LIGHT

if TYPE_CHECKING:
    from matplotlib.axes import Axes


DRAWN_SIZES = ((4096, BLUE), (1048576, GREEN), (8388608, VERMILION))
POINTS, NEAREST = 41, 1e-5
LINES: dict[str, Literal["-", "--"]] = {"read": "-", "write": "--"}
# The larger marks of what is sequential are open, because an SSD's random requests cover them.
ACCESSES: dict[tuple[str, str], tuple[str, str, dict[str, Any]]] = {
    ("ssd", "sequential"): ("SSD, sequential", VERMILION, {"marker": "s", "markersize": 7, "fillstyle": "none"}),
    ("ssd", "random"): ("SSD, random", AMBER, {"marker": "o", "markersize": 3.5}),
    ("hdd", "sequential"): ("disk, sequential", BLUE, {"marker": "s", "markersize": 7, "fillstyle": "none"}),
    ("hdd", "random"): ("disk, random", SKY, {"marker": "o", "markersize": 3.5}),
}


def draw_profile(device: Modelled, rows: Sequence[Row], title: str, path: Path) -> None:
    """Write a PNG, or an SVG by the name; its bytes depend on the models alone.

    Args:
        device: the models.
        rows: what `access_rows` says of them.
        title: above it.
        path: where to.

    Raises:
        CachezooError: the file cannot be written.
    """
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

    with settings(), atomic_file(path) as temporary:
        canvas = Figure(figsize=(WIDTH, 4.4), layout="constrained")
        left, right = canvas.subplots(1, 2)
        _distances(left, device.hdd)
        _accesses(right, rows)
        keys = [Line2D([], [], color=GREY, linestyle=line, label=op) for op, line in LINES.items()]
        canvas.legend(handles=keys, loc="outside upper right", ncols=2, fontsize=8)
        canvas.suptitle(title, x=0.01, ha="left", fontsize=10)
        write(canvas, temporary, path)


def _distances(axes: "Axes", hdd: Hdd) -> None:
    from matplotlib.ticker import LogLocator

    parts = np.geomspace(NEAREST, 1.0, POINTS)
    for size, colour in DRAWN_SIZES:
        for op in OPS:
            times = [distance_us(hdd, size, float(part), op == "write") for part in parts]
            shown = [(100 * part, time / 1000) for part, time in zip(parts, times, strict=True) if time is not None]
            if shown:
                name = size_text(size) if op == "read" else None
                axes.plot(*zip(*shown, strict=True), color=colour, linestyle=LINES[op], label=name)
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.xaxis.set_major_formatter("{x:g} %")
    axes.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    axes.yaxis.set_major_formatter("{x:g}")
    axes.yaxis.set_minor_formatter("")
    axes.set_xlabel("distance, of the disk's capacity")
    axes.set_ylabel("response time of the disk, ms")
    axes.legend(loc="best", fontsize=8)


def _accesses(axes: "Axes", rows: Sequence[Row]) -> None:
    for (device, pattern), (name, colour, marks) in ACCESSES.items():
        for op in OPS:
            own = [row for row in rows if (row["device"], row["pattern"], row["op"]) == (device, pattern, op)]
            shown = [(row["size_bytes"], row["mb_s"]) for row in own if row["mb_s"] is not None]
            if shown:
                axes.plot(*zip(*shown, strict=True), color=colour, linestyle=LINES[op],
                          label=name if op == "read" else None, **marks)  # fmt: skip
    sizes = sorted({row["size_bytes"] for row in rows})
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    axes.set_xticks(sizes, [size_text(size) for size in sizes], rotation=45, ha="right")
    axes.yaxis.set_major_formatter("{x:,g}")
    axes.set_xlabel("request size")
    axes.set_ylabel("throughput at queue depth 1, MB/s")
    axes.legend(loc="best", fontsize=8)


BANDS = 10  # groups of distances
FEWEST = 5  # requests, else a group is not drawn
MOST_GROUPS = 12
TOP_QUANTILE = 0.995


@dataclass(frozen=True)
class Side:
    """Requests of one operation: what they were, and three times of each."""

    title: str
    size: F64
    distance: F64
    measured: F64
    model: F64
    constants: F64


def _sides(calibration: Calibration) -> list[Side]:
    shown = calibration.shown
    if isinstance(calibration.after, Hdd):
        apart = distances(calibration.after, shown)
    else:
        end = np.concatenate([[0], (shown.offset + shown.size)[:-1]])
        apart = np.abs(shown.offset - end) / max(int((shown.offset + shown.size).max()), 1)
    plain, ours = calibration.tuned.times(shown), calibration.shown_us
    found = []
    for op, name in enumerate(("Reads", "Writes")):
        own = shown.of(op)
        if own.any():
            times = (values[own] / 1000 for values in (shown.time_us, ours, plain))
            found.append(Side(f"{name} ({int(own.sum()):,})", shown.size[own] / 1024, apart[own], *times))
    return found


def _groups(over: F64, edges: F64 | None) -> list[tuple[float, npt.NDArray[np.bool_]]]:
    """Where along the axis each group of requests stands, and which they are."""
    if edges is None:
        values, counts = np.unique(over, return_counts=True)
        if values.size <= MOST_GROUPS:
            kept = values[counts >= FEWEST]
            return [(float(value), over == value) for value in kept]
        edges = np.unique(np.quantile(over, np.linspace(0, 1, MOST_GROUPS + 1)))
        edges[-1] = np.nextafter(edges[-1], np.inf)
    found = []
    for low, high in pairwise(edges):
        inside = (over >= low) & (over < high)
        if np.count_nonzero(inside) >= FEWEST:
            found.append((float(np.median(over[inside])), inside))
    return found


def _spread(axes: "Axes", side: Side, groups: list[tuple[float, npt.NDArray[np.bool_]]]) -> None:
    """Medians, with the middle 80 % of the measured as bars and of the model as a band; two constants as a line."""
    if not groups:
        return
    at = np.array([place for place, _ in groups])
    rows = {
        name: np.array([np.quantile(getattr(side, name)[own], (0.1, 0.5, 0.9)) for _, own in groups])
        for name in ("measured", "model", "constants")
    }
    axes.fill_between(at, rows["model"][:, 0], rows["model"][:, 2], color=BLUE, alpha=0.18, linewidth=0)
    axes.plot(at, rows["model"][:, 1], color=BLUE, linewidth=1.6, label="model (band: middle 80 %)")
    axes.plot(at, rows["constants"][:, 1], color=VERMILION, linestyle="--", linewidth=1.2, label="two constants")
    low, middle, high = rows["measured"].T
    axes.errorbar(
        at, middle, [middle - low, high - middle], fmt="o", color=BLACK, ecolor=GREY, markersize=3.5, capsize=2,
        linewidth=1.0, label="measured (bars: middle 80 %)",
    )  # fmt: skip
    axes.set_ylim(bottom=0)
    axes.set_ylabel("ms")


def _over_distance(axes: "Axes", side: Side) -> None:
    """Requests at no distance stand at the left of a logarithmic axis."""
    apart = side.distance[side.distance > 0]
    low = 10.0 ** np.floor(np.log10(np.quantile(apart, 0.01))) if apart.size else 0.1
    still = low / 6
    edges = np.concatenate([[0.0, 1e-15], np.geomspace(low, 1.0001, BANDS)])
    groups = [(max(place, still), own) for place, own in _groups(side.distance, edges)]
    _spread(axes, side, groups)
    axes.set_xscale("log")
    axes.set_xlim(still / 1.6, 1.6)
    decades = range(round(np.log10(low)), 1)
    ticks = [10.0**decade for decade in decades if -decade % (1 if len(decades) < 5 else 2) == 0]
    axes.set_xticks([still, *ticks], ["0", *(f"{100 * tick:g} %" for tick in ticks)])
    axes.minorticks_off()
    axes.set_xlabel("distance from the request before, part of the capacity")
    axes.set_title(f"{side.title} over distance", loc="left")


def _size_label(kib: float) -> str:
    return f"{kib / 1024:g}M" if kib >= 1024 else f"{kib:g}"


def _over_size(axes: "Axes", side: Side) -> None:
    groups = _groups(side.size, None)
    _spread(axes, side, groups)
    axes.set_xscale("log", base=2)
    drawn = np.array([place for place, _ in groups] or [float(side.size.min())])
    low, high = np.floor(np.log2(drawn.min())), np.ceil(np.log2(drawn.max()))
    ticks = 2.0 ** np.arange(low, high + 1, int((high - low) // 8) + 1)
    axes.set_xticks(ticks, [_size_label(tick) for tick in ticks])
    axes.set_xlim(2.0 ** (low - 0.4), 2.0 ** (high + 0.4))
    axes.minorticks_off()
    axes.set_xlabel("size, KiB")
    axes.set_title(f"{side.title} over size", loc="left")


def _distribution(axes: "Axes", side: Side) -> None:
    part = (np.arange(side.measured.size) + 0.5) / side.measured.size
    axes.plot(np.sort(side.measured), part, color=BLACK, linewidth=2.2, label="measured")
    axes.plot(np.sort(side.model), part, color=BLUE, linewidth=1.3, label="model")
    axes.plot(np.sort(side.constants), part, color=VERMILION, linestyle="--", linewidth=1.2, label="two constants")
    top = max(float(np.quantile(times, TOP_QUANTILE)) for times in (side.measured, side.model))
    axes.set_xlim(0, 1.05 * top)
    axes.set_ylim(0, 1)
    axes.set_xlabel("service time, ms")
    axes.set_ylabel("part of the requests")
    axes.set_title(f"{side.title}: distribution", loc="left")
    axes.axhline(0.5, color=LIGHT, linewidth=0.8, zorder=0)


def draw(calibration: Calibration, title: str, path: Path) -> None:
    """Write a PNG, or an SVG by the name, of the tested requests, of all where none were kept.

    Its bytes depend on the calibration alone.

    Args:
        calibration: what to draw.
        title: above it.
        path: where to.

    Raises:
        CachezooError: the file cannot be written.
    """
    from matplotlib.figure import Figure

    sides = _sides(calibration)
    score = calibration.test
    figures = f"demerit on {score.requests:,} tested requests: model {score.demerit:.1%}"
    with settings(), atomic_file(path) as temporary:
        canvas = Figure(figsize=(1.35 * WIDTH, 0.8 + 3.0 * len(sides)), layout="constrained")
        grid = canvas.subplots(len(sides), 3, squeeze=False)
        for row, side in zip(grid, sides, strict=True):
            for axes, draw_one in zip(row, (_over_distance, _over_size, _distribution), strict=True):
                draw_one(axes, side)
        handles, labels = grid[0][0].get_legend_handles_labels()
        if handles:
            canvas.legend(handles, labels, loc="outside lower center", ncols=3)
        constants = f"two constants {score.tuned_demerit:.1%} ({score.baseline_demerit:.1%} by least squares)"
        canvas.suptitle(f"{title} — {figures}, {constants}", x=0.01, ha="left")
        write(canvas, temporary, path)
