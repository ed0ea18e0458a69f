"""What is known of a page at each of its accesses: inputs of the next-use forest.

All of it comes from page accesses before the present request, and from the present request's own operation, size and
place. Times are counted in page accesses over the capacity C, so that one forest serves any capacity; there is no
address and no clock in it. A half-life of h capacities means that what is counted halves every h * C accesses.

    column             meaning                                                                          where unknown
    interval           log2 of the accesses since the page's last one, over C                           `NEVER`
    interval_before    the same between its last two                                                    `NEVER`
    interval_change    interval - interval_before; 0 where either is unknown
    count_quarter, count_one, count_four   its accesses, with half-lives of 1/4, 1, 4 C
    write, wrote_before   is this a write, was the page's last access one                               -1
    write_share        writes among its accesses, the latest weighted 0.3
    request_pages      log2 of the request's pages
    place              of the page in its request, in [0, 1)
    run                log2 of the pages of requests that each begin where the one before ended
    region_interval, region_count_one, region_count_four   as above, of its 256 KiB region's accesses   `NEVER`
    stretch_count_four of its 2 MiB stretch's
    companions         mean count_four of the request's other pages                                     -1
    metadata, readahead, sync   the request's flags                                                     -1
    process_soon, process_reused   of earlier accesses by the process: part used again within C, 4 C
    context_soon, context_reused   the same of accesses with the operation, size, run and novelty of this one
    seen_soon, seen_reused         the same of accesses with the operation, to pages seen as often as this one

The last six rows are learned as the trace goes: an access counts once C (4 C) accesses have gone by, so none of them
sees its own future. They are what adapts a forest from other programs to this one; a process is known by its number
alone, and where processes are not recorded all accesses are one process's.
Source: the inputs of LRB (Song et al., NSDI 2020) in units of the capacity, and target encoding, done online.
"""

import math
from typing import NamedTuple

import numpy as np

from cachezoo.arrays import F32, F64, I32, I64, U8
from cachezoo.kernels.jit import njit

NAMES = (
    "interval", "interval_before", "interval_change", "count_quarter", "count_one", "count_four",
    "write", "wrote_before", "write_share", "request_pages", "place", "run",
    "region_interval", "region_count_one", "region_count_four", "stretch_count_four", "companions",
    "metadata", "readahead", "sync",
    "process_soon", "process_reused", "context_soon", "context_reused", "seen_soon", "seen_reused",
)  # fmt: skip
WIDTH = len(NAMES)
(
    INTERVAL, BEFORE, CHANGE, QUARTER, ONE, FOUR,
    WRITE, WROTE, SHARE, PAGES, PLACE, RUN,
    REGION, REGION_ONE, REGION_FOUR, STRETCH, COMPANIONS,
    METADATA, READAHEAD, SYNC,
    PROCESS, _, CONTEXT, _, SEEN, _,
) = range(WIDTH)  # fmt: skip
NEVER = 10.0
UNKNOWN = -1.0
HALF_LIVES = (0.25, 1.0, 4.0)  # capacities
LATEST = 0.3  # weight of the latest access in `write_share`
HORIZONS = (1, 4)  # capacities within which an access is used again "soon", or at all
PRIOR_RATE = 0.3  # of a context not seen yet
# A rate is the mean of so many of the latest accesses, about, of a process, a context, pages seen as often.
MEMORY = (2000.0, 1000.0, 4000.0)
STEPS = 8  # of log2 sizes and runs that make a context
CONTEXTS = 2 * STEPS * STEPS * 2
SEEN_STEPS = 8
SEEN_KINDS = 2 * SEEN_STEPS
REGION_PAGES, STRETCH_PAGES = 64, 512
FLAG_METADATA, FLAG_READAHEAD, FLAG_SYNC, FLAG_UNKNOWN = 1, 2, 4, 8


