"""What the fit makes of the train traces: what is known, and from where on a window or a vote is unknown.

The limits are set so that a given share of known windows, and of known votes, lies above. Leaving out one category
after the other shows how far strangeness tells a category that nothing was learned of.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from cachezoo.arrays import F64, I64
from cachezoo.zoo.workload.known import Known, moments, strangeness
from cachezoo.zoo.workload.windows import Inputs

SHRINKAGE = 0.02  # of a covariance towards equal variances without correlation
LEAST_VARIANCE = 1e-3  # of a moment, in variances over all train windows
LEAST_SCALE = 1e-3


def learn(train: Inputs, keys: Sequence[str]) -> list[Known]:
    """What each train trace's windows are like.

    `keys` are the traces' names, by their place.
    """
    values = moments(train.rows)
    scale = np.maximum(values.std(axis=0), LEAST_SCALE)
    out = []
    for trace in np.unique(train.traces):
        own = values[train.traces == trace] / scale
        mean = own.mean(axis=0)
        left = own - mean
        # Exact sums: a product of matrices depends on how many threads BLAS takes.
        columns = np.ascontiguousarray(left.T)
        covariance = np.array([[math.fsum((one * other).tolist()) for other in columns] for one in columns]) / len(own)
        spread = SHRINKAGE * np.trace(covariance) / len(mean) + LEAST_VARIANCE
        shrunk = (1 - SHRINKAGE) * covariance + spread * np.eye(len(mean))
        whitening = inverse_root(shrunk) / scale
        out.append(Known(keys[trace], mean * scale, np.tril(whitening)))
    return out


def inverse_root(matrix: F64) -> F64:
    """The inverse of the lower Cholesky factor of float64[S, S], positive definite, by exact sums.

    LAPACK's last digits are not the same in every run, and those of a fit have to be.
    """
    size = len(matrix)
    root, inverse = np.zeros((size, size)), np.zeros((size, size))
    for i in range(size):
        for j in range(i + 1):
            left = math.fsum([float(matrix[i, j]), *(-float(root[i, k]) * float(root[j, k]) for k in range(j))])
            root[i, j] = math.sqrt(left) if i == j else left / root[j, j]
        for j in range(i + 1):
            known = math.fsum(float(root[i, k]) * float(inverse[k, j]) for k in range(j, i))
            inverse[i, j] = ((1.0 if i == j else 0.0) - known) / root[i, i]
    return inverse


def limit(values: F64, labels: I64, share: float) -> float:
    """The least strangeness above which at most `share` of the known lies, categories weighing the same."""
    order = np.argsort(-values, kind="stable")
    weights = 1.0 / (np.bincount(labels)[labels[order]] * len(np.unique(labels)))
    above = np.cumsum(weights) - weights  # what lies above each value, from the strangest on
    return float(values[order][np.flatnonzero(above <= share + 1e-9)[-1]])


@dataclass(frozen=True)
class Strangeness:
    """Of windows and of votes."""

    windows: F64  # float64[w]
    labels: I64  # int64[w], their categories
    votes: F64  # float64[v] of every run of so many windows of a trace as make a vote
    vote_labels: I64  # int64[v]

    @classmethod
    def of(cls, windows: F64, labels: I64, traces: I64, vote_windows: int) -> "Strangeness":
        """Of windows float64[w] of some traces, in time order within each."""
        votes, vote_labels = [np.zeros(0)], [np.zeros(0, np.int64)]
        for trace in np.unique(traces):
            own = np.flatnonzero(traces == trace)
            if len(own) >= vote_windows:
                votes.append(np.lib.stride_tricks.sliding_window_view(windows[own], vote_windows).mean(axis=1))
                vote_labels.append(np.full(len(votes[-1]), labels[own[0]]))
        return cls(windows, labels, np.concatenate(votes), np.concatenate(vote_labels))

    def limits(self, share: float) -> dict[str, float]:
        """The `limit` of windows and of votes; of votes only where there are some."""
        limits = {"window": limit(self.windows, self.labels, share)}
        if len(self.votes):
            limits["vote"] = limit(self.votes, self.vote_labels, share)
        return limits


def auroc(known: F64, strange: F64) -> float:
    """Chance that a strange one is stranger than a known one; ties count half."""
    _, inverse, counts = np.unique(np.concatenate([known, strange]), return_inverse=True, return_counts=True)
    ranks = (np.cumsum(counts) - (counts - 1) / 2)[inverse]
    n, m = len(known), len(strange)
    return float((ranks[n:].sum() - m * (m + 1) / 2) / (n * m))


def separation(known: Strangeness, strange: Strangeness, limits: Mapping[str, float]) -> dict[str, float]:
    """How well known windows and votes are told from strange ones: AUROC, and the share of the strange above the limit.

    Figures of votes are there only where both have votes.
    """
    pairs = (("window", known.windows, strange.windows), ("vote", known.votes, strange.votes))
    out: dict[str, float] = {}
    for name, ours, theirs in pairs:
        if name in limits and len(ours) and len(theirs):
            out[f"{name}_auroc"] = auroc(ours, theirs)
            out[f"{name}_unknown"] = float((theirs > limits[name]).mean())
    return out


@dataclass(frozen=True)
class Limits:
    """What is set by hand."""

    vote_windows: int  # windows in a vote
    share: float  # of the known windows, and of the known votes, that may be called unknown

    def strangeness(self, known: Sequence[Known], windows: Inputs) -> Strangeness:
        """Of windows in time order within each trace."""
        return Strangeness.of(strangeness(windows.rows, known), windows.labels, windows.traces, self.vote_windows)

    def found(self, known: Sequence[Known], choosing: Inputs) -> dict[str, float]:
        """The limits by windows that choose."""
        return self.strangeness(known, choosing).limits(self.share)


def left_out(
    classes: Sequence[str], train: Inputs, halves: tuple[Inputs, Inputs], keys: Sequence[str], limits: Limits
) -> dict[str, float | None]:
    """How well a category that nothing was learned of is known for a strange one, category after category.

    Args:
        classes: categories, at least two.
        train: train windows; those of the category are left out.
        halves: validation windows that choose the limits, those of the category left out; and windows that are told
            apart.
        keys: names of the train traces.
        limits: what is set by hand.
    """
    choosing, judging = halves
    figures: dict[str, float | None] = {}
    for label, category in enumerate(classes):
        known = learn(train.of(train.labels != label), keys)
        below = limits.found(known, choosing.of(choosing.labels != label))
        ours, theirs = (
            limits.strangeness(known, judging.of((judging.labels == label) == own)) for own in (False, True)
        )
        figures |= {f"without_{category}_{name}": value for name, value in separation(ours, theirs, below).items()}
    return figures
