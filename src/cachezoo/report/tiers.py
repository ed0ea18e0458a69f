"""What to buy, on the report's page: no system's section, as nothing is trained (ADR 14)."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from cachezoo.questions.tiers.columns import FOLDER, HCA, L2ARC, RAM, TiersMetrics
from cachezoo.questions.tiers.table import (
    NAMES,
    Advised,
    Found,
    advised,
    family_table,
    faster,
    goal,
    lasts,
    name_of,
    sizes,
    summary_table,
)
from cachezoo.show.formats import latency, money, percent, words
from cachezoo.show.palette import HIERARCHIES, Look
from cachezoo.show.section import Figure, Section
from cachezoo.show.style import BLACK, PINK, panels, save
from cachezoo.zoo.base import ReportSection

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from cachezoo.report.gather import Sources

TITLE = "What to buy: RAM, an SSD, or both?"
BEGIN = (
    "Each way to spend the same money on RAM and SSD in front of the disk chose its sizes and policies on the "
    "validation trace; here is what the best of them does on test traces. Times are modelled, waiting included: as "
    "many requests are outstanding as when the trace was captured."
)
HOW = (
    "The first half of each trace warms the tiers, the second is counted. Every family of hierarchies tried the same "
    "splits of the money; a transient buffer is paid for as RAM. HCA may also take another buffer, LFU on the SSD or "
    "counts that are reset, L2ARC other rates, the others an admission. Intervals are over blocks of time of one "
    "trace, and say nothing of other days, nor of prices. These traces are small, and so are the sums: what carries "
    "over is the share of the data's size. An SSD is taken to be as small as what is bought, so that it wears out "
    "sooner than the drive that one can buy."
)


def front_plot(category: str) -> str:
    """Time of a page read over the money, of each family on the category's test traces."""
    return f"tiers.{category}.png"


def _answer(sources: "Sources") -> str:
    """What to buy, in each category."""
    if not sources.tiers:
        return "Hierarchies of RAM and SSD were not measured."
    categories: dict[str, list[str]] = {}
    for one in advised(_found(sources)):
        if not _unseen(sources, one.key):
            what = f"{one.metrics.category} ({sizes(one.choice)}, {money(one.usd)})"
            categories.setdefault(one.verdict.text, []).append(what)
    missing = [one.category for one in sources.tiers.values() if not one.traces]
    sentences = [f"{verdict[:1].upper()}{verdict[1:]}: {'; '.join(names)}." for verdict, names in categories.items()]
    sentences += [f"Not measured: {words(missing)}."] if missing else []
    return " ".join(text for text in (BEGIN, *sentences, goal(sources.tiers)) if text)


def _found(sources: "Sources") -> Found:
    """The metrics by category, test traces of unseen programs last."""
    return {
        name: one.model_copy(
            update={"traces": dict(sorted(one.traces.items(), key=lambda pair: (_unseen(sources, pair[0]), pair[0])))}
        )
        for name, one in sources.tiers.items()
    }


def _unseen(sources: "Sources", key: str) -> bool:
    facts = sources.trace(key)
    return facts is not None and facts.unseen


def _section(sources: "Sources", figures: Mapping[str, Figure]) -> Section | None:
    if not sources.tiers:
        return None
    found = _found(sources)
    parts = [_category(sources, one, figures) for one in found.values()]
    return Section(FOLDER, TITLE, [HOW], [summary_table(found)], parts=parts)


def _category(sources: "Sources", metrics: TiersMetrics, figures: Mapping[str, Figure]) -> Section:
    """What to buy for one category: sentences, the front, and every family at every budget."""
    anchor = f"{FOLDER}-{metrics.category}"
    if not metrics.traces:
        return Section(anchor, metrics.category, [f"Cannot be told: {metrics.reason}."])
    texts = [_outcome(sources, one) for one in advised({metrics.category: metrics})]
    priced = (
        f"Prices: {metrics.prices.name}: {money(metrics.prices.ram_gb)} a GB of RAM, {money(metrics.prices.ssd_gb)} a "
        f"GB of SSD. Devices: {metrics.device}."
    )
    file = front_plot(metrics.category)
    shown = [figures[file]] if file in figures else []
    detail = [family_table(metrics, key, trace) for key, trace in metrics.traces.items()]
    every = Section(f"{anchor}-all", "Every way to spend every budget", tables=detail, folded=True)
    return Section(anchor, metrics.category, [*texts, priced], figures=shown, parts=[every])


