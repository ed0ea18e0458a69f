"""Figures of classified windows: accuracy, balanced accuracy, confusion, and block-bootstrap intervals of them."""

from typing import Any

import numpy as np
import numpy.typing as npt

from cachezoo.measures.bootstrap import resampled_ratios
from cachezoo.seeds import derive_seed

F64 = npt.NDArray[np.float64]
Labels = npt.NDArray[np.integer[Any]]


def confusion(labels: Labels, predicted: Labels, n_classes: int) -> list[list[int]]:
    """Windows by true category (rows) and said category (columns)."""
    pairs = labels.astype(np.int64) * n_classes + predicted
    table: list[list[int]] = np.bincount(pairs, minlength=n_classes * n_classes).reshape(n_classes, -1).tolist()
    return table


def balanced_accuracy(labels: Labels, predicted: Labels) -> float | None:
    """Mean over the categories present of the share that is said right; None without windows."""
    shares = [float((predicted[labels == label] == label).mean()) for label in np.unique(labels)]
    return float(np.mean(shares)) if shares else None


def accuracy(labels: Labels, predicted: Labels) -> float | None:
    """Share of windows said right; None without windows."""
    return float((labels == predicted).mean()) if len(labels) else None


def balanced_resamples(labels: Labels, predicted: Labels, blocks: int, samples: int, seed: int) -> F64:
    """float64[samples] balanced accuracies of resampled time blocks of each category.

    The same seed draws the same blocks whoever predicted, so that differences are paired.

    Args:
        labels: [w] true categories, in time order within each.
        predicted: [w] said categories.
        blocks: consecutive blocks of each category's windows.
        samples: resamples.
        seed: of the draws.
    """
    present = [int(label) for label in np.unique(labels)]
    ratios = [
        resampled_ratios((predicted[labels == label] == label), blocks, samples, derive_seed(seed, "windows", label))
        for label in present
    ]
    means: F64 = np.mean(ratios, axis=0)
    return means
