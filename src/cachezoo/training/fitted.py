"""What the fit of an LSTM leaves behind: the folder `models/fitted/<system>/<id>/`; and what its judge makes of it."""

from pathlib import Path
from typing import Any

from cachezoo.arrays import F32
from cachezoo.io import atomic_dir
from cachezoo.models.curves import copy_curves, write_curves
from cachezoo.models.trained import FittedModel, TrainedModel
from cachezoo.models.weights import WEIGHTS_FILE, write_weights

Curves = list[tuple[float, float | None]]
CURVE_COLUMNS = ("epoch", "train_loss", "validation_loss")


def network_weights(network: Any) -> dict[str, F32]:  # noqa: ANN401 - torch.nn.Module, which is not imported here
    """A network's tensors as arrays."""
    return {name: tensor.numpy() for name, tensor in network.state_dict().items()}


def write_lstm(folder: Path, model: FittedModel, weights: dict[str, F32], curves: Curves) -> None:
    """Write `weights.safetensors`, `fit.json` and `curves.csv` (epoch, train_loss, validation_loss)."""
    with atomic_dir(folder) as temporary:
        write_weights(weights, temporary / WEIGHTS_FILE)
        model.write(temporary)
        rows = [(epoch, *losses) for epoch, losses in enumerate(curves, 1)]
        write_curves(temporary, CURVE_COLUMNS, rows)


def write_judged_lstm(folder: Path, fitted: Path, model: TrainedModel, weights: dict[str, F32]) -> None:
    """Write `weights.safetensors`, `train.json`, and the fit's `curves.csv`."""
    with atomic_dir(folder) as temporary:
        write_weights(weights, temporary / WEIGHTS_FILE)
        model.write(temporary)
        copy_curves(fitted, temporary)
