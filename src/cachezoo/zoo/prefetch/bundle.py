"""Kind `prefetch`: forests that say which range of its block a miss should fetch at once, and whether to."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from cachezoo.arrays import F32
from cachezoo.flash_cache.modes import ALL_ON_MISS, ALL_ON_PARTIAL, ML_MODES, NONE, is_plain
from cachezoo.kernels.flash import Prefetch
from cachezoo.serving import history
from cachezoo.serving.forest import forests_cost
from cachezoo.serving.kind import Recomputed, Session
from cachezoo.serving.requests import RequestBatch
from cachezoo.serving.synthetic import GIVEN, SyntheticSet, changed, draws_of, widest_gap
from cachezoo.traces.table import OP_READ
from cachezoo.zoo.admission import flash_sets as flash
from cachezoo.zoo.admission.bundle import KIND as ADMISSION
from cachezoo.zoo.admission.serve import KEYS
from cachezoo.zoo.prefetch.serve import OUTPUTS, PrefetchServing

FILES = ("start.lgb.txt", "end.lgb.txt", "when.lgb.txt")
DECISIONS = ("low", "high", "fetch")
Serve = Callable[[Mapping[str, Any]], PrefetchServing]
MODE, WORTH = "policy.mode", "calibration.worth"
ML_RANGE, ML_RANGE_WHEN = ML_MODES
MODES = (NONE, ALL_ON_MISS, ALL_ON_PARTIAL, "next(3)", *ML_MODES)
BRANCHES = ("fetch", "leave", "write")
RANGES = (
    *BRANCHES, "half_to_even_down", "half_to_even_up", "below_zero", "cut_low", "cut_high", "own_alone",
    "worth_at_threshold", "not_worth",
)  # fmt: skip
ALWAYS_THERE = ("kept_out",)  # of the cache: a set that admits everything keeps nothing out


def _serve(manifest: Mapping[str, Any], session: Session) -> PrefetchServing:
    return PrefetchServing(
        **{key: manifest[key] for key in KEYS},
        infer=lambda rows: session.run(["reach"], {"features": rows})[0],
    )


def _recompute(serving: PrefetchServing, batch: RequestBatch, context: Mapping[str, Any]) -> Recomputed:
    return _decided(serving, batch, serving.features(batch))[0]


def _decided(serving: PrefetchServing, batch: RequestBatch, rows: F32) -> tuple[Recomputed, Prefetch]:
    """Decisions on requests with features float32[n, F], and what they prefetch."""
    (low, high), prefetch, read = serving.ranges(rows), serving.prefetch(rows), batch.op == OP_READ
    fetch = read & (prefetch.low < prefetch.high)
    branches = dict(zip(BRANCHES, (int(way.sum()) for way in (fetch, read & ~fetch, ~read)), strict=True))
    table = np.stack([low, high, fetch], axis=1).astype(np.int32)
    return Recomputed(rows, serving.outputs(rows).astype(np.float32), table, branches), prefetch


def _by_the_model(
    name: str, batch: RequestBatch, manifest: Mapping[str, Any], serve: Serve, buckets: int, mode: str
) -> SyntheticSet:
    """A set that the model's own outputs decide; what is worth it passes both ways where they differ."""
    changes: dict[str, Any] = {flash.BUCKET: buckets, MODE: mode}
    serving = serve(changed(manifest, changes))
    worth = widest_gap(serving.worth(serving.features(batch))[batch.op == OP_READ])
    context = {"capacity_segments": flash.CAPACITY, "prefetch": mode, "admit": "all"}
    return SyntheticSet(name, batch, {**changes, WORTH: worth}, context)


