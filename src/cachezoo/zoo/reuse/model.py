"""The trained model: its forest as a cache runs it."""

from pathlib import Path

from cachezoo.models.forest import read_forest
from cachezoo.models.trained import TrainedModel, read_trained
from cachezoo.zoo.reuse.serve import Infer, ReuseServing

MODEL_FILE = "model.lgb.txt"


def serving(trained: TrainedModel, infer: Infer) -> ReuseServing:
    """The serving class; `infer` scores rows, e.g. `forest_scorer(text, threads)`."""
    values = trained.model_dump(mode="json")
    return ReuseServing(**{key: values[key] for key in ("features", "policy", "calibration")}, infer=infer)


def load_reuse(folder: Path) -> tuple[TrainedModel, ReuseServing]:
    """Read a trained model.

    Returns:
        Its `train.json` and the serving class.

    Raises:
        TrainingError: a file is missing or damaged, or the folder holds another kind of model.
    """
    trained = read_trained(folder, "reuse")
    return trained, serving(trained, read_forest(folder / MODEL_FILE, int(trained.arch["threads"])))
