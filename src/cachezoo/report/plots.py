"""The report's plots: PNGs whose bytes depend on the figures alone."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from cachezoo.metrics.flash import FlashRow
from cachezoo.models.measured import Model
from cachezoo.report.cases import InPage
from cachezoo.report.gather import Category, Sources, TraceFacts, flash_policies
from cachezoo.report.sections import report_sections
from cachezoo.report.verdict import page_models
from cachezoo.show import plots as names
from cachezoo.show.drawing import few_sizes, svg
from cachezoo.show.formats import number, percent, words
from cachezoo.show.palette import colour_of, look_of
from cachezoo.show.section import Drawing, Figure
from cachezoo.show.style import (
    BLACK,
    BLUE,
    GREY,
    LINE_COLOURS,
    LINES,
    PANEL,
    VERMILION,
    WIDTH,
    panels,
    save,
    settings,
)
from cachezoo.sizes import PAGE_BYTES, human

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Canvas

Json = Mapping[str, Any]
WITHOUT = "_no_prefetch"
MANY = 10_000  # ticks from here on are written in thousands
TIME_UNITS = ((172_800, 86_400, "days"), (14_400, 3_600, "hours"), (900, 60, "minutes"), (0, 1, "seconds"))


def _fixed_canvas(
    columns: int, height: float, top: float, widths: Sequence[float] | None = None
) -> tuple["Canvas", Any]:
    """A row of panels with margins for short labels; laying them out takes half the drawing's time."""
    from matplotlib.figure import Figure as Canvas

    canvas = Canvas(figsize=(WIDTH, height))
    grid: dict[str, Any] = {"left": 0.075, "right": 0.985, "bottom": 0.19, "top": top, "wspace": 0.4}
    grid |= {"width_ratios": widths, "wspace": 0.17} if widths else {}
    return canvas, canvas.subplots(1, columns, squeeze=False, gridspec_kw=grid)


def draw(sources: Sources, folder: Path) -> dict[str, Figure]:
    """Draw everything into a folder.

    Returns:
        The figures by file name; what cannot be drawn for want of figures is not there.
    """
    figures: list[Figure | None] = []
    with settings():
        figures += [trace_figure(facts, sources.capacity_fraction, folder) for facts in sources.traces]
        for category in sources.categories:
            figures += [policies_figure(category, folder), flash_figure(category, folder)]
        figures += [model_figure(model, folder) for model in sources.models]
        figures += [own for part in report_sections() for own in part.draw(sources, folder)]
    return {figure.file: figure for figure in figures if figure is not None}


def trace_figure(facts: TraceFacts, capacity_fraction: float, folder: Path) -> Figure:
    """Load over time, and hit ratio over cache size."""
    canvas, axes = _fixed_canvas(2, 2.7, 0.9, (3, 2))
    load, reuse = axes[0]
    span_s = facts.window_s * len(facts.reads)
    _, scale, unit = next(entry for entry in TIME_UNITS if span_s >= entry[0])
    middle = (np.arange(len(facts.reads)) + 0.5) * facts.window_s / scale
    load.stackplot(middle, facts.reads, facts.writes, labels=("reads", "writes"), colors=(BLUE, VERMILION), alpha=0.85)
    load.set(xlabel=unit, ylabel="requests/s", title=f"{facts.key}: load", xlim=(0, span_s / scale))
    _legend_above(load)
    ticks = [100 * share for share in facts.capacities]
    for policy, ratios in facts.hit_ratios.items():
        label = "optimum" if policy == "belady_bypass" else policy
        colour, line, marker = look_of(policy)
        ratios_drawn = [100 * ratio for ratio in ratios]
        reuse.plot(ticks, ratios_drawn, color=colour, ls=line, marker=marker, label=label, ms=3)
    reuse.axvline(100 * capacity_fraction, color=GREY, lw=1, ls=":")
    reuse.set_xscale("log")
    reuse.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    reuse.minorticks_off()
    reuse.set_ylim(bottom=0)
    reuse.set(xlabel="cache size, % of distinct pages", ylabel="page hit ratio, %", title="reuse")
    _legend_above(reuse)
    file = names.trace_plot(facts.key)
    save(canvas, folder, file)
    best = {policy: ratios[facts.capacities.index(capacity_fraction)] for policy, ratios in facts.hit_ratios.items()}
    said = words([f"{policy} {percent(ratio)}" for policy, ratio in best.items()])
    alt = (
        f"Requests a second of {facts.key} over time, mean {number(facts.figures['iops_mean'])}, peak "
        f"{number(facts.figures['iops_peak'])}; page hit ratio over cache size, at "
        f"{percent(capacity_fraction, 0)} of the pages {said}."
    )
    how = f", from one in {facts.sampled} pages" if facts.sampled > 1 else ""
    said = f"{facts.key}: load in 100 windows; hit ratios of LRU and the optimum{how}."
    return Figure(file, alt, f"{said} Dotted: the size compared below.")


