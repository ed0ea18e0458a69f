"""Trained workload classifiers as functions of arrays, and as the serving class."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from cachezoo.arrays import F32
from cachezoo.models.trained import TrainedModel, read_trained
from cachezoo.models.weights import lstm_layers, read_weights
from cachezoo.zoo.workload.serve import BATCH, KEYS, Infer, WorkloadServing


def torch_windows(weights: Mapping[str, F32], threads: int) -> Infer:
    """The classifier on torch.

    `threads` is torch's, for the whole process, and fixed because results depend on it.
    """
    import torch

    from cachezoo.models.lstm import WorkloadLstm

    torch.set_num_threads(threads)
    layers = lstm_layers(weights)
    network = WorkloadLstm(layers[0][0].shape[1], len(layers), layers[0][1].shape[1], len(weights["category.bias"]))
    network.load_state_dict({name: torch.from_numpy(np.array(tensor)) for name, tensor in weights.items()})

    @torch.inference_mode()
    def infer(windows: F32) -> F32:
        logits = network(torch.from_numpy(np.ascontiguousarray(windows)))
        probabilities: F32 = torch.softmax(logits, -1).numpy()
        return probabilities

    return infer


def predict(weights: Mapping[str, F32], rows: F32, threads: int) -> F32:
    """Probabilities float32[w, K] of windows' inputs float32[w, T, F]; `threads` as in `torch_windows`."""
    infer = torch_windows(weights, threads)
    found = [infer(rows[low : low + BATCH]) for low in range(0, len(rows), BATCH)]
    return np.concatenate(found) if found else np.zeros((0, len(weights["category.bias"])), np.float32)


def workload_serving(model: TrainedModel, infer: Infer) -> WorkloadServing:
    """The serving class of a trained classifier."""
    return WorkloadServing(**model.model_dump(mode="json", include=KEYS), infer=infer)


def load_workload(folder: Path) -> tuple[TrainedModel, WorkloadServing]:
    """Read a trained workload classifier.

    Raises:
        TrainingError: a file is missing or damaged, or the folder holds another kind of model.
    """
    model = read_trained(folder, "workload")
    return model, workload_serving(model, torch_windows(read_weights(folder), int(model.arch["threads"])))


def reference(folder: Path, trained: TrainedModel, features: F32) -> F32:
    """Probabilities of golden windows as torch computes them."""
    return load_workload(folder)[1].probabilities(features)
