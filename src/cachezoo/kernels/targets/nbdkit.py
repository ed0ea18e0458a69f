"""The nbdkit filter of this project: a read cache in segments, LRU of their blocks, perhaps behind RejectX.

A read takes from the SSD what is there. The rest is one read of the disk, from the first to the last missing segment.
What is admitted is written to the SSD before the read is answered. A write goes to the disk, after what it touches has
left the cache. A segment takes the slot of the one that it evicts, else the one that was freed last, else the next.

Source: docs/mounted.md; the same requests hit and write the same segments as in `cachezoo.kernels.flash`.
"""

import numpy as np

from cachezoo.arrays import I32, I64, U8, Bool
from cachezoo.kernels.flash_queue import blocks_of, enter_block, leave_block, pop_block, use_block
from cachezoo.kernels.jit import njit
from cachezoo.kernels.lists import link_head, unlink
from cachezoo.kernels.targets.log import ON_SSD, WRITE, Log, empty, note, room
from cachezoo.kernels.tiers import DISK, SSD

ACCEPT_ALL = -1
ABSENT = -1  # in `after`, of a segment that is not resident


@njit
def nbdkit(start: I64, page: I32, write: Bool, segment: I32, within: I32, address: I64, pages: int,
           block: I32, capacity: int, window: int) -> tuple[U8, Log, I32]:  # fmt: skip
    """Serve a trace.

    Args:
        start: int64[n + 1] of each request.
        page: int32[m] rising in a request, which follow each other on the volume.
        write: bool[n].
        segment: int32[n_pages] of each page.
        within: int32[n_pages] its place there.
        address: int64[n_segments] first page on the volume.
        pages: of a segment.
        block: int32[n_segments] of each segment, numbered from 0.
        capacity: segments that the cache holds.
        window: requests within which a second miss is admitted; `ACCEPT_ALL`: the first is.

    Returns:
        uint8[m] where each access found its page; the I/Os; int32[n] dirty pages, none.
    """
    n = write.size
    slot, missed = np.zeros(address.size, np.int32), np.full(address.size, -1, np.int32)
    freed, n_freed, n_slots, used = np.empty(capacity, np.int32), 0, 0, 0
    n_blocks = block.max() + 1
    blocks = blocks_of(n_blocks, address.size)
    before, after = np.empty(address.size + n_blocks, np.int32), np.full(address.size + n_blocks, ABSENT, np.int32)
    for sentinel in range(address.size, address.size + n_blocks):
        before[sentinel] = sentinel
        after[sentinel] = sentinel
    found = np.full(page.size, DISK, np.uint8)
    log = empty(2 * n + 1)
    entering = np.empty(int(np.diff(start).max()), np.int32)
    for i in range(n):
        first, last = start[i], start[i + 1]
        log = room(log, 2 * (last - first) + 1)
        if write[i]:
            note(log, WRITE, i, address[segment[page[first]]] + within[page[first]], last - first)
        low, high, entered, last_own, last_block = -1, -1, 0, -1, -1
        for j in range(first, last):
            own = segment[page[j]]
            here = after[own] != ABSENT
            if here:
                found[j] = SSD
                if not write[i]:
                    note(log, ON_SSD, i, slot[own] * pages + within[page[j]], 1)
            if own == last_own and not (here and write[i]):
                continue
            last_own = own
            if write[i]:
                if here and (j + 1 == last or segment[page[j + 1]] != own):
                    unlink(before, after, own)
                    after[own] = ABSENT
                    leave_block(blocks, after, block[own])
                    used -= 1
                    freed[n_freed] = slot[own]
                    n_freed += 1
                continue
            if block[own] != last_block:
                last_block = block[own]
                use_block(blocks, after, last_block)
            if here:
                unlink(before, after, own)
                link_head(before, after, blocks.lists + last_block, own)
            else:
                low = own if low < 0 else low
                high = own
                if window < 0 or (missed[own] >= 0 and i - missed[own] <= window):
                    entering[entered] = own
                    entered += 1
                missed[own] = i
        if high >= 0:
            note(log, 0, i, address[low], address[high] - address[low] + pages)
        for k in range(entered):
            own = entering[k]
            if used == capacity:
                victim = pop_block(blocks, before, after)
                after[victim] = ABSENT
                slot[own] = slot[victim]
            else:
                used += 1
                if n_freed > 0:
                    n_freed -= 1
                    slot[own] = freed[n_freed]
                else:
                    slot[own] = n_slots
                    n_slots += 1
            enter_block(blocks, before, after, block[own], own)
            note(log, ON_SSD | WRITE, i, slot[own] * pages, pages)
    return found, log, np.zeros(n, np.int32)
