"""Where on its SSD a page cache writes: a page takes the slot of the page that it evicts, and is written in place."""

import numpy as np

from cachezoo.arrays import I32, I64, U8
from cachezoo.kernels.jit import njit
from cachezoo.kernels.outcome import ADMITTED, HIT, PREFETCHED, WRITE


@njit
def slots_written(page_ids: I32, flags: U8, outcome: U8, victim: I32, n_pages: int) -> tuple[I32, I64]:
    """The slots that a cache's run writes, in order.

    A page that enters is written to the slot of the page that it evicts, or to the next that was never used; a write
    that hits is written to the slot of its page.

    Args:
        page_ids: int32[m] of the stream, as the next.
        flags: uint8[m].
        outcome: uint8[m] of the run, as the next.
        victim: int32[m] page evicted by each access, or -1.
        n_pages: distinct pages.

    Returns:
        int32[w] slots, numbered by their first use; int64[w] the access that wrote each.
    """
    slot_of = np.full(n_pages, -1, np.int32)
    slots, access = np.empty(page_ids.size, np.int32), np.empty(page_ids.size, np.int64)
    used, written = 0, 0
    for i in range(page_ids.size):
        page = page_ids[i]
        if outcome[i] == ADMITTED or outcome[i] == PREFETCHED:
            if victim[i] >= 0:
                slot_of[page] = slot_of[victim[i]]
            else:
                slot_of[page] = used
                used += 1
        elif outcome[i] != HIT or not flags[i] & WRITE:
            continue
        slots[written] = slot_of[page]
        access[written] = i
        written += 1
    return slots[:written], access[:written]
