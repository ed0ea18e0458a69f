"""Share or split, on the report's page: no system's section, as nothing is trained (ADR 14)."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cachezoo.questions.share.columns import FOLDER, STATIC, ShareMetrics, ShareMix, Timeline
from cachezoo.questions.share.table import (
    NAMES,
    Tested,
    app_table,
    as_published,
    cases,
    count_table,
    counted,
    fewer,
    goal,
    mix_table,
    name_of,
    summary_table,
)
from cachezoo.settings.share import EQUAL
from cachezoo.show.formats import number, percent, words
from cachezoo.show.palette import SHARINGS
from cachezoo.show.section import Choice, Figure, Section
from cachezoo.show.style import AMBER, BLACK, BLUE, GREEN, GREY, LIGHT, PINK, SKY, VERMILION, panels, save
from cachezoo.sizes import human
from cachezoo.traces.table import PAGE_BYTES
from cachezoo.zoo.base import ReportSection

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from cachezoo.report.gather import Sources

TITLE = "Share or split?"
BARS, TIME = f"{FOLDER}.bars.png", f"{FOLDER}.time.png"
APPS = (BLUE, VERMILION, GREEN, AMBER, SKY, PINK, GREY, BLACK)
HOW = (
    "Applications that run at the same time, each a captured trace, use one cache. Every way to share it chose its "
    "values on validation mixes, by the pages that it reads from the disk; here is what they do on test mixes, once "
    "the cache has filled. Share: one cache for all. Split: each application has a part of its own, which may change "
    "as time goes by. A hit in a mapped part far from the head of a queue was read from the disk before its access, so "
    "pages read are shown with every hit ratio. Slowdowns are of mean page times, a miss taking the disk's mean, "
    "without waiting. Intervals are over blocks of time of one mix, and say nothing of other days."
)


def _answer(sources: "Sources") -> str:
    """Whether to share or to split, by what, and what that does."""
    if sources.share is None:
        return "Shared caches were not measured."
    if sources.share.advised is None:
        return f"Whether applications should share a cache or split it cannot be told: {sources.share.reason}."
    return goal(sources.share)


def _section(sources: "Sources", figures: Mapping[str, Figure]) -> Section | None:
    metrics = sources.share
    if metrics is None or metrics.advised is None:
        return None
    shown = [figures[file] for file in (BARS, TIME) if file in figures]
    main = [app_table(metrics, name, mix) for name, mix in metrics.mixes.items() if mix.kind != "pair"]
    every = [mix_table(metrics, name, mix) for name, mix in metrics.mixes.items()]
    detail = Section(f"{FOLDER}-all", "Every way to share, on every test mix", tables=every, folded=True)
    tables = [summary_table(metrics), count_table(metrics), *main]
    texts = [HOW, _named(metrics), *(text for text in (counted(metrics), as_published(metrics)) if text)]
    cards = [_card(case) for case in cases(metrics, ("all",))]
    return Section(FOLDER, TITLE, texts, tables, figures=shown, parts=[detail], choices=cards)


def _named(metrics: ShareMetrics) -> str:
    """What runs in each mix."""
    large = [f"{name}: {words(list(mix.apps))}" for name, mix in metrics.mixes.items() if mix.kind != "pair"]
    pairs = sum(mix.kind == "pair" for mix in metrics.mixes.values())
    clocked = all(mix.order == "clock" for mix in metrics.mixes.values())
    order = "by the traces' clocks" if clocked else "in lockstep, one of each in turn, where not all have a clock"
    more = f"; and {pairs} pair{'s' if pairs > 1 else ''} of categories" if pairs else ""
    return f"Mixes: {'; '.join(large)}{more}. References follow each other {order}."


def _card(case: Tested) -> Choice:
    """What to run at a size and what it does."""
    row = case.row
    read = f"{number(row.transfers, 3)} pages read for each access, hit ratio {percent(row.hit_ratio)}."
    rivals = [case.rival.family] if case.rival is not None and case.saved is not None else []
    rivals += [family for family in (EQUAL, STATIC) if family in row.saved]
    compared = [f"{fewer(row.saved[family])} {name_of(family)}." for family in dict.fromkeys(rivals)]
    slow = max(row.apps, key=lambda key: (row.apps[key].slowdown, key))
    own = f"The slowest application is {slow}: {number(row.slowest, 2)} times its mean page time alone."
    title = f"{human(row.pages * PAGE_BYTES)}: {percent(row.size, 0)} of the data"
    verdict = f"{case.verdict}: {name_of(row.family)}"
    if case.refuted:
        verdict = f"validation chose {name_of(row.family)}, the test says {case.verdict}"
    return Choice(title, row.partitioner, verdict, case.tone, [read, *compared, own])


def _draw(sources: "Sources", folder: Path) -> list[Figure]:
    metrics = sources.share
    if metrics is None or metrics.advised is None:
        return []
    found = (bars_figure(metrics, folder), time_figure(metrics, folder))
    return [figure for figure in found if figure is not None]


def _main(metrics: ShareMetrics) -> tuple[str, ShareMix]:
    """The mix that is drawn: of a trace of each category, or else the first."""
    name = next((name for name, mix in metrics.mixes.items() if mix.kind == "all"), next(iter(metrics.mixes)))
    return name, metrics.mixes[name]


def _families(mix: ShareMix) -> list[str]:
    """Families in the order of `NAMES`, then those that settings add."""
    own = dict.fromkeys(row.family for row in mix.rows if not row.bound)
    return sorted(own, key=lambda family: (list(NAMES).index(family) if family in NAMES else len(NAMES), family))


def bars_figure(metrics: ShareMetrics, folder: Path) -> Figure:
    """Pages read and hit ratios at each size, and slowdowns of each application at the middle one, by family."""
    name, mix = _main(metrics)
    families = _families(mix)
    sizes = [size.share for size in metrics.sizes]
    middle = sizes[len(sizes) // 2]
    canvas, axes = panels(3, 1, 7.8)
    _size_panel(axes[0][0], mix, sizes, families, "transfers")
    _size_panel(axes[1][0], mix, sizes, families, "hit_ratio")
    _slow_panel(axes[2][0], mix, middle, families)
    handles, labels = axes[0][0].get_legend_handles_labels()
    canvas.legend(handles, labels, loc="outside upper center", ncols=4)
    save(canvas, folder, BARS)
    rows = [row for size in sizes if (row := mix.row(size, metrics.advised or "")) is not None]
    advised = words([f"{number(row.transfers, 3)} pages at {percent(row.size, 0)} of the data" for row in rows])
    alt = f"Pages read for each access, hit ratios and slowdowns by family on {name}; as advised: {advised}."
    caption = (
        f"{name}. Above: pages read from the disk for each page access (lower is better), with 90 % intervals; the "
        "black line is the best fixed split, which knows the future. In the middle: hit ratios (higher is better). "
        "Below: how much longer a page takes each application than with the whole cache to itself, at "
        f"{percent(middle, 0)} of the data."
    )
    return Figure(BARS, alt, caption)


def _places(families: Sequence[str]) -> list[float]:
    """Where the bars of a group are around its middle."""
    return [0.84 * ((place + 0.5) / len(families) - 0.5) for place in range(len(families))]


def _face(family: str) -> dict[str, Any]:
    """How a family's bars look."""
    colour, hatch = SHARINGS.get(family, (LIGHT, ""))
    return {"facecolor": colour, "hatch": hatch, "edgecolor": "white", "linewidth": 0}


