"""Classic replacement and admission policies over dense page ids.

Every kernel takes `page_ids` (int32[m], values in [0, n_pages)), `n_pages` and `capacity` (pages, at least 1) and
returns uint8[m]: `BYPASSED` or `ADMITTED` for a miss, `HIT` for a hit. A page's links live in flat arrays; index
`n_pages + k` is the sentinel of list k, so an empty list needs no special case.
"""

import numpy as np
import numpy.typing as npt

from cachezoo.kernels.jit import njit

I32 = npt.NDArray[np.int32]
U8 = npt.NDArray[np.uint8]

BYPASSED = 0
ADMITTED = 1
HIT = 2


@njit
def unlink(before: I32, after: I32, node: int) -> None:
    """Take `node` out of its list."""
    after[before[node]] = after[node]
    before[after[node]] = before[node]


@njit
def link_head(before: I32, after: I32, sentinel: int, node: int) -> None:
    """Put `node` at the most recent end of the list of `sentinel`."""
    first = after[sentinel]
    before[node] = sentinel
    after[node] = first
    before[first] = node
    after[sentinel] = node


@njit
def fifo(page_ids: I32, n_pages: int, capacity: int) -> U8:
    """First in, first out."""
    outcome = np.zeros(page_ids.size, np.uint8)
    resident = np.zeros(n_pages, np.uint8)
    ring = np.full(min(capacity, n_pages), -1, np.int32)
    slot = 0
    for i in range(page_ids.size):
        page = page_ids[i]
        if resident[page]:
            outcome[i] = HIT
            continue
        outcome[i] = ADMITTED
        if ring[slot] >= 0:
            resident[ring[slot]] = 0
        ring[slot] = page
        resident[page] = 1
        slot = slot + 1 if slot + 1 < ring.size else 0
    return outcome


@njit
def lru(page_ids: I32, n_pages: int, capacity: int) -> U8:
    """Least recently used."""
    outcome = np.zeros(page_ids.size, np.uint8)
    resident = np.zeros(n_pages, np.uint8)
    before = np.full(n_pages + 1, n_pages, np.int32)
    after = np.full(n_pages + 1, n_pages, np.int32)
    used = 0
    for i in range(page_ids.size):
        page = page_ids[i]
        if resident[page]:
            outcome[i] = HIT
            unlink(before, after, page)
        else:
            outcome[i] = ADMITTED
            if used == capacity:
                victim = before[n_pages]
                unlink(before, after, victim)
                resident[victim] = 0
            else:
                used += 1
            resident[page] = 1
        link_head(before, after, n_pages, page)
    return outcome


@njit
def rejectx(page_ids: I32, n_pages: int, capacity: int, window: int) -> U8:
    """LRU behind RejectX with x = 1: a miss is admitted if the page also missed within the last `window` accesses.

    Source: CacheLib (Berg et al., OSDI 2020), Sec. 4.2, with an exact sliding window instead of Bloom filters.
    """
    outcome = np.zeros(page_ids.size, np.uint8)
    resident = np.zeros(n_pages, np.uint8)
    missed = np.full(n_pages, -1, np.int64)
    before = np.full(n_pages + 1, n_pages, np.int32)
    after = np.full(n_pages + 1, n_pages, np.int32)
    used = 0
    for i in range(page_ids.size):
        page = page_ids[i]
        if resident[page]:
            outcome[i] = HIT
            unlink(before, after, page)
            link_head(before, after, n_pages, page)
            continue
        seen = missed[page] >= 0 and i - missed[page] <= window
        missed[page] = i
        if not seen:
            continue
        outcome[i] = ADMITTED
        if used == capacity:
            victim = before[n_pages]
            unlink(before, after, victim)
            resident[victim] = 0
        else:
            used += 1
        resident[page] = 1
        link_head(before, after, n_pages, page)
    return outcome


