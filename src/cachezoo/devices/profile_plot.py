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
