"""Policies that evict the page of least rank: LFU with perfect history, Belady's MIN, and MIN with bypass.

The resident pages form an indexed binary heap (`heap[k]` is a page, `slot[page]` its k or -1) ordered by `rank`
(int64, the smallest on top), so a hit costs O(log capacity).
"""

import numpy as np
import numpy.typing as npt

from cachezoo.kernels.classic import ADMITTED, HIT
from cachezoo.kernels.jit import njit

I32 = npt.NDArray[np.int32]
I64 = npt.NDArray[np.int64]
U8 = npt.NDArray[np.uint8]


@njit
def sift(heap: I32, slot: I32, rank: I64, used: int, k: int) -> None:
    """Move the page in heap position k up or down to where its rank belongs."""
    page = heap[k]
    while k > 0 and rank[heap[(k - 1) // 2]] > rank[page]:
        heap[k] = heap[(k - 1) // 2]
        slot[heap[k]] = k
        k = (k - 1) // 2
    while 2 * k + 1 < used:
        child = 2 * k + 1
        if child + 1 < used and rank[heap[child + 1]] < rank[heap[child]]:
            child += 1
        if rank[heap[child]] >= rank[page]:
            break
        heap[k] = heap[child]
        slot[heap[k]] = k
        k = child
    heap[k] = page
    slot[page] = k


@njit
def by_rank(page_ids: I32, access_rank: I64, n_pages: int, capacity: int, bypass: bool) -> U8:
    """Keep the pages of greatest rank.

    Args:
        page_ids: int32[m] dense ids.
        access_rank: int64[m], the page's rank from this access on; distinct among pages that can be resident.
        n_pages: distinct pages.
        capacity: pages.
        bypass: a miss whose rank is below every resident page's does not enter a full cache.

    Returns:
        uint8[m] outcome as in `cachezoo.kernels.classic`.
    """
    outcome = np.zeros(page_ids.size, np.uint8)
    rank = np.zeros(n_pages, np.int64)
    heap = np.zeros(min(capacity, n_pages), np.int32)
    slot = np.full(n_pages, -1, np.int32)
    used = 0
    for i in range(page_ids.size):
        page = page_ids[i]
        rank[page] = access_rank[i]
        if slot[page] >= 0:
            outcome[i] = HIT
            sift(heap, slot, rank, used, slot[page])
            continue
        if used < heap.size:
            heap[used] = page
            slot[page] = used
            used += 1
            sift(heap, slot, rank, used, used - 1)
        elif bypass and rank[heap[0]] > rank[page]:
            continue
        else:
            slot[heap[0]] = -1
            heap[0] = page
            slot[page] = 0
            sift(heap, slot, rank, used, 0)
        outcome[i] = ADMITTED
    return outcome


@njit
def next_access(page_ids: I32, n_pages: int) -> I64:
    """int64[m]: index of the next access of the same page; m + i where there is none, so values are distinct."""
    m = page_ids.size
    following = np.empty(m, np.int64)
    last = np.full(n_pages, -1, np.int64)
    for i in range(m - 1, -1, -1):
        page = page_ids[i]
        following[i] = last[page] if last[page] >= 0 else m + i
        last[page] = i
    return following


@njit
def running_count(page_ids: I32, n_pages: int) -> I64:
    """int64[m]: accesses of the page up to and including this one."""
    counts = np.zeros(n_pages, np.int64)
    so_far = np.empty(page_ids.size, np.int64)
    for i in range(page_ids.size):
        counts[page_ids[i]] += 1
        so_far[i] = counts[page_ids[i]]
    return so_far


def lfu(page_ids: I32, n_pages: int, capacity: int) -> U8:
    """LFU with perfect history and bypass: counts survive eviction; ties go to the more recent page."""
    m = page_ids.size
    rank = running_count(page_ids, n_pages) * np.int64(m + 1) + np.arange(m, dtype=np.int64)
    outcome: U8 = by_rank(page_ids, rank, n_pages, capacity, True)
    return outcome


def belady(page_ids: I32, n_pages: int, capacity: int) -> U8:
    """Belady's MIN that always inserts (Belady, 1966)."""
    outcome: U8 = by_rank(page_ids, -next_access(page_ids, n_pages), n_pages, capacity, False)
    return outcome


def belady_bypass(page_ids: I32, n_pages: int, capacity: int) -> U8:
    """MIN with bypass: the most page hits that any policy of this capacity can reach."""
    outcome: U8 = by_rank(page_ids, -next_access(page_ids, n_pages), n_pages, capacity, True)
    return outcome


def static_hindsight(page_ids: I32, n_pages: int, capacity: int) -> U8:
    """The `capacity` most accessed pages stay from their first access on; the best a memoryless trace allows."""
    counts = np.bincount(page_ids, minlength=n_pages)
    kept = np.zeros(n_pages, np.bool_)
    kept[np.argsort(-counts, kind="stable")[:capacity]] = True
    first = running_count(page_ids, n_pages) == 1
    return np.where(kept[page_ids], np.where(first, ADMITTED, HIT), 0).astype(np.uint8)
