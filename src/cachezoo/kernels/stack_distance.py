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

from cachezoo.arrays import I32, I64, U64
from cachezoo.kernels.bounds.bitset import bit, count
from cachezoo.kernels.jit import njit

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


@njit
def _hits(
    page_ids: I32, last: I32, page_at: I32, words: U64, left: I32, least: I32, counted_from: I64, change: I64
) -> None:
    """As `_distances`, which are counted at once.

    `least[distance]` is the first capacity that is above the distance. Capacity k counts from `counted_from[k]` on; so
    an access is a hit of the capacities from its least one to the last that counts already. `change[k]` is by how much
    capacity k's hits differ from those of the capacity below.
    """
    number = 0
    void = 0
    counting = 0
    for i in range(page_ids.size):
        while counting < counted_from.size and counted_from[counting] <= i:
            counting += 1
        if number == page_at.size:
            number = _pack(last, page_at)
            words[:] = 0
            left[:] = 0
            void = 0
        page = page_ids[i]
        before = last[page]
        if before >= 0:
            k = least[number - 1 - before - void + _void_before(words, left, before)]
            void += 1
            if k < counting:
                change[k] += 1
                change[counting] -= 1
        last[page] = number
        page_at[number] = page
        number += 1


def _state(n_pages: int) -> tuple[I32, I32, U64, I32]:
    """No page accessed yet: last accesses, pages at numbers, void numbers, and how many lie in left halves."""
    numbers = 1 << max(6, (2 * n_pages - 1).bit_length())
    words, left = np.zeros(numbers // 64, np.uint64), np.zeros(numbers // 64, np.int32)
    return np.full(n_pages, -1, np.int32), np.empty(numbers, np.int32), words, left


def stack_distances(page_ids: I32, n_pages: int) -> I32:
    """How many other pages were accessed since the last access of each access's page.

    Args:
        page_ids: int32[m] in [0, n_pages).
        n_pages: distinct pages, below 2**29.

    Returns:
        int32[m]; -1 at a page's first access.
    """
    distances = np.empty(len(page_ids), np.int32)
    _distances(page_ids, *_state(n_pages), distances)
    return distances


def lru_hits(page_ids: I32, n_pages: int, capacities: npt.ArrayLike, warmups: npt.ArrayLike) -> I64:
    """Hits of LRU at many capacities in one pass, a page at a time, everything admitted.

    Args:
        page_ids: int32[m] in [0, n_pages).
        n_pages: distinct pages, below 2**29.
        capacities: int[k] pages, rising, each at least 1.
        warmups: int[k], not falling: at each capacity, accesses before this one are not counted.

    Returns:
        int64[k].
    """
    sizes, counted_from = np.asarray(capacities, np.int64), np.asarray(warmups, np.int64)
    least = np.searchsorted(sizes, np.arange(n_pages), side="right").astype(np.int32)
    change = np.zeros(len(sizes) + 1, np.int64)
    _hits(page_ids, *_state(n_pages), least, counted_from, change)
    return np.cumsum(change)[:-1]