class Asked(NamedTuple):
    """The requests of a trace.

    Attributes:
        start: int64[n + 1], first page access of each request.
        page_ids: int32[m] in [0, n_pages).
        op: uint8[n], 1 a write.
        follows: uint8[n], 1 where a request begins at the byte at which the one before ended.
        process: int32[n] in [0, processes).
        flags: uint8[n], bits `FLAG_…`.
        region, stretch: int32[n_pages], dense ids of a page's 256 KiB and 2 MiB.
    """

    start: I64
    page_ids: I32
    op: U8
    follows: U8
    process: I32
    flags: U8
    region: I32
    stretch: I32


class Counts(NamedTuple):
    """Decayed counts: int64[n] `last` access, -1 before the first, and float64[n, k] `sums` at that time."""

    last: I64
    sums: F64


class Past(NamedTuple):
    """What is remembered.

    Attributes:
        pages: counts of pages with the three half-lives.
        interval: float64[n_pages], log2 of each page's latest interval over C.
        wrote, share: float64[n_pages].
        seen: int32[n_pages], accesses so far.
        regions, stretches: counts with half-lives of 1 and 4 C, and of 4 C.
        keys: int32[m, 3], rows of `rates` that each access counts for.
        again: int32[m], accesses to the page's next one, 0 while that is not seen.
        rates, counted: float64[2, rows], for each horizon the part used again, and the accesses counted.
        settled: int64[2], accesses counted so far, for each horizon.
        run: float64[1], pages of the run so far.
    """

    pages: Counts
    interval: F64
    wrote: F64
    share: F64
    seen: I32
    regions: Counts
    stretches: Counts
    keys: I32
    again: I32
    rates: F64
    counted: F64
    settled: I64
    run: F64


def _counts(n: int, kinds: int) -> Counts:
    return Counts(np.full(n, -1, np.int64), np.zeros((n, kinds)))


def make(asked: Asked) -> Past:
    """Nothing is known yet."""
    n_pages, m = len(asked.region), len(asked.page_ids)
    regions, stretches = (int(ids.max(initial=-1)) + 1 for ids in (asked.region, asked.stretch))
    rows = int(asked.process.max(initial=-1)) + 1 + CONTEXTS + SEEN_KINDS
    return Past(
        _counts(n_pages, len(HALF_LIVES)), np.full(n_pages, NEVER), np.full(n_pages, UNKNOWN), np.zeros(n_pages),
        np.zeros(n_pages, np.int32), _counts(regions, 2), _counts(stretches, 1), np.zeros((m, 3), np.int32),
        np.zeros(m, np.int32), np.full((2, rows), PRIOR_RATE), np.zeros((2, rows)), np.zeros(2, np.int64), np.zeros(1),
    )  # fmt: skip


@njit
def _settle(past: Past, before: int, horizon: int, which: int) -> None:
    """Count the accesses that are `horizon` accesses old by access number `before`."""
    j = past.settled[which]
    while j + horizon < before:
        used = 1.0 if 0 < past.again[j] <= horizon else 0.0
        for k in range(3):
            row = past.keys[j, k]
            past.counted[which, row] += 1
            past.rates[which, row] += (used - past.rates[which, row]) / min(past.counted[which, row], MEMORY[k])
        j += 1
    past.settled[which] = j


@njit
def _count(counts: Counts, row: int, kind: int, i: int, half_life: float) -> float:
    """A decayed count at access number i, that access not included."""
    last = counts.last[row]
    return float(counts.sums[row, kind] * math.exp2((last - i) / half_life)) if last >= 0 else 0.0


