"""Synthetic golden sets of kind `admission`: its history, its decisions, and the flash cache behind them."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from cachezoo.arrays import F32
from cachezoo.flash.modes import ALL_ON_MISS, ALL_ON_PARTIAL, NONE
from cachezoo.kernels.segments import Geometry
from cachezoo.serving.kind import Recomputed
from cachezoo.serving.requests import RequestBatch
from cachezoo.serving.synthetic import GIVEN, SyntheticSet, changed, draws_of, widest_gap
from cachezoo.traces.table import OP_READ
from cachezoo.zoo.admission.flash_sets import (
    BUCKET_REQUESTS,
    CACHE,
    COLUMNS,
    COUNTS_REQUESTS,
    FLASH_PER_BLOCK,
    LARGE_CAPACITY,
    LARGE_PER_BLOCK,
    PREFETCHED,
    Where,
    behind,
    block_of,
    counts_script,
    flash_script,
    history_branches,
    history_script,
    large_script,
    nameless_script,
    plain_ahead,
    rows_in_calls,
    wanted_history,
)
from cachezoo.zoo.admission.serve import AdmissionServing

Serve = Callable[[Mapping[str, Any]], AdmissionServing]
BUCKET = "policy.history.bucket_requests"
THRESHOLD = "calibration.threshold"
PLAIN = (NONE, ALL_ON_MISS, ALL_ON_PARTIAL, "next(3)")
LARGE_MODE = "next(40)"
CAPACITY = 10  # segments, of the sets whose outputs are given
DECISIONS = ("admit", "bypass", "write", "score_at_threshold")


def mode_name(mode: str) -> str:
    """Of a set and of a branch: `next(3)` is `next_3`."""
    return mode.replace("(", "_").rstrip(")")


def _by_the_model(
    name: str, batch: RequestBatch, manifest: Mapping[str, Any], serve: Serve, buckets: int, context: dict[str, Any]
) -> SyntheticSet:
    """A set that the model's own outputs decide, at a threshold that passes both ways where they differ."""
    changes = {BUCKET: buckets}
    serving = serve(changed(manifest, changes))
    scores = serving.scores(serving.features(batch))
    threshold = widest_gap(scores[batch.op == OP_READ])
    return SyntheticSet(name, batch, {**changes, THRESHOLD: threshold}, {**context, "admit": "model"})


def _given_scores(name: str, rows: int) -> F32:
    """Scores on either side of 0.5, and on it."""
    return draws_of(name).choice([0.25, 0.5, 0.75, 1.5], (rows, 1)).astype(np.float32)


def sets(manifest: Mapping[str, Any], serve: Serve) -> list[SyntheticSet]:
    """The sets of a manifest; see `Kind.synthetic`."""
    per_block = Geometry(manifest["geometry"]["block_bytes"], manifest["geometry"]["segment_bytes"]).per_block
    small, plain = {"capacity_segments": CAPACITY}, {"prefetch": NONE}
    history, nameless = history_script(manifest).batch(), nameless_script(manifest).batch()
    found = [
        _by_the_model("history", history, manifest, serve, BUCKET_REQUESTS, small | plain),
        _by_the_model("nameless", nameless, manifest, serve, 1, small | plain),
        _by_the_model("counts", counts_script(manifest).batch(), manifest, serve, COUNTS_REQUESTS, small | plain),
    ]
    flash, changes = flash_script(manifest, FLASH_PER_BLOCK).batch(), block_of(manifest, FLASH_PER_BLOCK)
    for mode in PLAIN:
        context = {**small, "prefetch": mode, "admit": "model", "outputs": GIVEN}
        given = _given_scores("flash_scores", len(flash))
        found.append(SyntheticSet(mode_name(mode), flash, {**changes, THRESHOLD: 0.5}, context, given))
    if "with_prefetch" in manifest["calibration"]:
        batch = flash_script(manifest, per_block).batch()
        deployed = {
            "capacity_segments": per_block + CAPACITY,
            "prefetch": str(manifest["calibration"]["with_prefetch"]["mode"]),
        }
        found.append(_by_the_model("with_prefetch", batch, manifest, serve, BUCKET_REQUESTS, deployed))
    return [*found, _large(manifest)]


def _large(manifest: Mapping[str, Any]) -> SyntheticSet:
    """A set of many segments."""
    batch = large_script(manifest).batch()
    changes = {BUCKET: 1, **block_of(manifest, LARGE_PER_BLOCK), THRESHOLD: 0.5}
    context = {"capacity_segments": LARGE_CAPACITY, "prefetch": LARGE_MODE, "admit": "model", "outputs": GIVEN}
    return SyntheticSet("large", batch, changes, context, _given_scores("large_scores", len(batch)))


def wanted(manifest: Mapping[str, Any]) -> tuple[str, ...]:
    """Branches that the sets of a manifest pass, all together."""
    deployed = manifest["calibration"].get("with_prefetch", {"mode": NONE})["mode"]
    modes = dict.fromkeys(mode_name(mode) for mode in (*PLAIN, deployed))
    return *wanted_history(manifest), *DECISIONS, *CACHE, *PREFETCHED, *modes


def decisions(context: Mapping[str, Any]) -> tuple[str, ...]:
    """Columns of the decisions."""
    return "admit", *COLUMNS


def recompute(manifest: Mapping[str, Any], serve: Serve, one: SyntheticSet) -> Recomputed:
    """Run a set through a fresh serving object; see `Kind.recompute_synthetic`."""
    document = changed(manifest, one.changes)
    serving, batch = serve(document), one.requests
    rows = rows_in_calls(serving, batch)
    given = one.given
    if given is not None:
        serving._infer = lambda asked: given
    scores, read = serving.scores(rows), batch.op == OP_READ
    admit = serving.decide(rows) & read
    where, mode = Where(document["geometry"], one.context), str(one.context["prefetch"])
    cache, branches = behind(batch, admit, plain_ahead(batch, mode, where), where)
    branches |= history_branches(batch, rows, document) | {
        "admit": int(admit.sum()),
        "bypass": int((read & ~admit).sum()),
        "write": int((~read).sum()),
        "score_at_threshold": int((scores == serving.threshold).sum()),
        mode_name(mode): len(batch),
    }
    table = np.concatenate([admit[:, None], cache], axis=1).astype(np.int32)
    return Recomputed(rows, scores.astype(np.float32)[:, None], table, branches)
