"""Pictures: a comparison of hierarchies, and the front of time over cost."""

from pathlib import Path
from typing import TYPE_CHECKING

from cachezoo.io import atomic_file
from cachezoo.questions.tiers.advice import Advice, Offer
from cachezoo.questions.tiers.bench import NOTHING, Comparison, Scored
from cachezoo.questions.tiers.options import name_of
from cachezoo.questions.tiers.response import DRAM_US
from cachezoo.questions.tiers.sentences import dated
from cachezoo.show.formats import latency, money
from cachezoo.show.palette import SERVERS
from cachezoo.show.style import (
    AMBER,
    BLACK,
    BLUE,
    GREEN,
    GREY,
    NARROW,
    SMALL,
    VERMILION,
    settings,
    write,
)  # fmt: skip
from cachezoo.sizes import PAGE_BYTES, human

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis

LONGEST_NAME = 34
ROW, EDGES = 0.3, 1.2
LEAST_WRITTEN = 0.06  # of the axis: a part that is narrower has no figure in it

HEIGHT = 7.8
DECADE = 10.0
MOST_DECADES = 1e3
"""Between the ends of an axis; up to here 2 and 5 are labelled beside the powers of ten."""


def _name(text: str) -> str:
    return text if len(text) <= LONGEST_NAME else f"{text[: LONGEST_NAME - 1]}…"


def draw_comparison(found: Comparison, title: str, path: Path) -> None:
    """Write a PNG, or an SVG by the name; its bytes depend on the rest alone.

    Raises:
        CachezooError: the file cannot be written.
    """
    from matplotlib.figure import Figure

    rows = {"the disk alone" if row.point == NOTHING else str(row.point.hierarchy): row for row in found.rows}
    with settings(narrow=True), atomic_file(path) as temporary:
        canvas = Figure(figsize=(NARROW, 2 * (EDGES + ROW * len(rows))), layout="constrained")
        upper, lower = canvas.subplots(2, 1, sharey=True)
        _who_serves(upper, list(rows.values()))
        _times(lower, list(rows.values()))
        upper.set_yticks(range(len(rows)), [_name(text) for text in rows])
        upper.invert_yaxis()
        for axes in (upper, lower):
            axes.grid(visible=False, axis="y")
            axes.tick_params(axis="y", length=0)
        canvas.suptitle(title, x=0.01, ha="left", fontsize=10)
        write(canvas, temporary, path)


def _stacked(axes: "Axes", parts: list[tuple[str, str, list[float]]]) -> None:
    begin = [0.0] * len(parts[0][2])
    for name, colour, lengths in parts:
        axes.barh(range(len(lengths)), lengths, left=begin, color=colour, label=name, height=0.68)
        begin = [start + length for start, length in zip(begin, lengths, strict=True)]
    axes.legend(loc="lower left", bbox_to_anchor=(0.0, 1.0), ncols=len(parts), fontsize=SMALL, columnspacing=1.0)


def _who_serves(axes: "Axes", rows: list[Scored]) -> None:
    own = [row.tiered for row in rows]
    parts = [
        ("RAM", SERVERS["RAM"], [100 * (one.rhr - one.bhr) for one in own]),
        ("buffer", SERVERS["buffer"], [100 * one.bhr for one in own]),
        ("SSD", SERVERS["SSD"], [100 * one.shr for one in own]),
        ("disk", SERVERS["disk"], [100 * one.dhr for one in own]),
    ]
    _stacked(axes, parts)
    axes.set_xlim(0, 100)
    axes.set_xlabel("page reads served by, %")
    for place, one in enumerate(own):
        if one.dhr > LEAST_WRITTEN:
            axes.text(99, place, f"{100 * one.dhr:.0f}", ha="right", va="center", fontsize=SMALL)


def _times(axes: "Axes", rows: list[Scored]) -> None:
    """AMAT, cut into what each tier brings to it."""
    own = [row.tiered for row in rows]
    scale, unit = (1e3, "ms") if max(one.amat_us for one in own) >= 1e3 else (1.0, "µs")
    parts = [
        ("of RAM", SERVERS["RAM"], [one.rhr * DRAM_US / scale for one in own]),
        ("of the SSD", SERVERS["SSD"], [one.shr * one.rta_ssd_us / scale for one in own]),
        ("of the disk", SERVERS["disk"], [one.dhr * one.rta_hdd_us / scale for one in own]),
    ]
    _stacked(axes, parts)
    axes.set_xlim(0, 1.22 * max(one.amat_us for one in own) / scale)
    axes.set_xlabel(f"mean time of a page read (AMAT), {unit}")
    for place, one in enumerate(own):
        axes.text(one.amat_us / scale, place, f" {latency(one.amat_us)}", va="center", fontsize=SMALL)