def _legend_above(axes: "Axes") -> None:
    """A legend in the title's line, at its right, where it covers no curve."""
    axes.set_title(axes.get_title(), loc="left")
    axes.set_title("")
    axes.legend(loc="lower right", bbox_to_anchor=(1.0, 0.98), ncols=3, handlelength=1.2, columnspacing=1.0)


def _bars(
    axes: "Axes", labels: Sequence[str], values: Sequence[float], ends: Sequence[Sequence[float] | None],
    colours: Sequence[str], title: str, unit: str, digits: int,
) -> None:  # fmt: skip
    """Horizontal bars, the first on top, each with its value and where there is one its interval."""
    at = np.arange(len(values))[::-1]
    axes.barh(at, values, color=colours, height=0.72)
    most = max([*values, *(high[1] for high in ends if high is not None), 1e-12])
    for y, value, interval in zip(at, values, ends, strict=True):
        reach = value
        if interval is not None:
            axes.plot(interval, [y, y], color=BLACK, lw=1)
            reach = max(value, interval[1])
        axes.text(reach + 0.015 * most, y, number(value, digits), va="center", fontsize=8)
    axes.set_yticks(at, labels)
    axes.set_xlim(0, 1.17 * most)
    axes.set_ylim(-0.7, len(values) - 0.3)
    axes.grid(visible=False, axis="y")
    axes.tick_params(axis="y", length=0)
    axes.set(xlabel=unit, title=title)
    axes.set_title(axes.get_title(), loc="left")
    axes.set_title("")


def policies_figure(category: Category, folder: Path) -> Figure | None:
    """Hit ratio, response time and SSD writes of every policy on the category's test traces."""
    tests = category.page.tests() if category.page else {}
    if not tests:
        return None
    height = sum(0.19 * len(trace.rows) + 0.75 for trace in tests.values())
    canvas, axes = panels(len(tests), 3, height)
    for line, (key, trace) in zip(axes, tests.items(), strict=True):
        rows = trace.rows
        labels = [row.shown for row in rows]
        colours = [colour_of(row.policy, row.kind) for row in rows]
        shares = [[100 * end for end in row.hit_ratio_interval] for row in rows]
        none = [None] * len(rows)
        _bars(line[0], labels, [100 * row.hit_ratio for row in rows], shares, colours, key, "page hit ratio, %", 1)
        times, writes = [row.mean_response_us for row in rows], [row.ssd_writes_per_100_io for row in rows]
        _bars(line[1], [""] * len(rows), times, none, colours, "", "mean response time, µs", 0)
        _bars(line[2], [""] * len(rows), writes, none, colours, "", "SSD writes, pages for 100 requests", 0)
    file = names.policies_plot(category.name)
    save(canvas, folder, file)
    alt = f"Bars of hit ratio, mean response time and SSD writes of every policy on {words(list(tests))}, as tabled."
    caption = (
        f"{category.name}: every policy at the same cache size and warm-up, most hits first; lines are 90 % intervals. "
        "Blue: models of the zoo; black and light grey: bounds that know the future; the others have the colour of "
        "their family, LRU light blue."
    )
    return Figure(file, alt, caption)


