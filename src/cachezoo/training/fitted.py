"""What the fit of an LSTM leaves behind: the folder `models/fitted/<system>/<id>/`; and what its judge makes of it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cachezoo.arrays import F32
from cachezoo.io import atomic_dir
from cachezoo.models.curves import copy_curves, write_curves
from cachezoo.models.trained import FittedModel, TrainedModel
from cachezoo.models.weights import WEIGHTS_FILE, read_weights, write_weights

Curves = list[tuple[float, float | None]]


@dataclass(frozen=True)
class Network:
    """A trained network."""

    weights: Mapping[str, F32]  # its tensors, with the heads of all teachers
    curves: Curves  # an epoch's losses on the train and on the validation traces


def folder_of(fitted: Path, place: int) -> Path:
    """Where a network lies below `models/fitted/<system>/<id>`."""
    return fitted / f"network_{place}"


def write_networks(folder: Path, model: FittedModel, networks: Sequence[Network]) -> None:
    """Write `fit.json`, and of each network `weights.safetensors` and `curves.csv`, all at once."""
    with atomic_dir(folder) as temporary:
        model.write(temporary)
        for place, network in enumerate(networks):
            own = folder_of(temporary, place)
            own.mkdir()
            _write_network(own, network)


def read_networks(folder: Path, model: FittedModel) -> list[dict[str, F32]]:
    """The weights of each network, in the order of their seeds.

    Raises:
        TrainingError: one is missing or damaged.
    """
    return [read_weights(folder_of(folder, place)) for place in range(int(model.learned["networks"]))]


def network_weights(network: Any) -> dict[str, F32]:  # noqa: ANN401 - torch.nn.Module, which is not imported here
    """A network's tensors as arrays."""
    return {name: tensor.numpy() for name, tensor in network.state_dict().items()}


def write_lstm(folder: Path, model: FittedModel, weights: dict[str, F32], curves: Curves) -> None:
    """Write `weights.safetensors`, `fit.json` and `curves.csv` of a model of one network."""
    with atomic_dir(folder) as temporary:
        model.write(temporary)
        _write_network(temporary, Network(weights, curves))


def _write_network(folder: Path, network: Network) -> None:
    write_weights(network.weights, folder / WEIGHTS_FILE)
    rows = [(epoch, *losses) for epoch, losses in enumerate(network.curves, 1)]
    write_curves(folder, ("epoch", "train_loss", "validation_loss"), rows)


def write_judged_lstm(folder: Path, fitted: Path, model: TrainedModel, weights: dict[str, F32]) -> None:
    """Write `weights.safetensors`, `train.json`, and the fit's `curves.csv`."""
    with atomic_dir(folder) as temporary:
        write_weights(weights, temporary / WEIGHTS_FILE)
        model.write(temporary)
        copy_curves(fitted, temporary)
