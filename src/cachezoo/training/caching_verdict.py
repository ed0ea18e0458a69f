"""Is a caching model better than the best classic? Its cache is run on validation, at several thresholds at once.

The threshold is chosen on the first half of the counted accesses of each validation trace, the verdict is spoken on
the second, so that the choice cannot flatter it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from cachezoo.console import progress
from cachezoo.evaluation.bootstrap import interval, resampled_ratios
from cachezoo.evaluation.caching import closed_loop, label_metrics, oracle_figures, serving_of
from cachezoo.kernels.manager import HIT
from cachezoo.labels.benefit import capacity_pages, percent
from cachezoo.models.trained import TrainedModel
from cachezoo.policies.registry import OPTIMUM, classics, policy
from cachezoo.policies.simulate import auto_warmup
from cachezoo.traces.table import PageAccesses

if TYPE_CHECKING:
    from cachezoo.training.caching import Part, Settings

U8 = npt.NDArray[np.uint8]
F32 = npt.NDArray[np.float32]


@dataclass(frozen=True)
class Verdict:
    """What validation says.

    Attributes:
        threshold: the best one.
        curve: on the choosing half, hit ratio of each threshold tried; beside it the pages written on the whole.
        figures: for train.json, on the judging half.
        beats: the paired difference to the best classic lies above 0.
        oracle_beats_classic: the oracle that was imitated hits at least as often as the best classic.
        reason: one line.
    """

    threshold: float
    curve: list[dict[str, float]]
    figures: dict[str, float | None]
    beats: bool
    oracle_beats_classic: bool
    reason: str


@dataclass(frozen=True)
class _Replayed:
    """One judged trace: hits after warm-up of every threshold, classic and the optimum."""

    lanes: list[U8]
    classics: dict[str, U8]
    optimum: U8
    written: list[int]
    metrics: dict[str, float | None]
    ceilings: dict[str, float | None]


def _shortened(pages: PageAccesses, requests: int) -> PageAccesses:
    """The first requests; the working set, and so the capacity, stays the whole trace's."""
    start = pages.request_start[: requests + 1]
    return PageAccesses(start, pages.page_ids[: start[-1]], pages.n_pages)