def flash_figure(category: Category, folder: Path) -> Figure | None:
    """Peak and mean read disk-head time of every policy on the category's test traces."""
    tests = category.flash.traces if category.flash else {}
    if not tests:
        return None
    height = sum(0.22 * len(flash_policies(trace)) + 0.75 for trace in tests.values())
    canvas, axes = panels(len(tests), 2, height)
    for line, (key, trace) in zip(axes, tests.items(), strict=True):
        named = flash_policies(trace)
        rows, colours = list(named.values()), [colour_of(name.removesuffix(WITHOUT)) for name in named]
        labels = [_with_mode(name, row) for name, row in named.items()]
        means, ends = [row.read_dt.mean for row in rows], [row.read_dt_mean_interval for row in rows]
        _bars(line[0], labels, means, ends, colours, key, "mean read disk-head s/s", 2)
        peaks = [row.read_dt.peak for row in rows]
        _bars(line[1], [""] * len(rows), peaks, [None] * len(rows), colours, "", "peak read disk-head s/s", 2)
    file = names.flash_plot(category.name)
    save(canvas, folder, file)
    alt = f"Bars of mean and peak read disk-head time of every policy on {words(list(tests))}, as tabled."
    caption = f"{category.name}: load of the disk behind the flash cache, lowest mean first; means with 90 % intervals."
    return Figure(file, alt, caption)


def _with_mode(policy: str, row: FlashRow) -> str:
    name = policy.removesuffix(WITHOUT)
    return f"{name}, no prefetch" if row.prefetch == "none" else f"{name}, {row.prefetch}"


def model_figure(model: Model, folder: Path) -> Figure | None:
    """Learning curve of a model, and what its threshold trades on validation."""
    steps = threshold_rows(model.trained.calibration)
    shown = _traded(steps)
    if not model.curves and not shown:
        return None
    panels = (1 if model.curves else 0) + len(shown)
    canvas, axes = _fixed_canvas(max(panels, 3), 2.8, 0.83)
    canvas.suptitle(model.id, x=0.01, ha="left", fontsize=10)
    free = list(axes[0])
    if model.curves:
        _learning_panel(free.pop(0), model)
    threshold = model.trained.calibration.get("threshold")
    for name in shown:
        axis = free.pop(0)
        pairs = sorted((row["threshold"], row[name]) for row in steps)
        axis.plot(*zip(*pairs, strict=True), "o-", color=colour_of(model.id, "model"), ms=3)
        if isinstance(threshold, int | float):
            axis.axvline(threshold, color=GREY, ls=":", lw=1)
        axis.set(xlabel="threshold", ylabel=TRADED.get(name, name.replace("_", " ")), title="on validation")
        axis.yaxis.set_major_formatter(lambda value, _: f"{value / 1e3:g}k" if value >= MANY else f"{value:g}")
        if "writes" in name:
            axis.set_ylim(bottom=0)
    for axis in free:
        axis.set_axis_off()
    file = names.model_plot(model.id)
    save(canvas, folder, file)
    said = _learnt(model)
    extra = " Threshold curves on validation beside it; dotted: the threshold shipped." if shown else ""
    return Figure(file, f"Learning curve of {model.id}. {said}", f"{model.id}: {said}{extra}")


TRADED = {
    "writes": "writes, of AcceptAll's",
    "read_dt_ms": "disk-head ms a read",
    "hit_ratio": "page hit ratio",
    "ssd_writes": "SSD writes, pages",
}


THRESHOLD_TABLES = ("curve", "thresholds")


def threshold_rows(calibration: Json) -> list[Json]:
    """The table of a calibration that has another threshold in every row."""
    for name in sorted(calibration, key=lambda name: (name not in THRESHOLD_TABLES, name)):
        rows = calibration[name]
        if isinstance(rows, list) and rows and all(isinstance(row, Mapping) and "threshold" in row for row in rows):
            if len({row["threshold"] for row in rows}) == len(rows):
                return rows
    return []


