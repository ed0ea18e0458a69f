"""LRU at every capacity in one pass: how many other pages were accessed since a page's last access.

Source: Mattson et al., "Evaluation techniques for storage hierarchies", IBM Systems Journal 9(2), 1970: LRU holds the
pages of the least distance whatever its capacity, so an access hits iff its distance is below the capacity.

Accesses are numbered; a page lies at the number of its last access, and a number is void once its page was accessed
again. The distance is the numbers since, less the void ones: bits, 64 to a word, and over the words a binary tree that
counts the void numbers in each left half, so O(log n) an access. When the numbers run out, which they do at most once
every `n_pages` accesses, those of the pages are packed; so memory is O(n_pages), however long the stream.
"""

import numpy as np
import numpy.typing as npt

from cachezoo.kernels.bounds.bitset import bit, count
from cachezoo.kernels.jit import njit

I32 = npt.NDArray[np.int32]
I64 = npt.NDArray[np.int64]
U64 = npt.NDArray[np.uint64]
COLD = -1


@njit
def _void_before(words: U64, left: I32, number: int) -> int:
    """Void numbers below this one, which is made void too."""
    k = number >> 6
    void = count(words[k] & (bit(number) - np.uint64(1)))
    words[k] |= bit(number)
    k += words.size
    while k > 1:
        right = k & 1
        k >>= 1
        void += right * left[k]
        left[k] += 1 - right
    return void


@njit
def _pack(last: I32, page_at: I32) -> int:
    """Number the pages anew from 0, in order; returns how many there are."""
    number = 0
    for k in range(page_at.size):
        page = page_at[k]
        if last[page] == k:
            last[page] = number
            page_at[number] = page
            number += 1
    return number


@njit
def _distances(page_ids: I32, last: I32, page_at: I32, words: U64, left: I32, distances: I32) -> None:
    number = 0
    void = 0
    for i in range(page_ids.size):
        if number == page_at.size:
            number = _pack(last, page_at)
            words[:] = 0
            left[:] = 0
            void = 0
        page = page_ids[i]
        before = last[page]
        if before < 0:
            distances[i] = COLD
        else:
            distances[i] = number - 1 - before - void + _void_before(words, left, before)
            void += 1
        last[page] = number
        page_at[number] = page
        number += 1


def stack_distances(page_ids: I32, n_pages: int) -> I32:
    """How many other pages were accessed since the last access of each access's page.

    Args:
        page_ids: int32[m] in [0, n_pages).
        n_pages: distinct pages, below 2**29.

    Returns:
        int32[m]; -1 at a page's first access.
    """
    numbers = 1 << max(6, (2 * n_pages - 1).bit_length())
    distances = np.empty(len(page_ids), np.int32)
    words, left = np.zeros(numbers // 64, np.uint64), np.zeros(numbers // 64, np.int32)
    _distances(page_ids, np.full(n_pages, -1, np.int32), np.empty(numbers, np.int32), words, left, distances)
    return distances


def lru_hits(distances: I32, capacities: npt.ArrayLike, warmup: int = 0) -> I64:
    """Hits of LRU at many capacities, a page at a time, everything admitted.

    Args:
        distances: int32[m] from `stack_distances`.
        capacities: int[k] pages, each at least 1.
        warmup: accesses before this one are not counted.

    Returns:
        int64[k].
    """
    counted = distances[warmup:]
    counted = counted[counted != COLD]
    hits = np.concatenate((np.zeros(1, np.int64), np.cumsum(np.bincount(counted, minlength=1))))
    return hits[np.minimum(np.asarray(capacities, np.int64), len(hits) - 1)]
