"""Kind `admission`: a forest that says whether what a read missed is worth its flash writes."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from cachezoo.arrays import F32
from cachezoo.flash_cache.modes import ALL_ON_MISS, ALL_ON_PARTIAL, NONE
from cachezoo.kernels.segments import Geometry
from cachezoo.serving import history
from cachezoo.serving.forest import forests_cost
from cachezoo.serving.kind import EXACT_FOREST, Kind, Recomputed, Session
from cachezoo.serving.requests import RequestBatch
from cachezoo.serving.synthetic import GIVEN, SyntheticSet, changed, draws_of, widest_gap
from cachezoo.traces.table import OP_READ
from cachezoo.zoo.admission import flash_sets as flash
from cachezoo.zoo.admission.serve import KEYS, AdmissionServing

FILES = ("model.lgb.txt",)
Serve = Callable[[Mapping[str, Any]], AdmissionServing]
THRESHOLD = "calibration.threshold"
PLAIN = (NONE, ALL_ON_MISS, ALL_ON_PARTIAL, "next(3)")
LARGE_MODE = "next(40)"
BRANCHES = ("admit", "bypass", "write")


def _serve(manifest: Mapping[str, Any], session: Session) -> AdmissionServing:
    return AdmissionServing(
        **{key: manifest[key] for key in KEYS},
        infer=lambda rows: session.run(["score"], {"features": rows})[0],
    )


def _recompute(serving: AdmissionServing, batch: RequestBatch, context: Mapping[str, Any]) -> Recomputed:
    return _decided(serving, batch, serving.features(batch))


def _decided(serving: AdmissionServing, batch: RequestBatch, rows: F32) -> Recomputed:
    """Decisions on requests with features float32[n, F]."""
    scores, read = serving.scores(rows), batch.op == OP_READ
    admit = serving.decide(rows) & read
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
    own = (*BRANCHES, "score_at_threshold")
    return *flash.wanted_history(manifest), *own, *flash.CACHE, *flash.PREFETCHED, *modes


def _recompute_set(manifest: Mapping[str, Any], serve: Serve, one: SyntheticSet) -> Recomputed:
    document = changed(manifest, one.changes)
    serving, batch, given = serve(document), one.requests, one.given
    if given is not None:
        serving._infer = lambda rows: given
    found = _decided(serving, batch, flash.rows_in_calls(serving, batch))
    where, mode = flash.Where(document["geometry"], one.context), str(one.context["prefetch"])
    admit = found.decisions[:, 0] > 0
    cache, branches = flash.behind(batch, admit, flash.plain_ahead(batch, mode, where), where)
    branches |= flash.history_branches(batch, found.features, document) | found.branches
    branches["score_at_threshold"] = int((serving.scores(found.features) == serving.threshold).sum())
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
