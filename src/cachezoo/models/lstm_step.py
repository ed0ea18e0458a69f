"""Trained LSTMs as functions of arrays: weights on disk; one step at a time, or a whole trace, for evaluation."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from cachezoo.errors import TrainingError
from cachezoo.policies.rcrnn import Infer, InferAll

F32 = npt.NDArray[np.float32]
WEIGHTS_FILE = "weights.safetensors"
CURVES_FILE = "curves.csv"
STEPS_AT_ONCE = 1000


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
        weights: of a caching model with one teacher.
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


def teacher_outputs(
    weights: Mapping[str, F32], rows: F32, threads: int, reset_every: int, advance: Callable[[int], None] | None = None
) -> F32:
    """Outputs of a caching network over whole traces, from a zero state.

    Args:
        weights: of a caching model with K teachers.
        rows: float32[n, D, F] inputs of D capacities.
        threads: torch's threads, for the whole process; a fixed number because results depend on it.
        reset_every: requests after which the state is zero again; 0 carries it to the end.
        advance: told the requests done, now and then.

    Returns:
        float32[n, D, K, 4], the last axis `cachezoo.policies.rcrnn.OUTPUTS`.
    """
    import torch

    from cachezoo.models.caching_lstm import CachingLstm, probabilities

    torch.set_num_threads(threads)
    layers = lstm_layers(weights)
    network = CachingLstm(rows.shape[2], len(layers), layers[0][1].shape[1], len(weights["cached.bias"]))
    network.load_state_dict({name: torch.from_numpy(np.array(values)) for name, values in weights.items()})
    outputs = np.empty((*rows.shape[:2], len(weights["cached.bias"]), 4), np.float32)
    state = None
    length = reset_every or STEPS_AT_ONCE
    with torch.inference_mode():
        for low in range(0, len(rows), length):
            part = torch.from_numpy(np.ascontiguousarray(rows[low : low + length].transpose(1, 0, 2)))
            cached, duration, after = network(part, None if reset_every else state)
            state = after
            outputs[low : low + length] = probabilities(cached, duration).numpy().swapaxes(0, 1)
            if advance is not None:
                advance(low)
    return outputs


def torch_infer_all(weights: Mapping[str, F32], threads: int, reset_every: int) -> InferAll:
    """The caching model of one teacher over a whole trace at once."""

    def infer_all(rows: F32, advance: Callable[[int], None] | None) -> F32:
        return teacher_outputs(weights, rows, threads, reset_every, advance)[:, :, 0]

    return infer_all


def one_teacher(weights: Mapping[str, F32], teacher: int) -> dict[str, F32]:
    """The weights with the heads of one teacher."""
    own = {"cached": slice(teacher, teacher + 1), "duration": slice(3 * teacher, 3 * teacher + 3)}
    return {name: values[own.get(name.split(".")[0], slice(None))] for name, values in weights.items()}
