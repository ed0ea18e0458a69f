"""An LSTM's step on numpy, from its safetensors file, all in float32.

Tensors have the names and the order of gates of torch: of layer k `lstm.weight_ih_lk` [4 U, inputs] and
`lstm.weight_hh_lk` [4 U, U], `lstm.bias_ih_lk` and `lstm.bias_hh_lk` [4 U], rows of the gates input, forget, cell,
output; of a head `NAME.weight` [outputs, U] and `NAME.bias` [outputs].
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from cachezoo.arrays import F32
from cachezoo.serving.kind import Cost
from cachezoo.serving.ranges import Sizes
from cachezoo.serving.safetensors import read_safetensors

GATES = 4
SIZES: Sizes = {"arch.layers": (1, 64), "arch.units": (1, 1 << 12)}
Shapes = dict[str, tuple[int, ...]]


def lstm_shapes(layers: int, width: int, units: int, heads: Mapping[str, int]) -> Shapes:
    """Shapes of the tensors of an LSTM on `width` inputs, whose heads have so many outputs, by name."""
    found: Shapes = {}
    for k in range(layers):
        found |= {
            f"lstm.weight_ih_l{k}": (GATES * units, units if k else width),
            f"lstm.weight_hh_l{k}": (GATES * units, units),
            f"lstm.bias_ih_l{k}": (GATES * units,),
            f"lstm.bias_hh_l{k}": (GATES * units,),
        }
    for name, outputs in heads.items():
        found |= {f"{name}.weight": (outputs, units), f"{name}.bias": (outputs,)}
    return found


def sigmoid(values: F32) -> F32:
    """1 / (1 + exp(-x)); where exp overflows it is 0."""
    with np.errstate(over="ignore"):
        found: F32 = np.float32(1) / (np.float32(1) + np.exp(-values))
    return found


def softmax(values: F32) -> F32:
    """Along the last axis, the greatest value taken off first."""
    powers = np.exp(values - values.max(axis=-1, keepdims=True))
    found: F32 = powers / powers.sum(axis=-1, keepdims=True)
    return found


def lstm_cost(data: bytes, steps: int = 1) -> Cost:
    """Counts of an LSTM that goes so many steps for an output, its heads once."""
    tensors = read_safetensors(data)
    sizes = {name: tensor.size for name, tensor in tensors.items() if tensor.ndim > 1}
    macs = sum(size * (steps if name.startswith("lstm.") else 1) for name, size in sizes.items())
    return Cost(macs, 0, sum(tensor.size for tensor in tensors.values()), len(data))


class Lstm:
    """An LSTM with heads on its last layer."""

    def __init__(self, manifest: Mapping[str, Any], data: bytes, heads: Mapping[str, int]) -> None:
        """Read a safetensors file.

        Args:
            manifest: says layers, units and inputs.
            data: the file.
            heads: outputs of each head, by name.

        Raises:
            ValueError: it holds other tensors than those of the model, numbers that are not finite, or is damaged.
        """
        self.layers, self.units = int(manifest["arch"]["layers"]), int(manifest["arch"]["units"])
        wanted = lstm_shapes(self.layers, len(manifest["features"]), self.units, heads)
        tensors = read_safetensors(data)
        if set(tensors) != set(wanted):
            odd = sorted(set(tensors) ^ set(wanted))[0]
            raise ValueError(f"tensor {odd[:40]!r} is {'missing' if odd in wanted else 'none of the model'}")
        for name, shape in wanted.items():
            if tensors[name].shape != shape or tensors[name].dtype != np.dtype("<f4"):
                sides = "x".join(map(str, shape))
                message = f"tensor {name!r} is not float32 {sides}, as the bundle has it"
                raise ValueError(message)
            if not np.isfinite(tensors[name]).all():
                message = f"tensor {name!r} holds weights that are not finite"
                raise ValueError(message)
        self._tensors: dict[str, F32] = tensors

    def zeros(self, rows: int) -> F32:
        """A state at the start, float32[layers, rows, U]."""
        return np.zeros((self.layers, rows, self.units), np.float32)

    def step(self, rows: F32, h: F32, c: F32) -> tuple[F32, F32]:
        """One step.

        Args:
            rows: float32[L, F] inputs.
            h: float32[layers, L, U] hidden state before it.
            c: float32[layers, L, U] cell state before it.

        Returns:
            Both after it; the last layer's hidden state is what heads read.
        """
        hidden, h_out, c_out = rows, np.empty_like(h), np.empty_like(c)
        for k in range(self.layers):
            w, r, b, d = (self._tensors[f"lstm.{n}_l{k}"] for n in ("weight_ih", "weight_hh", "bias_ih", "bias_hh"))
            gates = (hidden @ w.T + b) + (h[k] @ r.T + d)
            i, f, g, o = np.split(gates, GATES, axis=1)
            c_out[k] = sigmoid(f) * c[k] + sigmoid(i) * np.tanh(g)
            h_out[k] = sigmoid(o) * np.tanh(c_out[k])
            hidden = h_out[k]
        return h_out, c_out

    def head(self, name: str, hidden: F32) -> F32:
        """A head's values, float32[L, outputs], of float32[L, U]."""
        found: F32 = hidden @ self._tensors[f"{name}.weight"].T + self._tensors[f"{name}.bias"]
        return found
