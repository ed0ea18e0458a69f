"""The prefetch model: ML-Range's two forests and ML-When's; see `cachezoo.models.forest` for their exact sums."""

from pathlib import Path

from cachezoo.models.forest import forests_of
from cachezoo.models.trained import TrainedModel, read_trained
from cachezoo.zoo.admission.serve import KEYS
from cachezoo.zoo.prefetch.serve import PrefetchServing

MODEL_FILES = ("start.lgb.txt", "end.lgb.txt", "when.lgb.txt")


def load_prefetch(folder: Path) -> tuple[TrainedModel, PrefetchServing | None]:
    """Read a trained prefetch model: its `train.json` and the serving class; None where it never trained.

    Raises:
        TrainingError: a file is missing or damaged, or the folder holds another kind of model.
    """
    trained = read_trained(folder, "prefetch")
    if not trained.trained:
        return trained, None
    values = trained.model_dump(mode="json", include=KEYS)
    return trained, PrefetchServing(**values, infer=forests_of(folder, trained, MODEL_FILES))
