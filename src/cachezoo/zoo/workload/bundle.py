"""Kind `workload`: an LSTM that names the category of every window of requests, and the votes of a monitor."""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from cachezoo.errors import ConfigError
from cachezoo.serving import lstm
from cachezoo.serving.kind import BLOCK, LSTM_PRECISIONS, OUTPUT_TOLERANCE, Kind, Recomputed, Session, State
from cachezoo.serving.lstm import Lstm, lstm_cost, softmax
from cachezoo.serving.requests import RequestBatch
from cachezoo.zoo.workload import synthetic
from cachezoo.zoo.workload.known import of_votes
from cachezoo.zoo.workload.serve import NONE, UNKNOWN, Monitored, WorkloadServing

STRANGENESS_TOLERANCE = 1e-6  # by which sums of runtimes may differ, as a share
WEIGHTS = "weights.safetensors"
FLOAT_BYTES, REQUEST_BYTES, VOTE_BYTES = 4, 8 + 8 + 8 + 4 + 4, 8
KEYS = ("features", "policy", "calibration", "geometry", "encodings")


def _serve(manifest: Mapping[str, Any], session: Session) -> WorkloadServing:
    return WorkloadServing(
        **{key: manifest[key] for key in KEYS},
        infer=lambda windows: session.run(["category"], {"features": windows})[0],
    )


def _steady(serving: WorkloadServing, seen: Monitored, rows: int) -> int:
    """Requests before the first window whose class or vote another runtime's last digits could turn."""
    ranked = np.sort(seen.probabilities, axis=1)
    near = (ranked[:, -1] - ranked[:, -2] <= 2 * OUTPUT_TOLERANCE) if ranked.shape[1] > 1 else ranked[:, 0] < 0
    near |= np.isclose(seen.strangeness, serving.unknown_above["window"], rtol=STRANGENESS_TOLERANCE)
    votes = of_votes(seen.strangeness, serving.vote_windows)
    turning = np.isclose(votes, serving.unknown_above["vote"], rtol=STRANGENESS_TOLERANCE)
    near[np.flatnonzero(turning) * serving.vote_windows] = True
    return int(np.argmax(near)) * serving.window if near.any() else rows


def _recompute(serving: WorkloadServing, batch: RequestBatch, context: Mapping[str, Any]) -> Recomputed:
    seen = serving.run(batch)
    decisions = np.stack([seen.classes, seen.votes, seen.in_force], axis=1).astype(np.int32)
    before = np.concatenate([[NONE], seen.in_force[:-1]]) if len(seen.in_force) else seen.in_force
    voted = seen.votes != NONE
    branches = {
        "window": len(seen.classes),
        "vote": voted.sum(),
        "switch": ((before != NONE) & (before != seen.in_force)).sum(),
        "outvoted": (voted & (seen.votes != seen.in_force)).sum(),
        "rest": int(len(batch) % serving.window > 0),
    }
    if math.isfinite(min(serving.unknown_above.values())):  # bundles without do not count these
        branches |= {"unknown_window": (seen.classes == UNKNOWN).sum(), "unknown_vote": (seen.votes == UNKNOWN).sum()}
    counts = {name: int(count) for name, count in branches.items()}
    steady = _steady(serving, seen, len(batch))
    return Recomputed(seen.features, seen.probabilities, decisions, counts, steady)


class WeightsSession:
    """The model over whole windows on numpy."""

    def __init__(self, manifest: Mapping[str, Any], files: Mapping[str, bytes]) -> None:
        """Read the weights; see `Lstm`."""
        try:
            self._lstm = Lstm(manifest, files[WEIGHTS], {"category": len(manifest["policy"]["classes"])})
        except ValueError as error:
            raise ValueError(f"{WEIGHTS}: {error}") from error

    def run(self, outputs: list[str] | None, inputs: Mapping[str, Any]) -> list[Any]:
        """`category` of `features` float32[B, T, F]."""
        windows = inputs["features"]
        h = c = self._lstm.zeros(len(windows))
        for step in range(windows.shape[1]):
            h, c = self._lstm.step(windows[:, step], h, c)
        return [softmax(self._lstm.head("category", h[-1]))]


def _check(manifest: Mapping[str, Any]) -> None:
    """Raises ConfigError: a limit of what is unknown, and nothing is known."""
    if manifest["policy"].get("unknown_above") and not manifest["calibration"].get("known"):
        raise ConfigError("policy.unknown_above has limits where calibration.known knows no trace")


def _state(manifest: Mapping[str, Any]) -> State:
    """The requests of a window, the network's state over it, and the votes: class and strangeness of each window."""
    arch, policy = manifest["arch"], manifest["policy"]
    network = 2 * int(arch["layers"]) * int(arch["units"]) * FLOAT_BYTES
    return State(network + policy["window"] * REQUEST_BYTES + policy["vote_windows"] * 2 * VOTE_BYTES, 0, "none")


KIND = Kind(
    outputs=lambda manifest: tuple(manifest["policy"]["classes"]),
    sizes={
        **lstm.SIZES,
        "policy.window": (1, 1 << 12),
        "policy.vote_windows": (1, 1 << 20),
        "policy.switch_votes": (1, 1 << 31),
    },
    decisions=("class", "vote", "in_force"),
    wanted=("window", "vote", "switch"),
    serve=_serve,
    recompute=_recompute,
    contexts=lambda manifest, batch: [{}],
    open_weights=WeightsSession,
    cost=lambda manifest, files: lstm_cost(files[WEIGHTS], steps=int(manifest["policy"]["window"])),
    check=_check,
    profile=lambda manifest: BLOCK,
    conformance=LSTM_PRECISIONS,
    state=_state,
    synthetic=synthetic.sets,
    synthetic_wanted=synthetic.wanted,
    synthetic_decisions=synthetic.decisions,
    recompute_synthetic=synthetic.recompute,
)
