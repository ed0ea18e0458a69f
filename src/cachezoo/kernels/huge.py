"""Arrays in huge pages of memory: a random access to a gigabyte then waits for one read of memory, and not for two."""

import ctypes
from collections.abc import Iterable
from typing import Any

import numpy as np

HUGE = 1 << 21
LARGE = 1 << 24
"""Bytes of an array from which on it is worth it."""
MADV_HUGEPAGE, MADV_COLLAPSE = 14, 25


def in_huge_pages(state: Iterable[Any]) -> None:
    """Ask the system to put the large arrays of a state into huge pages, at once; it may not have them, or no room.

    Args:
        state: a NamedTuple of arrays and other values.
    """
    system = ctypes.CDLL(None)
    for array in state:
        if isinstance(array, np.ndarray) and array.nbytes >= LARGE and array.flags.c_contiguous:
            low = -(-array.ctypes.data // HUGE) * HUGE
            size = (array.ctypes.data + array.nbytes) // HUGE * HUGE - low
            for advice in (MADV_HUGEPAGE, MADV_COLLAPSE):  # the second is Linux 6.1's
                system.madvise(ctypes.c_void_p(low), ctypes.c_size_t(size), advice)
