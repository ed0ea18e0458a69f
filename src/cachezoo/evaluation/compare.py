"""Policies side by side at one capacity and one warm-up index."""

from collections.abc import Callable
from typing import Any

from cachezoo.policies.registry import OPTIMUM, POLICIES, classics
from cachezoo.policies.simulate import Simulation, simulate
from cachezoo.traces.pages import PageAccesses
from cachezoo.traces.table import Trace

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
    """Run policies over a trace; the best classic is the best of all registered ones, listed or not.

    Args:
        trace: requests.
        pages: their page accesses.
        policy_ids: whose rows to show; the optimum's is added where it is missing. Every classic runs besides.
        capacity: pages.
        warmup: page accesses replayed before counting, the same for all.
        models: runs of bundles at the same capacity and warm-up.
        advance: told (rows done, the next policy's id).

    Returns:
        JSON values: `capacity`, `warmup`, `best_classic`, `optimum`, `rows` (best hit ratio first).
    """
    shown = [*dict.fromkeys([*policy_ids, OPTIMUM])]
    ids = [*dict.fromkeys([*shown, *classics()])]
    runs: list[tuple[str, Simulation]] = [("model", result) for result in models]
    for done, policy_id in enumerate(ids):
        if advance is not None:
            advance(min(done, len(shown)), policy_id)
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
    best = next(row for row in by_hits if row["kind"] == "classic")
    optimum = next(row for row in rows if row["policy"] == OPTIMUM)
    for row in rows:
        row["gap_closed"], row["gap_points"] = gap(row["hit_ratio"], best["hit_ratio"], optimum["hit_ratio"])
    return {
        "trace_id": trace.meta.trace_id,
        "capacity": capacity,
        "warmup": warmup,
        "best_classic": best["policy"],
        "optimum": OPTIMUM,
        "rows": [row for row in by_hits if row["kind"] == "model" or row["policy"] in shown],
    }