@njit
def _describe(asked: Asked, past: Past, r: int, capacity: float, rows: F32) -> None:
    """Write the inputs of request r's accesses, from what was known before it."""
    first, end = asked.start[r], asked.start[r + 1]
    size, write, flags = end - first, int(asked.op[r]), asked.flags[r]
    log_size, log_run = math.log2(size), math.log2(past.run[0])
    own = past.rates.shape[1] - SEEN_KINDS - CONTEXTS
    context = own + ((write * STEPS + min(STEPS - 1, int(log_size))) * STEPS + min(STEPS - 1, int(log_run))) * 2
    together = 0.0
    for i in range(first, end):
        together += _count(past.pages, asked.page_ids[i], 2, i, HALF_LIVES[2] * capacity)
    for i in range(first, end):
        page, row = asked.page_ids[i], rows[i]
        region, stretch, last = asked.region[page], asked.stretch[page], past.pages.last[page]
        row[INTERVAL] = math.log2((i - last) / capacity) if last >= 0 else NEVER
        row[BEFORE] = past.interval[page]
        row[CHANGE] = row[INTERVAL] - row[BEFORE] if past.seen[page] > 1 else 0.0
        for k in range(len(HALF_LIVES)):
            row[QUARTER + k] = _count(past.pages, page, k, i, HALF_LIVES[k] * capacity)
        row[WRITE], row[WROTE] = write, past.wrote[page]
        row[SHARE] = (1 - LATEST) * past.share[page] + LATEST * write if last >= 0 else write
        row[PAGES], row[PLACE], row[RUN] = log_size, (i - first) / size, log_run
        known = past.regions.last[region]
        row[REGION] = math.log2((i - known) / capacity) if known >= 0 else NEVER
        row[REGION_ONE] = _count(past.regions, region, 0, i, capacity)
        row[REGION_FOUR] = _count(past.regions, region, 1, i, 4 * capacity)
        row[STRETCH] = _count(past.stretches, stretch, 0, i, 4 * capacity)
        row[COMPANIONS] = (together - float(row[FOUR])) / (size - 1) if size > 1 else UNKNOWN
        for k in range(3):
            row[METADATA + k] = UNKNOWN if flags & FLAG_UNKNOWN else (flags >> k) & 1
        keys = past.keys[i]
        keys[0], keys[1] = asked.process[r], context + (last >= 0)
        keys[2] = own + CONTEXTS + min(SEEN_STEPS - 1, past.seen[page]) * 2 + write
        for k in range(3):
            row[PROCESS + 2 * k] = past.rates[0, keys[k]]
            row[PROCESS + 2 * k + 1] = past.rates[1, keys[k]]


@njit
def _add(counts: Counts, row: int, kind: int, i: int, half_life: float) -> None:
    """One access more in a decayed count; `last` stays as it is."""
    counts.sums[row, kind] = _count(counts, row, kind, i, half_life) + 1


@njit
def _remember(asked: Asked, past: Past, r: int, capacity: float) -> None:
    """Take request r's accesses into what is known."""
    write = asked.op[r]
    for i in range(asked.start[r], asked.start[r + 1]):
        page = asked.page_ids[i]
        region, stretch, last = asked.region[page], asked.stretch[page], past.pages.last[page]
        if last >= 0:
            past.again[last] = i - last
            past.interval[page] = math.log2((i - last) / capacity)
            past.share[page] = (1 - LATEST) * past.share[page] + LATEST * write
        else:
            past.share[page] = write
        for k in range(len(HALF_LIVES)):
            _add(past.pages, page, k, i, HALF_LIVES[k] * capacity)
        _add(past.regions, region, 0, i, capacity)
        _add(past.regions, region, 1, i, 4 * capacity)
        _add(past.stretches, stretch, 0, i, 4 * capacity)
        past.pages.last[page] = past.regions.last[region] = past.stretches.last[stretch] = i
        past.wrote[page] = write
        past.seen[page] += 1


@njit
def describe(asked: Asked, past: Past, capacity: int, span: tuple[int, int], rows: F32) -> None:
    """Inputs of the accesses of requests `span[0]` to before `span[1]`, which follow those described before.

    Args:
        asked: the whole trace's requests.
        past: changed in place.
        capacity: C, pages.
        span: requests.
        rows: float32[m, WIDTH], written for the accesses of these requests.
    """
    for r in range(span[0], span[1]):
        for which in range(2):
            _settle(past, asked.start[r], HORIZONS[which] * capacity, which)
        pages = asked.start[r + 1] - asked.start[r]
        past.run[0] = past.run[0] + pages if asked.follows[r] else pages
        _describe(asked, past, r, float(capacity), rows)
        _remember(asked, past, r, float(capacity))