def _size_panel(axis: "Axes", mix: ShareMix, sizes: Sequence[float], families: Sequence[str], what: str) -> None:
    width = 0.84 / len(families)
    for family, shift in zip(families, _places(families), strict=True):
        rows = [(at, row) for at, size in enumerate(sizes) if (row := mix.row(size, family)) is not None]
        axis.bar([at + shift for at, _ in rows], [getattr(row, what) for _, row in rows], width, **_face(family),
                 label=name_of(family))  # fmt: skip
        for at, row in rows:
            ends = row.transfers_interval if what == "transfers" else row.hit_interval
            axis.plot([at + shift] * 2, ends, color=BLACK, lw=0.8)
    for at, size in enumerate(sizes):
        fixed = mix.row(size, STATIC)
        if fixed is not None:
            label = name_of(STATIC) if at == 0 else None
            axis.plot([at - 0.45, at + 0.45], [getattr(fixed, what)] * 2, color=BLACK, lw=1.2, label=label)
    pages = [next(row.pages for row in mix.rows if row.size == size) for size in sizes]
    names = [f"{percent(size, 0)}\n{human(count * PAGE_BYTES)}" for size, count in zip(sizes, pages, strict=True)]
    axis.set_xticks(range(len(sizes)), names)
    axis.set(ylabel="pages read an access" if what == "transfers" else "hit ratio")
    axis.grid(visible=False, axis="x")


def _slow_panel(axis: "Axes", mix: ShareMix, size: float, families: Sequence[str]) -> None:
    width = 0.84 / len(families)
    keys = list(mix.apps)
    for family, shift in zip(families, _places(families), strict=True):
        row = mix.row(size, family)
        if row is not None:
            heights = [row.apps[key].slowdown if key in row.apps else float("nan") for key in keys]
            axis.bar([at + shift for at in range(len(keys))], heights, width, **_face(family))
    axis.axhline(1.0, color=BLACK, lw=0.8)
    axis.set_xticks(range(len(keys)), keys)
    axis.set(ylabel="slowdown")
    axis.grid(visible=False, axis="x")


def time_figure(metrics: ShareMetrics, folder: Path) -> Figure | None:
    """The split over time, a panel a size; None where nothing is split."""
    name, mix = _main(metrics)
    if not mix.timelines:
        return None
    canvas, axes = panels(1, len(mix.timelines), 3.4)
    for axis, line in zip(axes[0], mix.timelines, strict=True):
        _time_panel(axis, mix, line)
    axes[0][0].set_ylabel("part of the cache")
    handles, labels = axes[0][0].get_legend_handles_labels()
    canvas.legend(handles, labels, loc="outside upper center", ncols=4)
    save(canvas, folder, TIME)
    family = name_of(mix.timelines[0].family)
    last = mix.timelines[-1]
    ends = words([f"{key} {percent(parts[-1], 0)}" for key, parts in last.shares.items()])
    alt = f"How {family} splits the cache over time on {name}; at {percent(last.size, 0)} it ends with {ends}."
    caption = f"{name}: how {family} splits the cache as time goes by, from equal parts on; a panel is a size of cache."
    return Figure(TIME, alt, caption)


def _time_panel(axis: "Axes", mix: ShareMix, line: Timeline) -> None:
    blocks = len(next(iter(line.shares.values())))
    times = [(block + 0.5) / blocks for block in range(blocks)]
    colours = [APPS[place % len(APPS)] for place in range(len(mix.apps))]
    axis.stackplot(times, *[line.shares[key] for key in mix.apps], labels=list(mix.apps), colors=colours, lw=0)
    axis.set(xlim=(times[0], times[-1]), ylim=(0, 1), title=percent(line.size, 0), xlabel="of all page accesses")
    axis.set_xticks([0.25, 0.5, 0.75])


PART = ReportSection(FOLDER, TITLE, _answer, _section, _draw)
