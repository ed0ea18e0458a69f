"""What a trained LSTM leaves behind: the folder `models/trained/<id>/`."""

import csv
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from cachezoo.io import atomic_dir
from cachezoo.models.lstm_step import CURVES_FILE, WEIGHTS_FILE, write_weights
from cachezoo.models.trained import TrainedModel

F32 = npt.NDArray[np.float32]
Curves = list[tuple[float, float | None]]


@dataclass(frozen=True)
class Fitted:
    """A trained model: what goes into its folder."""

    model: TrainedModel
    weights: dict[str, F32]
    curves: Curves


def write_fitted(fitted: Fitted, folder: Path) -> None:
    """Write `weights.safetensors`, `train.json` and `curves.csv` (epoch, train_loss, validation_loss)."""
    with atomic_dir(folder) as temporary:
        write_weights(fitted.weights, temporary / WEIGHTS_FILE)
        fitted.model.write(temporary)
        with (temporary / CURVES_FILE).open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(["epoch", "train_loss", "validation_loss"])
            for epoch, (train_loss, held_loss) in enumerate(fitted.curves, 1):
                writer.writerow([epoch, train_loss, "" if held_loss is None else held_loss])
