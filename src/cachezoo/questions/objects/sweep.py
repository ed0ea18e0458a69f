"""Policies on a trace of objects, at several sizes, with what the best cache could reach."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from cachezoo.arrays import Bool
from cachezoo.console import Advance
from cachezoo.contest.gap import gap
from cachezoo.kernels.sized.pfoo import pfoo
from cachezoo.kernels.sized.possible import can_hit
from cachezoo.questions.objects.bench import ObjectBench, Row
from cachezoo.sized.evictions import EVICTIONS
from cachezoo.sized.requests import NEVER

LOWER, UPPER = "lower", "upper"


def classics() -> list[str]:
    """The policies that see the past alone and learn no model, in the order of the registry."""
    return [own.id for own in EVICTIONS]


def rows_of(
    bench: ObjectBench, policies: Sequence[str], capacities: Sequence[int], advance: Advance | None = None
) -> list[Row]:  # fmt: skip
    """A row for each run, by policy and capacity in the order given: figures of `ObjectRun.values`.

    Raises:
        ConfigError: an unknown policy.
    """
    found, total = list[Row](), len(policies) * len(capacities)
    for k, (policy, capacity) in enumerate((policy, capacity) for policy in policies for capacity in capacities):
        if advance is not None:
            advance(k / total, policy)
        found.append(bench.run(policy, capacity).values())
    return found


def bounds_row(bench: ObjectBench, capacity: int) -> Row:
    """Between which the best cache's object and byte hit ratios lie at one capacity; a lower one is attained.

    A cache may bypass. What a delete voids, or what has expired, can be hit by none; where something expires there is
    no lower one (None), as what is kept may be void before it is hit. Source: `cachezoo.kernels.sized.pfoo`.
    """
    first = bench.first(capacity)
    requests = bench.requests
    row: Row = {f"capacity_{bench.unit}": capacity, "warmup": first}
    possible = _can_hit(bench)
    for name, by_bytes in (("hit_ratio", False), ("byte_hit_ratio", True)):
        worth = bench.worth(by_bytes, first)
        total = max(float(worth.sum()), 1.0)
        found = pfoo(requests.ids, requests.size, np.where(possible, worth, 0).astype(np.float64), capacity)
        known = bench.rules.sizes or not by_bytes
        attained = known and requests.expires_us is None
        row |= {
            f"{name}_{LOWER}": found.lower / total if attained else None,
            f"{name}_{UPPER}": found.upper / total if known else None,
        }
    return row


def _can_hit(bench: ObjectBench) -> Bool:
    """bool[n]: requests that any cache could hit."""
    requests, n = bench.requests, len(bench.requests)
    time = np.zeros(n, np.int64) if requests.time_us is None else requests.time_us
    expires = np.full(n, NEVER, np.int64) if requests.expires_us is None else requests.expires_us
    return can_hit(
        requests.ids, requests.size, requests.op, time, expires, requests.n_objects, bench.rules.around
    )  # fmt: skip


def compare(bench: ObjectBench, rows: Sequence[Row], capacity: int) -> dict[str, Any]:
    """Rows of one capacity, best object hit ratio first, with their gaps to the best classic among them.

    Args:
        bench: the trace.
        rows: of `rows_of`; keys `policy`, `hits` and `hit_ratio` are read.
        capacity: of all of them.

    Returns:
        JSON values: the capacity, `warmup`, `best_classic` (None where none is among the rows), `bounds` as
        `bounds_row`, and `rows` with `gap_closed` (of the way to the upper bound) and `gap_points`.
    """
    kept = [dict(row) for row in sorted(rows, key=lambda row: (-row["hits"], row["policy"]))]
    plain = set(classics())
    best = next((row for row in kept if row["policy"] in plain), None)
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
