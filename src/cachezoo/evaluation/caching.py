"""How a caching model does: its cache on a trace, its tags against the oracle's, and what the oracle itself reaches."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from cachezoo.labels.benefit import Labels, Tags, percent
from cachezoo.models.lstm_step import read_weights, torch_infer, torch_infer_all
from cachezoo.models.trained import TrainedModel, read_trained
from cachezoo.policies.rcrnn import Cache, CachingServing, serve_decisions
from cachezoo.traces.pages import PageAccesses
from cachezoo.traces.table import Trace

U8 = npt.NDArray[np.uint8]
F32 = npt.NDArray[np.float32]
Bool = npt.NDArray[np.bool_]
Advance = Callable[[int], None]
PAPER_RULES = ("stay", "three")


@dataclass(frozen=True)
class CachingRun:
    """A caching model on one trace.

    Attributes:
        model_id: the model's.
        outcome: uint8[m] for each page access, as `cachezoo.kernels.outcome` codes it.
        totals: counts over the whole trace: page_accesses, hits, admitted, write_hits, ssd_writes, replacements,
            dirty_evictions, bypassed.
        figures: tag metrics and ceilings, None where undefined (no labels, or nothing settled).
    """

    model_id: str
    outcome: U8
    totals: dict[str, int]
    figures: dict[str, float | None]


def tag_metrics(predicted: Bool, truth: Bool) -> dict[str, float | None]:
    """Accuracy, balanced accuracy, Matthews correlation and majority share of a binary tag.

    Args:
        predicted: bool[k] over the rows that count.
        truth: bool[k] of the same rows.

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


def label_metrics(outputs: F32, tags: Tags, threshold: float) -> dict[str, float | None]:
    """The model's tags against the oracle's, its own previous tags fed back.

    Args:
        outputs: float32[n, 4] of the run.
        tags: the oracle's, at the same capacity.
        threshold: of the cached probability.

    Returns:
        `cached_*` on consulted, settled requests that free space did not decide; `all_accuracy` with hits counted
        as the oracle tags them; `duration_accuracy` and `duration_majority` where the oracle cached.
    """
    predicted = outputs[:, 0] >= np.float32(threshold)
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
        served = serve_decisions(trace.op, pages.request_start, pages.page_ids, queues, cache, policy)
        return float(served.hits(0).mean())

    return {
        "oracle_hit_ratio": labels.hit_ratio[key],
        "oracle_decided_hit_ratio": labels.decided_hit_ratio[key],
        "oracle_manager_hit_ratio": managed(policy["on_hit"], policy["queues"]),
        "oracle_paper_hit_ratio": managed(*PAPER_RULES),
    }


def serving_of(model: TrainedModel, weights: Mapping[str, F32]) -> CachingServing:
    """The serving object of a trained model, its network on torch."""
    parts, threads = model.model_dump(mode="json"), int(model.arch["threads"])
    every = int(model.policy["sequence"]) if model.policy["state"] == "reset100" else 0
    return CachingServing(
        parts["features"], parts["policy"], parts["calibration"], parts["geometry"], torch_infer(weights, threads),
        infer_all=torch_infer_all(weights, threads, every),
    )  # fmt: skip


def evaluate_caching(
    model_dir: Path, trace: Trace, pages: PageAccesses, capacity: int, labels: Labels | None = None,
    capacity_fraction: float | None = None, advance: Advance | None = None,
) -> CachingRun:  # fmt: skip
    """Run a trained model's cache over a trace.

    Args:
        model_dir: `models/trained/<id>`.
        trace: requests.
        pages: their page accesses.
        capacity: pages.
        labels: of the same trace; None leaves the tag metrics and ceilings out.
        capacity_fraction: the labelled capacity that `capacity` is; None takes the one the model was judged at.
        advance: told the requests done, now and then.

    Raises:
        TrainingError: the folder holds no readable model.
        ConfigError: capacity below 1.
    """
    model = read_trained(model_dir)
    serving = serving_of(model, read_weights(model_dir))
    served = serving.run(
        trace.time_us, trace.op, trace.offset, trace.size, pages.request_start, pages.page_ids,
        [serving.cache(capacity)], labels is not None, advance,
    )  # fmt: skip
    figures: dict[str, float | None] = {}
    if labels is not None:
        fraction = model.calibration["capacity"] if capacity_fraction is None else capacity_fraction
        key = (str(model.calibration["teacher"]), percent(fraction))
        figures.update(label_metrics(served.outputs[0], labels.tags[key], serving.threshold))
        figures.update(oracle_figures(labels, key, trace, pages, capacity, model.policy))
    return CachingRun(model.model_id, served.outcome[0], served.totals[0], figures)