def _replay(part: "Part", model: TrainedModel, weights: Mapping[str, F32], settings: "Settings") -> _Replayed:
    thresholds = settings.train.thresholds
    serving = serving_of(model, weights, settings.train.threads)
    fraction = settings.manager.capacity
    capacity = capacity_pages(fraction, part.pages.n_pages)
    n = min(len(part.trace), settings.train.closed_loop_requests)
    trace, pages = part.trace.rows(0, n), _shortened(part.pages, n)
    warmup = auto_warmup(pages, capacity)
    with progress(f"{model.model_id}: cache on {part.key}", n) as advance:
        served = closed_loop(
            serving, trace, pages, [capacity] * len(thresholds), thresholds, keep=True, advance=advance
        )
    key = (str(model.calibration["teacher"]), percent(fraction))
    tags = part.labels.tags[key]
    metrics = label_metrics(served.outputs[len(thresholds) // 2], type(tags)(tags.bits[:n]), 0.5)
    ceilings = oracle_figures(part.labels, key, part.trace, part.pages, capacity, model.policy)
    rivals = {
        name: (policy(name).run(pages.page_ids, pages.n_pages, capacity)[warmup:] == HIT).astype(np.uint8)
        for name in [*classics(), OPTIMUM]
    }
    optimum = rivals.pop(OPTIMUM)
    lanes = [served.hits(lane)[warmup:] for lane in range(len(thresholds))]
    return _Replayed(lanes, rivals, optimum, [row["ssd_writes"] for row in served.totals], metrics, ceilings)


def _chosen_on(hits: U8) -> U8:
    return hits[: len(hits) // 2]


def _judged_on(hits: U8) -> U8:
    return hits[len(hits) // 2 :]


def _pooled(hits: Sequence[U8]) -> float:
    return float(sum(int(h.sum()) for h in hits) / sum(len(h) for h in hits))


def _mean(rows: Sequence[dict[str, float | None]]) -> dict[str, float | None]:
    means: dict[str, float | None] = {}
    for name in rows[0]:
        values = [value for row in rows if (value := row[name]) is not None]
        means[name] = float(np.mean(values)) if values else None
    return means


def judge(
    model: TrainedModel, weights: Mapping[str, F32], parts: "Sequence[Part]", held_out: bool, settings: "Settings"
) -> Verdict:
    """Choose the threshold and compare with the best classic on the same page accesses.

    Args:
        model: its threshold is not read.
        weights: the network's.
        parts: validation traces.
        held_out: False where they are the train traces, for want of others: then nothing is claimed.
        settings: parameters.
    """
    runs = [_replay(part, model, weights, settings) for part in parts]
    thresholds = settings.train.thresholds
    ratios = [_pooled([_chosen_on(run.lanes[k]) for run in runs]) for k in range(len(thresholds))]
    best = max(range(len(thresholds)), key=lambda k: (ratios[k], thresholds[k]))
    written = [sum(run.written[k] for run in runs) for k in range(len(thresholds))]
    curve = [
        {"threshold": t, "hit_ratio": r, "ssd_writes": float(w)}
        for t, r, w in zip(thresholds, ratios, written, strict=True)
    ]
    rivals = {name: _pooled([_judged_on(run.classics[name]) for run in runs]) for name in classics()}
    rival = max(sorted(rivals), key=lambda name: rivals[name])
    mine = np.concatenate([_judged_on(run.lanes[best]) for run in runs])
    theirs = np.concatenate([_judged_on(run.classics[rival]) for run in runs])
    blocks, samples, seed = settings.train.blocks, settings.train.bootstrap_samples, model.seeds["train_caching"]
    low, high = interval(
        resampled_ratios(mine, blocks, samples, seed) - resampled_ratios(theirs, blocks, samples, seed)
    )
    ceilings = _mean([run.ceilings for run in runs])
    figures: dict[str, float | None] = {
        "hit_ratio": float(mine.mean()),
        "best_classic_hit_ratio": rivals[rival],
        "optimum_hit_ratio": _pooled([_judged_on(run.optimum) for run in runs]),
        "difference_low": low,
        "difference_high": high,
        **_mean([run.metrics for run in runs]),
        **ceilings,
        "oracle_best_classic_hit_ratio": _whole(parts, rival, settings),
    }
    ceiling, floor = figures["oracle_decided_hit_ratio"], figures["oracle_best_classic_hit_ratio"]
    able = ceiling is not None and floor is not None and ceiling >= floor
    beats, reason = _verdict(figures, rival, held_out, able)
    return Verdict(thresholds[best], curve, figures, beats, able, reason)


def _whole(parts: "Sequence[Part]", rival: str, settings: "Settings") -> float:
    """Mean hit ratio of the rival over whole traces, warm-up included, as the oracles' are counted."""
    ratios = []
    for part in parts:
        capacity = capacity_pages(settings.manager.capacity, part.pages.n_pages)
        outcome = policy(rival).run(part.pages.page_ids, part.pages.n_pages, capacity)
        ratios.append(float((outcome == HIT).mean()))
    return float(np.mean(ratios))


def _verdict(figures: Mapping[str, Any], rival: str, held_out: bool, able: bool) -> tuple[bool, str]:
    mine, theirs = figures["hit_ratio"], figures["best_classic_hit_ratio"]
    against = f"page hit ratio {mine:.4f} against {rival}'s {theirs:.4f} on validation"
    span = f"90 % interval of the difference {figures['difference_low']:.4f} to {figures['difference_high']:.4f}"
    if not held_out:
        return False, "not judged: the category has no validation trace, so the train traces set the threshold"
    if not able:
        ceiling = figures["oracle_decided_hit_ratio"]
        return False, f"the oracle it imitates reaches {ceiling:.4f}, less than {rival} on validation; {against}"
    if figures["difference_low"] <= 0:
        return False, f"no better than the best classic: {against}, {span}"
    return True, f"{against}, {span}"
