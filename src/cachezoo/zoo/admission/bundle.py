"""Kind `admission`: a forest that says whether what a read missed is worth its flash writes."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from cachezoo.serving import history
from cachezoo.serving.forest import forests_cost
from cachezoo.serving.kind import EXACT_FOREST, Kind, Recomputed, Session
from cachezoo.serving.requests import RequestBatch
from cachezoo.traces.table import OP_READ
from cachezoo.zoo.admission import synthetic
from cachezoo.zoo.admission.serve import AdmissionServing

FILES = ("model.lgb.txt",)
KEYS = ("features", "encodings", "geometry", "calibration", "policy")


def _serve(manifest: Mapping[str, Any], session: Session) -> AdmissionServing:
    return AdmissionServing(
        **{key: manifest[key] for key in KEYS},
        infer=lambda rows: session.run(["score"], {"features": rows})[0],
    )


def _recompute(serving: AdmissionServing, batch: RequestBatch, context: Mapping[str, Any]) -> Recomputed:
    rows = serving.features(batch)
    scores = serving.scores(rows)
    read = batch.op == OP_READ
    admit = serving.decide(rows) & read
    branches = {"admit": admit.sum(), "bypass": (read & ~admit).sum(), "write": (~read).sum()}
    return Recomputed(
        rows,
        scores.astype(np.float32)[:, None],
        admit.astype(np.int32)[:, None],
        {name: int(count) for name, count in branches.items()},
    )


KIND = Kind(
    outputs=lambda manifest: ("score",),
    decisions=("admit",),
    sizes=history.SIZES,
    wanted=("admit", "bypass", "write"),
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
