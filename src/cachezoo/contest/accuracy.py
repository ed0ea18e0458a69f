"""Figures of classified windows: accuracy, balanced accuracy, confusion, and their intervals over blocks of time."""

from typing import Any

import numpy as np
import numpy.typing as npt

from cachezoo.contest.blocks import BLOCKS, block_means
from cachezoo.contest.lead import Mean, average, mean_of

Labels = npt.NDArray[np.integer[Any]]


def confusion(labels: Labels, predicted: Labels, n_classes: int) -> list[list[int]]:
    """Windows by true category (rows) and predicted category (columns)."""
    pairs = labels.astype(np.int64) * n_classes + predicted
    table: list[list[int]] = np.bincount(pairs, minlength=n_classes * n_classes).reshape(n_classes, -1).tolist()
    return table


def balanced_accuracy(labels: Labels, predicted: Labels) -> float | None:
    """Mean over the categories present of the share that is predicted right; None without windows."""
    shares = [float((predicted[labels == label] == label).mean()) for label in np.unique(labels)]
    return float(np.mean(shares)) if shares else None


def accuracy(labels: Labels, predicted: Labels) -> float | None:
    """Share of windows predicted right; None without windows."""
    return float((labels == predicted).mean()) if len(labels) else None


def balanced_mean(labels: Labels, gains: npt.NDArray[Any]) -> Mean:
    """The mean over the categories of what each window gains, with its interval over each category's blocks of time.

    Args:
        labels: [w] true categories, in time order within each.
        gains: [w] 1 where the window is predicted right, for a balanced accuracy; or the difference of two such.
    """
    each = [gains[labels == label] for label in np.unique(labels)]
    return average([mean_of(block_means(own, BLOCKS), float(own.mean())) for own in each])


def known(labels: Labels) -> bool:
    """Whether each category present has windows enough for blocks of time."""
    return len(labels) > 0 and int(np.bincount(labels)[np.unique(labels)].min()) >= BLOCKS
