"""Kind `admission`: a forest that says whether what a read missed is worth its flash writes."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from cachezoo.arrays import F32, F64
from cachezoo.flash_cache.modes import ALL_ON_MISS, ALL_ON_PARTIAL, NONE
from cachezoo.kernels.segments import Geometry
from cachezoo.serving import history
from cachezoo.serving.forest import forests_cost
from cachezoo.serving.kind import EXACT_FOREST, Kind, Recomputed, Session
from cachezoo.serving.requests import RequestBatch
from cachezoo.serving.synthetic import GIVEN, SyntheticSet, changed, draws_of, widest_gap
from cachezoo.traces.table import OP_READ
from cachezoo.zoo.admission import flash_sets as flash
from cachezoo.zoo.admission.serve import KEYS, AdmissionServing, controller_of

FILES = ("model.lgb.txt",)
Serve = Callable[[Mapping[str, Any]], AdmissionServing]
THRESHOLD = "calibration.threshold"
PLAIN = (NONE, ALL_ON_MISS, ALL_ON_PARTIAL, "next(3)")
LARGE_MODE = "next(40)"
COMMON = {"low": -2.0, "width": 0.5, "bins": 8}
CONTROLLED = (
    ("controlled", "next(3)", 2.0, {"step_misses": 3, "hold_misses": 0, "window_misses": 24, "recent_misses": 3,
                                    "horizon_s": 0.05, "credit_horizons": 0.5}),
    ("controlled_poor", NONE, 3.0, {"step_misses": 1, "hold_misses": 0, "window_misses": 6, "recent_misses": 4,
                                    "horizon_s": 0.02, "credit_horizons": 0.5}),
    ("controlled_flat", "next(3)", 4.0, {"step_misses": 2, "hold_misses": 6, "window_misses": 12, "recent_misses": 4,
                                         "horizon_s": 1.0, "credit_horizons": 1.0, "follows_load": False}),
)  # fmt: skip # sets whose threshold keeps a write rate: name, mode, segments a second, rules besides `COMMON`
CONTROLLED_ROWS, SLOW_ROWS, SLOWER, BEGINS_US = 160, slice(60, 100), 30, 5_000_000
THRESHOLDS = ("held", "threshold_falls", "threshold_rises", "admits_all", "admits_none", "follows_load", "flat")
BRANCHES = ("admit", "bypass", "write")


def _serve(manifest: Mapping[str, Any], session: Session) -> AdmissionServing:
    return AdmissionServing(
        **{key: manifest[key] for key in KEYS},
        infer=lambda rows: session.run(["score"], {"features": rows})[0],
    )


def _recompute(serving: AdmissionServing, batch: RequestBatch, context: Mapping[str, Any]) -> Recomputed:
    return _decided(serving, batch, serving.features(batch), serving.threshold)


def _decided(serving: AdmissionServing, batch: RequestBatch, rows: F32, thresholds: F64 | float) -> Recomputed:
    """Decisions on requests with features float32[n, F], at one threshold or float64[n]."""
    scores, read = serving.scores(rows), batch.op == OP_READ
    admit = (scores >= thresholds) & read
    branches = dict(zip(BRANCHES, (int(way.sum()) for way in (admit, read & ~admit, ~read)), strict=True))
    return Recomputed(rows, scores.astype(np.float32)[:, None], admit.astype(np.int32)[:, None], branches)


def _by_the_model(
    name: str, batch: RequestBatch, manifest: Mapping[str, Any], serve: Serve, buckets: int, context: dict[str, Any]
) -> SyntheticSet:
    """A set that the model's own outputs decide, at a threshold that passes both ways where they differ."""
    changes = {flash.BUCKET: buckets}
    serving = serve(changed(manifest, changes))
    scores = serving.scores(serving.features(batch))
    threshold = widest_gap(scores[batch.op == OP_READ])
    return SyntheticSet(name, batch, {**changes, THRESHOLD: threshold}, {**context, "admit": "model"})


def _given(name: str, batch: RequestBatch, changes: Mapping[str, Any], capacity: int, mode: str) -> SyntheticSet:
    """A set of scores on either side of its threshold 0.5, and on it."""
    drawn = draws_of("large_scores" if name == "large" else "flash_scores")
    scores = drawn.choice([0.25, 0.5, 0.75, 1.5], (len(batch), 1)).astype(np.float32)
    context = {"capacity_segments": capacity, "prefetch": mode, "admit": "model", "outputs": GIVEN}
    return SyntheticSet(name, batch, {**changes, THRESHOLD: 0.5}, context, scores)


def _in_bursts(batch: RequestBatch) -> RequestBatch:
    """The same requests, some of them far apart; the clock does not begin at 0."""
    gaps = np.diff(batch.time_us, prepend=-BEGINS_US)
    gaps[SLOW_ROWS] *= SLOWER
    return replace(batch, time_us=np.cumsum(gaps))


def _controlled(
    name: str, batch: RequestBatch, changes: Mapping[str, Any], mode: str, bytes_s: float, rules: Mapping[str, Any]
) -> SyntheticSet:
    """A set whose threshold keeps a write rate: scores in the bins and beyond either end."""
    drawn = draws_of(name)
    scores = (drawn.integers(-200, 200, (len(batch), 1)) / 64).astype(np.float32)
    context = {"capacity_segments": flash.CAPACITY, "prefetch": mode, "admit": "model", "outputs": GIVEN}
    own = {f"calibration.controller.{key}": value for key, value in (COMMON | dict(rules)).items()}
    return SyntheticSet(name, batch, {**changes, **own, THRESHOLD: 0.25}, context | {flash.WRITE_RATE: bytes_s}, scores)


