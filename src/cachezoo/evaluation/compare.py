"""Policies side by side at one capacity and one warm-up index."""

from collections.abc import Callable
from typing import Any

from cachezoo.policies.registry import OPTIMUM, POLICIES, classics
from cachezoo.policies.simulate import Simulation, simulate
from cachezoo.traces.table import PageAccesses, Trace

MIN_GAP = 0.02


def gap(hit_ratio: float, best: float, optimum: float) -> tuple[float | None, float]:
    """`gap_closed` and `gap_points` of a hit ratio.

    Args:
        hit_ratio: page-access hit ratio of the policy.
        best: that of the best classic.
        optimum: that of Belady with bypass.

    Returns:
        (h - h_best) / (h_optimum - h_best), None where the denominator is below 0.02; and h - h_best in points
        of 0.01.
    """
    room = optimum - best
    return ((hit_ratio - best) / room if room >= MIN_GAP else None), 100 * (hit_ratio - best)


def compare(
    trace: Trace,
    pages: PageAccesses,
    policy_ids: list[str],
    capacity: int,
    warmup: int,
    models: list[Simulation],
    advance: Callable[[float, str], None] | None = None,
) -> dict[str, Any]:
    """Run policies and the optimum over a trace.

    Args:
        trace: requests.
        pages: their page accesses.
        policy_ids: what to run; the optimum is added where it is missing.
        capacity: pages.
        warmup: page accesses replayed before counting, the same for all.
        models: runs of bundles at the same capacity and warm-up.
        advance: told (policies done, the next one's id).

    Returns:
        JSON values: `capacity`, `warmup`, `best_classic`, `optimum`, `rows` (one per policy, best hit ratio first).
    """
    ids = [*dict.fromkeys([*policy_ids, OPTIMUM])]
    runs: list[tuple[str, Simulation]] = [("model", result) for result in models]
    for done, policy_id in enumerate(ids):
        if advance is not None:
            advance(done, policy_id)
        runs.append((POLICIES[policy_id].kind, simulate(trace, pages, policy_id, capacity, warmup)))
    rows: list[dict[str, Any]] = [
        {
            "policy": result.policy,
            "kind": kind,
            "requests": result.requests,
            "page_accesses": result.page_accesses,
            "hits": result.hits,
            "hit_ratio": result.hit_ratio,
            "ssd_writes": result.ssd_writes,
            "requests_per_s": len(trace) / max(result.kernel_s, 1e-9),
        }
        for kind, result in runs
    ]
    by_hits = sorted(rows, key=lambda row: (-row["hits"], row["policy"]))
    ran = [row for row in by_hits if row["policy"] in classics()]
    optimum = next(row for row in rows if row["policy"] == OPTIMUM)
    best = ran[0] if ran else None
    for row in rows:
        closed, points = gap(row["hit_ratio"], best["hit_ratio"], optimum["hit_ratio"]) if best else (None, None)
        row["gap_closed"], row["gap_points"] = closed, points
    return {
        "trace_id": trace.meta.trace_id,
        "capacity": capacity,
        "warmup": warmup,
        "best_classic": best["policy"] if best else None,
        "optimum": OPTIMUM,
        "rows": by_hits,
    }
