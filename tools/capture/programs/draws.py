"""Sizes that programs' files and messages have."""

from typing import Any

import numpy as np

from cachezoo.arrays import I64
from tools.capture.loads import Sizes

KIB = 1024
LEAST_BYTES = 512


def lognormal_sizes(load: Sizes, count: int, seed: int, least: int = LEAST_BYTES) -> I64:
    """Sizes in bytes, at least `least` and at most the load's largest.

    Args:
        load: median and sigma.
        count: of files.
        seed: of the draw.
        least: bytes.
    """
    rng = np.random.default_rng(seed)
    sizes = np.exp(rng.normal(np.log(load.median_kib * KIB), load.sigma, count))
    return np.asarray(np.clip(sizes, least, load.max_kib * KIB).astype(np.int64))


def sizes_plan(load: Sizes) -> dict[str, Any]:
    """The same distribution as a client's plan holds it."""
    return {"kib": load.median_kib, "sigma": load.sigma, "max_kib": load.max_kib}