def _given(
    name: str, batch: RequestBatch, changes: Mapping[str, Any], capacity: int, mode: str, times: int = 1
) -> SyntheticSet:
    """A set of reaches before and after, so many times halves, some below 0, some beyond any block.

    Its worths lie on either side of 0.25, and on it.
    """
    draws = draws_of("reaches")
    reaches = draws.choice([-3.0, -0.5, 0.25, 0.5, 1.5, 2.5, 3.5, 2.0, 100.0], (len(batch), 2))
    worths = draws.choice([-1.0, 0.125, 0.25, 0.5], (len(batch), 1))
    outputs = np.concatenate([reaches * times, worths], axis=1).astype(np.float32)
    context = {"capacity_segments": capacity, "prefetch": mode, "admit": "all", "outputs": GIVEN}
    return SyntheticSet(name, batch, {**changes, MODE: mode, WORTH: 0.25}, context, outputs)


def _sets(manifest: Mapping[str, Any], serve: Serve) -> list[SyntheticSet]:
    found = [
        _by_the_model(
            name, script(manifest).batch(), manifest, serve, buckets, ML_RANGE_WHEN if name == "history" else ML_RANGE
        )
        for name, script, buckets in flash.HISTORIES
    ]
    batch = flash.flash_script(manifest, flash.FLASH_PER_BLOCK).batch()
    block = flash.block_of(manifest, flash.FLASH_PER_BLOCK)
    found += [_given(flash.mode_name(mode), batch, block, flash.CAPACITY, mode) for mode in MODES]
    if "touch" in manifest["policy"]:
        other = {**block, **flash.with_other_touch(manifest)}
        found.append(_given(flash.OTHER_TOUCH, batch, other, flash.CAPACITY, "next(3)"))
    large = {flash.BUCKET: 1, **flash.block_of(manifest, flash.LARGE_PER_BLOCK)}
    batch = flash.large_script(manifest).batch()
    return [*found, _given("large", batch, large, flash.LARGE_CAPACITY, ML_RANGE_WHEN, times=100)]


def _wanted(manifest: Mapping[str, Any]) -> tuple[str, ...]:
    cache = tuple(name for name in flash.wanted_cache(manifest) if name not in ALWAYS_THERE)
    modes = map(flash.mode_name, MODES)
    return *flash.wanted_history(manifest), *RANGES, *cache, *flash.PREFETCHED, *modes


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


def _recompute_set(manifest: Mapping[str, Any], serve: Serve, one: SyntheticSet) -> Recomputed:
    document = changed(manifest, one.changes)
    serving, batch, given = serve(document), one.requests, one.given
    rows = flash.rows_in_calls(serving, batch)
    if given is not None:
        serving._infer = lambda rows: given
    found, prefetch = _decided(serving, batch, rows)
    mode, where, read = serving.mode, flash.Where.of(document, one.context), batch.op == OP_READ
    ahead = flash.plain_ahead(batch, mode, where) if is_plain(mode) else prefetch
    cache, branches = flash.behind(batch, read, ahead, where)
    formulas = [entry["formula"] for entry in document["features"]]
    own = rows[:, formulas.index("block.start")], rows[:, formulas.index("block.end")]
    worth, limit = serving.worth(rows), document["calibration"]["worth"]
    decides = read & (mode == ML_RANGE_WHEN)
    branches |= found.branches | flash.history_branches(batch, rows, document)
    branches |= _range_branches(found.outputs, own, where.geometry.per_block)
    branches |= {
        "worth_at_threshold": int((decides & (worth == limit)).sum()),
        "not_worth": int((decides & (worth < limit)).sum()),
        flash.mode_name(mode): len(batch),
    }
    return replace(found, decisions=np.concatenate([found.decisions, cache], axis=1), branches=branches)


KIND = replace(
    ADMISSION,
    outputs=lambda manifest: OUTPUTS,
    decisions=DECISIONS,
    wanted=BRANCHES,
    serve=_serve,
    recompute=_recompute,
    open_weights=lambda manifest, files: history.open_forests(manifest, files, FILES),
    cost=lambda manifest, files: forests_cost([files[name] for name in FILES], len(manifest["features"])),
    synthetic=_sets,
    synthetic_wanted=_wanted,
    synthetic_decisions=lambda context: (*DECISIONS, *flash.COLUMNS),
    recompute_synthetic=_recompute_set,
)
