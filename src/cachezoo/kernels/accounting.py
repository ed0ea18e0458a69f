"""What a cache's run comes to: hits by page, request and byte, and what it cost the SSD and the disk."""

from typing import NamedTuple

import numpy as np

from cachezoo.arrays import I32, I64, U8, Bool
from cachezoo.kernels.jit import njit
from cachezoo.kernels.outcome import ADMITTED, HIT, PREFETCH, PREFETCHED, REQUEST, WRITE
from cachezoo.kernels.step import unlocked

# Places in the counts.
(
    REQUESTS, REQUEST_HITS, ACCESSES, HITS, BYTES, BYTE_HITS, SSD_WRITES, FETCHED, USEFUL, REPLACED, DIRTY_REPLACED,
    DISK_WRITES, WRITES, WRITE_HITS,
) = range(14)  # fmt: skip
N_COUNTS = 14
CLEAN, DIRTY, FRESH = 0, 1, 2
SEEN, BLOCK, FRESH_SEEN = 0, 1, 2


class Record(NamedTuple):
    """What was asked of a cache in a span of whole requests, and what it did."""

    page_ids: I32  # int32[m] of the span, like the next two
    flags: U8  # uint8[m]
    page_bytes: I32  # int32[m]
    outcome: U8  # uint8[m] of the run
    victim: I32  # int32[m] of the run; -1 throughout where who left is not known


class Tally(NamedTuple):
    """What has been counted of a run so far, and what the next span needs of those before.

    Attributes:
        mark: uint8[n_pages] whether a page in the cache is dirty, and whether it was prefetched and not yet hit.
        counts: int64[14]: requests that begin where counting does or later, and those of them that hit in full; page
            accesses, hits; the same in bytes; pages written to the SSD (admitted, prefetched, or written on a hit);
            pages prefetched, and those of them that were hit before they left; pages evicted, and those of them that
            were dirty; pages written to the disk; page accesses of writes, and those of them that hit.
        edges: int64[B + 1] where blocks of counted accesses begin and end, from 0 to all of them.
        block_hits: int64[B] hits of each.
        at: int64[3] accesses of the stream seen so far, prefetches too; the block at work; whether anything has been
            prefetched.
    """

    mark: U8
    counts: I64
    edges: I64
    block_hits: I64
    at: I64


def blank(n_pages: int, edges: I64) -> Tally:
    """Nothing has been counted.

    Args:
        n_pages: distinct pages.
        edges: as of `Tally`.
    """
    blocks = max(len(edges) - 1, 0)
    counts, hits, at = np.zeros(N_COUNTS, np.int64), np.zeros(blocks, np.int64), np.zeros(3, np.int64)
    return Tally(np.zeros(n_pages, np.uint8), counts, edges, hits, at)


@njit
def _missing_spans(flags: U8, page_bytes: I32, outcome: U8, missing: I64) -> None:
    row, span, last = -1, 0, 0
    for i in range(flags.size):
        if flags[i] & REQUEST:
            row += 1
            span = last = missing[row] = 0
        if flags[i] & PREFETCH:
            continue
        missed = outcome[i] != HIT
        span += (missed | (span > 0)) * page_bytes[i]
        last = missed * span + (not missed) * last
        missing[row] = last


@njit
def _walk(record: Record, mark: U8, fresh: int, back: bool, low: int, high: int) -> int:
    """Keep the marks over accesses that do not count; whether anything has been prefetched by now."""
    page_ids, flags, _, outcome, victim = record
    for i in range(low, high):
        flag, what, left = flags[i], outcome[i], victim[i]
        if left >= 0:
            mark[left] = CLEAN
        if what == PREFETCHED:
            mark[page_ids[i]] = FRESH
            fresh = 1
        if flag & PREFETCH:
            continue
        if what == HIT and fresh:
            mark[page_ids[i]] &= DIRTY
        if flag & WRITE and back and (what == HIT or what == ADMITTED):
            mark[page_ids[i]] |= DIRTY
    return fresh


