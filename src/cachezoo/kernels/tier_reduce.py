"""The I/Os that each tier of a hierarchy serves: its reduced trace, and what each request then waits for.

What a request misses is one I/O of the disk, from its first such page to its last: to skip what the SSD or RAM has in
between would cost a revolution, to read it a fraction of that. On the SSD pages of a request whose slots are neighbours
are one I/O. A page that enters the SSD takes the slot that has been free for longest, so that a batch that is flushed
to an SSD with room lies in one piece.

Source: HCA, Sec. V-B ("reduced trace file" of each device). The slots are ours: the paper has none.
"""

import numpy as np

from cachezoo.arrays import F64, I32, I64, U8, Bool
from cachezoo.kernels.jit import njit
from cachezoo.kernels.tiers import DISK, SSD, WRITTEN

NOWHERE = -1
FULL, ABSENT = -1, -2
"""What is wrong with a run, in place of counts: the SSD gets a page more than it has room for; or it is read where it
does not hold the page."""


@njit
def _span(at: int, ios: I64, request: int, place: int) -> int:
    """Add a page to the request's I/O, or begin one; returns how many there are.

    `ios` has the columns request, first place, pages from there to the last, pages of them that are wanted.
    """
    if at > 0 and ios[at - 1, 0] == request:
        ios[at - 1, 2] = place - ios[at - 1, 1] + 1
        ios[at - 1, 3] += 1
        return at
    ios[at, 0] = request
    ios[at, 1] = place
    ios[at, 2] = ios[at, 3] = 1
    return at + 1


@njit
def _append(at: int, ios: I64, request: int, place: int) -> int:
    """Add a page to the last I/O if it goes on from there, else begin one; returns how many there are.

    `ios` has the columns request, first place, pages.
    """
    if at > 0 and ios[at - 1, 0] == request and ios[at - 1, 1] + ios[at - 1, 2] == place:
        ios[at - 1, 2] += 1
        return at
    ios[at, 0] = request
    ios[at, 1] = place
    ios[at, 2] = 1
    return at + 1


@njit
def _events(
    following: int, at: int, event_at: I32, event_page: I32, event: U8, slot_of: I32, free: I32, numbers: I64,
    written: I32,
) -> int:  # fmt: skip
    """Bring the slots up to what the SSD did up to access `at`; returns the first event after it, or FULL.

    `numbers` has the first free slot in the ring `free`, how many are free, and how many pages were written.
    """
    while following < event_at.size and event_at[following] <= at:
        page = event_page[following]
        if event[following] == WRITTEN:
            if numbers[1] == 0:
                return FULL
            slot = free[numbers[0]]
            numbers[0] = (numbers[0] + 1) % free.size
            numbers[1] -= 1
            slot_of[page] = slot
            written[numbers[2]] = slot
            numbers[2] += 1
        elif slot_of[page] != NOWHERE:
            free[(numbers[0] + numbers[1]) % free.size] = slot_of[page]
            numbers[1] += 1
            slot_of[page] = NOWHERE
        following += 1
    return following


@njit
def reduce_tiers(
    page_ids: I32, request_of: I32, write: Bool, tier: U8, address: I64,
    event_at: I32, event_page: I32, event: U8, fed: bool, slots: int, first: int,
    disk: I64, ssd_reads: I64, ssd_writes: I64, written: I32,
) -> tuple[int, int, int]:  # fmt: skip
    """Split a run into the I/Os of the disk and of the SSD.

    Args:
        page_ids: int32[m] of the accesses, as the next three.
        request_of: int32[m], rising.
        write: bool[m].
        tier: uint8[m] where the access found its page.
        address: int64[n_pages] page number on the disk.
        event_at: int32[e] access at which the SSD did something, rising, as the next two.
        event_page: int32[e] with which page.
        event: uint8[e] what: `WRITTEN`, or the page is no longer there.
        fed: events come before their access looks for its page, as a feed's do between two accesses; else after it.
        slots: pages of the SSD.
        first: access from which on I/Os are kept.
        disk: int64[least: misses and writes, 4], out: request, first page, pages from there to the last, pages of them
            that missed or are written; in order.
        ssd_reads: int64[least: reads of the SSD, 3], out: request, first slot, pages.
        ssd_writes: int64[least: pages written, 3], out: access at which they were written, first slot, pages.
        written: int32[pages written in all], out: the slots, in order.

    Returns:
        How many I/Os of each; or FULL or ABSENT first.
    """
    slot_of, free = np.full(address.size, NOWHERE, np.int32), np.arange(max(slots, 1), dtype=np.int32)
    numbers = np.array([0, slots, 0], np.int64)
    n_disk, n_reads, following = 0, 0, 0
    for i in range(page_ids.size):
        page = page_ids[i]
        kept = i >= first
        upto = i if fed else i - 1
        following = _events(following, upto, event_at, event_page, event, slot_of, free, numbers, written)
        if following == FULL:
            return FULL, i, 0
        if write[i] or tier[i] == DISK:
            if kept:
                n_disk = _span(n_disk, disk, request_of[i], address[page])
        elif tier[i] == SSD:
            if slot_of[page] == NOWHERE:
                return ABSENT, i, 0
            if kept:
                n_reads = _append(n_reads, ssd_reads, request_of[i], slot_of[page])
    if _events(following, page_ids.size, event_at, event_page, event, slot_of, free, numbers, written) == FULL:
        return FULL, page_ids.size - 1, 0
    n_writes, count = 0, 0
    for e in range(event_at.size):
        if event[e] == WRITTEN:
            if event_at[e] >= first:
                n_writes = _append(n_writes, ssd_writes, event_at[e], written[count])
            count += 1
    return n_disk, n_reads, n_writes


@njit
def wait_for_ios(request: I64, pages: I64, times: F64, first: int, total: F64, longest: F64, brought: I64) -> None:
    """Add the I/Os of one tier to what requests wait for.

    Args:
        request: int64[k] of each I/O.
        pages: int64[k] that it brings.
        times: float64[k] µs from its arrival to its end.
        first: the request that is the first of the next three.
        total: float64[r] µs that the pages of each request take in all; added to.
        longest: float64[r] µs of the slowest I/O of each request; raised.
        brought: int64[r] pages that I/Os bring; added to.
    """
    for k in range(request.size):
        r = request[k] - first
        total[r] += pages[k] * times[k]
        longest[r] = max(longest[r], times[k])
        brought[r] += pages[k]
