"""Policies on a trace of objects, at several sizes, with what the best cache could reach."""

from collections.abc import Sequence
from typing import Any

from cachezoo.console import Advance
from cachezoo.contest.gap import gap
from cachezoo.questions.objects.bench import ObjectBench, Row
from cachezoo.sized import foresight, learned, modelled
from cachezoo.sized.bounds import hit_bounds
from cachezoo.sized.evictions import EVICTIONS, LRU
from cachezoo.sized.spec import parse

LOWER, UPPER = "lower", "upper"


def classics() -> list[str]:
    """The policies that see the past alone and fit no trees to it, in the order of the registry."""
    evictions = [own.id for own in (*EVICTIONS, *modelled.EVICTIONS)]
    return [*evictions, *(f"{own.id}+{LRU.id}" for own in modelled.ADMISSIONS)]


def kind_of(policy: str) -> str:
    """`bound` of a policy that knows the future, `learned` of one that fits trees, `classic`, or else `composed`."""
    eviction = parse(policy).eviction.id
    for kind, known in (("bound", foresight.EVICTIONS), ("learned", learned.EVICTIONS)):
        if eviction in {own.id for own in known}:
            return kind
    return "classic" if policy in classics() else "composed"


def rows_of(
    bench: ObjectBench, policies: Sequence[str], capacities: Sequence[int], advance: Advance | None = None
) -> list[Row]:  # fmt: skip
    """A row for each run, by policy and capacity in the order given: figures of `ObjectRun.values`, and `kind`.

    Raises:
        ConfigError: an unknown policy.
    """
    found, total = list[Row](), len(policies) * len(capacities)
    for k, (policy, capacity) in enumerate((policy, capacity) for policy in policies for capacity in capacities):
        if advance is not None:
            advance(k / total, policy)
        values = bench.run(policy, capacity).values()
        found.append({"policy": values.pop("policy"), "kind": kind_of(policy), **values})
    return found


def bounds_row(bench: ObjectBench, capacity: int) -> Row:
    """Between which the best cache's object and byte hit ratios lie at one capacity; a lower one is attained.

    Source: `cachezoo.sized.bounds.hit_bounds`. Where sizes are ignored there are no ratios of bytes (None).
    """
    first = bench.first(capacity)
    found = hit_bounds(bench.requests, capacity, warmup=first, around=bench.rules.around)
    row: Row = {f"capacity_{bench.unit}": capacity, "warmup": first}
    for name in ("hit_ratio", "byte_hit_ratio"):
        own = getattr(found, name)
        known = bench.rules.sizes or name == "hit_ratio"
        row |= {f"{name}_{LOWER}": own.lower if known else None, f"{name}_{UPPER}": own.upper if known else None}
    return row


def compare(bench: ObjectBench, rows: Sequence[Row], capacity: int) -> dict[str, Any]:
    """Rows of one capacity, best object hit ratio first, with their gaps to the best classic among them.

    Args:
        bench: the trace.
        rows: of `rows_of`; keys `policy`, `kind`, `hits` and `hit_ratio` are read.
        capacity: of all of them.

    Returns:
        JSON values: the capacity, `warmup`, `best_classic` (None where none is among the rows), `bounds` as
        `bounds_row`, and `rows` with `gap_closed` (of the way to the upper bound) and `gap_points`.
    """
    kept = [dict(row) for row in sorted(rows, key=lambda row: (-row["hits"], row["policy"]))]
    best = next((row for row in kept if row["kind"] == "classic"), None)
    limits = bounds_row(bench, capacity)
    for row in kept:
        gaps = gap(row["hit_ratio"], best["hit_ratio"], limits[f"hit_ratio_{UPPER}"]) if best else (None, None)
        row["gap_closed"], row["gap_points"] = gaps
    return {
        f"capacity_{bench.unit}": capacity,
        "warmup": kept[0]["warmup"],
        "best_classic": best["policy"] if best else None,
        "bounds": limits,
        "rows": kept,
    }
