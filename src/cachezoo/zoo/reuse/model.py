"""The trained model: its forest as a cache runs it, and as ONNX."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from cachezoo.arrays import F32
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

    Args:
        folder: `models/trained/<system>/<id>` as stage judge_reuse wrote it.

    Returns:
        Its `train.json` and the serving class.

    Raises:
        TrainingError: a file is missing or damaged, or the folder holds another kind of model.
    """
    trained = read_trained(folder, "reuse")
    return trained, serving(trained, read_forest(folder / MODEL_FILE, int(trained.arch["threads"])))


def export_onnx(manifest: Mapping[str, Any], files: Mapping[str, bytes]) -> bytes:
    """The ONNX file of a bundle's weights."""
    from cachezoo.models.onnx_gbdt import export_forests

    return export_forests(manifest, [files[MODEL_FILE]], "score")


def reference(folder: Path, trained: TrainedModel, features: F32) -> F32:
    """Golden outputs float32[m, 1] as LightGBM computes them."""
    return load_reuse(folder)[1].scores(features)[:, None]
