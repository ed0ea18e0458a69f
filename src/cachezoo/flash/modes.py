"""Prefetch modes of the flash cache, and those of them that ask no model."""

from typing import Literal, get_args

import numpy as np

from cachezoo.errors import ConfigError
from cachezoo.kernels.flash import Prefetch

Mode = Literal["none", "all_on_miss", "all_on_partial", "ml_range", "ml_range_when"]
MODES: tuple[Mode, ...] = get_args(Mode)
PLAIN_MODES: tuple[Mode, ...] = ("none", "all_on_miss", "all_on_partial")
ML_MODES: tuple[Mode, ...] = ("ml_range", "ml_range_when")


def plain_prefetch(mode: Mode, n: int, per_block: int) -> Prefetch:
    """What a mode that asks no model fetches, for n requests: nothing, or the whole block.

    Raises:
        ConfigError: the mode asks a model.
    """
    if mode not in PLAIN_MODES:
        message = f"prefetch mode {mode} asks a model; without one there are {', '.join(PLAIN_MODES)}"
        raise ConfigError(message)
    high = np.full(n, 0 if mode == "none" else per_block, np.int32)
    return Prefetch(np.zeros(n, np.int32), high, mode == "all_on_partial")
