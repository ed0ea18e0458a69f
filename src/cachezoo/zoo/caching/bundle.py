"""Kind `caching`: an LSTM that decides between bypass and a queue, with the cache it runs."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from cachezoo.errors import ConfigError
from cachezoo.serving.graph import Graph, Node, Sides, layers_of, linear, linear_weights, lstm, lstm_weights
from cachezoo.serving.kind import BLOCK, LSTM_PRECISIONS, Kind, Recomputed, Session, State
from cachezoo.serving.lstm import Lstm, sigmoid, softmax
from cachezoo.serving.requests import RequestBatch
from cachezoo.zoo.caching import synthetic
from cachezoo.zoo.caching.serve import OUTPUTS, CachingServing, onnx_infer
from cachezoo.zoo.caching.synthetic import steady_rows

KEYS = ("features", "policy", "calibration", "geometry", "encodings")
QUEUES = ("bypass", "soon", "mean", "late")
SIZES = {
    "golden.context.capacity_pages": (1, 1 << 22),
    "policy.demote_capacities": (1, 1 << 20),
    "policy.protected_percent": (0, 100),
    "policy.sequence": (1, 1 << 31),
    "policy.memory.memory_accesses": (1, 1 << 40),
    "policy.memory.window_accesses": (1, 1 << 40),
    "policy.memory.region_bytes": (4096, 1 << 62),
    "policy.memory.region_bits": (1, 24),
}
GOLDEN_SHARES = (0.1, 0.02)
WEIGHTS = "weights.safetensors"
FLOAT_BYTES = 4
REGION_BYTES = 8 + 8  # last access and heat
WINDOW_BYTES = 8  # the page of an access of the recent window
# Last access, uses, gap before, last operation, two heats, newest access; queue, four links, top, dirty, clock; key.
PAGE_BYTES = (4 * 8 + 2 * 8 + 8) + (7 * 4 + 8) + 8


def _serve(manifest: Mapping[str, Any], session: Session) -> CachingServing:
    arch = manifest["arch"]
    infer = onnx_infer(session.run, int(arch["layers"]), int(arch["units"]))
    return CachingServing(**{key: manifest[key] for key in KEYS}, infer=infer)


def _contexts(manifest: Mapping[str, Any], batch: RequestBatch) -> list[dict[str, Any]]:
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
    state = (layers, "L", units)
    inputs: Sides = {"features": ("L", len(manifest["features"])), "h": state, "c": state}
    outputs: Sides = {"cached": ("L", 1), "duration": ("L", len(OUTPUTS) - 1), "h_out": state, "c_out": state}
    return Graph(nodes, weights | heads, {"first": 0}, inputs, outputs)


class WeightsSession:
    """The model's step on numpy, in the place of its ONNX session."""

    def __init__(self, manifest: Mapping[str, Any], files: Mapping[str, bytes]) -> None:
        """Read the weights; see `Lstm`."""
        try:
            self._lstm = Lstm(manifest, files[WEIGHTS], {"cached": 1, "duration": len(OUTPUTS) - 1})
        except ValueError as error:
            raise ValueError(f"{WEIGHTS}: {error}") from error

    def run(self, outputs: list[str] | None, inputs: Mapping[str, Any]) -> list[Any]:
        """`cached`, `duration`, `h_out`, `c_out` of `features`, `h`, `c`."""
        h, c = self._lstm.step(inputs["features"], inputs["h"], inputs["c"])
        cached, duration = (self._lstm.head(name, h[-1]) for name in ("cached", "duration"))
        return [sigmoid(cached), softmax(duration), h, c]


def _check(manifest: Mapping[str, Any]) -> None:
    """Ends of ranges are in order, and what belongs together is there.

    Raises:
        ConfigError: they are not.
    """
    policy = manifest["policy"]
    pairs = {f"ranges.{name}": pair for name, pair in policy.get("ranges", {}).items()}
    if "capacity_ratio_log2" in policy:
        pairs["capacity_ratio_log2"] = policy["capacity_ratio_log2"]
    for name, (low, high) in pairs.items():
        if low > high:
            raise ConfigError(f"policy.{name} is {low} to {high}, whose ends are in the wrong order")
    if policy["memory"]["window_accesses"] > policy["memory"]["memory_accesses"]:
        raise ConfigError("policy.memory: window_accesses are more than memory_accesses")


def _state(manifest: Mapping[str, Any]) -> State:
    """The network's state, the table of regions and the recent window; of each page its history, links and number."""
    arch, memory = manifest["arch"], manifest["policy"]["memory"]
    network = 2 * int(arch["layers"]) * int(arch["units"]) * FLOAT_BYTES
    regions = (1 << int(memory["region_bits"])) * REGION_BYTES
    return State(network + regions + int(memory["window_accesses"]) * WINDOW_BYTES, PAGE_BYTES, "page")


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
    open_weights=WeightsSession,
    check=_check,
    profile=lambda manifest: BLOCK,
    conformance=LSTM_PRECISIONS,
    state=_state,
    synthetic=synthetic.sets,
    synthetic_wanted=synthetic.wanted,
    synthetic_decisions=synthetic.decisions,
    recompute_synthetic=synthetic.recompute,
)
