"""Trained LSTMs as functions of arrays: weights on disk, and one step at a time for evaluation."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from cachezoo.errors import TrainingError
from cachezoo.policies.rcrnn import Infer

F32 = npt.NDArray[np.float32]
WEIGHTS_FILE = "weights.safetensors"
CURVES_FILE = "curves.csv"


def write_weights(weights: Mapping[str, F32], path: Path) -> None:
    """Write tensors in the order of their names; equal weights give equal bytes."""
    from safetensors.numpy import save_file

    save_file({name: np.ascontiguousarray(weights[name]) for name in sorted(weights)}, path)


def read_weights(folder: Path) -> dict[str, F32]:
    """Read a trained model's tensors.

    Raises:
        TrainingError: missing or damaged.
    """
    from safetensors import SafetensorError
    from safetensors.numpy import load_file

    path = folder / WEIGHTS_FILE
    try:
        weights: dict[str, F32] = load_file(path)
    except (OSError, SafetensorError) as error:
        message = f"{path}: not readable ({str(error).splitlines()[0]}); train the model again"
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


def torch_infer(weights: Mapping[str, F32], threads: int) -> Infer:
    """The caching model's step on torch, which runs a step of several lanes faster than numpy or onnxruntime.

    Args:
        weights: of a caching model.
        threads: torch's threads, for the whole process; a fixed number because results depend on it.
    """
    import torch

    from cachezoo.models.caching_lstm import probabilities

    torch.set_num_threads(threads)
    layers = [tuple(torch.from_numpy(np.array(t)) for t in layer) for layer in lstm_layers(weights)]
    units = layers[0][1].shape[1]
    names = ("cached.weight", "cached.bias", "duration.weight", "duration.bias")
    heads = {name: torch.from_numpy(np.array(weights[name])) for name in names}

    @torch.inference_mode()
    def infer(rows: F32, state: Any) -> tuple[F32, Any]:  # noqa: ANN401 - opaque to the caller
        hidden = torch.from_numpy(np.ascontiguousarray(rows))
        states = state or [(torch.zeros(len(rows), units),) * 2] * len(layers)
        after = []
        for layer, before in zip(layers, states, strict=True):
            after.append(torch.lstm_cell(hidden, before, *layer))
            hidden = after[-1][0]
        cached = torch.addmm(heads["cached.bias"], hidden, heads["cached.weight"].T)[:, 0]
        duration = torch.addmm(heads["duration.bias"], hidden, heads["duration.weight"].T)
        outputs: F32 = probabilities(cached, duration).numpy()
        return outputs, after

    return infer
