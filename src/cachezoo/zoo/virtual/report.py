"""Virtual caches in `cachezoo models results` and on the report's page: does one pay, and what does it cost the disk?

Transfers are shown with every hit ratio.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cachezoo.contest.verdict import LEAST_HITS
from cachezoo.show.formats import NONE, number, percent, span, words
from cachezoo.show.plots import VIRTUAL
from cachezoo.show.section import Figure, Section
from cachezoo.show.style import AMBER, BLACK, BLUE, GREEN, GREY, panels, save
from cachezoo.show.table import Cell, Column, Table, name_cell, number_cell, share_cell
from cachezoo.zoo.base import ReportSection, Results
from cachezoo.zoo.virtual.metrics import TUNED, Setting, VirtualMetrics, VirtualModel, VirtualRow, VirtualTrace

if TYPE_CHECKING:
    from cachezoo.models.measured import Measured

Found = Mapping[str, VirtualMetrics]
# An answer in a word, and how many more transfers than the best plain policy it may make to be one.
YES, DEARER, NO = "yes", "hits, but not the disk", "don't"
MOST_TRANSFERS = 1.0
GOAL = 0.5  # of the references of a cold start, that a warm one should take
KIND = "virtual"
TITLE = "Does a virtual cache pay here?"
SHORT = {
    YES: "It pays on",
    DEARER: "It hits more, but the disk reads more than it saves, on",
    NO: "No gain in hits is shown on",
}
ACROSS = 2  # panels in a row
NAMED = ("plain", "paper")  # the others lie close together
PLACES = {"plain": ("plain policy", GREY, "o"), "paper": ("the paper's settings", AMBER, "^"),
          "head": ("head of the tuned queue", GREEN, "s"), "tuned": ("tuned", BLUE, "D")}  # fmt: skip


def tests(metrics: Found) -> list[tuple[VirtualMetrics, VirtualModel, str, VirtualTrace]]:
    """Each test trace with its category and model."""
    return [
        (one, model, key, trace)
        for one in metrics.values()
        for model in one.models.values()
        for key, trace in one.traces.items()
    ]


def tuned(model: VirtualModel, trace: VirtualTrace) -> VirtualRow:
    """The tuned cache with the start that validation chose."""
    return next(row for row in trace.rows if row.policy == f"{TUNED}.{model.start}")


def paper(trace: VirtualTrace) -> VirtualRow:
    """The paper's settings with the queue of most hits."""
    return max((row for row in trace.rows if row.kind == "paper"), key=lambda row: row.hit_ratio)


def as_policy(setting: Setting | None) -> str:
    """A setting as `--policy` takes it, with the usual fragments; empty of what is no virtual cache."""
    if setting is None:
        return ""
    return (
        f"vrm(queue={setting.queue}, n={setting.pages}, f={setting.runs}, alpha={setting.decay:g}, "
        f"q={setting.quantum}, cost={setting.cost:g})"
    )


def pays(row: VirtualRow) -> Cell:
    """Whether a cache hits more than the best plain policy of the trace, and whether the disk has less to do."""
    if row.gain_interval[0] <= 0 or row.gain < LEAST_HITS:
        return Cell(NO, note="no gain in hits is shown that is worth it", tone="bad")
    if row.of_plain_transfers > MOST_TRANSFERS:
        return Cell(DEARER, note=f"{percent(row.of_plain_transfers - 1, signed=True)} transfers", tone="unsure")
    return Cell(YES, tone="good")


def starts_pay(trace: VirtualTrace, policy: str) -> bool:
    """Whether a warm start takes at most half the references of a cold one."""
    cold, warm = trace.started(policy, "cold"), trace.started(policy, "warm")
    return warm is not None and (cold is None or warm <= GOAL * cold)


def tables(metrics: Found) -> list[Table]:
    """One row a test trace, then one a cache of each, then the starts; those that have rows."""
    found = tests(metrics)
    each = [rows_table(one, key, trace) for one, _, key, trace in found]
    return [table for table in (summary_table(metrics), *each, starts_table(metrics)) if table.rows]


