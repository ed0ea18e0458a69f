from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cachezoo.bundles.onnx_export import open_session
from cachezoo.models.weights import read_weights, write_weights
from cachezoo.zoo.caching.infer import torch_infer
from cachezoo.zoo.caching.serve import session_infer
from cachezoo.zoo.registry import bundling_of
from cachezoo.zoo.workload.infer import torch_windows
from tests.lstm_data import lstm_sides, random_weights

WIDTH = 7
WEIGHTS = "weights.safetensors"


def of_weights(kind: str, part: Callable[..., Any], layers: int, units: int, folder: Path) -> Any:
    """What a part of a kind makes of random weights, which are written to a folder."""
    heads = {"cached": 1, "duration": 3} if kind == "caching" else {"category": 3}
    write_weights(random_weights(lstm_sides(WIDTH, layers, units, heads), 1, 0.5), folder / WEIGHTS)
    manifest = {
        "arch": {"layers": layers, "units": units},
        "features": [{"name": f"f{k}"} for k in range(WIDTH)],
        "policy": {"window": 12},
    }
    return part(manifest, {WEIGHTS: (folder / WEIGHTS).read_bytes()})


def exported(kind: str, layers: int, units: int, folder: Path) -> bytes:
    data: bytes = of_weights(kind, bundling_of(kind).onnx.load(), layers, units, folder)
    return data


@pytest.mark.parametrize(("layers", "units"), [(1, 1), (1, 8), (2, 5), (3, 16)])
def test_caching_steps_agree_with_torch_over_many_steps(layers: int, units: int, tmp_path: Path) -> None:
    session = open_session(exported("caching", layers, units, tmp_path), "m")
    ours, theirs = session_infer(session.run, layers, units), torch_infer(read_weights(tmp_path), 1)
    rows = np.random.default_rng(2).normal(0, 2, (600, 3, WIDTH)).astype(np.float32)
    state = other = None
    for step in rows:
        out, state = ours(step, state)
        want, other = theirs(step, other)
        assert out.dtype == np.float32 and out.shape == (3, 4)
        np.testing.assert_allclose(out, want, atol=1e-5, rtol=0)
    assert (np.ptp(out, axis=0) > 1e-3).all()


@pytest.mark.parametrize(("layers", "units"), [(1, 8), (3, 5)])
def test_workload_windows_agree_with_torch(layers: int, units: int, tmp_path: Path) -> None:
    session = open_session(exported("workload", layers, units, tmp_path), "m")
    windows = np.random.default_rng(2).normal(0, 2, (50, 12, WIDTH)).astype(np.float32)
    want = torch_windows(read_weights(tmp_path), 1)(windows)
    for size in (1, 50):
        (out,) = session.run(["category"], {"features": windows[:size]})
        np.testing.assert_allclose(out, want[:size], atol=1e-5, rtol=0)
    assert np.ptp(want, axis=0).min() > 1e-3


def test_cost_counts_the_gates(tmp_path: Path) -> None:
    costs = {kind: bundling_of(kind).kind.load().cost for kind in ("caching", "workload")}
    cost = of_weights("caching", costs["caching"], 2, 5, tmp_path)
    gates = 4 * 5 * (WIDTH + 5) + 4 * 5 * (5 + 5)
    assert cost.macs == gates + 5 * 4
    assert cost.parameters == gates + 2 * 2 * 4 * 5 + 5 * 4 + 4
    cost = of_weights("workload", costs["workload"], 1, 5, tmp_path)
    assert cost.macs == 12 * 4 * 5 * (WIDTH + 5) + 5 * 3