def _traded(rows: Sequence[Json]) -> list[str]:
    """At most two columns of numbers beside the threshold, those with a known meaning first."""
    if not rows:
        return []
    columns = [name for name in rows[0] if name != "threshold" and all(_is_number(row.get(name)) for row in rows)]
    return sorted(columns, key=lambda name: (name not in TRADED, name))[:2]


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _learning_panel(axes: "Axes", model: Model) -> None:
    series: dict[str, list[tuple[int, float]]] = {}
    for name, step, value in model.curves:
        series.setdefault(name, []).append((step, value))
    # Losses of several forests have units of their own, so each is shown as a part of its first value.
    several = len(series) > len(LINES)
    for place, (name, pairs) in enumerate(series.items()):
        steps, values = zip(*pairs, strict=True)
        shown = [value / values[0] for value in values] if several and values[0] else values
        colour = LINE_COLOURS[(place // len(LINES) if several else place) % len(LINE_COLOURS)]
        marker, label = "o" if len(pairs) <= 20 else "", name.replace("_", " ")
        axes.plot(steps, shown, color=colour, ls=LINES[place % len(LINES)], marker=marker, ms=3, label=label)
    axes.set(xlabel="epoch or round", ylabel="loss, of its first" if several else "loss", title="training")
    axes.legend(fontsize=8)


def _learnt(model: Model) -> str:
    """The last value of each series, and where the judged one was best."""
    last = {name: (step, value) for name, step, value in model.curves}
    if not last:
        return "It has no learning curve."
    ends = words([f"{name.replace('_', ' ')} {number(value, 4)}" for name, (_, value) in last.items()])
    return f"After {max(step for step, _ in last.values())} steps {ends}."


HEIGHT_INCHES = 3.4
NAMES = {"lru": "LRU", "belady_bypass": "optimum"}


def size_drawing(sources: Sources, category: Category, cases: Sequence[InPage]) -> Drawing | None:
    """A panel for each test trace: LRU, the optimum, and models; None without test traces.

    Args:
        sources: the report's.
        category: the workload.
        cases: its test traces, those of its own programs first.
    """
    from matplotlib.figure import Figure

    found = [(case, facts) for case in cases if (facts := sources.trace(case.trace)) is not None and facts.hit_ratios]
    if not found:
        return None
    with settings(narrow=True):
        canvases = [Figure(figsize=(PANEL, HEIGHT_INCHES), layout="constrained") for _ in found]
        panels = [canvas.subplots() for canvas in canvases]
        for axis, (case, facts) in zip(panels, found, strict=True):
            _panel(axis, sources, category, case, facts)
        top = max(axis.get_ylim()[1] for axis in panels)
        for axis, canvas in zip(panels, canvases, strict=True):
            axis.set_ylabel("page hit ratio, %")
            axis.set_ylim(0, top)
            canvas.legend(loc="outside lower center", ncols=2, columnspacing=1.0, handlelength=1.5)
        drawn = svg(canvases)
    traces = words([case.trace for case, _ in found])
    alt = f"Page hit ratio over cache size on {traces}. {' '.join(_told(case, facts) for case, facts in found)}"
    caption = f"Hit ratio over cache size on {traces}; dotted: the size that was compared. Bars: 90 % interval."
    return Drawing(drawn, alt, caption)


def _panel(axis: "Axes", sources: Sources, category: Category, case: InPage, facts: TraceFacts) -> None:
    footprint = facts.figures["working_set_bytes"]
    across = [share * footprint for share in facts.capacities]
    for policy, ratios in facts.hit_ratios.items():
        look = look_of(policy)
        label = NAMES.get(policy, policy)
        axis.plot(across, [100 * ratio for ratio in ratios], color=look.colour, ls=look.line, label=label, lw=1.3)
    trace = category.page.traces[case.trace] if category.page is not None else None
    for model in page_models(sources, category):
        row = trace.row(model.id) if trace is not None else None
        if trace is not None and row is not None:
            at, low, high = trace.capacity * PAGE_BYTES, *(100 * end for end in row.hit_ratio_interval)
            look = look_of(model.id, "model")
            axis.plot(at, 100 * row.hit_ratio, look.marker, color=look.colour, ms=5, label=model.id)
            axis.plot([at, at], [low, high], color=look.colour, lw=1)
    axis.axvline(sources.capacity_fraction * footprint, color=GREY, lw=1, ls=":")
    few_sizes(axis)
    axis.set(xlabel="cache size", title=case.trace + (", unseen program" if case.unseen else ""))


def _told(case: InPage, facts: TraceFacts) -> str:
    footprint = facts.figures["working_set_bytes"]
    said = []
    for policy, ratios in facts.hit_ratios.items():
        name = NAMES.get(policy, policy)
        low, high = percent(ratios[0], 0), percent(ratios[-1], 0)
        said.append(f"{name} from {low} at {human(facts.capacities[0] * footprint)} to {high} at "
                    f"{human(facts.capacities[-1] * footprint)}")  # fmt: skip
    return f"{case.trace}: {words(said)}."
