"""How a caching model's tags do against the oracle's, and what the oracle itself reaches."""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from cachezoo.arrays import F32, Bool
from cachezoo.kernels.manager_limits import Cache
from cachezoo.labels.tags import Labels, Tags
from cachezoo.traces.pages import PageAccesses
from cachezoo.traces.table import Trace
from cachezoo.zoo.caching.serve import serve_decisions

PAPER_RULES = ("stay", "three")


def tag_metrics(predicted: Bool, truth: Bool) -> dict[str, float | None]:
    """Accuracy, balanced accuracy, Matthews correlation and majority share of a binary tag.

    Both are bool[k] over the rows that count.

    Returns:
        None for what is undefined: everything without rows, balanced accuracy and correlation with one class.
    """
    if not len(truth):
        return dict.fromkeys(("accuracy", "balanced_accuracy", "mcc", "majority", "rows"))
    tp, tn = float((predicted & truth).sum()), float((~predicted & ~truth).sum())
    fp, fn = float((predicted & ~truth).sum()), float((~predicted & truth).sum())
    both = tp + fn > 0 and tn + fp > 0
    spread = math.sqrt((tp + fp) * (tp + fn) * (tn + fp) * (tn + fn))
    return {
        "accuracy": (tp + tn) / len(truth),
        "balanced_accuracy": (tp / (tp + fn) + tn / (tn + fp)) / 2 if both else None,
        "mcc": (tp * tn - fp * fn) / spread if spread > 0 else None,
        "majority": max(tp + fn, tn + fp) / len(truth),
        "rows": float(len(truth)),
    }


def label_metrics(outputs: F32, tags: Tags, threshold: float | F32) -> dict[str, float | None]:
    """The model's tags against the oracle's, its own previous tags fed back.

    Args:
        outputs: float32[n, 4] of the run.
        tags: the oracle's, at the same capacity.
        threshold: of the cached probability, one or float32[n].

    Returns:
        `cached_*` on consulted, settled requests that free space did not decide; `all_accuracy` with hits counted
        as the oracle tags them; `duration_accuracy` and `duration_majority` where the oracle cached.
    """
    predicted = outputs[:, 0] >= np.asarray(threshold, np.float32)
    rows = tags.taught
    figures = {f"cached_{k}": v for k, v in tag_metrics(predicted[rows], tags.cached[rows]).items()}
    every = tags.settled & ~tags.forced
    right = (predicted == tags.cached) | ~tags.consulted
    figures["all_accuracy"] = float(right[every].mean()) if every.any() else None
    known = rows & tags.cached & (tags.duration > 0)
    guess = outputs[known, 1:].argmax(axis=1) + 1
    counts = np.bincount(tags.duration[known], minlength=4)
    figures["duration_accuracy"] = float((guess == tags.duration[known]).mean()) if known.any() else None
    figures["duration_majority"] = float(counts.max() / counts.sum()) if known.any() else None
    return figures


def oracle_figures(
    labels: Labels, key: tuple[str, int], trace: Trace, pages: PageAccesses, capacity: int, policy: Mapping[str, Any]
) -> dict[str, float | None]:
    """Page hit ratios over the whole trace that bound an imitator.

    Returns:
        `oracle_hit_ratio`, page by page; `oracle_decided_hit_ratio`, one decision a request; and the manager fed the
        oracle's tags (unknown stays count as mean): `oracle_manager_hit_ratio` by the policy's rules,
        `oracle_paper_hit_ratio` by the paper's.
    """
    tags = labels.tags[key]
    wanted = np.where(tags.consulted, tags.cached, tags.kept)
    queues = np.where(wanted, np.where(tags.duration > 0, tags.duration, 2), 0).astype(np.int32)

    def managed(on_hit: str, rule: str) -> float:
        cache = Cache(capacity, 0.0, on_hit, rule)
        served = serve_decisions(trace.op, pages, queues, cache, policy)
        return float(served.hits(0).mean())

    return {
        "oracle_hit_ratio": labels.hit_ratio[key],
        "oracle_decided_hit_ratio": labels.decided_hit_ratio[key],
        "oracle_manager_hit_ratio": managed(policy["on_hit"], policy["queues"]),
        "oracle_paper_hit_ratio": managed(*PAPER_RULES),
    }
