"""A trace's plots, as inline drawings."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from cachezoo.arrays import F64, I64
from cachezoo.characteristics.arrivals import Arrivals, Daily
from cachezoo.characteristics.describe import OPTIMUM
from cachezoo.characteristics.pages import HeatMap, Popularity, Reuse, Times, WorkingSet
from cachezoo.characteristics.patterns import Patterns
from cachezoo.characteristics.requests import Latency, Sizes
from cachezoo.curves.curve import LRU, Curve
from cachezoo.questions.objects.description import Lifetimes, ObjectCurve, ObjectReuse, ObjectSizes
from cachezoo.show.drawing import few_sizes, svg
from cachezoo.show.formats import duration, number, share, significant, size
from cachezoo.show.palette import look_of
from cachezoo.show.section import Drawing
from cachezoo.show.style import BLUE, GREEN, GREY, PANEL, SKY, VERMILION
from cachezoo.sizes import PAGE_BYTES
from cachezoo.trace_report.sentences import PAGES, Named

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Canvas

HEIGHT = 2.9
LEFT, RIGHT, BOTTOM, TOP, LEGEND = 0.72, 0.2, 0.62, 0.36, 0.3  # inches around a panel
SCALE = 0.5  # to the right of a panel with a scale of colours
NAMES = {OPTIMUM: "optimum"}
KIND_COLOURS = {"overlapped": BLUE, "sequential": GREEN, "strided": SKY, "random": GREY}
TICKS_S = (1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 0.1, 1.0, 10.0, 60.0, 600.0, 3600.0, 36_000.0, 86_400.0, 864_000.0)
MOST_TICKS = 5
UNITS = ((172_800, 86_400, "days"), (14_400, 3_600, "hours"), (900, 60, "minutes"), (0, 1, "seconds"))


def _panels(columns: int, height: float = HEIGHT) -> tuple[Sequence["Canvas"], Sequence["Axes"]]:
    """Panels with fixed margins, a figure each; laying them out would take half of the drawing's time."""
    from matplotlib.figure import Figure as Canvas

    canvases = [Canvas(figsize=(PANEL, height)) for _ in range(columns)]
    for canvas in canvases:
        canvas.subplots_adjust(LEFT / PANEL, BOTTOM / height, 1 - RIGHT / PANEL, 1 - TOP / height)
    return canvases, [canvas.subplots() for canvas in canvases]


def _finish(axes: "Axes", title: str, legend: bool = True, **labels: Any) -> None:  # noqa: ANN401
    """Title at the left; a legend below, where it covers nothing."""
    axes.set(**labels)
    axes.set_title(title, loc="left")
    if legend and axes.get_legend_handles_labels()[1]:
        canvas: Any = axes.figure
        height = canvas.get_figheight()
        taller = height + LEGEND
        canvas.set_figheight(taller)
        edges = canvas.subplotpars
        canvas.subplots_adjust(bottom=(height * edges.bottom + LEGEND) / taller, top=1 - TOP / taller)
        canvas.legend(loc="lower center", ncols=4, handlelength=1.1, columnspacing=0.8, handletextpad=0.5)


def axis_unit(span_s: float) -> tuple[float, str]:
    """Seconds in the unit in which a span of time is drawn, and the unit's name."""
    _, scale, unit = next(entry for entry in UNITS if span_s >= entry[0])
    return float(scale), unit


