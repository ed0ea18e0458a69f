"""Prefetch modes of the flash cache.

`next(n)` is plain read-ahead: the n segments after the request, as far as its block goes. The n that are tried are the
powers of two below the block's segments, and all of them.
"""

import re
from typing import Any

import numpy as np
import numpy.typing as npt

from cachezoo.errors import ConfigError
from cachezoo.kernels.flash import Prefetch

NONE, ALL_ON_MISS, ALL_ON_PARTIAL = "none", "all_on_miss", "all_on_partial"
NEXT = re.compile(r"next\(([1-9][0-9]{0,8})\)")
ALL = f"{NONE}, {ALL_ON_MISS}, {ALL_ON_PARTIAL} or next(n)"


def plain_modes(per_block: int) -> tuple[str, ...]:
    """The modes that are tried with blocks of so many segments."""
    powers = [1 << bit for bit in range(per_block.bit_length()) if 1 << bit < per_block]
    return (NONE, ALL_ON_MISS, ALL_ON_PARTIAL, *(f"next({n})" for n in (*powers, per_block)))


def is_mode(mode: str) -> bool:
    """Whether this is a mode at all."""
    return mode in (NONE, ALL_ON_MISS, ALL_ON_PARTIAL) or NEXT.fullmatch(mode) is not None


def plain_prefetch(mode: str, last: npt.NDArray[Any], per_block: int) -> Prefetch:
    """What a mode fetches with each of n requests.

    Args:
        mode: `none`, `all_on_miss` (the whole block), `all_on_partial` (the same, where some of the request was
            resident) or `next(n)`.
        last: [n] the request's last segment, counted from its block's start; it may lie beyond the block.
        per_block: segments to a block.

    Raises:
        ConfigError: it is no mode.
    """
    if not is_mode(mode):
        raise ConfigError(f"prefetch mode {mode}: there are {ALL}")
    low, high = np.zeros(len(last), np.int32), np.zeros(len(last), np.int32)
    if (ahead := NEXT.fullmatch(mode)) is not None:
        low = np.minimum(last.astype(np.int64) + 1, per_block).astype(np.int32)
        high = np.minimum(low.astype(np.int64) + int(ahead[1]), per_block).astype(np.int32)
    elif mode != NONE:
        high[:] = per_block
    return Prefetch(low, high, mode == ALL_ON_PARTIAL)
