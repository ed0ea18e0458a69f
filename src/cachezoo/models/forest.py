"""Forests: LightGBM trained to the same bytes each time, with sums that are exact in float32.

Where the settings say so, several machines of a Dask cluster train a forest, each with a part of the rows, over
LightGBM's own network. Their number decides the trees, and nothing else of the cluster does. With `lightgbm.dask`, they
also depend on the workers' threads and differ from run to run (`benchmarks/forests_apart.py`), and nothing stops early.

After training every leaf is rounded to a multiple of one power of two, chosen so that any sum of leaves fits
float32's 24 bits. Sums are then exact in any order and precision: LightGBM, ONNX Runtime and a C reader give
equal scores, bit for bit, and hence equal decisions at any threshold.
"""

import math
import re
import shutil
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from cachezoo.arrays import F32, F64, Bool
from cachezoo.errors import TrainingError
from cachezoo.io import atomic_dir
from cachezoo.kernels.forest import LIGHTGBM_ZERO
from cachezoo.models.curves import FOREST, copy_curves, write_curves
from cachezoo.models.trained import FittedModel, TrainedModel
from cachezoo.serving import forest as serving
from cachezoo.settings.forest import ForestFit, ForestShape

Scorer = Callable[[F32], F64]
LOG_LOSS, SHARE_LOSS, SQUARED_LOSS = "binary_logloss", "cross_entropy", "l2"
MANTISSA_BITS = 23
CURVE_COLUMNS = ("round", "train_loss", "holdout_loss")
SILENT_MINUTES = 30  # that machines wait for each other
PLACES = re.compile(r"\[(machines|local_listen_port): .*\]\n")  # in LightGBM's text
SECTIONS = ("\nend of trees\n", "\nend of parameters\n")


@dataclass(frozen=True)
class Forest:
    """A trained forest.

    Attributes:
        text: LightGBM's model text.
        trees: trees kept.
        splits: splits in all trees; 0 means that training never moved the model.
        train_loss, holdout_loss: log loss (of shares: cross entropy) or mean squared error after each
            round; nothing was held out where the second is empty.
    """

    text: str
    trees: int
    splits: int
    train_loss: list[float]
    holdout_loss: list[float]


def _objective(targets: Bool | F32) -> dict[str, Any]:
    if targets.dtype == np.bool_:
        return {"objective": "binary", "metric": LOG_LOSS}
    return {"objective": "cross_entropy", "metric": SHARE_LOSS}


