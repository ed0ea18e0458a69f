"""Pages drawn by a hash of their ids, or blocks by one of their places, and all accesses to them: spatial sampling.

Source: SHARDS, Waldspurger et al., "Efficient MRC construction with SHARDS", FAST '15, Sec. 3.1.
"""

import numpy as np

from cachezoo.arrays import I32, I64, U8, U64
from cachezoo.kernels.jit import njit

HASH_BITS = 53
U11, U27, U30, U31 = (np.uint64(k) for k in (64 - HASH_BITS, 27, 30, 31))
STEP, FIRST, SECOND = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)


@njit
def mixed(z: np.uint64) -> np.uint64:
    """SplitMix64's mixer, one-to-one on 64 bits."""
    z = (z ^ (z >> U30)) * FIRST
    z = (z ^ (z >> U27)) * SECOND
    return z ^ (z >> U31)


@njit
def _groups(start: np.uint64, limit: np.uint64, count: np.uint64, groups: U8) -> None:
    z = start
    for page in range(groups.size):
        high = mixed(z) >> U11
        groups[page] = np.uint64(1) + high * count // limit if high < limit else np.uint64(0)
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
    _groups(np.uint64(start), limit_of(rate), np.uint64(count), groups)
    return groups


def limit_of(rate: float) -> np.uint64:
    """Below which the upper `HASH_BITS` bits of a hash lie, of so many of all hashes."""
    return np.uint64(np.ceil(rate * 2.0**HASH_BITS))


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


@njit
def _runs(
    keys: U64, offset: I64, size: I64, block_bytes: int, least: np.uint64, limit: np.uint64, row: I64, start: I64,
    stop: I64,
) -> int:  # fmt: skip
    found = 0
    for i in range(offset.size):
        end, joined = offset[i] + size[i], False
        for block in range(offset[i] // block_bytes, (end - 1) // block_bytes + 1):
            high = mixed(keys[i] + np.uint64(block) * STEP) >> U11
            if high < least or high >= limit:
                joined = False
                continue
            found += not joined
            if row.size:
                if not joined:
                    row[found - 1], start[found - 1] = i, max(offset[i], block * block_bytes)
                stop[found - 1] = min(end, (block + 1) * block_bytes)
            joined = True
    return found


def drawn_runs(
    keys: U64, offset: I64, size: I64, block_bytes: int, rate: float, group: int = 0, count: int = 1
) -> tuple[I64, I64, I64]:
    """The parts of requests that lie in drawn blocks; blocks next to each other in a request are one part.

    Args:
        keys: uint64[n] of each request's volume; a block's hash is of key and index.
        offset: int64[n] bytes, at least 0.
        size: int64[n] bytes, at least 1.
        block_bytes: of a block.
        rate: expected part of the blocks, above 0, at most 1; of a lower one they are among those of a higher one.
        group: of the drawn blocks only those that are dealt to this group, from 0 on.
        count: groups, as of `drawn_groups`.

    Returns:
        int64[k] each: the request of each part, never falling, its first byte, and the one past its last.
    """
    none = np.empty(0, np.int64)
    least, limit = (np.uint64(-(-k * int(limit_of(rate)) // count)) for k in (group, group + 1))
    found = _runs(keys, offset, size, block_bytes, least, limit, none, none, none)
    row, start, stop = (np.empty(found, np.int64) for _ in range(3))
    if found:
        _runs(keys, offset, size, block_bytes, least, limit, row, start, stop)
    return row, start, stop


@njit
def _hashes(keys: U64, block: I64, out: U64) -> None:
    for i in range(block.size):
        out[i] = mixed(keys[i] + np.uint64(block[i]) * STEP)


def block_hashes(keys: U64, block: I64) -> U64:
    """uint64[n]: the hash of each (key, index of a block), one-to-one of a key; drawn are those with low upper bits.

    Args:
        keys: uint64[n].
        block: int64[n], at least 0.
    """
    out = np.empty(len(block), np.uint64)
    _hashes(keys, block, out)
    return out
