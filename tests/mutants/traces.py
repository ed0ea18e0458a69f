"""Bundles whose golden sets are captured traces, of the tiny stored models.

    python -m tests.mutants.traces FOLDER [KIND ...]

writes one of each kind to FOLDER/<kind>: with -t, golden_sets says which wrong runtimes decide otherwise on them. What
the sets hold beside their requests is zeros of the right shape.
"""

import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from cachezoo.bundles.golden import golden_files, synthetic_folder
from cachezoo.bundles.protocol import ACTS, SYNTHETIC
from cachezoo.bundles.reader import load
from cachezoo.kernels.segments import Geometry, segment_keys
from cachezoo.serving.kind import Recomputed
from cachezoo.serving.requests import RequestBatch, batch_of
from cachezoo.serving.synthetic import SyntheticSet, changed, widest_gap
from cachezoo.traces.read import read_any
from cachezoo.zoo.registry import bundling_of
from cachezoo.zoo.reuse import bundle as reuse
from cachezoo.zoo.workload.serve import looked_at
from tests.mutants.sets import KINDS, completed, stored, write_whole

ROOT = Path(__file__).parents[2]
CAPTURED = ROOT / "data/raw/captured"
# One of each category; more of them changed no verdict.
TRACES = ("mail_test", "database_test", "web_test", "fileserver_test", "blob_test")
REQUESTS, ACCESSES = 20_000, 20_000  # of each, from its middle on: the lesser part
SHARE = 0.1  # of the pages or segments, the cache
FLASH_MODES = ("all_on_partial", "none", "next(16)", "all_on_miss", "all_on_partial")
QUEUES = ("lru", "lfu", "arc", "lfu", "arc")

Serve = Callable[[Mapping[str, Any]], Any]


def _batch(name: str) -> RequestBatch:
    whole = batch_of(read_any(CAPTURED / f"{name}.parquet"))
    first = max(0, (len(whole) - REQUESTS) // 2)
    part = whole.part(first, first + REQUESTS)
    return part.part(0, int(np.searchsorted(part.pages().request_start, ACCESSES, "right")) - 1)


def _pages(batch: RequestBatch) -> int:
    return max(1, int(SHARE * batch.pages().n_pages))


def _segments(manifest: Mapping[str, Any], batch: RequestBatch) -> int:
    geometry = Geometry(manifest["geometry"]["block_bytes"], manifest["geometry"]["segment_bytes"])
    _, keys = segment_keys(batch.volume.codes, batch.offset, batch.size, geometry)
    return int(SHARE * len(np.unique(keys))) + geometry.per_block


def _rules(
    kind: str, manifest: Mapping[str, Any], batch: RequestBatch, k: int, serve: Serve
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Changes and context of trace k, near what is deployed."""
    if kind == "admission":
        serving = serve(manifest)
        threshold = widest_gap(serving.scores(serving.features(batch)))
        context = {"capacity_segments": _segments(manifest, batch), "prefetch": FLASH_MODES[k], "admit": "model"}
        return {"calibration.threshold": threshold}, context
    if kind == "caching":
        return {}, {"capacity_pages": _pages(batch)}
    if kind == "virtual":
        arch = {"queue": QUEUES[k], "pages": 8192, "fragment": 64, "quantum": 500}
        return {f"arch.{name}": value for name, value in arch.items()}, {"capacity_pages": min(8192, _pages(batch))}
    if kind == "reuse":
        model = yaml.safe_load((ROOT / "conf/model/reuse/follow.yaml").read_text())
        values = {name: model[name] for name in ("candidates", "half_life", "lead", "price", "head_start")}
        changes = reuse._changes(reuse.FINE_CUTS, tuple(model["shadows"]), int(model["own_trees"]), values)
        changes |= {"policy.experts": model["experts"], "policy.own_rows": model["own_rows"] // 4}
        changes["policy.own_pace"] = model["own_pace"]
        return changes, {"capacity_pages": _pages(batch)}
    return {}, {}


def _rows(kind: str, manifest: Mapping[str, Any], batch: RequestBatch) -> tuple[int, int]:
    """Rows of the inputs and of the answers."""
    requests, pages = len(batch), int(batch.pages().request_start[-1])
    if kind == "workload":
        policy = manifest["policy"]
        looked = len(looked_at(batch.time_us, policy["window"] * policy["vote_windows"], policy["vote_every_s"]))
        return looked, looked // int(policy["window"])
    return (pages if kind == "reuse" else requests), (pages if kind in ("reuse", "virtual") else requests)


def write_requests(kind: str, folder: Path, sets: Sequence[SyntheticSet]) -> None:
    """Write a bundle of a kind whose sets hold requests and given outputs, and else zeros of the right shape."""
    path = stored(kind)
    bundle = load(path)
    own = bundling_of(bundle.kind).kind.load()
    manifest = completed(kind, bundle.manifest)
    files = {name: data for name, data in bundle.files.items() if name != ACTS and not name.startswith(SYNTHETIC)}
    manifest["golden"]["synthetic"] = []
    for one in sets:
        asked, answered = _rows(kind, changed(manifest, one.changes), one.requests)
        shapes = [len(manifest["features"]), len(own.outputs(manifest)), len(own.synthetic_decisions(one.context))]
        features, outputs, decided = (
            np.zeros((rows, n)) for rows, n in zip((asked, answered, answered), shapes, strict=True)
        )
        held = Recomputed(features, outputs if one.given is None else one.given, decided, {})
        files |= golden_files(one.requests, held, synthetic_folder(one.name))
        manifest["golden"]["synthetic"].append(
            {
                "name": one.name, "rows": len(one.requests), "changes": dict(one.changes),
                "context": dict(one.context), "outputs": list(own.outputs(manifest)),
                "decisions": list(own.synthetic_decisions(one.context)), "branches": {},
            }
        )  # fmt: skip
    write_whole(folder, manifest, files)


def write_traces(kind: str, folder: Path) -> None:
    """Write a kind's bundle whose synthetic sets are captured traces."""
    path = stored(kind)
    bundle = load(path)
    own = bundling_of(bundle.kind).kind.load()
    manifest, sets = completed(kind, bundle.manifest), []
    for k, name in enumerate(TRACES):
        batch = _batch(name)
        if kind in ("virtual", "streams", "lifetime", "caching"):
            batch = RequestBatch(batch.time_us, batch.op, batch.offset, batch.size, batch.volume)
        changes, context = _rules(kind, manifest, batch, k, lambda values: own.serve(values, bundle.engine))
        sets.append(SyntheticSet(name, batch, changes, context))
    write_requests(kind, folder, sets)


if __name__ == "__main__":
    for each in sys.argv[2:] or KINDS:
        write_traces(each, Path(sys.argv[1]) / each)
