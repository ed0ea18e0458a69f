"""Synthetic golden sets of kind `prefetch`: its history, its ranges in every mode, and the flash cache behind them."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from cachezoo.arrays import F32
from cachezoo.flash.modes import ALL_ON_MISS, ALL_ON_PARTIAL, ML_MODES, NONE, is_plain
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
from cachezoo.zoo.admission.synthetic import BUCKET, CAPACITY, mode_name
from cachezoo.zoo.prefetch.serve import PrefetchServing

Serve = Callable[[Mapping[str, Any]], PrefetchServing]
MODE, WORTH = "policy.mode", "calibration.worth"
ML_RANGE, ML_RANGE_WHEN = ML_MODES
MODES = (NONE, ALL_ON_MISS, ALL_ON_PARTIAL, "next(3)", *ML_MODES)
RANGES = (
    "fetch", "leave", "write", "half_to_even_down", "half_to_even_up", "below_zero", "cut_low", "cut_high", "own_alone",
    "worth_at_threshold", "not_worth",
)  # fmt: skip
ALWAYS_THERE = ("kept_out",)  # of the cache: a set that admits everything keeps nothing out


def _given_reaches(rows: int) -> F32:
    """Reaches before and after: halves, some below 0, some beyond any block; and worths on either side of 0.25."""
    draws = draws_of("reaches")
    reaches = draws.choice([-3.0, -0.5, 0.25, 0.5, 1.5, 2.5, 3.5, 2.0, 100.0], (rows, 2))
    worths = draws.choice([-1.0, 0.125, 0.25, 0.5], (rows, 1))
    return np.concatenate([reaches, worths], axis=1).astype(np.float32)


def _by_the_model(
    name: str, batch: RequestBatch, manifest: Mapping[str, Any], serve: Serve, buckets: int, mode: str
) -> SyntheticSet:
    """A set that the model's own outputs decide; what is worth it passes both ways where they differ."""
    changes: dict[str, Any] = {BUCKET: buckets, MODE: mode}
    serving = serve(changed(manifest, changes))
    worth = widest_gap(serving.worth(serving.features(batch))[batch.op == OP_READ])
    context = {"capacity_segments": CAPACITY, "prefetch": mode, "admit": "all"}
    return SyntheticSet(name, batch, {**changes, WORTH: worth}, context)


def sets(manifest: Mapping[str, Any], serve: Serve) -> list[SyntheticSet]:
    """The sets of a manifest; see `Kind.synthetic`."""
    history, nameless = history_script(manifest).batch(), nameless_script(manifest).batch()
    found = [
        _by_the_model("history", history, manifest, serve, BUCKET_REQUESTS, ML_RANGE_WHEN),
        _by_the_model("nameless", nameless, manifest, serve, 1, ML_RANGE),
        _by_the_model("counts", counts_script(manifest).batch(), manifest, serve, COUNTS_REQUESTS, ML_RANGE),
    ]
    flash = flash_script(manifest, FLASH_PER_BLOCK).batch()
    for mode in MODES:
        changes = {**block_of(manifest, FLASH_PER_BLOCK), MODE: mode, WORTH: 0.25}
        context = {"capacity_segments": CAPACITY, "prefetch": mode, "admit": "all", "outputs": GIVEN}
        found.append(SyntheticSet(mode_name(mode), flash, changes, context, _given_reaches(len(flash))))
    return [*found, _large(manifest)]


def _large(manifest: Mapping[str, Any]) -> SyntheticSet:
    """A set of many segments, with reaches of many."""
    batch = large_script(manifest).batch()
    changes = {BUCKET: 1, **block_of(manifest, LARGE_PER_BLOCK), MODE: ML_RANGE_WHEN, WORTH: 0.25}
    context = {"capacity_segments": LARGE_CAPACITY, "prefetch": ML_RANGE_WHEN, "admit": "all", "outputs": GIVEN}
    given = _given_reaches(len(batch))
    given[:, :2] *= np.float32(100)
    return SyntheticSet("large", batch, changes, context, given)


def wanted(manifest: Mapping[str, Any]) -> tuple[str, ...]:
    """Branches that the sets of a manifest pass, all together."""
    cache = tuple(name for name in CACHE if name not in ALWAYS_THERE)
    return *wanted_history(manifest), *RANGES, *cache, *PREFETCHED, *(mode_name(mode) for mode in MODES)


def decisions(context: Mapping[str, Any]) -> tuple[str, ...]:
    """Columns of the decisions."""
    return "low", "high", "fetch", *COLUMNS


def _range_branches(outputs: F32, own: tuple[F32, F32], per_block: int) -> dict[str, int]:
    """How often a range was rounded or cut, of the outputs and each request's first and last segment."""
    first, last = own
    reach = outputs[:, :2]
    half = np.abs(reach - np.trunc(reach)) == 0.5
    down = half & (reach > 0) & (np.floor(reach) % 2 == 0)
    rounded = np.clip(np.rint(reach), 0, per_block)
    return {
        "half_to_even_down": int(down.sum()),
        "half_to_even_up": int((half & (reach > 0) & ~down).sum()),
        "below_zero": int((np.rint(reach) < 0).sum()),
        "cut_low": int((first < rounded[:, 0]).sum()),
        "cut_high": int((last + 1 + rounded[:, 1] > per_block).sum()),
        "own_alone": int((rounded.sum(axis=1) == 0).sum()),
    }


def recompute(manifest: Mapping[str, Any], serve: Serve, one: SyntheticSet) -> Recomputed:
    """Run a set through a fresh serving object; see `Kind.recompute_synthetic`."""
    document = changed(manifest, one.changes)
    serving, batch, given = serve(document), one.requests, one.given
    rows = rows_in_calls(serving, batch)
    if given is not None:
        serving._infer = lambda asked: given
    mode, where, read = serving.mode, Where(document["geometry"], one.context), batch.op == OP_READ
    (low, high), asked, outputs = serving.ranges(rows), serving.prefetch(rows), serving.outputs(rows)
    fetch = read & (asked.low < asked.high)
    cache, branches = behind(batch, read, plain_ahead(batch, mode, where) if is_plain(mode) else asked, where)
    formulas = [entry["formula"] for entry in document["features"]]
    own = rows[:, formulas.index("block.start")], rows[:, formulas.index("block.end")]
    worth = outputs[:, 2]
    asks_worth = read & (mode == ML_RANGE_WHEN)
    branches |= history_branches(batch, rows, document) | _range_branches(
        outputs.astype(np.float32), own, where.geometry.per_block
    )
    branches |= {
        "fetch": int(fetch.sum()),
        "leave": int((read & ~fetch).sum()),
        "write": int((~read).sum()),
        "worth_at_threshold": int((asks_worth & (worth == document["calibration"]["worth"])).sum()),
        "not_worth": int((asks_worth & (worth < document["calibration"]["worth"])).sum()),
        mode_name(mode): len(batch),
    }
    table = np.concatenate([np.stack([low, high, fetch], axis=1), cache], axis=1).astype(np.int32)
    return Recomputed(rows, outputs.astype(np.float32), table, branches)