def _outcome(sources: "Sources", one: Advised) -> str:
    """What to buy and run, and what that does on a test trace."""
    unseen = " (a program that nothing was chosen on)" if _unseen(sources, one.key) else ""
    row, share = one.row, percent(one.metrics.advised or 0.0)
    found = (
        f"{one.key}{unseen}: {one.verdict.text}. {sizes(one.choice)} for {money(one.usd)}, {share} of what RAM for all "
        f"the data would cost, run as {one.choice.hierarchy}: {latency(row.amat_us)} a page read on the mean, "
        f"{latency(row.alone_us)} if nothing waited"
    )
    rivals = [f"{faster(row.saved[rival])} {name_of(rival)}" for rival in (RAM, HCA, L2ARC) if rival in row.saved]
    compared = f"; {words(rivals)} for the same money" if rivals else ""
    life = lasts(row)
    wear = f" At this rate of writes {'the SSD lasts ' * (row.ssd_years is not None)}{life}." if life else ""
    return f"{found}{compared}.{wear}"


def _draw(sources: "Sources", folder: Path) -> list[Figure]:
    figures = (front_figure(one, folder) for one in _found(sources).values())
    return [figure for figure in figures if figure is not None]


def front_figure(metrics: TiersMetrics, folder: Path) -> Figure | None:
    """Time of a page read over the money, a line a family, a panel a test trace; the front is their lower edge."""
    if not metrics.traces:
        return None
    canvas, axes = panels(1, len(metrics.traces), 3.6)
    for axis, key in zip(axes[0], metrics.traces, strict=True):
        _front_panel(axis, metrics, key)
    axes[0][0].set_ylabel("mean time of a page read")
    handles, labels = axes[0][0].get_legend_handles_labels()
    canvas.legend(handles, labels, loc="outside upper center", ncols=4)
    file = front_plot(metrics.category)
    save(canvas, folder, file)
    advice = words([f"{one.key} {latency(one.row.amat_us)}" for one in advised({metrics.category: metrics})])
    alt = f"Mean time of a page read over the money for RAM and SSD, by family; as advised: {advice}."
    caption = (
        f"{metrics.category}: what the same money buys. Lower is better; lines up and down are 90 % intervals, the "
        "ring is what is advised."
    )
    return Figure(file, alt, caption)


def _front_panel(axis: "Axes", metrics: TiersMetrics, key: str) -> None:
    from matplotlib.ticker import LogLocator

    trace = metrics.traces[key]
    families = [name for name in NAMES if any(row.family == name for row in trace.rows)]
    families += sorted({row.family for row in trace.rows} - set(families))
    budgets = {budget.share: budget for budget in metrics.budgets}
    for place, family in enumerate(families):
        rows = sorted((row for row in trace.rows if row.family == family), key=lambda row: row.budget)
        # Side by side a little, so that intervals can be told apart.
        shift = 1.02 ** (place - (len(families) - 1) / 2)
        usd = [budgets[row.budget].usd * shift for row in rows]
        times = [row.amat_us / 1000 for row in rows]
        colour, line, mark = HIERARCHIES.get(family, Look(PINK, marker="x"))
        axis.plot(usd, times, color=colour, ls=line, marker=mark, ms=4, lw=1.2, label=name_of(family))
        for at, row in zip(usd, rows, strict=True):
            axis.plot([at, at], [end / 1000 for end in row.amat_interval], color=colour, lw=0.8)
            if row.budget == metrics.advised and budgets[row.budget].best == family:
                axis.plot([at], [row.amat_us / 1000], "o", ms=11, mfc="none", mec=BLACK, mew=1.2)
    ticks = [budget.usd for budget in metrics.budgets]
    axis.set_xscale("log")
    axis.set_xticks(ticks, [f"{money(budget.usd)}\n{percent(budget.share, 0)}" for budget in metrics.budgets])
    axis.set_yscale("log")
    axis.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    axis.yaxis.set_major_formatter(lambda value, _: f"{value / 1000:g} s" if value >= 1000 else f"{value:g} ms")
    axis.minorticks_off()
    axis.set(xlabel="for RAM and SSD; of what RAM for all the data would cost", title=key)


PART = ReportSection(FOLDER, TITLE, _answer, _section, _draw)
