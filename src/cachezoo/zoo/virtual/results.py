"""Virtual caches as tables, for `cachezoo models results` and the report: transfers are next to each hit ratio."""

from collections.abc import Mapping, Sequence
from typing import Any

from cachezoo.contest.verdict import LEAST_HITS
from cachezoo.show.formats import NONE, number, percent
from cachezoo.show.table import Cell, Column, Table, name_cell, number_cell, share_cell
from cachezoo.zoo.base import Results
from cachezoo.zoo.virtual.metrics import TUNED, Setting, VirtualMetrics, VirtualModel, VirtualRow, VirtualTrace

Found = Mapping[str, VirtualMetrics]
# An answer in a word, and how many more transfers than the best plain policy it may make to be one.
YES, DEARER, NO = "yes", "hits, but not the disk", "don't"
MOST_TRANSFERS = 1.0
GOAL = 0.5  # of the references of a cold start, that a warm one should take


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
    return Table("Virtual caches on test traces", columns, [_summary(*found) for found in tests(metrics)])


def _summary(one: VirtualMetrics, model: VirtualModel, key: str, trace: VirtualTrace) -> list[Cell]:
    row, first, mean = tuned(model, trace), paper(trace), trace.spread
    plain = next(row for row in trace.rows if row.policy == trace.best_plain)
    return [
        name_cell(key, note=one.category),
        pays(row),
        Cell(plain.policy, code=True),
        Cell(percent(plain.hit_ratio), plain.hit_ratio, f"{plain.transfers:.3f} transfers"),
        Cell(percent(row.hit_ratio), row.hit_ratio, as_policy(row.setting)),
        number_cell(100 * row.gain, 2, [100 * end for end in row.gain_interval], tone=pays(row).tone),
        Cell(f"{row.transfers:.3f}", row.transfers, percent(row.of_plain_transfers, 0)),
        Cell(NONE) if not trace.seeds else Cell(number(100 * mean[0], 2), 100 * mean[0], _sd(mean[1])),
        Cell(percent(first.hit_ratio), first.hit_ratio, f"{first.policy}, {percent(first.of_plain_transfers, 0)}"),
    ]


def _sd(value: float | None) -> str:
    return "" if value is None else f"± {100 * value:.2f}"


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


PART = Results(tables, values)
