"""Time-block bootstrap of page hit ratios, and of their mean over trainings that differ in their seed."""

import numpy as np
import numpy.typing as npt

F64 = npt.NDArray[np.float64]


def block_means(values: npt.NDArray[np.generic], blocks: int) -> F64:
    """float64[blocks, 2]: sum and count of `values` in consecutive blocks of (almost) equal length."""
    edges = np.linspace(0, len(values), blocks + 1).astype(np.int64)
    total = np.concatenate([[0.0], np.cumsum(values, dtype=np.float64)])
    return np.stack([np.diff(total[edges]), np.diff(edges).astype(np.float64)], axis=1)


def resampled_ratios(hits: npt.NDArray[np.generic], blocks: int, samples: int, seed: int) -> F64:
    """float64[samples] hit ratios of resampled blocks; the same seed draws the same blocks for each policy.

    Args:
        hits: one entry for each page access, 1 a hit.
        blocks: consecutive blocks, at least 20.
        samples: resamples.
        seed: of the draws.
    """
    means = block_means(hits, blocks)
    draws = np.random.default_rng(seed).integers(0, blocks, (samples, blocks))
    sums = means[draws].sum(axis=1)
    ratios: F64 = sums[:, 0] / np.maximum(sums[:, 1], 1)
    return ratios


def resampled_means(ratios: F64, seed: int) -> F64:
    """float64[samples] means over trainings, in each resample over as many as there are, drawn with replacement.

    So the spread is that of the blocks, which each column of `ratios` has drawn alike, and of the seeds together.

    Args:
        ratios: float64[n, samples], `resampled_ratios` of each training with the same blocks drawn.
        seed: of the draws.
    """
    count, samples = ratios.shape
    draws = np.random.default_rng(seed).integers(0, count, (count, samples))
    means: F64 = np.take_along_axis(ratios, draws, axis=0).mean(axis=0)
    return means


def interval(ratios: F64) -> tuple[float, float]:
    """The 90 % interval of resampled figures."""
    low, high = np.quantile(ratios, [0.05, 0.95])
    return float(low), float(high)
