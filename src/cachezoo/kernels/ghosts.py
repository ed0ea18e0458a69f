"""A queue of ghosts: page ids of no residence, first in first out, from whose middle any may be taken.

The queue is a stretch of the ring `log`, oldest first. What is dropped or taken leaves -1 in its slot, so a page is a
ghost where the slot that it last had still names it, `log[slot_of[page]] == page`, and nothing else needs to be kept.
The ring has room for twice the ghosts; where the stretch has come round to its start, the live ones are moved together.

The functions take the arrays one by one: a tuple of them as an argument costs more than what they do.
"""

import numpy as np

from cachezoo.arrays import I32, I64
from cachezoo.kernels.step import step

FIRST, SPAN, LIVE = 0, 1, 2


def make(n_pages: int, room: int) -> tuple[I32, I32, I64]:
    """No ghosts, at most `room`: `log` int32[2 * room], `slot_of` int32[n_pages], `stretch` int64[3].

    `stretch` is the queue's first slot, the slots from there to its end, and how many of them are live.
    """
    room = min(room, n_pages)
    return np.full(max(1, 2 * room), -1, np.int32), np.zeros(n_pages, np.int32), np.zeros(3, np.int64)


@step
def take(log: I32, slot_of: I32, stretch: I64, page: int) -> bool:
    """Take the page out; False if it was not in."""
    slot = slot_of[page]
    if log[slot] != page:
        return False
    log[slot] = -1
    stretch[LIVE] -= 1
    return True


@step
def put(log: I32, slot_of: I32, stretch: I64, page: int) -> None:
    """Put in a page that is not in; the oldest ghost makes room for it. Without any room, nothing stays."""
    size = log.size
    if size == 1:
        return
    first, span, live = stretch[FIRST], stretch[SPAN], stretch[LIVE]
    if live == size >> 1:
        while log[first] < 0:
            first = first + 1 if first + 1 < size else 0
            span -= 1
        log[first] = -1
        first = first + 1 if first + 1 < size else 0
        span -= 1
        live -= 1
    elif span == size:
        _close_up(log, slot_of, first)
        span = live
    slot = first + span
    if slot >= size:
        slot -= size
    log[slot] = page
    slot_of[page] = slot
    stretch[FIRST], stretch[SPAN], stretch[LIVE] = first, span + 1, live + 1


@step
def _close_up(log: I32, slot_of: I32, first: int) -> None:
    """Move the live ghosts of a ring that is one stretch to its start, in order."""
    to = first
    for offset in range(log.size):
        slot = first + offset
        if slot >= log.size:
            slot -= log.size
        page = log[slot]
        if page >= 0:
            log[slot] = -1
            log[to] = page
            slot_of[page] = to
            to = to + 1 if to + 1 < log.size else 0