def draw_front(found: Advice, path: Path) -> None:
    """Write a PNG or SVG; its bytes depend on the advice alone.

    Raises:
        CachezooError: the file cannot be written.
    """
    from matplotlib.figure import Figure

    with settings(narrow=True), atomic_file(path) as temporary:
        canvas = Figure(figsize=(NARROW, HEIGHT), layout="constrained")
        upper, lower = canvas.subplots(2, 1, sharex=True, gridspec_kw={"height_ratios": [3, 2]})
        _front(upper, found)
        _served(lower, found)
        _money_axis(lower)
        lower.set_xlabel(f"RAM and SSD, $ a month ({dated(found.prices)})")
        write(canvas, temporary, path)


def _front(axes: "Axes", found: Advice) -> None:
    own = found.answer
    axes.axhline(found.nothing.amat_us, color=GREY, linestyle="--", linewidth=1, label="no cache: $0 a month")
    alone = tuple(one for one in found.rows if not one.point.ssd_pages and not one.nothing)
    _line(axes, alone, BLUE, "--", "RAM alone, its best policy")
    _line(axes, found.front[1:], GREEN, "-", "front: the best of each sum")
    unable = [one for one in found.rows if not one.able]
    for one in unable:
        axes.plot(one.month, one.amat_us, "x", color=VERMILION, label="SSD too slow, or wears out", zorder=4)
    if found.next_best is not None:
        second = found.next_best
        label = f"{name_of(second.point)}, same sum"
        axes.plot(second.month, second.amat_us, "s", color=AMBER, markersize=9, mec="white", label=label, zorder=4)
    if found.options.budget is not None and found.options.budget.monthly:
        axes.axvline(found.options.budget.amount, color=VERMILION, linewidth=0.8, linestyle=":")
    axes.set_xscale("log")
    axes.set_yscale("log")
    if own.nothing:
        axes.set_title(f"buy nothing: {latency(own.amat_us)}", loc="left")
    else:
        axes.plot(own.month, own.amat_us, "o", color=VERMILION, mfc="none", mew=2, ms=16, zorder=5, label="advice")
        sizes = (
            human(pages * PAGE_BYTES * found.scale) for pages in (own.point.ram_pages, own.point.ssd_pages) if pages
        )
        axes.set_title(
            f"{money(own.month)} a month: {name_of(own.point)}, {' + '.join(sizes)}, {latency(own.amat_us)}", loc="left"
        )
    time_axis(axes)
    axes.set_ylabel("mean time of a page read (AMAT)")
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.03), ncols=2, labelspacing=0.7, markerscale=0.8)


def _line(axes: "Axes", offers: tuple[Offer, ...], colour: str, style: str, label: str) -> None:
    pairs = sorted((one.month, one.amat_us) for one in offers)
    axes.plot(*zip(*pairs, strict=True), color=colour, linestyle=style, marker=".", label=label) if pairs else None


def _served(axes: "Axes", found: Advice) -> None:
    """Stacked: RAM, SSD, disk; and the part of the money that is RAM's."""
    bought = [one for one in found.front if not one.nothing] or [found.all_ram]
    costs = [one.month for one in bought]
    shares = [[100 * getattr(one.scored.tiered, name) for one in bought] for name in ("rhr", "shr", "dhr")]
    names = ("RAM", "SSD", "disk")
    colours = [SERVERS[name] for name in names]
    if len(costs) > 1:
        axes.stackplot(costs, shares, colors=colours, labels=names, alpha=0.85)
    else:
        tall = 0.0
        for (height,), colour, label in zip(shares, colours, names, strict=True):
            axes.bar(costs, [height], width=0.1 * costs[0], bottom=[tall], color=colour, label=label)
            tall += height
    ram = [100 * one.bought.ram_usd / one.bought.usd for one in bought]
    axes.plot(costs, ram, color=BLACK, linestyle=":", marker=".", clip_on=False, label="of the purchase, for RAM")
    if not found.answer.nothing:
        axes.axvline(found.answer.month, color=VERMILION, linewidth=1)
    axes.set_ylim(0, 100)
    axes.set_ylabel("% of page reads, % of the purchase")
    axes.set_title("Who serves page reads on the front; RAM's part of the sum", loc="left")
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.2), ncols=4, columnspacing=1.0)


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
