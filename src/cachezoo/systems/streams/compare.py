"""Write amplification of two runs of a drive, compared over blocks of time."""

import numpy as np
import numpy.typing as npt

from cachezoo.measures.bootstrap import interval
from cachezoo.wear.run import Wear

F64 = npt.NDArray[np.float64]


def resampled(run: Wear, samples: int, seed: int) -> F64:
    """float64[samples] WAF over resampled blocks of time; the same seed draws the same blocks for each run.

    Blocks are of (almost) equally many page writes of the host. Garbage collection carries over from one to the next,
    so that intervals by these are of the writes of this cycle, not of drives or days.
    """
    draws = np.random.default_rng(seed).integers(0, len(run.host), (samples, len(run.host)))
    host = run.host[draws].sum(axis=1)
    ratios: F64 = (host + run.copied[draws].sum(axis=1)) / np.maximum(host, 1)
    return ratios


def waf_interval(run: Wear, samples: int, seed: int) -> tuple[float, float]:
    """The 90 % interval of a run's WAF."""
    return interval(resampled(run, samples, seed))


def lead(run: Wear, rival: Wear, samples: int, seed: int) -> tuple[float, float]:
    """The 90 % interval of how much less a run amplifies than a rival, in WAF; pairs of the same blocks."""
    return interval(resampled(rival, samples, seed) - resampled(run, samples, seed))


def of_legacy(run: Wear, legacy: Wear, samples: int, seed: int) -> tuple[float, float]:
    """The 90 % interval of a run's WAF over that without streams; pairs of the same blocks."""
    return interval(resampled(run, samples, seed) / resampled(legacy, samples, seed))
