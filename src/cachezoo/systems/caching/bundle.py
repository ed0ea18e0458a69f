"""Kind `caching`: an LSTM that decides between bypass and a queue, with the cache it runs."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from cachezoo.serving.graph import Graph, Node, layers_of, linear, linear_weights, lstm, lstm_weights
from cachezoo.serving.kind import Kind, Recomputed, Session
from cachezoo.serving.requests import RequestBatch
from cachezoo.systems.caching import synthetic
from cachezoo.systems.caching.serve import OUTPUTS, CachingServing, onnx_infer
from cachezoo.systems.caching.steady import steady_rows

KEYS = ("features", "policy", "calibration", "geometry", "encodings")
QUEUES = ("bypass", "soon", "mean", "late")
SIZES = {
    "golden.context.capacity_pages": (1, 1 << 31),
    "policy.demote_capacities": (1, 1 << 20),
    "policy.protected_percent": (0, 100),
    "policy.sequence": (1, 1 << 31),
    "policy.memory.memory_accesses": (1, 1 << 40),
    "policy.memory.window_accesses": (1, 1 << 40),
    "policy.memory.region_bytes": (4096, 1 << 62),
    "policy.memory.region_bits": (1, 24),
}
GOLDEN_SHARES = (0.1, 0.02)


def _serve(manifest: Mapping[str, Any], session: Session) -> CachingServing:
    arch = manifest["arch"]
    infer = onnx_infer(session.run, int(arch["layers"]), int(arch["units"]))
    return CachingServing(**{key: manifest[key] for key in KEYS}, infer=infer)


def _contexts(batch: RequestBatch) -> list[dict[str, Any]]:
    """Caches of a share of the golden rows' pages: as in training, or so small that few rows fill them."""
    pages = batch.pages().n_pages
    return [{"capacity_pages": max(1, int(share * pages))} for share in GOLDEN_SHARES]


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
    steady = steady_rows(served.outputs[0], queue, cache)
    return Recomputed(served.features[0], served.outputs[0], decisions, branches, steady)


def _graph(manifest: Mapping[str, Any]) -> Graph:
    """One step: the state of the layers apart, the layers one on the other, the state together, two heads."""
    layers, units = layers_of(manifest)
    before = {side: (side,) if layers == 1 else tuple(f"{side}{k}" for k in range(layers)) for side in ("h", "c")}
    after = {side: tuple(f"{side}_after{k}" for k in range(layers)) for side in ("h", "c")}
    rows = ("rows", *after["h"])
    split = {"axis": 0, "num_outputs": layers}
    nodes = (
        Node("Unsqueeze", ("features", "first"), ("rows",)),
        *(Node("Split", (side,), before[side], split) for side in before if layers > 1),
        *(
            lstm(k, units, rows[k], (before["h"][k], before["c"][k]), ("", after["h"][k], after["c"][k]))
            for k in range(layers)
        ),
        *(Node("Concat", after[side], (f"{side}_out",), {"axis": 0}) for side in after),
        Node("Squeeze", (rows[-1], "first"), ("hidden",)),
        linear("cached", "hidden", "cached_logit"),
        linear("duration", "hidden", "duration_logits"),
        Node("Sigmoid", ("cached_logit",), ("cached",)),
        Node("Softmax", ("duration_logits",), ("duration",), {"axis": 1}),
    )
    weights = lstm_weights(layers, len(manifest["features"]), units)
    heads = linear_weights("cached", units, 1) | linear_weights("duration", units, len(OUTPUTS) - 1)
    return Graph(nodes, weights | heads, {"first": 0})


KIND = Kind(
    outputs=lambda manifest: OUTPUTS,
    graph=_graph,
    sizes=SIZES,
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
    synthetic=synthetic.sets,
    synthetic_wanted=synthetic.wanted,
    synthetic_decisions=synthetic.decisions,
    recompute_synthetic=synthetic.recompute,
)
