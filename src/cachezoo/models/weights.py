"""An LSTM's tensors: on disk, and by layer."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from cachezoo.arrays import F32
from cachezoo.errors import TrainingError

WEIGHTS_FILE = "weights.safetensors"


def write_weights(weights: Mapping[str, F32], path: Path) -> None:
    """Write tensors in the order of their names; equal weights give equal bytes."""
    from safetensors.numpy import save_file

    save_file({name: np.ascontiguousarray(weights[name]) for name in sorted(weights)}, path)


def read_weights(folder: Path) -> dict[str, F32]:
    """Read a model's tensors.

    Raises:
        TrainingError: missing or damaged.
    """
    from safetensors import SafetensorError
    from safetensors.numpy import load_file

    path = folder / WEIGHTS_FILE
    try:
        weights: dict[str, F32] = load_file(path)
    except (OSError, SafetensorError) as error:
        message = f"{path}: not readable ({str(error).splitlines()[0][:120]}); train the model again"
        raise TrainingError(message) from error
    return weights


def lstm_layers(weights: Mapping[str, F32]) -> list[tuple[F32, F32, F32, F32]]:
    """Per layer: input weights [4U, I], recurrent ones [4U, U] and both biases, gates in torch's order i, f, g, o."""
    layers: list[tuple[F32, F32, F32, F32]] = []
    while f"lstm.weight_ih_l{len(layers)}" in weights:
        k = len(layers)
        names = (f"weight_ih_l{k}", f"weight_hh_l{k}", f"bias_ih_l{k}", f"bias_hh_l{k}")
        one, two, three, four = (weights[f"lstm.{name}"] for name in names)
        layers.append((one, two, three, four))
    return layers
