"""What the classifier knows: how like the windows of its train traces a window is, whatever it would be named.

Probabilities do not tell: of what a network was not trained on it is often sure. So the model holds, of each train
trace, mean and covariance of its windows' moments, and a window's *strangeness* is the squared Mahalanobis distance to
the nearest of them, over the number of moments. Moments are the mean and the standard deviation over the window of
every normalised input. A vote's strangeness is the mean of its windows'.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from cachezoo.arrays import F32, F64
from cachezoo.errors import ConfigError


@dataclass(frozen=True)
class Known:
    """Windows of one train trace."""

    trace: str  # its key
    mean: F64  # float64[S] of the moments
    whitening: F64  # float64[S, S], lower triangle: takes what is left of them to unit variances

    def values(self) -> dict[str, Any]:
        """Plain JSON values: row k of `whitening` has its first k + 1 numbers."""
        rows = [row[: place + 1].tolist() for place, row in enumerate(self.whitening)]
        return {"trace": self.trace, "mean": self.mean.tolist(), "whitening": rows}

    @classmethod
    def of(cls, values: Mapping[str, Any], inputs: int) -> "Known":
        """From what `values` gave.

        Raises:
            ConfigError: it is not of so many inputs.
        """
        mean, rows = values["mean"], values["whitening"]
        if [len(mean), *map(len, rows)] != [2 * inputs, *range(1, 2 * inputs + 1)]:
            raise ConfigError(f"calibration.known: {values['trace']}: not {2 * inputs} moments of {inputs} inputs")
        whitening = np.zeros((len(rows), len(rows)))
        for place, row in enumerate(rows):
            whitening[place, : place + 1] = row
        return cls(str(values["trace"]), np.array(mean, np.float64), whitening)


def moments(rows: F32) -> F64:
    """Mean and standard deviation of each input over its window: float64[w, 2 F] of float32[w, T, F]."""
    values = rows.astype(np.float64)
    return np.concatenate([values.mean(axis=1), values.std(axis=1)], axis=1)


def strangeness(rows: F32, known: Sequence[Known]) -> F64:
    """float64[w] of windows float32[w, T, F]; 0 where nothing is known of any trace."""
    values = moments(rows)
    if not known:
        return np.zeros(len(values))
    nearest: F64 = np.min([_apart(values - one.mean, one.whitening) for one in known], axis=0)
    return nearest


def _apart(left: F64, whitening: F64) -> F64:
    """Mean square of float64[w, S] whitened; row by row, since a product of matrices depends on BLAS's threads."""
    total = np.zeros(len(left))
    for row in whitening:
        total += (left * row).sum(axis=1) ** 2
    found: F64 = total / len(whitening)
    return found


def of_votes(values: F64, vote_windows: int) -> F64:
    """float64[w // vote_windows]: of votes of consecutive windows."""
    count = len(values) // vote_windows
    means: F64 = values[: count * vote_windows].reshape(count, vote_windows).mean(axis=1)
    return means