def _parameters(model: ForestShape, train: ForestFit, seed: int) -> dict[str, Any]:
    return {
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


@dataclass(frozen=True)
class ForestRows:
    """What a forest learns from."""

    rows: F32  # float32[n, F]
    targets: Bool | F32  # bool[n] classes, or float32[n] shares in [0, 1]
    holdout: Bool  # bool[n] rows for early stopping
    names: list[str]  # F feature names
    weights: F32 | None = None  # float32[n] of the rows; None is 1 each
    rising: Sequence[bool] | None = None  # F: a larger value of the feature never lowers the score; None is no such one


def fit_forest(data: ForestRows, model: ForestShape, train: ForestFit, seed: int) -> Forest:
    """Train, stop early on the held-out blocks, round the leaves.

    Its scores are log-odds of the class, or of the share.

    Raises:
        TrainingError: no rows are left to train on.
    """
    import lightgbm as lgb

    holdout = data.holdout
    if holdout.all() or not len(data.rows):
        count = int(holdout.sum())
        raise TrainingError(f"{count} of {len(data.rows)} rows are held out, none is left; give longer train traces")
    shape = _parameters(model, train, seed) | _objective(data.targets)
    if data.rising is not None:
        shape["monotone_constraints"] = [int(one) for one in data.rising]
    stops = bool(holdout.any()) and len(np.unique(data.targets[holdout])) > 1
    if train.machines > 1:
        return _fit_together(data, shape, model.max_trees, train, stops)
    stopping = [lgb.early_stopping(train.early_stopping, first_metric_only=False, verbose=False)] if stops else []
    booster, loss = _grow(data, shape, model.max_trees, stops, stopping)
    best = booster.best_iteration if booster.best_iteration > 0 else booster.current_iteration()
    text, splits = _round_leaves(booster.model_to_string(num_iteration=best))
    return Forest(text, int(best), splits, loss["train"], loss["holdout"])


def _grow(
    data: ForestRows, shape: Mapping[str, Any], trees: int, judged: bool, callbacks: Sequence[Any] = ()
) -> tuple[Any, dict[str, list[float]]]:
    """Grow trees on what is not held out; returns LightGBM's booster and the losses of each round.

    `judged` says whether there is a loss of what is held out.
    """
    import lightgbm as lgb

    def dataset(keep: Bool, reference: lgb.Dataset | None = None) -> lgb.Dataset:
        weight = None if data.weights is None else data.weights[keep]
        label = data.targets[keep].astype(np.float32)
        return lgb.Dataset(data.rows[keep], label, weight=weight, reference=reference, feature_name=data.names)

    own = dataset(~data.holdout)
    sets = {"train": own, **({"holdout": dataset(data.holdout, own)} if judged else {})}
    curves: dict[str, dict[str, list[float]]] = {}
    booster = lgb.train(
        dict(shape),
        own,
        trees,
        valid_sets=[*sets.values()],
        valid_names=[*sets],
        callbacks=[lgb.record_evaluation(curves), *callbacks],
    )
    return booster, {
        name: [float(v) for v in curves.get(name, {}).get(shape["metric"], [])] for name in ("train", "holdout")
    }


def _fit_together(data: ForestRows, shape: dict[str, Any], trees: int, train: ForestFit, stops: bool) -> Forest:
    """`fit_forest` on several machines, to which the rows are dealt in turn.

    A machine knows the losses of its own rows alone. So all trees are grown, and those after the best round are left
    out, which is where LightGBM would have stopped.

    Raises:
        TrainingError: there are fewer rows to train on than machines.
        ConfigError, ClusterError: see `cachezoo.jobs.together`.
    """
    import lightgbm as lgb

    from cachezoo.jobs import together

    learnt, held = np.flatnonzero(~data.holdout), np.flatnonzero(data.holdout)
    if len(learnt) < train.machines:
        raise TrainingError(f"{len(learnt)} rows are fewer than the {train.machines} machines; set machines to 1")
    jobs = []
    for place in range(train.machines):
        own = np.concatenate([part[place :: train.machines] for part in (learnt, held if stops else held[:0])])
        weights = None if data.weights is None else data.weights[own]
        part = replace(data, rows=data.rows[own], targets=data.targets[own], holdout=data.holdout[own], weights=weights)
        jobs.append((part, shape, trees))
    found = together("forest", _grow_part, jobs)
    losses = {
        name: _mean([own[name] for _, own in found], [_weight(part, name) for part, *_ in jobs])
        for name in ("train", "holdout")
    }
    booster = lgb.Booster(model_str=found[0][0])
    best = booster.current_iteration()
    if stops:
        best = _best_round(losses["holdout"], train.early_stopping)
        losses = {name: own[: best + train.early_stopping] for name, own in losses.items()}
    text, splits = _round_leaves(booster.model_to_string(num_iteration=best))
    return Forest(text, best, splits, losses["train"], losses["holdout"])


def _grow_part(
    addresses: Sequence[str], place: int, data: ForestRows, shape: Mapping[str, Any], trees: int
) -> tuple[str, dict[str, list[float]]]:
    """One machine's part of `_fit_together`: the same text on each, without their addresses, and its losses."""
    network = {
        "tree_learner": "data", "num_machines": len(addresses), "machines": ",".join(addresses),
        "local_listen_port": int(addresses[place].rpartition(":")[2]), "time_out": SILENT_MINUTES,
    }  # fmt: skip
    booster, losses = _grow(data, {**shape, **network}, trees, bool(data.holdout.any()))
    text = booster.model_to_string()
    booster.free_network()
    return PLACES.sub("", text), losses


def _weight(data: ForestRows, name: str) -> float:
    """What the rows count that are learnt from, or held out."""
    which = data.holdout == (name == "holdout")
    return float(np.count_nonzero(which)) if data.weights is None else math.fsum(data.weights[which])


def _mean(losses: Sequence[Sequence[float]], weights: Sequence[float]) -> list[float]:
    """The mean loss of each round over machines, of which those without such rows have none."""
    of = [(own, weight) for own, weight in zip(losses, weights, strict=True) if own]
    rounds = zip(*(own for own, _ in of), strict=True)
    total = math.fsum(weight for _, weight in of)
    return [math.fsum(loss * weight for loss, (_, weight) in zip(one, of, strict=True)) / total for one in rounds]


def _best_round(losses: Sequence[float], patience: int) -> int:
    """The round, counted from 1, that LightGBM's early stopping would keep."""
    best = 0
    for place, loss in enumerate(losses):
        if loss < losses[best]:
            best = place
        elif place - best >= patience:
            break
    return best + 1


def fit_regression(
    rows: F32, targets: F32, names: list[str], trees: int, shape: Mapping[str, float | int], threads: int, seed: int
) -> Forest:
    """Train a forest of least squares, so many trees, nothing held out; round the leaves.

    `rows` are float32[n, F], `targets` float32[n]; `shape` holds LightGBM's parameters by name.
    """
    import lightgbm as lgb

    parameters = {
        "objective": "regression", "metric": SQUARED_LOSS, "use_missing": False, "deterministic": True,
        "force_row_wise": True, "num_threads": threads, "seed": seed, "verbosity": -1, **shape,
    }  # fmt: skip
    own = lgb.Dataset(rows, targets, feature_name=names, params=parameters)
    curves: dict[str, dict[str, list[float]]] = {}
    booster = lgb.train(
        parameters, own, trees, valid_sets=[own], valid_names=["train"], callbacks=[lgb.record_evaluation(curves)]
    )
    text, splits = _round_leaves(booster.model_to_string())
    return Forest(text, booster.current_iteration(), splits, [float(v) for v in curves["train"][SQUARED_LOSS]], [])


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


def forest_scorer(text: str) -> Scorer:
    """A function from rows float32[n, F] to raw scores float64[n]: LightGBM's own, bit for bit, in less time.

    Raises:
        TrainingError: the text is not a LightGBM model, or of another kind than those that are trained here.
    """
    try:
        trees = serving.read_forest(text.encode()).trees
    except ValueError as error:
        raise TrainingError(f"not a LightGBM model text ({error}); train it again") from error
    return serving.Forest(trees, LIGHTGBM_ZERO).scores


def read_forest_text(path: Path) -> str:
    """A LightGBM text file that is whole: LightGBM itself ends the process on one that is cut short.

    Raises:
        TrainingError: the file is missing or damaged.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        message = f"{path}: cannot be read ({getattr(error, 'strerror', None) or 'it is no text'}); train it again"
        raise TrainingError(message) from error
    if not text.startswith("tree\n") or any(end not in text for end in SECTIONS):
        raise TrainingError(f"{path}: not a whole LightGBM model text; train it again")
    return text


def read_forest(path: Path) -> Scorer:
    """`forest_scorer` of a LightGBM text file.

    Raises:
        TrainingError: the file is missing or damaged.
    """
    text = read_forest_text(path)
    try:
        return forest_scorer(text)
    except TrainingError as error:
        raise TrainingError(f"{path}: {error}") from error


def scores_of(folder: Path, trained: TrainedModel, rows: F32, files: Sequence[str]) -> F32:
    """Scores float32[n, forests] of a trained model's forests, as LightGBM itself computes them.

    Raises:
        TrainingError: a file is missing or damaged.
    """
    import lightgbm as lgb

    boosters = [lgb.Booster(model_str=read_forest_text(folder / name)) for name in files]
    threads = int(trained.arch["threads"])
    columns = [booster.predict(rows, raw_score=True, num_threads=threads) for booster in boosters]
    return np.stack(columns, axis=1).astype(np.float32)


def loss_rows(forest: Forest) -> list[list[object]]:
    """Rows of `curves.csv`: round, train_loss, holdout_loss (empty where nothing was held out)."""
    held = [*forest.holdout_loss, *[""] * (len(forest.train_loss) - len(forest.holdout_loss))]
    return [[index + 1, loss, held[index]] for index, loss in enumerate(forest.train_loss)]


def write_forests(
    folder: Path,
    model: FittedModel,
    forests: Mapping[str, Forest],
    others: Mapping[str, str] | None = None,
) -> None:
    """Write a fitted model's forests by file name, `fit.json` and `curves.csv`.

    The columns are round, train_loss and holdout_loss; of several forests `forest` stands before them.
    """
    header: tuple[str, ...] = CURVE_COLUMNS
    rows = [row for forest in forests.values() for row in loss_rows(forest)]
    if len(forests) != 1:
        header = (FOREST, *CURVE_COLUMNS)
        rows = [[name.split(".")[0], *row] for name, forest in forests.items() for row in loss_rows(forest)]
    with atomic_dir(folder) as temporary:
        for name, forest in forests.items():
            (temporary / name).write_text(forest.text, encoding="utf-8")
        for name, text in (others or {}).items():
            (temporary / name).write_text(text, encoding="utf-8")
        model.write(temporary)
        write_curves(temporary, header, rows)


def write_judged_forests(
    folder: Path, fitted: Path, model: TrainedModel, names: Iterable[str] | Mapping[str, str]
) -> None:
    """Write `train.json`, and the fit's `curves.csv`, forests and other files by name.

    A mapping of `names` says what each file is called in `fitted`.
    """
    sources = names if isinstance(names, Mapping) else {name: name for name in names}
    with atomic_dir(folder) as temporary:
        for name, source in sources.items():
            shutil.copyfile(fitted / source, temporary / name)
        copy_curves(fitted, temporary)
        model.write(temporary)
