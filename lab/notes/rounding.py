"""What rounding a caching LSTM's weights changes: decisions on every captured trace, by how the weights are rounded.

Activations stay float32 here, so that the weights alone are judged; libcachezoo's own arithmetic is measured by
`benchmarks/runtime.py agreement`. Decisions are compared with those of float32 weights, at a tenth of a trace's pages.
"""

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from rich.table import Table
from safetensors.numpy import load as read_tensors

from cachezoo import paths
from cachezoo.arrays import F32, F64
from cachezoo.bundles import load
from cachezoo.console import out
from cachezoo.kernels import manager
from cachezoo.kernels.manager_limits import lane_rules
from cachezoo.models.weights import lstm_layers
from cachezoo.serving.requests import RequestBatch, batch_of
from cachezoo.traces.store import read_trace
from cachezoo.zoo.caching.infer import torch_infer_all
from cachezoo.zoo.caching.serve import CachingServing

Weights = dict[str, F32]
Rounding = Callable[[F32], F32]
CAPACITY, INT8, INT12 = 0.1, 127, 2047
WANTED = 0.1  # per cent of decisions that may change


def bfloat16(values: F32) -> F32:
    """To the nearest bfloat16, halves to the even one."""
    bits = values.view(np.uint32)
    rounded = (bits + 0x7FFF + ((bits >> 16) & 1)) & np.uint32(0xFFFF0000)
    return rounded.view(np.float32)


def rows(values: F32, most: int = INT8, block: int = 0) -> F32:
    """To whole multiples of a step for each row, or for each `block` columns of it."""
    width = block or values.shape[1]
    parts = np.split(values, range(width, values.shape[1], width), axis=1)
    steps = [np.maximum(np.abs(part).max(axis=1, keepdims=True) / most, 1e-30) for part in parts]
    return np.concatenate([np.rint(part / step) * step for part, step in zip(parts, steps, strict=True)], axis=1)


def square_error(values: F32) -> F32:
    """With the step of each row that makes its square error least."""
    best, least = values, np.full((len(values), 1), np.inf)
    for share in np.linspace(0.6, 1.0, 33):
        step = np.abs(values).max(axis=1, keepdims=True) * share / INT8
        found = (np.clip(np.rint(values / step), -INT8, INT8) * step).astype(np.float32)
        error = ((found - values) ** 2).sum(axis=1, keepdims=True)
        best, least = np.where(error < least, found, best), np.minimum(error, least)
    return best


def both_sides(values: F32) -> F32:
    """With a scale for each row and each column, so that the largest of either is about 1."""
    columns = np.ones((1, values.shape[1]))
    for _ in range(30):
        scaled = np.abs(values / columns)
        columns *= np.sqrt((scaled / scaled.max(axis=1, keepdims=True)).max(axis=0, keepdims=True))
    return (rows((values / columns).astype(np.float32)) * columns).astype(np.float32)


def compensated(values: F32, seen: F64, damping: float) -> F32:
    """Column by column, the later ones making up for what was rounded (GPTQ), by inputs float64[n, columns]."""
    moments = seen.T @ seen / len(seen)
    moments += damping * np.mean(np.diag(moments)) * np.eye(len(moments))
    upper = np.linalg.cholesky(np.linalg.inv(moments)).T
    left, step = values.astype(np.float64), np.abs(values).max(axis=1) / INT8
    done = np.zeros_like(left)
    for k in range(left.shape[1]):
        done[:, k] = np.clip(np.rint(left[:, k] / step), -INT8, INT8) * step
        left[:, k + 1 :] -= np.outer((left[:, k] - done[:, k]) / upper[k, k], upper[k, k + 1 :])
    return done.astype(np.float32)


def separately(weights: Weights, given: Rounding, own: Rounding, first: Rounding) -> Weights:
    """Round input weights, recurrent ones, and the first layer's input weights."""
    found = dict(weights)
    for name, values in weights.items():
        if "weight_hh" in name:
            found[name] = own(values)
        elif "weight_ih" in name:
            found[name] = first(values) if name.endswith("l0") else given(values)
    return found


def together(weights: Weights, rounding: Callable[[int, F32, int], F32]) -> Weights:
    """Round a layer's input and recurrent weights as one matrix, but leave those of the network's inputs.

    Args:
        weights: a network's.
        rounding: takes the layer, the part of its matrix to round, and the columns left out before it.
    """
    found = dict(weights)
    for k, (given, own, _, _) in enumerate(lstm_layers(weights)):
        kept = given.shape[1] if k == 0 else 0
        whole = np.concatenate([given, own], axis=1)
        whole[:, kept:] = rounding(k, whole[:, kept:], kept)
        found[f"lstm.weight_ih_l{k}"] = np.ascontiguousarray(whole[:, : given.shape[1]])
        found[f"lstm.weight_hh_l{k}"] = np.ascontiguousarray(whole[:, given.shape[1] :])
    return found


