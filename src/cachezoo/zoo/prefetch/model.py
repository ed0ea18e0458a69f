"""The prefetch model: ML-Range's two forests and ML-When's; see `cachezoo.models.forest` for their exact sums."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from cachezoo.arrays import F32, F64
from cachezoo.models.forest import Scorer, read_forest
from cachezoo.models.trained import TrainedModel, read_trained
from cachezoo.zoo.prefetch.serve import Infer, PrefetchServing

MODEL_FILES = ("start.lgb.txt", "end.lgb.txt", "when.lgb.txt")


def joined(scorers: Sequence[Scorer]) -> Infer:
    """One function from rows float32[n, F] to the forests' scores float64[n, forests]."""

    def score(rows: F32) -> F64:
        return np.stack([scorer(rows) for scorer in scorers], axis=1)

    return score


def serving(trained: TrainedModel, infer: Infer) -> PrefetchServing:
    """The serving class with a fresh history; `infer` scores rows, e.g. `joined` forests."""
    values = trained.model_dump(mode="json")
    keys = ("features", "encodings", "geometry", "calibration", "policy")
    return PrefetchServing(**{key: values[key] for key in keys}, infer=infer)


def infer_of(folder: Path, threads: int) -> Infer:
    """The forests of a fitted or trained model.

    Raises:
        TrainingError: a file is missing or damaged.
    """
    return joined([read_forest(folder / name, threads) for name in MODEL_FILES])


def load_prefetch(folder: Path) -> tuple[TrainedModel, PrefetchServing | None]:
    """Read a trained prefetch model.

    Returns:
        Its `train.json`, and the serving class with a fresh history; None where it never trained.

    Raises:
        TrainingError: a file is missing or damaged, or the folder holds another kind of model.
    """
    trained = read_trained(folder, "prefetch")
    if not trained.trained:
        return trained, None
    return trained, serving(trained, infer_of(folder, int(trained.arch["threads"])))
