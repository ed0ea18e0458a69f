"""The admission forest: see `cachezoo.models.forest` for why its log-odds are equal everywhere."""

from pathlib import Path

from cachezoo.models.forest import Scorer, read_forest
from cachezoo.models.trained import TrainedModel, read_trained
from cachezoo.zoo.admission.serve import AdmissionServing, Infer

MODEL_FILE = "model.lgb.txt"


def serving(trained: TrainedModel, infer: Infer) -> AdmissionServing:
    """The serving class with a fresh history; `infer` scores rows, e.g. `forest_scorer(text, threads)`."""
    values = trained.model_dump(mode="json")
    keys = ("features", "encodings", "geometry", "calibration", "policy")
    return AdmissionServing(**{key: values[key] for key in keys}, infer=infer)


def scorer_of(folder: Path, threads: int) -> Scorer:
    """The forest of a fitted or trained model, from rows float32[n, F] to log-odds float64[n].

    Raises:
        TrainingError: the file is missing or damaged.
    """
    return read_forest(folder / MODEL_FILE, threads)


def load_admission(folder: Path) -> tuple[TrainedModel, AdmissionServing]:
    """Read a trained admission model.

    Returns:
        Its `train.json` and the serving class, with a fresh history.

    Raises:
        TrainingError: a file is missing or damaged, or the folder holds another kind of model.
    """
    trained = read_trained(folder, "admission")
    return trained, serving(trained, scorer_of(folder, int(trained.arch["threads"])))
