"""What RAM asks of the SSD below it, and the transient buffer between the two.

RAM's victims wait in the buffer. A victim that finds it full has it flushed first: all its pages are offered to the SSD
in one batch, by address and by erase block of 64 pages, the block of most pages first (of equals the lower address).
Without a buffer a victim is offered at once. A page asked for that is still in the buffer comes back from there.

Within one access the page asked for is looked up first, and leaves where it was; then RAM's victim moves down.

Source: Aldahlawi et al., "An empirical and architectural study of using an SSD-aware hybrid storage system to improve
the performance of the data intensive applications", 2012 (HCA, the hybrid cache architecture), Sec. IV.
Where it differs: HCA frees RAM's place first and then moves the page up.
"""

from typing import NamedTuple

import numpy as np

from cachezoo.arrays import I32, I64, U8
from cachezoo.kernels.jit import njit
from cachezoo.kernels.outcome import BYPASSED, HIT, NONE, WRITE
from cachezoo.kernels.step import step
from cachezoo.kernels.tiers import BUFFER, DISK, OFFER, PEEK, RAM, TAKE, VOID, Asked

EXCLUSIVE, PROMOTION, INCLUSIVE = 0, 1, 2  # how RAM and the SSD share the pages
BLOCK_PAGES = 64  # of an erase block
INSERTED = 64  # values at most that are sorted by insertion


class Upper(NamedTuple):
    """RAM's run: `page` int32[m], `flags` uint8[m], `outcome` uint8[m] and `victim` int32[m] of each access."""

    page: I32
    flags: U8
    outcome: U8
    victim: I32


class Places(NamedTuple):
    """Pages in the order of their addresses: `rank` int32[n_pages] of each page, `page` int32[n_pages] of each rank.

    `block` int64[n_pages] is the erase block of each rank.
    """

    rank: I32
    page: I32
    block: I64


class Buffer(NamedTuple):
    """The pages that wait, by their ranks.

    `held` int32[room] in no order; `place` int32[n_pages] where each page lies in it, -1 of others; `used` int64[1].
    A flush works in `start` int64[room + 1], `key` int64[room] and `batch` int32[room].
    """

    held: I32
    place: I32
    used: I64
    start: I64
    key: I64
    batch: I32


def places(address: I64) -> Places:
    """The order of pages by address, int64[n_pages] page numbers on the volume."""
    page = np.argsort(address).astype(np.int32)
    rank = np.empty_like(page)
    rank[page] = np.arange(page.size, dtype=np.int32)
    return Places(rank, page, address[page] // BLOCK_PAGES)


@njit
def empty_buffer(room: int, n_pages: int) -> Buffer:
    """A buffer of so many pages over ids in [0, n_pages)."""
    return Buffer(
        np.empty(room, np.int32), np.full(n_pages, NONE, np.int32), np.zeros(1, np.int64),
        np.empty(room + 1, np.int64), np.empty(room, np.int64), np.empty(room, np.int32),
    )  # fmt: skip


@step
def _leave(buffer: Buffer, order: Places, page: int) -> None:
    """Take a page out of the buffer; the last one takes its place."""
    buffer.used[0] -= 1
    last = buffer.held[buffer.used[0]]
    buffer.held[buffer.place[page]] = last
    buffer.place[order.page[last]] = buffer.place[page]
    buffer.place[page] = NONE


@njit
def _sort(values: I32 | I64) -> None:
    """Sort in place: few values by insertion, at a seventh of what numpy's own sort takes for 16 of them."""
    if values.size > INSERTED:
        values.sort()
        return
    for k in range(1, values.size):
        value = values[k]
        at = k
        while at > 0 and values[at - 1] > value:
            values[at] = values[at - 1]
            at -= 1
        values[at] = value


@njit
def put_in_order(buffer: Buffer, block: I64) -> None:
    """Fill `batch` with the ranks of a full buffer as a flush writes them, by block and rank; `held` is sorted by rank.

    The block of most pages comes first, of equals the lower one.
    """
    held, batch, size = buffer.held, buffer.batch, buffer.held.size
    _sort(held)
    blocks = 0
    for k in range(size):
        if k == 0 or block[held[k]] != block[held[k - 1]]:
            buffer.start[blocks] = k
            blocks += 1
    buffer.start[blocks] = size
    if blocks == size:
        batch[:] = held
        return
    for b in range(blocks):
        buffer.key[b] = (BLOCK_PAGES - (buffer.start[b + 1] - buffer.start[b])) * size + b
    _sort(buffer.key[:blocks])
    done = 0
    for b in range(blocks):
        own = buffer.key[b] % size
        for k in range(buffer.start[own], buffer.start[own + 1]):
            batch[done] = held[k]
            done += 1


@step
def _ask(asked: Asked, used: int, code: int, page: int, at: int, seen: int) -> int:
    asked.code[used], asked.page[used], asked.at[used], asked.seen[used] = code, page, at, seen
    return used + 1


@njit
def _flush(buffer: Buffer, order: Places, last: I32, asked: Asked, used: int, at: int) -> int:
    """Offer all pages of a full buffer and leave it empty; how many questions there are then."""
    put_in_order(buffer, order.block)
    for rank in buffer.batch:
        page = order.page[rank]
        used = _ask(asked, used, OFFER, page, at, last[page])
        buffer.place[page] = NONE
    buffer.used[0] = 0
    return used


@njit
def questions(upper: Upper, order: Places, kind: int, room: int, tier: U8, asked: Asked) -> int:
    """Write down what the SSD is asked.

    Args:
        upper: RAM's run.
        order: of the pages by address.
        kind: `EXCLUSIVE`: RAM looks pages up and takes them, its victims are offered. `PROMOTION`: a page found stays,
            victims are offered. `INCLUSIVE`: a page found stays, and one that is not is offered at once.
        room: pages of the buffer; 0 but for `EXCLUSIVE`.
        tier: uint8[m], written: `RAM`, `BUFFER` or, for all below, `DISK`.
        asked: written; room for two of each miss, one of each write and one of each victim.

    Returns:
        How many questions there are.
    """
    buffer = empty_buffer(room, order.page.size)
    last = np.empty(order.page.size, np.int32)
    used = 0
    for i in range(upper.page.size):
        page = upper.page[i]
        outcome = upper.outcome[i]
        last[page] = i
        waits = buffer.place[page] != NONE
        tier[i] = RAM if outcome == HIT else BUFFER if waits else DISK
        if upper.flags[i] & WRITE:
            if waits:
                _leave(buffer, order, page)
            elif outcome != HIT or kind != EXCLUSIVE:
                used = _ask(asked, used, VOID, page, i, i)
        elif outcome != HIT:
            if waits:
                if outcome != BYPASSED:
                    _leave(buffer, order, page)
            elif kind == EXCLUSIVE and outcome != BYPASSED:
                used = _ask(asked, used, TAKE, page, i, i)
            else:
                used = _ask(asked, used, PEEK, page, i, i)
                if kind == INCLUSIVE:
                    used = _ask(asked, used, OFFER, page, i, i)
        victim = upper.victim[i]
        if victim == NONE or kind == INCLUSIVE:
            continue
        if room == 0:
            used = _ask(asked, used, OFFER, victim, i, last[victim])
            continue
        if buffer.used[0] == room:
            used = _flush(buffer, order, last, asked, used, i)
        buffer.held[buffer.used[0]] = order.rank[victim]
        buffer.place[victim] = buffer.used[0]
        buffer.used[0] += 1
    return used
