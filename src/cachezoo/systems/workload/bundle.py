"""Kind `workload`: an LSTM that names the category of every window of requests, and the votes of a monitor."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from cachezoo.serving.graph import Graph, Node, layers_of, linear, linear_weights, lstm, lstm_weights
from cachezoo.serving.kind import F32, OUTPUT_TOLERANCE, Kind, Recomputed, Session
from cachezoo.serving.requests import RequestBatch
from cachezoo.systems.workload.serve import UNKNOWN, WorkloadServing

KEYS = ("features", "policy", "calibration", "geometry", "encodings")


def _serve(manifest: Mapping[str, Any], session: Session) -> WorkloadServing:
    return WorkloadServing(
        **{key: manifest[key] for key in KEYS},
        infer=lambda windows: session.run(["category"], {"features": windows})[0],
    )


def _steady(probabilities: F32, window: int, rows: int) -> int:
    """Requests before the first window whose class another runtime's last digits could turn."""
    ranked = np.sort(probabilities, axis=1)
    near = (ranked[:, -1] - ranked[:, -2] <= 2 * OUTPUT_TOLERANCE) if ranked.shape[1] > 1 else np.zeros(0, np.bool_)
    return int(np.argmax(near)) * window if near.any() else rows


def _recompute(serving: WorkloadServing, batch: RequestBatch, context: Mapping[str, Any]) -> Recomputed:
    seen = serving.run(batch)
    decisions = np.stack([seen.classes, seen.votes, seen.in_force], axis=1).astype(np.int32)
    before = np.concatenate([[UNKNOWN], seen.in_force[:-1]]) if len(seen.in_force) else seen.in_force
    voted = seen.votes != UNKNOWN
    branches = {
        "window": len(seen.classes),
        "vote": voted.sum(),
        "switch": ((before != UNKNOWN) & (before != seen.in_force)).sum(),
        "outvoted": (voted & (seen.votes != seen.in_force)).sum(),
        "rest": int(len(batch) % serving.window > 0),
    }
    counts = {name: int(count) for name, count in branches.items()}
    steady = _steady(seen.probabilities, serving.window, len(batch))
    return Recomputed(seen.features, seen.probabilities, decisions, counts, steady)


def _graph(manifest: Mapping[str, Any]) -> Graph:
    """A whole window: the layers one on the other, the last one's last state, and a head."""
    layers, units = layers_of(manifest)
    last = layers - 1
    nodes = [Node("Transpose", ("features",), ("rows0",), {"perm": (1, 0, 2)})]
    for k in range(last):
        nodes.append(lstm(k, units, f"rows{k}", (), (f"hidden{k}",)))
        nodes.append(Node("Squeeze", (f"hidden{k}", "direction"), (f"rows{k + 1}",)))
    nodes += [
        lstm(last, units, f"rows{last}", (), ("", "after")),
        Node("Squeeze", ("after", "first"), ("hidden",)),
        linear("category", "hidden", "logits"),
        Node("Softmax", ("logits",), ("category",), {"axis": 1}),
    ]
    weights = lstm_weights(layers, len(manifest["features"]), units)
    head = linear_weights("category", units, len(manifest["policy"]["classes"]))
    return Graph(tuple(nodes), weights | head, {"first": 0, **({"direction": 1} if last else {})})


KIND = Kind(
    outputs=lambda manifest: tuple(manifest["policy"]["classes"]),
    graph=_graph,
    sizes={f"policy.{name}": (1, 1 << 31) for name in ("window", "vote_windows", "switch_votes")},
    decisions=("class", "vote", "in_force"),
    units={
        "features": "as each feature states, normalised",
        "category": "probabilities of policy.classes",
    },
    wanted=("window", "vote", "switch"),
    serve=_serve,
    recompute=_recompute,
    contexts=lambda batch: [{}],
)
