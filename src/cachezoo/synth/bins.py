"""Bins of distances, counts and sizes, so fine that curves agree and so coarse that a model stays small."""

import numpy as np

from cachezoo.arrays import F64, I64

EXACT = 16
PER_OCTAVE = 8
COUNTS_PER_OCTAVE = 4
LARGEST_OCTAVE = 9


def distance_bin(distance: I64) -> I64:
    """Bins of distances, at least 0: each of the first 16, then eight an octave."""
    octaves = np.log2(np.maximum(distance, EXACT) / EXACT)
    found: I64 = np.where(distance < EXACT, distance, EXACT + np.floor(PER_OCTAVE * octaves).astype(np.int64))
    return found


def distance_of(bins: I64, draw: F64) -> F64:
    """A distance in each bin.

    Args:
        bins: int64[n].
        draw: float64[n] in [0, 1), where in the bin.
    """
    far = EXACT * 2.0 ** ((bins - EXACT + draw) / PER_OCTAVE)
    found: F64 = np.where(bins < EXACT, bins.astype(np.float64), far)
    return found


def count_bin(count: I64) -> I64:
    """Bins of counts, at least 1: four an octave."""
    found: I64 = np.rint(COUNTS_PER_OCTAVE * np.log2(np.maximum(count, 1))).astype(np.int64)
    return found


def log2_of_count(bins: I64) -> F64:
    """The log2 that a bin of counts stands for."""
    found: F64 = bins / COUNTS_PER_OCTAVE
    return found


def octave_of_size(size: I64) -> I64:
    """The octave of a size in pages of 4 KiB, 0 for one page or less, at most 9."""
    pages = np.maximum(1, -(-size // 4096))
    return np.minimum(LARGEST_OCTAVE, np.ceil(np.log2(pages)).astype(np.int64))