def _time_ticks(axes: "Axes") -> None:
    """A logarithmic axis of seconds with labels in ms, s, min, h and days."""
    axes.set_xscale("log")
    low, high = axes.get_xlim()
    ticks = [tick for tick in TICKS_S if low <= tick <= high] or [float(np.sqrt(low * high))]
    step = -(-len(ticks) // MOST_TICKS)
    axes.set_xticks(ticks[::step], [duration(tick) for tick in ticks[::step]])
    axes.minorticks_off()


def _time_axis(window_s: float | None, windows: int) -> tuple[F64, str]:
    """Windows' edges on the axis, and its label; without a clock, percent of the trace."""
    if window_s is None:
        return np.linspace(0, 100, windows + 1), "% of the trace"
    scale, unit = axis_unit(window_s * windows)
    return np.arange(windows + 1, dtype=np.float64) * (window_s / scale), unit


def curves_drawing(curves: Sequence[Curve]) -> Drawing:
    """Page hit ratio over cache size."""
    canvas, (axes,) = _panels(1, 3.4)
    for curve in curves:
        x, y = curve.capacities * float(PAGE_BYTES), 100 * curve.hit_ratio
        (colour, line, marker), name = look_of(curve.policy), NAMES.get(curve.policy, curve.policy)
        marker = "" if curve.policy == LRU else marker
        axes.plot(x, y, marker=marker, ms=3, color=colour, label=name, linestyle=line)
        if curve.error_90 is not None:
            spread = 100 * curve.error_90
            axes.fill_between(x, y - spread, y + spread, color=colour, alpha=0.15, linewidth=0)
    axes.set_ylim(0, 100)
    few_sizes(axes)
    _finish(axes, "hits over cache size", xlabel="cache size", ylabel="page hit ratio, %")
    alt = "Page hit ratio over cache size: " + "; ".join(
        f"{NAMES.get(curve.policy, curve.policy)} {share(float(curve.hit_ratio[0]))} at "
        f"{size(int(curve.capacities[0]) * PAGE_BYTES)} to {share(float(curve.hit_ratio[-1]))} at "
        f"{size(int(curve.capacities[-1]) * PAGE_BYTES)}"
        for curve in curves
    )
    sampled = [curve for curve in curves if curve.error_90 is not None]
    how = "Every page access counts as a read of its own, each size after its own warm-up."
    if sampled:
        rate = significant(100 * sampled[0].rate)
        how += f" LRU is exact; the others are from {rate} % of the pages, with bands of 90 %."
    return Drawing(svg(canvas), f"{alt}.", how)


def load_drawing(arrivals: Arrivals) -> Drawing:
    """Requests and bytes over time."""
    canvas, (left, right) = _panels(2)
    load = arrivals.load
    edges, unit = _time_axis(load.window_s, len(load.reads_per_s))
    for axes, reads, writes in (
        (left, load.reads_per_s, load.writes_per_s), (right, load.read_mib_per_s, load.written_mib_per_s),
    ):  # fmt: skip
        axes.stairs(reads, edges, fill=True, color=BLUE, alpha=0.85, label="reads")
        axes.stairs(reads + writes, edges, baseline=reads, fill=True, color=VERMILION, alpha=0.85, label="writes")
        axes.set_xlim(0, edges[-1])
        axes.set_ylim(bottom=0)
    _finish(left, "requests a second", xlabel=unit)
    _finish(right, "MiB a second", xlabel=unit)
    peak = float((load.reads_per_s + load.writes_per_s).max())
    window = duration(load.window_s)
    alt = f"Requests and MiB a second over time in windows of {window}; at most {number(peak, 1)} requests/s."
    return Drawing(svg(canvas), alt, f"Means of windows of {window}, writes on top of reads.")


def bursts_drawing(arrivals: Arrivals) -> Drawing:
    """Gaps between requests, and dispersion over the scale of time."""
    canvas, (left, right) = _panels(2)
    gaps = arrivals.gaps
    mean = gaps.mean_us / 1e6
    times = np.maximum(gaps.cdf_us, 1) / 1e6
    left.step(times, 100 * gaps.cdf_share, where="post", color=BLUE, label="trace")
    by_chance = np.geomspace(times[0], max(times[-1], 2 * times[0]), 200)
    left.plot(by_chance, 100 * (1 - np.exp(-by_chance / mean)), color=GREY, ls=":", label="by chance")
    _time_ticks(left)
    _finish(left, "time to the next request", xlabel="at most", ylabel="% of requests")
    widths = [scale.window_s for scale in arrivals.scales]
    if widths:
        dispersion = [max(scale.index_of_dispersion, 1e-3) for scale in arrivals.scales]
        right.plot(widths, dispersion, "o-", color=VERMILION, label="trace")
        right.axhline(1, color=GREY, ls=":", label="by chance")
        right.set_yscale("log")
        _time_ticks(right)
    _finish(right, "index of dispersion", xlabel="window")
    alt = "Times between requests beside those of arrivals by chance; index of dispersion over the width of the window."
    return Drawing(
        svg(canvas), alt, "Dotted: arrivals by chance (Poisson) at the same mean. Times below 1 µs count as 1."
    )


@dataclass(frozen=True)
class Sized:
    """Sizes of one kind, as they are drawn."""

    name: str  # of several: `reads`
    colour: str
    median: float  # bytes
    from_bytes: I64  # int64[b] where each bar begins
    counts: I64  # int64[b]
    cdf_bytes: F64  # float64[k]
    cdf_share: F64  # float64[k]


def sizes_drawing(sizes: Mapping[str, Sizes | None]) -> Drawing:
    """Sizes of reads and writes."""
    kinds = [(name, sizes[name], colour) for name, colour in (("reads", BLUE), ("writes", VERMILION))]
    return drawn_sizes(
        [
            Sized(
                name, colour, own.median_bytes, own.histogram_from_bytes, own.histogram_requests, own.cdf_bytes,
                own.cdf_share,
            )
            for name, own, colour in kinds if own is not None
        ]
    )  # fmt: skip


def drawn_sizes(present: Sequence[Sized]) -> Drawing:
    """Sizes of several kinds, of which there is one at least."""
    canvas, (left, right) = _panels(2)
    for k, own in enumerate(present):
        shares = 100 * own.counts / own.counts.sum()
        octave = np.log2(own.from_bytes)
        left.bar(octave + (k - (len(present) - 1) / 2) * 0.4, shares, 0.4, color=own.colour, label=own.name)
        right.step(own.cdf_bytes, 100 * own.cdf_share, where="post", color=own.colour, label=own.name)
    octaves = np.unique(np.concatenate([np.log2(own.from_bytes) for own in present])).astype(int)
    step = -(-len(octaves) // 4)
    left.set_xticks(octaves[::step], [size(2.0**octave) for octave in octaves[::step]])
    left.set_xlim(octaves[0] - 1, octaves[-1] + 1)
    few_sizes(right)
    _finish(left, "sizes", xlabel="from, up to twice that", ylabel="% of each")
    _finish(right, "sizes, cumulative", xlabel="at most", ylabel="% of each")
    alt = "Sizes: " + "; ".join(f"half of the {own.name} have at most {size(own.median)}" for own in present)
    return Drawing(svg(canvas), f"{alt}.", "Left: each bar counts sizes from its label up to twice that.")


def heat_drawing(heat: HeatMap) -> Drawing:
    """Requests by address and time."""
    canvas, (axes,) = _panels(1, 3.6)
    canvas[0].subplots_adjust(right=1 - SCALE / PANEL)
    rows, columns = heat.requests.shape
    edges, unit = _time_axis(heat.window_s, columns)
    top = rows * heat.row_bytes / 2**20
    shown: npt.NDArray[Any] = np.ma.masked_equal(heat.requests, 0)
    from matplotlib.colors import LogNorm

    image = axes.imshow(
        shown, origin="lower", aspect="auto", extent=(0, edges[-1], 0, top), cmap="viridis_r", interpolation="nearest",
        norm=LogNorm(1, max(2, int(heat.requests.max()))),
    )  # fmt: skip
    axes.grid(visible=False)
    canvas[0].colorbar(image, ax=axes, pad=0.015, fraction=0.05)
    _finish(axes, "where requests go; colour: how many", xlabel=unit, ylabel="addresses touched, MiB")
    alt = f"Requests by address and time; the busiest tenth of the addresses get {share(heat.busiest_share)}."
    caption = (
        f"Volumes one above the other, by regions of {size(heat.region_bytes)}; regions that no request began in are "
        "left out. A rising line is a sequential scan, a level band is a busy region, blank is no request."
    )
    return Drawing(svg(canvas), alt, caption)


def working_drawing(own: WorkingSet) -> Drawing:
    """Distinct pages over time."""
    canvas, (left, right) = _panels(2)
    edges, unit = _time_axis(own.window_s, len(own.bytes))
    left.stairs(own.bytes / 2**20, edges, color=BLUE, label="all")
    left.stairs(own.new_bytes / 2**20, edges, color=VERMILION, fill=True, alpha=0.6, label="new")
    right.plot(edges, np.append(0, own.total_bytes) / 2**20, color=BLUE)
    for axes in (left, right):
        axes.set_xlim(0, edges[-1])
        axes.set_ylim(bottom=0)
    _finish(left, "distinct pages a window, MiB", xlabel=unit)
    _finish(right, "distinct pages so far, MiB", xlabel=unit)
    width = f"windows of {duration(own.window_s)}" if own.window_s else "windows of equal numbers of accesses"
    alt = f"Distinct pages in {width}, up to {size(int(own.bytes.max()))}; in all {size(int(own.total_bytes[-1]))}."
    return Drawing(svg(canvas), alt, f"In {width}. Where the right curve is level, the trace touches nothing new.")


def _times_panel(axes: "Axes", times: Times, total: float) -> None:
    """Times since the last use, as shares of all page accesses."""
    ends = np.append(times.from_s[1:], 1.19 * max(float(times.from_s[-1]), 1e-6))
    axes.step(np.maximum(ends, 1e-6), 100 * np.cumsum(times.accesses) / total, where="post", color=VERMILION)
    axes.set_ylim(bottom=0)
    _time_ticks(axes)
    _finish(axes, "time since the last use", xlabel="at most", ylabel="% of page accesses")


def reuse_drawing(own: Reuse) -> Drawing | None:
    """How soon pages come again; None where none does."""
    if not own.distances.below_bytes:
        return None
    canvas, (left, *further) = _panels(1 if own.times is None else 2)
    distances = own.distances
    total = distances.accesses.sum() / own.again.share
    ends = np.append(distances.from_bytes[1:], 2 * max(float(distances.from_bytes[-1]), PAGE_BYTES))
    shares = 100 * np.cumsum(distances.accesses) / total
    left.step(np.maximum(ends, PAGE_BYTES), shares, where="post", color=BLUE)
    left.set_ylim(bottom=0)
    few_sizes(left)
    _finish(left, "reuse distance", xlabel="other pages since, at most", ylabel="% of page accesses")
    if own.times is not None:
        _times_panel(further[0], own.times, total)
    half = f"half of the uses again come within {size(distances.below_bytes['50%'])} of other pages"
    how = "Cumulative; the rest up to 100 % are first accesses."
    if distances.error_90 is not None:
        rate, error = significant(100 * distances.rate), significant(100 * distances.error_90)
        how += f" Distances from {rate} % of the pages, ± {error} points (90 %)."
    return Drawing(svg(canvas), f"Reuse distances and times since the last use: {half}.", how)


def popularity_drawing(own: Popularity, of: Named = PAGES) -> Drawing:
    """Uses over rank, with Zipf's law."""
    canvas, (left, right) = _panels(2)
    left.plot(own.rank, own.accesses, ".-", ms=3, color=BLUE, label="trace")
    if own.zipf is not None:
        law = own.zipf.first_accesses * own.rank**-own.zipf.exponent
        left.plot(own.rank, law, color=GREY, ls=":", label=f"Zipf, s = {number(own.zipf.exponent, 2)}")
        left.set_ylim(bottom=0.7)
    left.set(xscale="log", yscale="log")
    _finish(left, f"{of.uses} of each {of.thing}", xlabel=f"rank of the {of.thing}", ylabel=of.uses)
    names = list(own.top_share)
    bars = right.bar(names, [100 * own.top_share[name] for name in names], color=BLUE, width=0.6)
    right.bar_label(bars, fmt="%.0f %%", padding=2)
    right.set_ylim(0, 112)
    title = f"share of {of.uses} of the busiest {of.things}"
    _finish(right, title, xlabel=f"busiest {of.things}, of all", ylabel=f"% of {of.uses}")
    alt = f"{of.uses.capitalize()} of {of.things} by rank; " + ", ".join(
        f"busiest {key} {share(value)}" for key, value in own.top_share.items()
    )
    return Drawing(
        svg(canvas), f"{alt}.", "Both axes on the left are logarithmic: Zipf's law is a straight line there."
    )


def latency_drawing(own: Mapping[str, Latency | None]) -> Drawing:
    """Response times of reads and writes."""
    canvas, (axes,) = _panels(1)
    told = []
    for name, colour in (("reads", BLUE), ("writes", VERMILION)):
        times = own[name]
        if times is not None:
            axes.step(np.maximum(times.cdf_us, 1) / 1e6, 100 * times.cdf_share, where="post", color=colour, label=name)
            told.append(f"half of the {name} took at most {duration(times.median_us / 1e6)}")
    _time_ticks(axes)
    _finish(axes, "response times as traced", xlabel="at most", ylabel="% of each")
    return Drawing(svg(canvas), f"Response times: {'; '.join(told)}.", "As the trace has them, before any cache.")


def patterns_drawing(own: Patterns) -> Drawing:
    """Shares of TWSD's kinds."""
    canvas, (axes,) = _panels(1, 1.9)
    present = [(name, shares) for name, shares in own.twsd.items() if shares is not None][::-1]
    start = np.zeros(len(present))
    for kind, colour in KIND_COLOURS.items():
        widths = np.array([100 * getattr(shares, kind) for _, shares in present])
        axes.barh([name for name, _ in present], widths, left=start, color=colour, label=kind, height=0.6)
        start += widths
    axes.set_xlim(0, 100)
    _finish(axes, "order of addresses", xlabel="% of requests")
    told = "; ".join(
        f"{name}: " + ", ".join(f"{share(getattr(shares, kind))} {kind}" for kind in KIND_COLOURS)
        for name, shares in present[::-1]
    )
    return Drawing(svg(canvas), f"TWSD: {told}.", "Each request beside the earlier ones of its window of 100.")


def daily_drawing(own: Daily) -> Drawing:
    """Load by the hour."""
    canvas, (axes,) = _panels(1, 2.3)
    axes.bar(np.arange(len(own.requests_per_s)), own.requests_per_s, color=BLUE, width=0.8)
    _finish(axes, "load by the hour of the day", xlabel="hours after the trace's first request", ylabel="requests/s")
    alt = f"Mean requests a second in each hour of the day, over {number(own.days, 1)} days."
    return Drawing(svg(canvas), alt, "Traces keep no time of day: hour 0 begins with the first request.")


def object_curve_drawing(own: ObjectCurve) -> Drawing:
    """Hit ratios of objects and bytes over the cache size."""
    canvas, (axes,) = _panels(1, 3.4)
    kinds = [("objects", own.hit_ratio, BLUE), ("bytes", own.byte_hit_ratio, VERMILION)]
    told = []
    for name, ratios, colour in kinds:
        if ratios is not None:
            axes.plot(own.capacities, 100 * ratios, marker="o", ms=3, color=colour, label=name)
            told.append(f"of {name} {share(float(ratios[0]))} to {share(float(ratios[-1]))}")
    axes.set_ylim(0, 100)
    if own.unit == "bytes":
        few_sizes(axes)
    else:
        axes.set_xscale("log")
    label = "cache size" if own.unit == "bytes" else "cache size, objects"
    _finish(axes, "LRU's hits over cache size", xlabel=label, ylabel="hit ratio, %")
    alt = f"LRU's hit ratio over cache size, from the smallest to the largest: {'; '.join(told)}."
    return Drawing(svg(canvas), alt, "Each size after its own warm-up, the first half of the requests.")


def object_reuse_drawing(own: ObjectReuse) -> Drawing | None:
    """How soon objects come again; None where none does."""
    if own.requests_between is None:
        return None
    panels = [
        ("bytes between", own.bytes_between, "bytes asked for since, at most", few_sizes, 1.0),
        ("time between", own.time_between_s, "at most", _time_ticks, 1e-6),
        ("requests between", own.requests_between, "other requests since, at most", None, 1.0),
    ]  # fmt: skip
    there = [panel for panel in panels if panel[1] is not None][:2]
    canvas, every = _panels(len(there))
    for axes, (title, spread, label, ticks, least) in zip(every, there, strict=True):
        assert spread is not None
        shares = 100 * own.again_share * spread.cdf_share
        axes.step(np.maximum(spread.cdf, least), shares, where="post", color=BLUE)
        axes.set_ylim(bottom=0)
        if ticks is None:
            axes.set_xscale("log")
        else:
            ticks(axes)
        _finish(axes, f"{title} two requests of an object", xlabel=label, ylabel="% of requests")
    half = f"half of those that come again within {number(own.requests_between.median)} other requests"
    return Drawing(
        svg(canvas), f"How soon objects come again: {half}.", "Cumulative; the rest up to 100 % are first requests."
    )


def object_sizes_drawing(own: ObjectSizes) -> Drawing:
    """Sizes of objects, and of what requests ask for."""
    kinds = [
        ("objects", BLUE, own.object_bytes, own.histogram_objects),
        ("requests", VERMILION, own.request_bytes, own.histogram_requests),
    ]
    return drawn_sizes(
        [
            Sized(name, colour, of.median, own.histogram_from_bytes, counts, of.cdf, of.cdf_share)
            for name, colour, of, counts in kinds
        ]
    )


def ttl_drawing(own: Lifetimes) -> Drawing | None:
    """Times to live; None where there are none, or one alone."""
    if own.ttl_s is None or own.ttl_s.cdf[0] == own.ttl_s.cdf[-1]:
        return None
    canvas, (axes,) = _panels(1)
    axes.step(own.ttl_s.cdf, 100 * own.ttl_s.cdf_share, where="post", color=BLUE)
    axes.set_ylim(bottom=0)
    _time_ticks(axes)
    _finish(axes, "times to live", xlabel="at most", ylabel="% of those given")
    alt = f"Times to live: half of them are at most {duration(own.ttl_s.median)}."
    return Drawing(svg(canvas), alt, "Of the requests that give one.")