@njit
def larc(page_ids: I32, n_pages: int, capacity: int) -> U8:
    """LARC: a ghost LRU of adaptive size filters what enters the cache; admission on the second touch.

    Source: Huang et al., "Improving flash-based disk cache with Lazy Adaptive Replacement", MSST 2013, Algorithm 1:
    the ghost's size grows by C / Cr on a miss and shrinks by C / (C - Cr) on a hit, within [0.1 C, 0.9 C].
    """
    outcome = np.zeros(page_ids.size, np.uint8)
    place = np.zeros(n_pages, np.uint8)  # 0 nowhere, 1 cache, 2 ghost
    before = np.empty(n_pages + 2, np.int32)
    after = np.empty(n_pages + 2, np.int32)
    before[n_pages] = after[n_pages] = n_pages
    before[n_pages + 1] = after[n_pages + 1] = n_pages + 1
    used = 0
    ghosts = 0
    target = 0.1 * capacity
    for i in range(page_ids.size):
        page = page_ids[i]
        if place[page] == 1:
            outcome[i] = HIT
            target = max(0.1 * capacity, target - capacity / (capacity - target))
            unlink(before, after, page)
            link_head(before, after, n_pages, page)
            continue
        target = min(0.9 * capacity, target + capacity / target)
        if place[page] == 0:
            place[page] = 2
            ghosts += 1
            link_head(before, after, n_pages + 1, page)
            if ghosts > max(1.0, target):
                victim = before[n_pages + 1]
                unlink(before, after, victim)
                place[victim] = 0
                ghosts -= 1
            continue
        outcome[i] = ADMITTED
        unlink(before, after, page)
        ghosts -= 1
        if used == capacity:
            victim = before[n_pages]
            unlink(before, after, victim)
            place[victim] = 0
        else:
            used += 1
        place[page] = 1
        link_head(before, after, n_pages, page)
    return outcome


@njit
def arc(page_ids: I32, n_pages: int, capacity: int) -> U8:
    """ARC, self-tuning between recency (T1) and frequency (T2) with ghosts B1 and B2.

    Source: Megiddo and Modha, "ARC: a self-tuning, low overhead replacement cache", FAST 2003, Fig. 4. The target
    `p` is kept as a real number, as there.
    """
    outcome = np.zeros(page_ids.size, np.uint8)
    place = np.full(n_pages, 4, np.uint8)  # 0 T1, 1 T2, 2 B1, 3 B2, 4 nowhere
    before = np.empty(n_pages + 4, np.int32)
    after = np.empty(n_pages + 4, np.int32)
    for k in range(4):
        before[n_pages + k] = after[n_pages + k] = n_pages + k
    length = np.zeros(5, np.int64)
    p = 0.0
    for i in range(page_ids.size):
        page = page_ids[i]
        where = place[page]
        if where <= 1:
            outcome[i] = HIT
            unlink(before, after, page)
            length[where] -= 1
        else:
            outcome[i] = ADMITTED
            if where == 2:
                p = min(float(capacity), p + max(1.0, length[3] / length[2]))
            elif where == 3:
                p = max(0.0, p - max(1.0, length[2] / length[3]))
            replace = where != 4
            if where == 4:
                recent = length[0] + length[2]
                total = recent + length[1] + length[3]
                if recent == capacity:
                    drop = 2 if length[0] < capacity else 0
                    replace = drop == 2
                    victim = before[n_pages + drop]
                    unlink(before, after, victim)
                    place[victim] = 4
                    length[drop] -= 1
                elif total >= capacity:
                    if total == 2 * capacity:
                        victim = before[n_pages + 3]
                        unlink(before, after, victim)
                        place[victim] = 4
                        length[3] -= 1
                    replace = True
            if replace:
                from_t1 = length[0] > 0 and (length[0] > p or (where == 3 and length[0] == p))
                source = 0 if from_t1 else 1
                victim = before[n_pages + source]
                unlink(before, after, victim)
                link_head(before, after, n_pages + source + 2, victim)
                place[victim] = source + 2
                length[source] -= 1
                length[source + 2] += 1
            if where != 4:
                unlink(before, after, page)
                length[where] -= 1
        target = 0 if where == 4 else 1
        place[page] = target
        length[target] += 1
        link_head(before, after, n_pages + target, page)
    return outcome


@njit
def lru_admission(page_ids: I32, n_pages: int, capacity: int, admit: U8) -> U8:
    """LRU behind an admission policy that has already decided: a miss enters iff `admit` (uint8[m]) is not 0."""
    outcome = np.zeros(page_ids.size, np.uint8)
    resident = np.zeros(n_pages, np.uint8)
    before = np.full(n_pages + 1, n_pages, np.int32)
    after = np.full(n_pages + 1, n_pages, np.int32)
    used = 0
    for i in range(page_ids.size):
        page = page_ids[i]
        if resident[page]:
            outcome[i] = HIT
            unlink(before, after, page)
        elif admit[i]:
            outcome[i] = ADMITTED
            if used == capacity:
                victim = before[n_pages]
                unlink(before, after, victim)
                resident[victim] = 0
            else:
                used += 1
            resident[page] = 1
        else:
            continue
        link_head(before, after, n_pages, page)
    return outcome
