"""The admission forest: see `cachezoo.models.forest` for why its log-odds are equal everywhere."""

from pathlib import Path

from cachezoo.models.forest import Scorer, read_forest
from cachezoo.models.trained import FittedModel, TrainedModel, read_trained
from cachezoo.zoo.admission.serve import KEYS, AdmissionServing

MODEL_FILE = "model.lgb.txt"


def scorer_of(folder: Path, model: FittedModel | TrainedModel) -> Scorer:
    """The forest of a fitted or trained model, from rows float32[n, F] to log-odds float64[n].

    Raises:
        TrainingError: the file is missing or damaged.
    """
    return read_forest(folder / MODEL_FILE)


def load_admission(folder: Path) -> tuple[TrainedModel, AdmissionServing]:
    """Read a trained admission model: its `train.json` and the serving class, with a fresh history.

    Raises:
        TrainingError: a file is missing or damaged, or the folder holds another kind of model.
    """
    trained = read_trained(folder, "admission")
    values = trained.model_dump(mode="json", include=KEYS)
    return trained, AdmissionServing(**values, infer=scorer_of(folder, trained))
