"""Kind `admission`: a forest that says whether what a read missed is worth its flash writes."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from cachezoo.bundles.kinds.base import Kind, Replay, Session
from cachezoo.bundles.requests import Requests
from cachezoo.policies.admission import AdmissionServing

KEYS = ("features", "encodings", "geometry", "calibration", "policy")


def _serve(manifest: Mapping[str, Any], session: Session) -> AdmissionServing:
    return AdmissionServing(
        **{key: manifest[key] for key in KEYS},
        infer=lambda rows: session.run(["score"], {"features": rows})[0],
    )


def _replay(serving: AdmissionServing, requests: Requests, context: Mapping[str, Any]) -> Replay:
    rows = serving.features(
        requests.time_us,
        requests.op,
        requests.offset,
        requests.size,
        requests.volume,
        requests.namespace,
        requests.user,
    )
    scores = serving.scores(rows)
    read = requests.op == 0
    admit = serving.decide(rows) & read
    branches = {"admit": admit.sum(), "bypass": (read & ~admit).sum(), "write": (~read).sum()}
    return Replay(
        rows,
        scores.astype(np.float32)[:, None],
        admit.astype(np.int32)[:, None],
        {name: int(count) for name, count in branches.items()},
    )


ADMISSION = Kind(
    outputs=lambda manifest: ("score",),
    decisions=("admit",),
    units={
        "features": "as each feature states",
        "score": "log-odds that the episode is worth its flash writes",
    },
    wanted=("admit", "bypass", "write"),
    serve=_serve,
    replay=_replay,
    contexts=lambda requests: [{}],
)
