"""Virtual caches on the report's page: does one pay, and what does the disk have to do for it?"""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from cachezoo.show.formats import number, percent, span, words
from cachezoo.show.plots import VIRTUAL
from cachezoo.show.section import Figure, Section
from cachezoo.show.style import AMBER, BLUE, GREEN, GREY, SKY, panels, save
from cachezoo.zoo.base import ReportSection
from cachezoo.zoo.virtual.metrics import VirtualMetrics, VirtualModel, VirtualTrace
from cachezoo.zoo.virtual.results import (
    DEARER,
    NO,
    YES,
    Found,
    paper,
    pays,
    rows_table,
    starts_pay,
    starts_table,
    summary_table,
    tests,
    tuned,
)

if TYPE_CHECKING:
    from cachezoo.models.measured import Measured

KIND = "virtual"
TITLE = "Does a virtual cache pay here?"
SHORT = {
    YES: "It pays on",
    DEARER: "It hits more, but the disk reads more than it saves, on",
    NO: "No gain in hits is shown on",
}
ACROSS = 2  # panels in a row
PLACES = {"plain": ("plain policy", GREY, "o"), "paper": ("the paper's settings", AMBER, "^"),
          "head": ("head of the tuned queue", SKY, "s"), "tuned": ("tuned", BLUE, "D")}  # fmt: skip


def _metrics(sources: "Measured") -> Found:
    """metrics/virtual/<category>.json by category."""
    found = sources.by_category.get(KIND, {})
    return {name: one for name, one in found.items() if isinstance(one, VirtualMetrics)}


def _answer(sources: "Measured") -> str:
    """Whether a virtual cache pays, on each test trace."""
    metrics = _metrics(sources)
    if not tests(metrics):
        return "Virtual caches were not measured: take a plain policy."
    begin = (
        "A virtual cache orders more pages than it holds, and holds those at the positions of that queue which were "
        "asked most. A hit far from the queue's head was read from the disk before it was asked: it hides the wait, "
        "but saves the disk nothing, so transfers (pages read) stand beside hits."
    )
    found: dict[str, list[str]] = {answer: [] for answer in SHORT}
    for _, model, key, trace in tests(metrics):
        found[pays(tuned(model, trace)).text].append(key)
    return " ".join([begin, *(f"{SHORT[answer]} {words(names)}." for answer, names in found.items() if names)])


def _told(one: VirtualMetrics, model: VirtualModel, key: str, trace: VirtualTrace) -> str:
    """A test trace in a few sentences."""
    row, first, head = tuned(model, trace), paper(trace), trace.row("head")
    low, high = (100 * end for end in row.gain_interval)
    alone = f", of which the queue's head alone has {number(100 * head.gain, 2, True)}" if head is not None else ""
    said = (
        f"{one.category}, {key}: the tuned cache hits {percent(row.hit_ratio)}, "
        f"{number(100 * row.gain, 2, True)} points {span((low, high), 2, 1)} over {trace.best_plain}{alone}, "
        f"at {percent(row.of_plain_transfers, 0)} of its transfers. The paper's settings hit "
        f"{percent(first.hit_ratio)} with {first.policy}, at {percent(first.of_plain_transfers, 0)} of its transfers."
    )
    return said if model.promoted else f"{said} The tuned cache is not promoted."


def starts_said(metrics: Found) -> str:
    """Whether a warm start is of any use."""
    found = [
        (key, policy, starts_pay(trace, policy))
        for _, _, key, trace in tests(metrics)
        for policy in dict.fromkeys(one.policy for one in trace.starts)
    ]
    good = [f"{policy} on {key}" for key, policy, pays_ in found if pays_]
    if not found:
        return ""
    if not good:
        return (
            f"A warm start is useless here: in none of {len(found)} cases does it reach its steady hit ratio in half "
            "the page accesses of a cold one. An empty queue has no pages at the positions that the profile would map."
        )
    return (
        f"A warm start takes half the page accesses of a cold one in {len(good)} of {len(found)} cases: {words(good)}."
    )


def _section(sources: "Measured", figures: Mapping[str, Figure]) -> Section | None:
    metrics = _metrics(sources)
    if not metrics:
        return None
    texts = [
        "All page accesses are counted, from an empty cache on. Settings were tuned on validation, with a limit on "
        "transfers; the paper's are shown beside. Gains are over the plain policy of most hits on that very trace.",
        *(_told(*found) for found in tests(metrics)),
        starts_said(metrics),
        *(f"{one.category}: not all was measured, {one.reason}." for one in metrics.values() if one.reason),
    ]
    detail = [rows_table(one, key, trace) for one, _, key, trace in tests(metrics)]
    found = [table for table in (summary_table(metrics), *detail, starts_table(metrics)) if table.rows]
    shown = [figures[VIRTUAL]] if VIRTUAL in figures else []
    return Section(KIND, TITLE, [text for text in texts if text], found, shown)


def _draw(sources: "Measured", folder: Path) -> list[Figure]:
    figure = transfers_figure(_metrics(sources), folder)
    return [] if figure is None else [figure]


def transfers_figure(metrics: Found, folder: Path) -> Figure | None:
    """Hits over transfers of every cache, a panel a test trace."""
    found = tests(metrics)
    if not found:
        return None
    down = -(-len(found) // ACROSS)
    canvas, axes = panels(down, ACROSS, 1.0 + 2.4 * down)
    cells = [axis for row in axes for axis in row]
    said = []
    for axis, (_, model, key, trace) in zip(cells, found, strict=False):
        for kind, (label, colour, marker) in PLACES.items():
            own = [row for row in trace.rows if row.kind == kind]
            axis.scatter(
                [row.transfers for row in own], [100 * row.hit_ratio for row in own], color=colour, marker=marker,
                label=label if axis is cells[0] else None, s=26, zorder=3,
            )  # fmt: skip
            for row in own:
                axis.annotate(
                    row.policy, (row.transfers, 100 * row.hit_ratio), fontsize=6, xytext=(3, 2),
                    textcoords="offset points",
                )  # fmt: skip
        # A cache whose every transfer is a miss lies on this line; what lies to the right of it reads ahead.
        high = max(row.hit_ratio for row in trace.rows)
        axis.plot([1, 1 - high], [0, 100 * high], color=GREEN, linewidth=0.8, zorder=1)
        axis.set(title=key, xlabel="transfers a page access", ylabel="hits, %")
        said.append(f"{key} {percent(tuned(model, trace).hit_ratio)} at {number(tuned(model, trace).transfers, 2)}")
    for axis in cells[len(found) :]:
        axis.set_visible(False)
    canvas.legend(loc="outside upper center", ncols=4, fontsize=8)
    save(canvas, folder, VIRTUAL)
    alt = f"Hits of the tuned virtual cache at its transfers a page access: {', '.join(said)}."
    caption = (
        "Hits over pages read from the disk, on test traces. On the line every page read is a miss; right of it pages "
        "are read besides, so higher there is not less work for the disk."
    )
    return Figure(VIRTUAL, alt, caption)


PART = ReportSection(KIND, TITLE, _answer, _section, _draw)
