"""Bundles' documents, completed with what the tiny stored models do not have."""

import copy
from typing import Any

WINDOW_INPUTS = (
    "window.slog_delta", "window.log2_nearest", "window.slog_place", "window.run", "window.continues", "window.repeats",
    "window.age", "window.log1p_gap", "size.log2_bytes", "request.op",
)  # fmt: skip


def completed(kind: str, manifest: Any) -> dict[str, Any]:
    """A manifest with ranges, a mode of prefetching, or what is known, where its model states none."""
    found: dict[str, Any] = copy.deepcopy(dict(manifest))
    if kind == "admission":
        found["calibration"].setdefault("with_prefetch", {"mode": "next(16)", "threshold": 0.0})
    if kind == "caching":
        found["policy"].setdefault("ranges", {entry["name"]: [-1.0, 3.0] for entry in found["features"]})
    if kind == "workload":
        _windowed(found)
    return found


def _windowed(found: dict[str, Any]) -> None:
    """Inputs of windows, three classes, and two traces that are known; all outputs of its sets are given."""
    found["features"] = [
        {"name": name, "formula": name, "unit": "", "encoding": "number", "mean": 1.0, "scale": 2.0}
        for name in WINDOW_INPUTS
    ]
    moments = 2 * len(WINDOW_INPUTS)
    whitening = [[0.1 * (j + 1) if j < k else 1.0 for j in range(k + 1)] for k in range(moments)]
    found["calibration"]["known"] = [
        {"trace": f"trace_{place}", "mean": [place * 0.25] * moments, "whitening": whitening} for place in (0, 3)
    ]
    found["policy"] |= {"classes": ["a", "b", "c"], "unknown_above": {"window": 2.0, "vote": 2.0}}
