"""The caching LSTM on torch: one step at a time, or a whole trace at once."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from cachezoo.arrays import F32
from cachezoo.models.trained import TrainedModel
from cachezoo.models.weights import lstm_layers, read_weights
from cachezoo.zoo.caching.serve import CachingServing, Infer, InferAll

STEPS_AT_ONCE = 1000


def torch_infer(weights: Mapping[str, F32], threads: int) -> Infer:
    """The caching model's step on torch, which runs a step of several lanes faster than numpy or onnxruntime.

    The weights are of one teacher. `threads` is torch's, for the whole process, and fixed because results depend on it.
    """
    import torch

    from cachezoo.models.lstm import probabilities

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
        float32[n, D, K, 4], the last axis `cachezoo.zoo.caching.serve.OUTPUTS`.
    """
    import torch

    from cachezoo.models.lstm import CachingLstm, probabilities

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


def serving_of(model: TrainedModel, weights: Mapping[str, F32]) -> CachingServing:
    """The serving object of a trained model, its network on torch."""
    values, threads = model.model_dump(mode="json"), int(model.arch["threads"])
    return torch_serving(values, values["policy"], values["calibration"], weights, threads)


def torch_serving(
    values: Mapping[str, Any], policy: Mapping[str, Any], calibration: Mapping[str, Any], weights: Mapping[str, F32],
    threads: int,
) -> CachingServing:  # fmt: skip
    """A serving object on torch.

    `values` has `features` and `geometry`; the weights are of one teacher.
    """
    every = int(policy["sequence"]) if policy["state"] == "reset100" else 0
    return CachingServing(
        values["features"], policy, calibration, values["geometry"], torch_infer(weights, threads),
        infer_all=torch_infer_all(weights, threads, every),
    )  # fmt: skip


def reference(folder: Path, trained: TrainedModel, features: F32) -> F32:
    """The network over golden rows in one run, the state carried or reset as the policy says."""
    every = int(trained.policy["sequence"]) if trained.policy["state"] == "reset100" else 0
    return teacher_outputs(read_weights(folder), features[:, None], int(trained.arch["threads"]), every)[:, 0, 0]
