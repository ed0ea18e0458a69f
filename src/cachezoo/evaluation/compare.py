"""Policies side by side at one capacity and one warm-up index."""

from collections.abc import Sequence
from typing import Any

from cachezoo.measures.gap import gap
from cachezoo.policies.registry import OPTIMUM, classics

Row = dict[str, Any]


def contenders(policy_ids: Sequence[str]) -> list[str]:
    """What has to run to compare these: they, the optimum, and every registered classic."""
    return [*dict.fromkeys([*policy_ids, OPTIMUM, *classics()])]


def compare(rows: Sequence[Row], policy_ids: Sequence[str]) -> dict[str, Any]:
    """Rows of one trace at one capacity, with their gaps; the best classic is the best registered one, shown or not.

    Args:
        rows: of the `contenders`, and of models (kind ``model``); keys `policy`, `kind`, `capacity`, `warmup`, `hits`,
            `hit_ratio` are read.
        policy_ids: whose rows to show; the optimum's and the models' are always shown.

    Returns:
        JSON values: `capacity`, `warmup`, `best_classic`, `optimum`, `rows` (best hit ratio first).
    """
    by_hits = sorted(rows, key=lambda row: (-row["hits"], row["policy"]))
    best = next(row for row in by_hits if row["kind"] == "classic")
    optimum = next(row for row in rows if row["policy"] == OPTIMUM)
    shown = {*policy_ids, OPTIMUM}
    kept = [dict(row) for row in by_hits if row["kind"] == "model" or row["policy"] in shown]
    for row in kept:
        row["gap_closed"], row["gap_points"] = gap(row["hit_ratio"], best["hit_ratio"], optimum["hit_ratio"])
    return {
        "capacity": optimum["capacity"],
        "warmup": optimum["warmup"],
        "best_classic": best["policy"],
        "optimum": OPTIMUM,
        "rows": kept,
    }
