"""Kind `prefetch`: forests that say which range of its block a miss should fetch at once, and whether to."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from cachezoo.bundles.kinds.base import Kind, Replay, Session
from cachezoo.bundles.requests import Requests
from cachezoo.policies.prefetch import OUTPUTS, PrefetchServing

KEYS = ("features", "encodings", "geometry", "calibration", "policy")


def _serve(manifest: Mapping[str, Any], session: Session) -> PrefetchServing:
    return PrefetchServing(
        **{key: manifest[key] for key in KEYS},
        infer=lambda rows: session.run(["reach"], {"features": rows})[0],
    )


def _replay(serving: PrefetchServing, requests: Requests, context: Mapping[str, Any]) -> Replay:
    rows = serving.features(
        requests.time_us,
        requests.op,
        requests.offset,
        requests.size,
        requests.volume,
        requests.namespace,
        requests.user,
    )
    low, high = serving.ranges(rows)
    asked = serving.prefetch(rows)
    read = requests.op == 0
    fetch = read & (asked.low < asked.high)
    branches = {"fetch": fetch.sum(), "leave": (read & ~fetch).sum(), "write": (~read).sum()}
    return Replay(
        rows,
        serving.outputs(rows).astype(np.float32),
        np.stack([low, high, fetch], axis=1).astype(np.int32),
        {name: int(count) for name, count in branches.items()},
    )


PREFETCH = Kind(
    outputs=lambda manifest: OUTPUTS,
    decisions=("low", "high", "fetch"),
    units={
        "features": "as each feature states",
        "reach": "segments before the request, segments after it, log-odds that fetching them is worth it",
    },
    wanted=("fetch", "leave", "write"),
    serve=_serve,
    replay=_replay,
    contexts=lambda requests: [{}],
)
