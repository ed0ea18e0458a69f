"""Policies side by side at one capacity and one warm-up index."""

from collections.abc import Sequence
from typing import Any

from cachezoo.contest.gap import gap
from cachezoo.policies.registry import OPTIMUM, classics

Row = dict[str, Any]


def contenders(policy_ids: Sequence[str], every: bool) -> list[str]:
    """What runs to compare these: they and the optimum; with `every`, all registered classics too."""
    return [*dict.fromkeys([*policy_ids, *(classics() if every else []), OPTIMUM])]


def compare(rows: Sequence[Row]) -> dict[str, Any]:
    """Rows of one trace at one capacity, with their gaps to the best classic among them.

    Args:
        rows: of the `contenders`, and of models (kind ``model``); keys `policy`, `kind`, `capacity`, `warmup`, `hits`,
            `hit_ratio` are read.

    Returns:
        JSON values: `capacity`, `warmup`, `best_classic` (None where no classic is among the rows), `optimum`, `rows`
        (best hit ratio first) with `gap_closed` and `gap_points`, None without a classic.
    """
    kept = [dict(row) for row in sorted(rows, key=lambda row: (-row["hits"], row["policy"]))]
    best = next((row for row in kept if row["kind"] == "classic"), None)
    optimum = next(row for row in kept if row["policy"] == OPTIMUM)
    for row in kept:
        gaps = gap(row["hit_ratio"], best["hit_ratio"], optimum["hit_ratio"]) if best else (None, None)
        row["gap_closed"], row["gap_points"] = gaps
    return {
        "capacity": optimum["capacity"],
        "warmup": optimum["warmup"],
        "best_classic": best["policy"] if best else None,
        "optimum": OPTIMUM,
        "rows": kept,
    }
