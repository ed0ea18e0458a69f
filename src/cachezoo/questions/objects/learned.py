"""The forest of Baleen's admission of objects, trained on a part of a trace as the command runs."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from cachezoo.arrays import F32, F64, I32
from cachezoo.errors import TrainingError
from cachezoo.sized.baleen import Labels

FIRST_ACCESSES, HOLDOUT_EVERY, EARLY_STOPPING, THREADS = 6, 5, 25, 2
"""Accesses of an episode that are rows, one object in how many is held out, and the rest: as `fit.admission`."""
SHAPE: dict[str, Any] = {
    "num_leaves": 63, "max_trees": 300, "learning_rate": 0.05, "feature_fraction": 0.9, "bagging_fraction": 0.9,
    "bagging_freq": 5, "min_data_in_leaf": 50, "lambda_l2": 1.0,
}  # fmt: skip
"""The forest: as `model.admission`."""
MOST_ROWS = 1 << 18
LEAST_ROWS = 200


def fit_scores(rows: F32, names: Sequence[str], ids: I32, labels: Labels, seeds: Sequence[int]) -> list[F64]:
    """Train a forest for each seed on the labelled requests, and score all requests.

    Args:
        rows: float32[n, F] of all requests; the first of them are labelled.
        names: F.
        ids: int32[n] objects: some are held out for early stopping.
        labels: of the first requests.
        seeds: of the trainings.

    Returns:
        float64[n] of each seed: the higher, the more an object is worth its write.

    Raises:
        TrainingError: there is too little to learn from.
    """
    from cachezoo.models.forest import ForestRows, fit_forest, forest_scorer
    from cachezoo.settings.forest import ForestFit, ForestShape

    episodes = labels.episodes
    keep = np.flatnonzero((episodes.episode >= 0) & (episodes.place < FIRST_ACCESSES) & labels.settled)
    if len(keep) > MOST_ROWS:
        keep = keep[np.linspace(0, len(keep) - 1, MOST_ROWS).astype(np.int64)]
    held, opt = ids[keep] % HOLDOUT_EVERY == HOLDOUT_EVERY - 1, labels.opt[keep]
    if len(keep) < LEAST_ROWS or len(np.unique(opt[~held])) < 2:
        raise TrainingError(
            f"{len(keep)} requests to learn from, of which {int(opt.sum())} are worth a write: too few of either"
        )
    data = ForestRows(rows[keep], opt, held, list(names))
    shape = ForestShape(arch="lgbm", **SHAPE)
    fit = ForestFit(holdout_every=HOLDOUT_EVERY, early_stopping=EARLY_STOPPING, threads=THREADS, machines=1)
    return [forest_scorer(fit_forest(data, shape, fit, seed).text)(rows) for seed in seeds]
