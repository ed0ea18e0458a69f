"""The front as a picture: mean time of a page read over the cost, and who serves reads at each sum."""

from pathlib import Path
from typing import TYPE_CHECKING

from cachezoo.io import atomic_file
from cachezoo.questions.tiers.sizing.candidates import name_of
from cachezoo.show.formats import latency, money
from cachezoo.show.style import AMBER, BLACK, BLUE, GREEN, GREY, LIGHT, PINK, SKY, VERMILION, WIDTH, settings, write
from cachezoo.sizes import PAGE_BYTES, human

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis

    from cachezoo.questions.tiers.sizing.advice import Advice, Offer

HEIGHT = 7.0
COLOURS = (AMBER, PINK, BLACK, BLUE)
MARKS = "sD^v"
WIDTHS = (11, 9, 7, 6)  # falling, as those of one sum may lie on one another
DECADE = 10.0
MOST_DECADES = 1e3
"""Between the ends of an axis; up to here 2 and 5 are labelled beside the powers of ten."""


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
    _line(axes, found.front, GREEN, "-", "front: the best of each sum, as the first half chose")
    beside = {one.point: one for one in ([found.next_best] if found.next_best else [])}
    beside |= {one.point: one for one in found.others}
    for one, colour, mark, width in zip(beside.values(), COLOURS, MARKS, WIDTHS, strict=False):
        label = f"{name_of(one.point.hierarchy)}, same sum"
        axes.plot(one.cost, one.amat_us, mark, color=colour, markersize=width, mec="white", label=label, zorder=4)
    if found.less is not None:
        axes.plot(found.less.cost, found.less.amat_us, "o", color=SKY, markersize=8, label="a fifth less", zorder=4)
    ring = "least sum" if found.why == "needless" else "advice"
    axes.plot(answer.cost, answer.amat_us, "o", color=VERMILION, mfc="none", mew=2, ms=16, zorder=5, label=ring)
    if found.budget is not None and found.budget <= 2 * found.everything:
        axes.axvline(found.budget, color=VERMILION, linewidth=0.8, linestyle=":")
    axes.set_xscale("log")
    axes.set_yscale("log")
    time_axis(axes)
    axes.set_ylabel("mean time of a page read (AMAT)")
    ram, ssd = (human(pages * PAGE_BYTES * found.scale) for pages in (answer.point.ram_pages, answer.point.ssd_pages))
    sizes = f"{ram} RAM + {ssd} SSD" if answer.point.ssd_pages else f"{ram} RAM"
    name = name_of(answer.point.hierarchy)
    axes.set_title(f"{money(answer.cost)}: {name}, {sizes}, {latency(answer.amat_us)}", loc="left")
    axes.legend(fontsize=8, labelspacing=0.7, markerscale=0.8)


def _line(axes: "Axes", offers: "tuple[Offer, ...]", colour: str, style: str, label: str) -> None:
    pairs = sorted((one.cost, one.amat_us) for one in offers)
    axes.plot(*zip(*pairs, strict=True), color=colour, linestyle=style, marker=".", label=label) if pairs else None


def _served(axes: "Axes", found: "Advice") -> None:
    """Stacked: RAM, SSD, disk; and the part of the money that is RAM's."""
    costs = [one.cost for one in found.front]
    shares = [[100 * getattr(one.judged.tiered, name) for one in found.front] for name in ("rhr", "shr", "dhr")]
    axes.stackplot(costs, shares, colors=(BLUE, AMBER, LIGHT), labels=("RAM", "SSD", "disk"), alpha=0.85)
    ram = [100 * one.judged.cost.ram_usd / one.judged.cost.cache_usd for one in found.front]
    axes.plot(costs, ram, color=BLACK, linestyle=":", marker=".", clip_on=False, label="of the money, for RAM")
    axes.axvline(found.answer.cost, color=VERMILION, linewidth=1)
    axes.set_ylim(0, 100)
    axes.set_ylabel("% of page reads, % of the money")
    axes.set_title("Who serves page reads on the front, and which part of the money is for RAM", loc="left")
    axes.legend(fontsize=8, loc="upper left")


def _money_axis(axes: "Axes") -> None:
    from matplotlib.ticker import FuncFormatter, NullFormatter

    log_ticks(axes.xaxis, axes.get_xlim(), (1.0,))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: money(value)))
    axes.xaxis.set_minor_formatter(NullFormatter())


def time_axis(axes: "Axes") -> None:
    """Label times in µs on a logarithmic axis, three of them at least; plot first."""
    from matplotlib.ticker import FuncFormatter, NullFormatter

    low, high = axes.get_ylim()
    log_ticks(axes.yaxis, (low, high), (1.0, 2.0, 5.0) if high < MOST_DECADES * low else (1.0,))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: latency(value)))
    axes.yaxis.set_minor_formatter(NullFormatter())


def log_ticks(axis: "Axis", ends: tuple[float, float], subs: tuple[float, ...]) -> None:
    """Ticks at some multiples of the powers of ten; evenly apart where the axis is shorter than a decade."""
    from matplotlib.ticker import Locator, LogLocator, MaxNLocator

    low, high = ends
    places: Locator = MaxNLocator(5) if high < DECADE * low else LogLocator(subs=subs, numticks=12)
    axis.set_major_locator(places)
