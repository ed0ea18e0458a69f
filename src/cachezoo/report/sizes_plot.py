"""Hit ratio over the size of the page cache, in MiB and GiB, inside a workload's card."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from cachezoo.report.cases import InPage
from cachezoo.report.gather import Category, Sources
from cachezoo.report.plots import colour_of
from cachezoo.report.sections import at_sizes
from cachezoo.report.traces import TraceFacts
from cachezoo.report.verdict import page_models
from cachezoo.show.drawing import svg
from cachezoo.show.formats import percent, words
from cachezoo.show.section import Drawing
from cachezoo.show.style import BLACK, GREY, SKY, settings
from cachezoo.sizes import PAGE_BYTES, human, size_ticks

if TYPE_CHECKING:
    from matplotlib.axes import Axes

PANEL_INCHES, HEIGHT_INCHES = 4.9, 2.4
NAMES = {"lru": ("LRU", SKY), "belady_bypass": ("optimum", BLACK)}


def size_drawing(sources: Sources, category: Category, cases: Sequence[InPage]) -> Drawing | None:
    """A panel for each test trace: LRU, the optimum, best classic and models; None without test traces.

    Args:
        sources: the report's.
        category: the workload.
        cases: its test traces, those of its own programs first.
    """
    from matplotlib.figure import Figure

    found = [(case, facts) for case in cases if (facts := sources.trace(case.trace)) is not None and facts.hit_ratios]
    if not found:
        return None
    with settings():
        canvas = Figure(figsize=(PANEL_INCHES * len(found), HEIGHT_INCHES), layout="constrained")
        axes = canvas.subplots(1, len(found), squeeze=False, sharey=True)[0]
        for axis, (case, facts) in zip(axes, found, strict=True):
            _panel(axis, sources, category, case, facts)
        axes[0].set_ylabel("page hit ratio, %")
        axes[0].set_ylim(bottom=0)
        handles, labels = axes[0].get_legend_handles_labels()
        canvas.legend(handles, labels, loc="outside lower center", ncols=3 if len(found) == 1 else 5, fontsize=8)
        drawn = svg(canvas)
    traces = words([case.trace for case, _ in found])
    alt = f"Page hit ratio over cache size on {traces}. {' '.join(_told(case, facts) for case, facts in found)}"
    caption = (
        f"Hit ratio over cache size on {traces}; dotted: the size that was compared. Best classic: in hindsight, on "
        "that very trace. Bars: lowest to highest training."
    )
    return Drawing(drawn, alt, caption)


def _panel(axis: "Axes", sources: Sources, category: Category, case: InPage, facts: TraceFacts) -> None:
    footprint = facts.figures["working_set_bytes"]
    across = [share * footprint for share in facts.capacities]
    for policy, ratios in facts.hit_ratios.items():
        label, colour = NAMES.get(policy, (policy, GREY))
        axis.plot(across, [100 * ratio for ratio in ratios], color=colour, label=label, lw=1.3)
    points = sorted(at_sizes(sources, case.trace), key=lambda found: found.capacity)
    if points:
        sizes = [found.capacity * PAGE_BYTES for found in points]
        best = [100 * found.best_classic for found in points]
        axis.plot(sizes, best, "s--", color=GREY, ms=3.5, lw=1, label="best classic")
    for name in sorted({found.policy for found in points}):
        own = [found for found in points if found.policy == name]
        sizes = [found.capacity * PAGE_BYTES for found in own]
        axis.plot(sizes, [100 * found.hit_ratio for found in own], "o-", color=colour_of(name), ms=4, label=name)
        for size, found in zip(sizes, own, strict=True):
            if found.seeds:
                axis.plot([size, size], [100 * min(found.seeds), 100 * max(found.seeds)], color=colour_of(name), lw=2)
    trace = category.page.traces[case.trace] if category.page is not None else None
    for model in page_models(sources, category):
        row = trace.row(model.id) if trace is not None else None
        if trace is not None and row is not None and model.id not in {found.policy for found in points}:
            at, low, high = trace.capacity * PAGE_BYTES, *(100 * end for end in row.hit_ratio_interval)
            axis.plot(at, 100 * row.hit_ratio, "^", color=colour_of(model.id), ms=5, label=model.id)
            axis.plot([at, at], [low, high], color=colour_of(model.id), lw=1)
    axis.axvline(sources.capacity_fraction * footprint, color=GREY, lw=1, ls=":")
    size_ticks(axis)
    axis.set(xlabel="cache size", title=case.trace + (", unseen program" if case.unseen else ""))


def _told(case: InPage, facts: TraceFacts) -> str:
    footprint = facts.figures["working_set_bytes"]
    said = []
    for policy, ratios in facts.hit_ratios.items():
        name, _ = NAMES.get(policy, (policy, ""))
        low, high = percent(ratios[0], 0), percent(ratios[-1], 0)
        said.append(f"{name} from {low} at {human(facts.capacities[0] * footprint)} to {high} at "
                    f"{human(facts.capacities[-1] * footprint)}")  # fmt: skip
    return f"{case.trace}: {words(said)}."