def summary_table(metrics: Found) -> Table:
    """Whether a virtual cache pays on each test trace."""
    columns = [
        Column("test trace", numeric=False),
        Column("does it pay?", "the tuned cache: more hits than the best plain policy, at no more transfers", False),
        Column("best plain", "policy of a queue, on this trace", numeric=False),
        Column("its hits", "and transfers: pages read from the disk for each page access"),
        Column("tuned", "hits"),
        Column("gain", "over the best plain policy, points of hit ratio, 90 % interval"),
        Column("transfers", "of the tuned cache, and of the best plain policy's"),
        Column("spread", "mean gain of what each search chose, points, and their standard deviation"),
        Column("the paper's", "settings with the queue of most hits: hits, and transfers of the best plain policy's"),
    ]
    rows = []
    for one, model, key, trace in tests(metrics):
        row, first, (mean, sd) = tuned(model, trace), paper(trace), trace.spread
        plain = next(row for row in trace.rows if row.policy == trace.best_plain)
        spread = "" if sd is None else f"± {100 * sd:.2f}"
        rows.append([
            name_cell(key, note=one.category),
            pays(row),
            Cell(plain.policy, code=True),
            Cell(percent(plain.hit_ratio), plain.hit_ratio, f"{plain.transfers:.3f} transfers"),
            Cell(percent(row.hit_ratio), row.hit_ratio, as_policy(row.setting)),
            number_cell(100 * row.gain, 2, [100 * end for end in row.gain_interval], tone=pays(row).tone),
            Cell(f"{row.transfers:.3f}", row.transfers, percent(row.of_plain_transfers, 0)),
            Cell(number(100 * mean, 2), 100 * mean, spread) if trace.seeds else Cell(NONE),
            Cell(percent(first.hit_ratio), first.hit_ratio, f"{first.policy}, {percent(first.of_plain_transfers, 0)}"),
        ])  # fmt: skip
    return Table("Virtual caches on test traces", columns, rows)


def rows_table(metrics: VirtualMetrics, key: str, trace: VirtualTrace) -> Table:
    """Every cache on a test trace, most hits first."""
    columns = [
        Column("cache", numeric=False),
        Column("hits", "of page accesses, from an empty cache on, 90 % interval"),
        Column("gain", f"over {trace.best_plain}, points, 90 % interval"),
        Column("transfers", "pages read from the disk for each page access"),
        Column("of new mappings", "allocation: of these, read because the mapping changed"),
        Column("of entering pages", "fragmentation: of these, read because they came into a mapped run"),
        Column("disk time, hidden", f"of {trace.best_plain}'s, if transfers besides misses cost nothing"),
        Column("disk time, not hidden", f"of {trace.best_plain}'s, if every transfer takes as long as a miss"),
    ]
    rows = [
        [
            name_cell(row.policy, note=as_policy(row.setting)),
            share_cell(row.hit_ratio, row.hit_ratio_interval),
            number_cell(100 * row.gain, 2, [100 * end for end in row.gain_interval]),
            number_cell(row.transfers, 3),
            number_cell(row.allocation, 3),
            number_cell(row.fragmentation, 3),
            share_cell(row.of_plain_misses),
            share_cell(row.of_plain_transfers),
        ]
        for row in sorted(trace.rows, key=lambda row: (-row.hit_ratio, row.policy))
    ]
    return Table(f"{metrics.category}: virtual caches on {key}, {trace.capacity} pages", columns, rows)


def starts_table(metrics: Found) -> Table:
    """How long starts take."""
    columns = [
        Column("test trace", numeric=False),
        Column("cache", numeric=False),
        Column("steady hits", "of the second half, from a cold start"),
        Column("cold", "page accesses until a window of them first hits the part judge.virtual.steady of that"),
        Column("warm", "the same from the profile of the train traces"),
        Column("at most half?", "the goal of a warm start", numeric=False),
    ]
    rows = [
        [
            name_cell(key),
            name_cell(policy),
            share_cell(next(one.steady for one in trace.starts if one.policy == policy)),
            number_cell(trace.started(policy, "cold")),
            number_cell(trace.started(policy, "warm")),
            Cell("yes" if starts_pay(trace, policy) else "no", tone="good" if starts_pay(trace, policy) else "bad"),
        ]
        for _, _, key, trace in tests(metrics)
        for policy in dict.fromkeys(one.policy for one in trace.starts)
    ]
    return Table("Starts of virtual caches on test traces", columns, rows)


