"""The admission forest: see `cachezoo.models.forest` for why its log-odds are equal everywhere."""

from pathlib import Path

from cachezoo.errors import TrainingError
from cachezoo.models.forest import read_forest
from cachezoo.models.trained import TrainedModel, read_trained
from cachezoo.policies.admission import AdmissionServing, Infer

MODEL_FILE = "model.lgb.txt"


def serving(trained: TrainedModel, infer: Infer) -> AdmissionServing:
    """The serving class with a fresh history; `infer` scores rows, e.g. `forest_scorer(text, threads)`."""
    values = trained.model_dump(mode="json")
    keys = ("features", "encodings", "geometry", "calibration", "policy")
    return AdmissionServing(**{key: values[key] for key in keys}, infer=infer)


def load_admission(folder: Path) -> tuple[TrainedModel, AdmissionServing]:
    """Read a trained admission model.

    Args:
        folder: `models/trained/<id>` as stage train_admission wrote it.

    Returns:
        Its `train.json` and the serving class, with a fresh history.

    Raises:
        TrainingError: a file is missing or damaged, or the folder holds another kind of model.
    """
    trained = read_trained(folder)
    if trained.kind != "admission":
        message = f"{folder}: holds a model of kind {trained.kind}, not admission"
        raise TrainingError(message)
    return trained, serving(trained, read_forest(folder / MODEL_FILE, int(trained.arch["threads"])))