@njit
def _count(record: Record, tally: Tally, back: bool, low: int, high: int) -> None:
    """Count accesses, all of which count, but for requests."""
    page_ids, flags, page_bytes, outcome, victim = record
    mark, counts, edges, block_hits, at = tally
    fresh, block = at[FRESH_SEEN], at[BLOCK]
    accesses, end = counts[ACCESSES], edges[block + 1] if block < block_hits.size else -1
    hits = n_bytes = byte_hits = ssd = fetched = useful = replaced = dirty = disk = writes = write_hits = in_block = 0
    for i in range(low, high):
        flag, what, left = flags[i], outcome[i], victim[i]
        if left >= 0:
            replaced += 1
            dirty += mark[left] & DIRTY != 0
            mark[left] = CLEAN
        if what == PREFETCHED:
            mark[page_ids[i]] = FRESH
            fresh = 1
            fetched += 1
            ssd += 1
        if flag & PREFETCH:
            continue
        if accesses == end:
            block_hits[block] += in_block
            in_block = 0
            block += 1
            end = edges[block + 1] if block < block_hits.size else -1
        accesses += 1
        size = page_bytes[i]
        n_bytes += size
        write = flag & WRITE != 0
        writes += write
        # Sums rather than branches: whether an access hits can hardly be foretold.
        hit, admitted = what == HIT, what == ADMITTED
        hits += hit
        in_block += hit
        byte_hits += hit * size
        write_hits += hit & write
        ssd += admitted | (hit & write)
        if hit and fresh:  # else there is nothing fresh, and a long trace's marks are far away
            useful += mark[page_ids[i]] & FRESH != 0
            mark[page_ids[i]] &= DIRTY
        stays = (hit | admitted) & back
        disk += write & (not stays)
        if write & stays:
            mark[page_ids[i]] |= DIRTY
    if block < block_hits.size:
        block_hits[block] += in_block
    at[FRESH_SEEN], at[BLOCK], counts[ACCESSES] = fresh, block, accesses
    counts[HITS] += hits
    counts[BYTES] += n_bytes
    counts[BYTE_HITS] += byte_hits
    counts[SSD_WRITES] += ssd
    counts[FETCHED] += fetched
    counts[USEFUL] += useful
    counts[REPLACED] += replaced
    counts[DIRTY_REPLACED] += dirty
    counts[DISK_WRITES] += disk + dirty
    counts[WRITES] += writes
    counts[WRITE_HITS] += write_hits


@unlocked
@njit
def account(record: Record, tally: Tally, first: int, write_back: bool, missing: I64) -> None:
    """Count a span of a run, from one access on; what is dirty there is what the accesses before left dirty.

    Args:
        record: the next span, of whole requests.
        tally: written.
        first: the access of the whole stream at which counting begins.
        write_back: writes that enter the cache, or hit, reach the disk when the page leaves; otherwise at once.
        missing: int64[requests of the span], written: bytes that each request asks for from its first page that was not
            resident as it came to it to its last such page; 0 where all were.
    """
    flags, size = record.flags, record.flags.size
    at, counts = tally.at, tally.counts
    start = min(max(first - at[SEEN], 0), size)
    _missing_spans(flags, record.page_bytes, record.outcome, missing)
    at[FRESH_SEEN] = _walk(record, tally.mark, at[FRESH_SEEN], write_back, 0, start)
    _count(record, tally, write_back, start, size)
    begun = 0
    for i in range(start, size):
        begun += flags[i] & REQUEST != 0
    full = 0
    for row in range(missing.size - begun, missing.size):
        full += missing[row] == 0
    counts[REQUESTS] += begun
    counts[REQUEST_HITS] += full
    at[SEEN] += size


@njit
def residents(app: I32, entered: Bool, victim: I32, owner: I32, begins: I64, held: I64) -> None:
    """Count at several moments.

    Args:
        app: int32[M] whose each reference is.
        entered: bool[M] whether its page entered.
        victim: int32[M] the page that left for it, below 0 where none did.
        owner: int32[n_pages] whose each page is.
        begins: int64[W], rising: the references before which it is counted.
        held: int64[W, A], written.
    """
    now = np.zeros(held.shape[1], np.int64)
    look = 0
    for i in range(app.size):
        if look < begins.size and begins[look] == i:
            held[look] = now
            look += 1
        if entered[i]:
            now[app[i]] += 1
        if victim[i] >= 0:
            now[owner[victim[i]]] -= 1
