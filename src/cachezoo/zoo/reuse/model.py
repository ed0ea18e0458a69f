"""The trained model: its forest as a cache runs it."""

from pathlib import Path

from cachezoo.models.forest import read_forest
from cachezoo.models.trained import TrainedModel, read_trained
from cachezoo.zoo.reuse.serve import KEYS, ReuseServing

MODEL_FILE = "model.lgb.txt"


def load_reuse(folder: Path) -> tuple[TrainedModel, ReuseServing]:
    """Read a trained model: its `train.json` and the serving class.

    Raises:
        TrainingError: a file is missing or damaged, or the folder holds another kind of model.
    """
    trained = read_trained(folder, "reuse")
    infer = read_forest(folder / MODEL_FILE)
    return trained, ReuseServing(**trained.model_dump(mode="json", include=KEYS), infer=infer)