def _sets(manifest: Mapping[str, Any], serve: Serve) -> list[SyntheticSet]:
    small = {"capacity_segments": flash.CAPACITY, "prefetch": NONE}
    found = [
        _by_the_model(name, script(manifest).batch(), manifest, serve, buckets, small)
        for name, script, buckets in flash.HISTORIES
    ]
    batch, block = (
        flash.flash_script(manifest, flash.FLASH_PER_BLOCK).batch(),
        flash.block_of(manifest, flash.FLASH_PER_BLOCK),
    )
    found += [_given(flash.mode_name(mode), batch, block, flash.CAPACITY, mode) for mode in PLAIN]
    by_segment = {}
    if "touch" in manifest["policy"]:
        other, by_segment = {**block, **flash.with_other_touch(manifest)}, {flash.TOUCH: flash.SEGMENT}
        found.append(_given(flash.OTHER_TOUCH, batch, other, flash.CAPACITY, "next(3)"))
    if "controller" in manifest["calibration"]:
        batch = _in_bursts(flash.flash_script(manifest, flash.FLASH_PER_BLOCK, CONTROLLED_ROWS).batch())
        segment_bytes = int(manifest["geometry"]["segment_bytes"])
        found += [
            _controlled(name, batch, {**block, **by_segment}, mode, segments_s * segment_bytes, rules)
            for name, mode, segments_s, rules in CONTROLLED
        ]
    if "with_prefetch" in manifest["calibration"]:
        per_block = Geometry(manifest["geometry"]["block_bytes"], manifest["geometry"]["segment_bytes"]).per_block
        batch = flash.flash_script(manifest, per_block).batch()
        mode = str(manifest["calibration"]["with_prefetch"]["mode"])
        deployed = {"capacity_segments": per_block + flash.CAPACITY, "prefetch": mode}
        found.append(_by_the_model("with_prefetch", batch, manifest, serve, flash.BUCKET_REQUESTS, deployed))
    changes = {flash.BUCKET: 1, **flash.block_of(manifest, flash.LARGE_PER_BLOCK)}
    return [*found, _given("large", flash.large_script(manifest).batch(), changes, flash.LARGE_CAPACITY, LARGE_MODE)]


def _wanted(manifest: Mapping[str, Any]) -> tuple[str, ...]:
    deployed = manifest["calibration"].get("with_prefetch", {"mode": NONE})["mode"]
    modes = dict.fromkeys(flash.mode_name(mode) for mode in (*PLAIN, deployed))
    own = (*BRANCHES, "score_at_threshold", *(THRESHOLDS if "controller" in manifest["calibration"] else ()))
    return *flash.wanted_history(manifest), *own, *flash.wanted_cache(manifest), *flash.PREFETCHED, *modes


def _threshold_branches(thresholds: F64, follows_load: bool) -> dict[str, int]:
    """Requests by what became of their threshold, float64[n], under a controller."""
    before, after = thresholds[:-1], thresholds[1:]
    counts = {
        "held": after == thresholds[0],
        "threshold_falls": after < before,
        "threshold_rises": after > before,
        "admits_all": after == -np.inf,
        "admits_none": after == np.inf,
        "follows_load": np.full(len(after), follows_load),
        "flat": np.full(len(after), not follows_load),
    }
    return {name: int(which.sum()) for name, which in counts.items()}


def _recompute_set(manifest: Mapping[str, Any], serve: Serve, one: SyntheticSet) -> Recomputed:
    document = changed(manifest, one.changes)
    serving, batch, given = serve(document), one.requests, one.given
    if given is not None:
        serving._infer = lambda rows: given
    where, mode = flash.Where.of(document, one.context), str(one.context["prefetch"])
    ahead, rows = flash.plain_ahead(batch, mode, where), flash.rows_in_calls(serving, batch)
    scores, thresholds = serving.scores(rows), np.full(len(batch), serving.threshold)
    if flash.WRITE_RATE in one.context:
        controller = controller_of(document["calibration"])
        assert controller is not None
        thresholds = flash.controlled(batch, scores, serving.threshold, controller, ahead, one.context, where)
    found = _decided(serving, batch, rows, thresholds)
    cache, branches = flash.behind(batch, found.decisions[:, 0] > 0, ahead, where)
    branches |= flash.history_branches(batch, found.features, document) | found.branches
    branches["score_at_threshold"] = int((scores == thresholds).sum())
    if flash.WRITE_RATE in one.context:
        branches |= _threshold_branches(thresholds, bool(document["calibration"]["controller"]["follows_load"]))
    branches[flash.mode_name(mode)] = len(batch)
    return replace(found, decisions=np.concatenate([found.decisions, cache], axis=1), branches=branches)


KIND = Kind(
    outputs=lambda manifest: ("score",),
    decisions=("admit",),
    sizes=history.SIZES,
    wanted=BRANCHES,
    serve=_serve,
    recompute=_recompute,
    contexts=lambda manifest, batch: [{}],
    open_weights=lambda manifest, files: history.open_forests(manifest, files, FILES),
    cost=lambda manifest, files: forests_cost([files[name] for name in FILES], len(manifest["features"])),
    check=history.check,
    profile=history.profile,
    conformance=lambda manifest: EXACT_FOREST,
    state=history.state,
    synthetic=_sets,
    synthetic_wanted=_wanted,
    synthetic_decisions=lambda context: ("admit", *flash.COLUMNS),
    recompute_synthetic=_recompute_set,
)
