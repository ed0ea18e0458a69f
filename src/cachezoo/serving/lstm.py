"""An LSTM's step on numpy, from its safetensors file, all in float32.

Tensors have the names and the order of gates of torch: of layer k `lstm.weight_ih_lk` [4 U, inputs] and
`lstm.weight_hh_lk` [4 U, U], `lstm.bias_ih_lk` and `lstm.bias_hh_lk` [4 U], rows of the gates input, forget, cell,
output; of a head `NAME.weight` [outputs, U] and `NAME.bias` [outputs].
"""

import math
import struct
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from cachezoo.arrays import F32
from cachezoo.serving.kind import Cost
from cachezoo.serving.ranges import Sizes
from cachezoo.serving.strict_json import read_json

DTYPES = {
    "F64": "<f8",
    "F32": "<f4",
    "F16": "<f2",
    "I64": "<i8",
    "I32": "<i4",
    "U8": "|u1",
    "BOOL": "|b1",
}


def read_safetensors(data: bytes) -> dict[str, npt.NDArray[Any]]:
    """Tensors of a safetensors file by name.

    Raises:
        ValueError: damaged.
    """
    length = struct.unpack("<Q", data[:8])[0] if len(data) >= 8 else 0
    if not 0 < length <= len(data) - 8:
        raise ValueError("the header is missing, or longer than the file")
    try:
        header = read_json(data[8 : 8 + length])
    except RecursionError as error:
        raise ValueError("the header has too many levels") from error
    if not isinstance(header, dict):
        raise ValueError("the header is no JSON object")
    notes = header.pop("__metadata__", {})
    if not isinstance(notes, dict) or not all(isinstance(note, str) for note in notes.values()):
        raise ValueError("its __metadata__ is no object of texts")
    body = memoryview(data)[8 + length :]
    places = {name: _place(name, entry) for name, entry in header.items()}
    tensors, end = {}, 0
    for name, (low, high, dtype, shape) in sorted(places.items(), key=lambda item: item[1][:2]):
        if low != end or not low <= high <= len(body) or math.prod(shape) * dtype.itemsize != high - low:
            message = f"tensor {name[:40]!r} overlaps another, leaves a gap or does not have the bytes of its shape"
            raise ValueError(message)
        tensors[name] = np.frombuffer(body[low:high], dtype).reshape(shape)
        end = high
    if end != len(body):
        raise ValueError("bytes are left over after the last tensor")
    return tensors


def _place(name: str, entry: object) -> tuple[int, int, np.dtype[Any], list[int]]:
    """First byte, end, type and shape of a tensor, as the header's entry says.

    Raises:
        ValueError: the entry says anything else.
    """
    if isinstance(entry, dict) and set(entry) == {"dtype", "shape", "data_offsets"}:
        dtype, shape, offsets = entry["dtype"], entry["shape"], entry["data_offsets"]
        sizes = [*shape, *offsets] if isinstance(shape, list) and isinstance(offsets, list) else [None]
        whole = all(isinstance(size, int) and not isinstance(size, bool) and size >= 0 for size in sizes)
        if whole and len(offsets) == 2 and isinstance(dtype, str) and dtype in DTYPES:
            return offsets[0], offsets[1], np.dtype(DTYPES[dtype]), shape
    raise ValueError(f"the header's entry {name[:40]!r} is not one dtype, one shape and two data_offsets of a tensor")


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
                raise ValueError(f"tensor {name!r} is not float32 {sides}, as the bundle has it")
            if not np.isfinite(tensors[name]).all():
                raise ValueError(f"tensor {name!r} holds weights that are not finite")
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
