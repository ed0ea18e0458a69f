"""Kind `prefetch`: forests that say which range of its block a miss should fetch at once, and whether to."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from cachezoo.serving import history
from cachezoo.serving.forest import forests_cost
from cachezoo.serving.kind import EXACT_FOREST, Kind, Recomputed, Session
from cachezoo.serving.requests import RequestBatch
from cachezoo.traces.table import OP_READ
from cachezoo.zoo.prefetch import synthetic
from cachezoo.zoo.prefetch.serve import OUTPUTS, PrefetchServing

FILES = ("start.lgb.txt", "end.lgb.txt", "when.lgb.txt")
KEYS = ("features", "encodings", "geometry", "calibration", "policy")


def _serve(manifest: Mapping[str, Any], session: Session) -> PrefetchServing:
    return PrefetchServing(
        **{key: manifest[key] for key in KEYS},
        infer=lambda rows: session.run(["reach"], {"features": rows})[0],
    )


def _recompute(serving: PrefetchServing, batch: RequestBatch, context: Mapping[str, Any]) -> Recomputed:
    rows = serving.features(batch)
    low, high = serving.ranges(rows)
    asked = serving.prefetch(rows)
    read = batch.op == OP_READ
    fetch = read & (asked.low < asked.high)
    branches = {"fetch": fetch.sum(), "leave": (read & ~fetch).sum(), "write": (~read).sum()}
    return Recomputed(
        rows,
        serving.outputs(rows).astype(np.float32),
        np.stack([low, high, fetch], axis=1).astype(np.int32),
        {name: int(count) for name, count in branches.items()},
    )


KIND = Kind(
    outputs=lambda manifest: OUTPUTS,
    decisions=("low", "high", "fetch"),
    sizes=history.SIZES,
    wanted=("fetch", "leave", "write"),
    serve=_serve,
    recompute=_recompute,
    contexts=lambda manifest, batch: [{}],
    open_weights=lambda manifest, files: history.open_forests(manifest, files, FILES),
    cost=lambda manifest, files: forests_cost([files[name] for name in FILES], len(manifest["features"])),
    check=history.check,
    profile=history.profile,
    conformance=EXACT_FOREST,
    state=history.state,
    synthetic=synthetic.sets,
    synthetic_wanted=synthetic.wanted,
    synthetic_decisions=synthetic.decisions,
    recompute_synthetic=synthetic.recompute,
)