def values(metrics: Found) -> Mapping[str, Sequence[Mapping[str, Any]]]:
    """The same as JSON values: `caches`, `searches` and `starts` with all that the metrics have, and `categories`."""
    found = tests(metrics)

    def each(name: str) -> list[dict[str, Any]]:
        return [
            {"category": one.category, "trace": key, **row.model_dump(mode="json")}
            for one, _, key, trace in found
            for row in getattr(trace, name)
        ]

    categories = [
        {
            "category": one.category, "reason": one.reason, "model": name, "promoted": model.promoted,
            "start": model.start, **one.headline(name),
        }
        for one in metrics.values()
        for name, model in one.models.items()
    ]  # fmt: skip
    return {"categories": categories, "caches": each("rows"), "searches": each("seeds"), "starts": each("starts")}


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
        "accessed most. A hit far from the queue's head was read from the disk before its access: it hides the wait, "
        "but saves the disk nothing, so transfers (pages read) are shown with hits."
    )
    found: dict[str, list[str]] = {answer: [] for answer in SHORT}
    for _, model, key, trace in tests(metrics):
        found[pays(tuned(model, trace)).text].append(key)
    return " ".join([begin, *(f"{SHORT[answer]} {words(names)}." for answer, names in found.items() if names)])


def _sentences(one: VirtualMetrics, model: VirtualModel, key: str, trace: VirtualTrace) -> str:
    """A test trace in a few sentences."""
    row, first, head = tuned(model, trace), paper(trace), trace.row("head")
    low, high = (100 * end for end in row.gain_interval)
    alone = f", of which the queue's head alone has {number(100 * head.gain, 2, True)}" if head is not None else ""
    found = (
        f"{one.category}, {key}: the tuned cache hits {percent(row.hit_ratio)}, "
        f"{number(100 * row.gain, 2, True)} points {span((low, high), 2, 1)} over {trace.best_plain}{alone}, "
        f"at {percent(row.of_plain_transfers, 0)} of its transfers. The paper's settings hit "
        f"{percent(first.hit_ratio)} with {first.policy}, at {percent(first.of_plain_transfers, 0)} of its transfers."
    )
    return found if model.promoted else f"{found} The tuned cache is not promoted."


def warm_starts(metrics: Found) -> str:
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
        "transfers; the paper's are shown too. Gains are over the plain policy of most hits on that very trace.",
        *(_sentences(*found) for found in tests(metrics)),
        warm_starts(metrics),
        *(f"{one.category}: not all was measured, {one.reason}." for one in metrics.values() if one.reason),
    ]
    shown = [figures[VIRTUAL]] if VIRTUAL in figures else []
    return Section(KIND, TITLE, [text for text in texts if text], tables(metrics), shown)


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
    points = []
    for axis, (_, model, key, trace) in zip(cells, found, strict=False):
        for kind, (label, colour, marker) in PLACES.items():
            own = [row for row in trace.rows if row.kind == kind]
            axis.scatter(
                [row.transfers for row in own], [100 * row.hit_ratio for row in own], color=colour, marker=marker,
                label=label if axis is cells[0] else None, s=26, zorder=3,
            )  # fmt: skip
            for row in own if kind in NAMED else ():
                axis.annotate(
                    row.policy, (row.transfers, 100 * row.hit_ratio), fontsize=8, xytext=(3, 2),
                    textcoords="offset points",
                )  # fmt: skip
        # A cache whose every transfer is a miss lies on this line; what lies to the right of it reads ahead.
        axis.margins(x=0.15)
        high = max(row.hit_ratio for row in trace.rows)
        axis.plot([1, 1 - high], [0, 100 * high], color=BLACK, linewidth=0.8, zorder=1)
        axis.set(title=key, xlabel="transfers a page access", ylabel="hits, %")
        points.append(f"{key} {percent(tuned(model, trace).hit_ratio)} at {number(tuned(model, trace).transfers, 2)}")
    for axis in cells[len(found) :]:
        axis.set_visible(False)
    canvas.legend(loc="outside upper center", ncols=4)
    save(canvas, folder, VIRTUAL)
    alt = f"Hits of the tuned virtual cache at its transfers a page access: {', '.join(points)}."
    caption = (
        "Hits over pages read from the disk, on test traces. On the line every page read is a miss; right of it pages "
        "are read besides, so higher there is not less work for the disk."
    )
    return Figure(VIRTUAL, alt, caption)


RESULTS = Results(tables, values)
PART = ReportSection(KIND, TITLE, _answer, _section, _draw)
