"""Kind `caching`: an LSTM that decides between bypass and a queue, with the cache it runs."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from cachezoo.kernels.manager_limits import Cache
from cachezoo.serving.kind import F32, I32, OUTPUT_TOLERANCE, Kind, Recomputed, Session
from cachezoo.serving.requests import RequestBatch
from cachezoo.systems.caching.serve import OUTPUTS, CachingServing, onnx_infer

KEYS = ("features", "policy", "calibration", "geometry", "encodings")
QUEUES = ("bypass", "soon", "mean", "late")
GOLDEN_SHARES = (0.1, 0.02)


def _serve(manifest: Mapping[str, Any], session: Session) -> CachingServing:
    arch = manifest["arch"]
    infer = onnx_infer(session.run, int(arch["layers"]), int(arch["units"]))
    return CachingServing(**{key: manifest[key] for key in KEYS}, infer=infer)


def _contexts(batch: RequestBatch) -> list[dict[str, Any]]:
    """Caches of a share of the golden rows' pages: as in training, or so small that few rows fill them."""
    pages = batch.pages().n_pages
    return [{"capacity_pages": max(1, int(share * pages))} for share in GOLDEN_SHARES]


def _steady(outputs: F32, queues: I32, cache: Cache) -> int:
    """Requests before the first decision that another runtime's last digits could turn."""
    stays = np.sort(outputs[:, 1:], axis=1)
    at_threshold = np.abs(outputs[:, 0] - np.float32(cache.threshold)) <= 2 * OUTPUT_TOLERANCE
    between_queues = (outputs[:, 0] >= np.float32(cache.threshold)) & (
        stays[:, -1] - stays[:, -2] <= 2 * OUTPUT_TOLERANCE
    )
    if cache.queues == "single":
        between_queues[:] = False
    near = (queues >= 0) & (at_threshold | between_queues)
    return int(np.argmax(near)) if near.any() else len(queues)


def _recompute(serving: CachingServing, batch: RequestBatch, context: Mapping[str, Any]) -> Recomputed:
    pages = batch.pages()
    cache = serving.cache(int(context["capacity_pages"]))
    served = serving.run(batch, pages, [cache], keep=True)
    queue = served.decisions[0]
    hits = np.add.reduceat(served.hits(0).astype(np.int32), pages.request_start[:-1])
    pages_each = np.diff(pages.request_start)
    decisions = np.stack([queue, hits, served.replaced[0], served.dirty_evicted[0]], axis=1).astype(np.int32)
    branches = {name: int((queue == code).sum()) for code, name in enumerate(QUEUES)}
    branches |= {
        "admitted": int((queue > 0).sum()),
        "hit": int((hits == pages_each).sum()),
        "partial_hit": int(((hits > 0) & (hits < pages_each)).sum()),
        "replaced": int(served.replaced[0].sum()),
        "dirty_evicted": int(served.dirty_evicted[0].sum()),
    }
    steady = _steady(served.outputs[0], queue, cache)
    return Recomputed(served.features[0], served.outputs[0], decisions, branches, steady)


KIND = Kind(
    outputs=lambda manifest: OUTPUTS,
    decisions=("queue", "page_hits", "replaced_pages", "dirty_evicted_pages"),
    units={
        "features": "as each feature states, normalised",
        "h": "hidden state before the step, zero at first",
        "c": "cell state before the step, zero at first",
        "cached": "probability that the pages are worth caching",
        "duration": "probabilities of soon, mean, late",
        "h_out": "hidden state after the step",
        "c_out": "cell state after the step",
    },
    wanted=("bypass", "admitted", "hit", "replaced"),
    serve=_serve,
    recompute=_recompute,
    contexts=_contexts,
)
