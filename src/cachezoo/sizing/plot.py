"""The front as a picture: mean time of a page read over the cost, and who serves reads at each sum."""

from pathlib import Path
from typing import TYPE_CHECKING

from cachezoo.io import atomic_file
from cachezoo.sizes import PAGE_BYTES, human
from cachezoo.sizing.candidates import name_of
from cachezoo.style import AMBER, BLACK, BLUE, GREEN, GREY, LIGHT, PINK, SKY, VERMILION, WIDTH, settings, write
from cachezoo.tiers.said import money, time_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from cachezoo.sizing.advice import Advice, Offer

HEIGHT = 7.0
COLOURS = (AMBER, PINK, BLACK, BLUE)
MARKS = "sD^v"


def draw_front(found: "Advice", path: Path) -> None:
    """Write a PNG or SVG; its bytes depend on the advice alone.

    Args:
        found: the advice.
        path: where to.

    Raises:
        CachezooError: the file cannot be written.
    """
    from matplotlib.figure import Figure

    with settings(), atomic_file(path) as temporary:
        canvas = Figure(figsize=(WIDTH, HEIGHT), layout="constrained")
        upper, lower = canvas.subplots(2, 1, sharex=True, gridspec_kw={"height_ratios": [3, 2]})
        _front(upper, found)
        _served(lower, found)
        _money_axis(lower)
        lower.set_xlabel(f"RAM and SSD, $ ({found.prices.name})")
        write(canvas, temporary, path)


def _front(axes: "Axes", found: "Advice") -> None:
    answer = found.answer
    axes.axhline(found.disk_us, color=GREY, linestyle="--", linewidth=1, label="no cache")
    _line(axes, found.alone, BLUE, "--", "RAM alone, its best policy")
    _line(axes, found.front, GREEN, "-", "front: the best of each sum")
    beside = {one.point: one for one in ([found.next_best] if found.next_best else [])}
    beside |= {one.point: one for one in found.others}
    for one, colour, mark in zip(beside.values(), COLOURS, MARKS, strict=False):
        label = f"{name_of(one.point.hierarchy)}, same sum"
        axes.plot(one.cost, one.amat_us, mark, color=colour, markersize=7, label=label, zorder=4)
    if found.less is not None:
        axes.plot(found.less.cost, found.less.amat_us, "o", color=SKY, markersize=8, label="a fifth less", zorder=4)
    axes.plot(answer.cost, answer.amat_us, "o", color=VERMILION, markersize=10, zorder=5, label="advice")
    if found.budget is not None and found.budget <= 2 * found.everything:
        axes.axvline(found.budget, color=VERMILION, linewidth=0.8, linestyle=":")
    axes.set_xscale("log")
    axes.set_yscale("log")
    _time_axis(axes)
    axes.set_ylabel("mean time of a page read (AMAT)")
    ram, ssd = (human(pages * PAGE_BYTES * found.scale) for pages in (answer.point.ram_pages, answer.point.ssd_pages))
    sizes = f"{ram} RAM + {ssd} SSD" if answer.point.ssd_pages else f"{ram} RAM"
    name = name_of(answer.point.hierarchy)
    axes.set_title(f"{money(answer.cost)}: {name}, {sizes}, {time_text(answer.amat_us)}", loc="left")
    axes.legend(fontsize=8)


def _line(axes: "Axes", offers: "tuple[Offer, ...]", colour: str, style: str, label: str) -> None:
    pairs = sorted((one.cost, one.amat_us) for one in offers)
    axes.plot(*zip(*pairs, strict=True), color=colour, linestyle=style, marker=".", label=label) if pairs else None


def _served(axes: "Axes", found: "Advice") -> None:
    """Stacked: RAM, SSD, disk; and the part of the money that is RAM's."""
    costs = [one.cost for one in found.front]
    shares = [[100 * getattr(one.judged.tiered, name) for one in found.front] for name in ("rhr", "shr", "dhr")]
    axes.stackplot(costs, shares, colors=(BLUE, AMBER, LIGHT), labels=("RAM", "SSD", "disk"), alpha=0.85)
    ram = [100 * one.judged.cost.ram_usd / one.judged.cost.cache_usd for one in found.front]
    axes.plot(costs, ram, color=BLACK, linestyle=":", marker=".", label="part of the money for RAM")
    axes.axvline(found.answer.cost, color=VERMILION, linewidth=1)
    axes.set_ylim(0, 100)
    axes.set_ylabel("page reads served by, %")
    axes.set_title("Who serves reads on the front", loc="left")
    axes.legend(fontsize=8, loc="upper left")


def _money_axis(axes: "Axes") -> None:
    from matplotlib.ticker import FuncFormatter, NullFormatter

    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: money(value)))
    axes.xaxis.set_minor_formatter(NullFormatter())


def _time_axis(axes: "Axes") -> None:
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    low, high = axes.get_ylim()
    axes.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0) if high < 100 * low else (1.0,), numticks=12))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: time_text(value)))
    axes.yaxis.set_minor_formatter(NullFormatter())