def layer_inputs(weights: Weights, features: F32) -> list[F64]:
    """What each layer sees, float64[n, inputs + units]: its own inputs and its last hidden state."""
    values, found = torch.from_numpy(np.array(features)), []
    for given, own, bias_given, bias_own in lstm_layers(weights):
        layer = torch.nn.LSTM(given.shape[1], own.shape[1])
        parts = zip(("weight_ih", "weight_hh", "bias_ih", "bias_hh"), (given, own, bias_given, bias_own), strict=True)
        layer.load_state_dict({f"{name}_l0": torch.from_numpy(np.array(part)) for name, part in parts})
        with torch.inference_mode():
            hidden = layer(values[:, None])[0][:, 0]
        before = torch.cat([torch.zeros(1, own.shape[1]), hidden[:-1]])
        found.append(torch.cat([values, before], dim=1).numpy().astype(np.float64))
        values = hidden
    return found


def schemes(weights: Weights, golden: F32) -> dict[str, Weights]:
    """Rounded weights by what was done; `golden` are the inputs of the bundle's golden rows, of validation."""
    seen = layer_inputs(weights, golden)
    same: Rounding = np.array

    def wide(given: Rounding, own: Rounding | None = None) -> Weights:
        return separately(weights, given, own or given, same)

    def gptq(damping: float) -> Weights:
        return together(weights, lambda k, part, kept: compensated(part, seen[k][:, kept:], damping))

    return {
        "bf16": separately(weights, bfloat16, bfloat16, bfloat16),
        "int8, rows": separately(weights, rows, rows, rows),
        "int8, rows; inputs fp32": wide(rows),
        "int8, rows of both matrices; inputs fp32": together(weights, lambda k, part, kept: rows(part)),
        "int8, 32 columns; inputs fp32": wide(partial(rows, block=32)),
        "int8, 16 columns; inputs fp32": wide(partial(rows, block=16)),
        "int8; inputs fp32, recurrent bf16": wide(rows, bfloat16),
        "int8, least square error; inputs fp32": wide(square_error),
        "int8, rows and columns; inputs fp32": wide(both_sides),
        "int8, GPTQ 0.01; inputs fp32": gptq(0.01),
        "int8, GPTQ 0.1; inputs fp32": gptq(0.1),
        "12 bits, rows; inputs fp32": wide(partial(rows, most=INT12)),
    }


class Decisions:
    """A caching model's decisions on a trace, by weights."""

    def __init__(self, manifest: Any, weights: Weights, batch: RequestBatch) -> None:  # noqa: ANN401 - plain JSON
        self.policy, self.keys = manifest["policy"], ("features", "policy", "calibration", "geometry")
        self.manifest = manifest
        model = self._serving(weights)
        self.cache = model.cache(max(1, int(CAPACITY * batch.pages().n_pages)))
        self.rows, ratio = model.read(batch, batch.pages(), [self.cache.capacity])
        self.rules = lane_rules([self.cache], ratio)

    def _serving(self, weights: Weights) -> CachingServing:
        every = int(self.policy["sequence"]) if self.policy["state"] == "reset100" else 0
        given = {key: self.manifest[key] for key in self.keys}
        return CachingServing(**given, infer=_alone, infer_all=torch_infer_all(weights, 1, every))

    def of(self, weights: Weights) -> npt.NDArray[np.int32]:
        """The queue of each request."""
        outputs, queues = self._serving(weights).outputs(self.rows), np.zeros((len(self.rows), 1), np.int32)
        manager.decide_all(outputs, np.zeros(1, np.int64), *self.rules, queues)
        return queues[:, 0]


def _alone(_rows: F32, _state: Any) -> tuple[F32, Any]:  # noqa: ANN401 - the state of a step that is never made
    raise AssertionError("traces are run at once")


def changed() -> Iterator[dict[str, float]]:
    """Per cent of decisions that change, by scheme, of every captured trace."""
    for path in sorted(paths.BUNDLES.glob("caching.*")):
        if not (path / "manifest.json").exists():
            continue
        bundle = load(path)
        weights = read_tensors(bundle.files["weights.safetensors"])
        rounded = schemes(weights, np.load(path / "golden/features.npy"))
        for trace in sorted(Path("data/requests").glob(f"{bundle.manifest['category']}/*.parquet")):
            decisions = Decisions(bundle.manifest, weights, batch_of(read_trace(trace)))
            exact = decisions.of(weights)
            yield {name: 100 * float((decisions.of(one) != exact).mean()) for name, one in rounded.items()}


def main() -> None:
    """Print a row for each scheme."""
    traces = list(changed())
    table = Table("weights", "median %", "largest %", f"traces above {WANTED} %", title=f"{len(traces)} traces")
    for name in traces[0]:
        shares = [trace[name] for trace in traces]
        above = sum(share > WANTED for share in shares)
        table.add_row(name, f"{np.median(shares):.3f}", f"{max(shares):.3f}", str(above))
    out().print(table)


if __name__ == "__main__":
    main()
