"""The admission forest: LightGBM trained to the same bytes each time, with scores that are exact in float32.

After training every leaf is rounded to a multiple of one power of two, chosen so that any sum of leaves fits
float32's 24 bits. Sums are then exact in any order and precision: LightGBM, ONNX Runtime and a C reader give
equal log-odds, bit for bit, and hence equal decisions at any threshold.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from cachezoo.config.baleen import AdmissionModel, AdmissionTrain
from cachezoo.errors import TrainingError
from cachezoo.models.trained import TrainedModel, read_trained
from cachezoo.policies.admission import AdmissionServing, Infer

F32 = npt.NDArray[np.float32]
F64 = npt.NDArray[np.float64]
Bool = npt.NDArray[np.bool_]
MODEL_FILE = "model.lgb.txt"
CURVES_FILE = "curves.csv"
MANTISSA_BITS = 23


@dataclass(frozen=True)
class Forest:
    """A trained forest.

    Attributes:
        text: LightGBM's model text.
        trees: trees kept.
        splits: splits in all trees; 0 means that training never moved the model.
        train_loss, holdout_loss: log loss after each round.
    """

    text: str
    trees: int
    splits: int
    train_loss: list[float]
    holdout_loss: list[float]


def _parameters(model: AdmissionModel, train: AdmissionTrain, seed: int) -> dict[str, Any]:
    return {
        "objective": "binary",
        "metric": "binary_logloss",
        "num_leaves": model.num_leaves,
        "learning_rate": model.learning_rate,
        "feature_fraction": model.feature_fraction,
        "bagging_fraction": model.bagging_fraction,
        "bagging_freq": model.bagging_freq,
        "min_data_in_leaf": model.min_data_in_leaf,
        "lambda_l2": model.lambda_l2,
        "use_missing": False,
        "deterministic": True,
        "force_row_wise": True,
        "num_threads": train.threads,
        "seed": seed,
        "verbosity": -1,
    }


def fit_forest(
    rows: F32,
    labels: Bool,
    holdout: Bool,
    model: AdmissionModel,
    train: AdmissionTrain,
    seed: int,
    names: list[str],
) -> Forest:
    """Train, stop early on the held-out blocks, round the leaves.

    Args:
        rows: float32[n, F].
        labels: bool[n] OPT's decisions.
        holdout: bool[n] rows for early stopping.
        model: the forest's shape.
        train: rows, early stopping and threads.
        seed: LightGBM's seed.
        names: F feature names.

    Raises:
        TrainingError: no rows are left to train on.
    """
    import lightgbm as lgb

    if holdout.all() or not len(rows):
        count = int(holdout.sum())
        message = f"{count} of {len(rows)} rows are held out, none is left; give longer train traces"
        raise TrainingError(message)
    data = lgb.Dataset(
        rows[~holdout], labels[~holdout].astype(np.float32), feature_name=names, free_raw_data=False
    )
    sets, titles = [data], ["train"]
    curves: dict[str, dict[str, list[float]]] = {}
    callbacks = [lgb.record_evaluation(curves)]
    if holdout.any() and len(np.unique(labels[holdout])) == 2:
        held = lgb.Dataset(
            rows[holdout], labels[holdout].astype(np.float32), reference=data, feature_name=names
        )
        sets, titles = [data, held], ["train", "holdout"]
        callbacks.append(lgb.early_stopping(train.early_stopping, first_metric_only=False, verbose=False))
    booster = lgb.train(
        _parameters(model, train, seed),
        data,
        model.max_trees,
        valid_sets=sets,
        valid_names=titles,
        callbacks=callbacks,
    )
    best = booster.best_iteration if booster.best_iteration > 0 else booster.current_iteration()
    text, splits = _round_leaves(booster.model_to_string(num_iteration=best))
    loss = {
        name: [float(v) for v in curves.get(name, {}).get("binary_logloss", [])]
        for name in ("train", "holdout")
    }
    return Forest(text, int(best), splits, loss["train"], loss["holdout"])


def _round_leaves(text: str) -> tuple[str, int]:
    """Round leaves as the module says. Returns the new text and the number of splits."""
    import lightgbm as lgb

    booster = lgb.Booster(model_str=text)
    trees = booster.num_trees()
    sizes = [int(line.split("=")[1]) for line in text.splitlines() if line.startswith("num_leaves=")]
    leaves = [[booster.get_leaf_output(tree, leaf) for leaf in range(sizes[tree])] for tree in range(trees)]
    bound = sum(max(abs(value) for value in tree) for tree in leaves)
    step = 2.0 ** (math.ceil(math.log2(max(bound, 1.0))) - MANTISSA_BITS)
    for tree, values in enumerate(leaves):
        for leaf, value in enumerate(values):
            booster.set_leaf_output(tree, leaf, round(value / step) * step)
    return booster.model_to_string(), sum(size - 1 for size in sizes)


def forest_scorer(text: str, threads: int) -> Callable[[F32], F64]:
    """A function from rows float32[n, F] to log-odds float64[n].

    Raises:
        TrainingError: the text is not a LightGBM model.
    """
    import lightgbm as lgb

    try:
        booster = lgb.Booster(model_str=text)
    except lgb.basic.LightGBMError as error:
        message = f"not a LightGBM model text ({error}); train it again"
        raise TrainingError(message) from error

    def score(rows: F32) -> F64:
        return np.asarray(booster.predict(rows, raw_score=True, num_threads=threads), np.float64)

    return score


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
    path = folder / MODEL_FILE
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        message = f"{path}: cannot be read ({error.strerror}); train it again"
        raise TrainingError(message) from error
    return trained, serving(trained, forest_scorer(text, int(trained.arch["threads"])))
