"""Pages drawn by a hash of their ids, and all accesses to them: spatial sampling.

Source: SHARDS, Waldspurger et al., "Efficient MRC construction with SHARDS", FAST '15, Sec. 3.1.
"""

import numpy as np

from cachezoo.arrays import I32, I64, U8
from cachezoo.kernels.jit import njit

HASH_BITS = 53
U11, U27, U30, U31 = (np.uint64(k) for k in (64 - HASH_BITS, 27, 30, 31))
STEP, FIRST, SECOND = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)


@njit
def _groups(start: np.uint64, limit: np.uint64, count: np.uint64, groups: U8) -> None:
    z = start
    for page in range(groups.size):
        mixed = (z ^ (z >> U30)) * FIRST
        mixed = (mixed ^ (mixed >> U27)) * SECOND
        mixed = (mixed ^ (mixed >> U31)) >> U11
        groups[page] = np.uint64(1) + mixed * count // limit if mixed < limit else np.uint64(0)
        z += STEP


def drawn_groups(n_pages: int, rate: float, count: int, start: int) -> U8:
    """Draw pages by SplitMix64's mixer (Steele et al., OOPSLA '14), and deal them out to groups of about equal size.

    Args:
        n_pages: ids are in [0, n_pages).
        rate: expected part of the pages, above 0, at most 1.
        count: groups, 1 to 255.
        start: 64 bits: another start, other pages.

    Returns:
        uint8[n_pages]: 1 to `count`, or 0 of a page that is not drawn. With the same start the pages of a lower rate
        are among those of a higher one.
    """
    groups = np.empty(n_pages, np.uint8)
    _groups(np.uint64(start), np.uint64(np.ceil(rate * 2.0**HASH_BITS)), np.uint64(count), groups)
    return groups


@njit
def _count(page_ids: I32, groups: U8) -> int:
    found = 0
    for i in range(page_ids.size):
        found += groups[page_ids[i]] > 0
    return found


@njit
def _take(page_ids: I32, groups: U8, number: I32, rows: I64, ids: I32) -> None:
    k = 0
    for i in range(page_ids.size):
        page = page_ids[i]
        if groups[page] > 0:
            rows[k] = i
            ids[k] = number[page]
            k += 1


def accesses_of(page_ids: I32, groups: U8) -> tuple[I64, I32]:
    """All accesses to the drawn pages.

    Args:
        page_ids: int32[m].
        groups: uint8[n_pages] from `drawn_groups`.

    Returns:
        int64[k] rows of the accesses, rising, and int32[k] their pages, numbered from 0 on by their ids.
    """
    number = np.cumsum(groups > 0, dtype=np.int32) - np.int32(1)
    size = _count(page_ids, groups)
    rows, ids = np.empty(size, np.int64), np.empty(size, np.int32)
    _take(page_ids, groups, number, rows, ids)
    return rows, ids
