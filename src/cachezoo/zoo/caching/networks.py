"""The networks of a fitted caching model: one a seed, each with its learning curve, in a folder of its own.

One training says little of a recipe (docs/experiments.md), so the fit trains several that differ in their seed alone.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from cachezoo.arrays import F32
from cachezoo.io import atomic_dir
from cachezoo.models.curves import write_curves
from cachezoo.models.trained import FittedModel
from cachezoo.models.weights import WEIGHTS_FILE, read_weights, write_weights
from cachezoo.training.fitted import CURVE_COLUMNS, Curves


@dataclass(frozen=True)
class Network:
    """A trained network.

    Attributes:
        weights: its tensors, with the heads of all teachers.
        curves: an epoch's losses on the train and on the validation traces.
    """

    weights: Mapping[str, F32]
    curves: Curves


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
            write_weights(network.weights, own / WEIGHTS_FILE)
            rows = [(epoch, *losses) for epoch, losses in enumerate(network.curves, 1)]
            write_curves(own, CURVE_COLUMNS, rows)


def read_networks(folder: Path, model: FittedModel) -> list[dict[str, F32]]:
    """The weights of each network, in the order of their seeds.

    Raises:
        TrainingError: one is missing or damaged.
    """
    return [read_weights(folder_of(folder, place)) for place in range(int(model.learned["networks"]))]
