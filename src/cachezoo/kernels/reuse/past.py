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
import numpy.typing as npt

from cachezoo.arrays import F32, F64, I32, I64, U8
from cachezoo.kernels.jit import njit
from cachezoo.kernels.step import step

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
# Columns of what is remembered of a page; the three counts have half-lives of 1/4, 1 and 4 C.
LAST, COUNT, _, _, LOG_INTERVAL, WAS_WRITE, WRITES, SEEN_TIMES = range(8)
PAGE_NUMBERS = 8
UNSEEN = -1.0
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


class Past(NamedTuple):
    """What is remembered. Rows are of numbers that are read together, accesses by their number, `UNSEEN` before any.

    Attributes:
        pages: float64[n_pages, PAGE_NUMBERS] columns `LAST` to `SEEN_TIMES`: latest access, decayed counts at that time
            with the three half-lives, log2 of the latest interval over C, was it written, share of writes, accesses.
        regions: float64[regions, 3] latest access, counts with half-lives of C and 4 C.
        stretches: float64[stretches, 2] latest access, count with a half-life of 4 C.
        keys: uint16 or uint32[ring, 3], rows of `rates` that each access counts for. The ring is of the accesses that
            are not counted yet: access number i is its entry i modulo its length, a power of two.
        again: int32[ring], accesses to the page's next one, 0 while that is not seen.
        rates: float64[rows, 2, 2], for each horizon the part used again, and the accesses counted.
        settled: int64[2], accesses counted so far, for each horizon.
        run: float64[1], pages of the run so far.
        present: float64[…, 7] of the present request's accesses: counts of the page, log2 of its interval, counts of
            the region and the stretch, before the request.
    """

    pages: F64
    regions: F64
    stretches: F64
    keys: npt.NDArray[np.uint16 | np.uint32]
    again: I32
    rates: F64
    settled: I64
    run: F64
    present: F64


@njit
def places(start: I64, page_ids: I32, volume: I64, first_page: I64, n_pages: int) -> I64:
    """int64[2, n_pages]: the volume of each page, and its number there.

    Args:
        start: int64[n + 1], first page access of each request.
        page_ids: int32[m] in [0, n_pages).
        volume: int64[n] of each request.
        first_page: int64[n] the number of its first page.
        n_pages: distinct pages.
    """
    found = np.zeros((2, n_pages), np.int64)
    for r in range(len(volume)):
        for i in range(start[r], start[r + 1]):
            found[0, page_ids[i]], found[1, page_ids[i]] = volume[r], first_page[r] + i - start[r]
    return found


def make(asked: Asked, capacity: int) -> Past:
    """Nothing is known yet; C is `capacity` pages."""
    n_pages, longest = len(asked.region), int(np.diff(asked.start).max(initial=0))
    ring = 1 << min(len(asked.page_ids), HORIZONS[-1] * capacity + longest).bit_length()
    regions, stretches = (int(ids.max(initial=-1)) + 1 for ids in (asked.region, asked.stretch))
    rates = np.zeros((int(asked.process.max(initial=-1)) + 1 + CONTEXTS + SEEN_KINDS, 2, 2))
    rates[:, :, 0] = PRIOR_RATE
    width = np.uint16 if len(rates) <= 1 << 16 else np.uint32
    pages = np.zeros((n_pages, PAGE_NUMBERS))
    pages[:, LAST], pages[:, LOG_INTERVAL], pages[:, WAS_WRITE] = UNSEEN, NEVER, UNKNOWN
    return Past(
        pages, np.full((regions, 3), UNSEEN), np.full((stretches, 2), UNSEEN), np.zeros((ring, 3), width),
        np.zeros(ring, np.int32), rates, np.zeros(2, np.int64), np.zeros(1), np.zeros((longest, 7)),
    )  # fmt: skip


@step
def _settle(past: Past, before: int, horizon: int, which: int) -> None:
    """Count the accesses that are `horizon` accesses old by access number `before`."""
    first, end = past.settled[which], before - horizon
    for j in range(first, end):
        at = j & len(past.again) - 1
        used = 1.0 if 0 < past.again[at] <= horizon else 0.0
        for k in range(3):
            rate = past.rates[past.keys[at, k], which]
            rate[1] += 1
            rate[0] += np.divide(used - rate[0], min(rate[1], MEMORY[k]))
    past.settled[which] = max(first, end)


@step
def _look(asked: Asked, past: Past, r: int, capacity: float) -> float:
    """Write `present`, what is known of request r's accesses before it; returns the sum of their longest counts.

    A count fades by 2**(-age / half-life). Half-lives differ by powers of two, and so do the exponents, exactly.
    """
    first, together = asked.start[r], 0.0
    for i in range(first, asked.start[r + 1]):
        page_id = asked.page_ids[i]
        page, now = past.pages[page_id], past.present[i - first]
        region, stretch = past.regions[asked.region[page_id]], past.stretches[asked.stretch[page_id]]
        now[:] = 0.0
        if page[LAST] >= 0:
            ages = (page[LAST] - i) / capacity
            now[0] = page[COUNT] * math.exp2(4 * ages)
            now[1] = page[COUNT + 1] * math.exp2(ages)
            now[2] = page[COUNT + 2] * math.exp2(ages / 4)
            now[3] = math.log2(-ages)
        if region[0] >= 0:
            ages = (region[0] - i) / capacity
            slow = math.exp2(ages / 4)
            now[4] = region[1] * math.exp2(ages)
            now[5] = region[2] * slow
            now[6] = stretch[1] * (slow if stretch[0] == region[0] else math.exp2((stretch[0] - i) / capacity / 4))
        elif stretch[0] >= 0:
            now[6] = stretch[1] * math.exp2((stretch[0] - i) / capacity / 4)
        together += now[2]
    return together


@step
def _describe(asked: Asked, past: Past, r: int, capacity: float, rows: F32, base: int) -> None:
    """Write the inputs of request r's accesses, from what was known before it; row 0 is of access `base`."""
    first, end = asked.start[r], asked.start[r + 1]
    size, write, flags = end - first, int(asked.op[r]), asked.flags[r]
    log_size, log_run = math.log2(size), math.log2(past.run[0])
    own = past.rates.shape[0] - SEEN_KINDS - CONTEXTS
    context = own + ((write * STEPS + min(STEPS - 1, int(log_size))) * STEPS + min(STEPS - 1, int(log_run))) * 2
    together = _look(asked, past, r, capacity)
    for i in range(first, end):
        page_id, row, now = asked.page_ids[i], rows[i - base], past.present[i - first]
        page, known = past.pages[page_id], past.regions[asked.region[page_id], 0]
        seen = int(page[SEEN_TIMES])
        row[INTERVAL] = now[3] if seen > 0 else NEVER
        row[BEFORE] = page[LOG_INTERVAL]
        row[CHANGE] = row[INTERVAL] - row[BEFORE] if seen > 1 else 0.0
        row[QUARTER], row[ONE], row[FOUR] = now[0], now[1], now[2]
        row[WRITE], row[WROTE] = write, page[WAS_WRITE]
        row[SHARE] = (1 - LATEST) * page[WRITES] + LATEST * write if seen > 0 else write
        row[PAGES], row[PLACE], row[RUN] = log_size, (i - first) / size, log_run
        row[REGION] = math.log2((i - known) / capacity) if known >= 0 else NEVER
        row[REGION_ONE], row[REGION_FOUR], row[STRETCH] = now[4], now[5], now[6]
        row[COMPANIONS] = (together - float(row[FOUR])) / (size - 1) if size > 1 else UNKNOWN
        for k in range(3):
            row[METADATA + k] = UNKNOWN if flags & FLAG_UNKNOWN else (flags >> k) & 1
        at = i & len(past.again) - 1
        keys, past.again[at] = past.keys[at], 0
        keys[0], keys[1] = asked.process[r], context + (seen > 0)
        keys[2] = own + CONTEXTS + min(SEEN_STEPS - 1, seen) * 2 + write
        for k in range(3):
            row[PROCESS + 2 * k] = past.rates[keys[k], 0, 0]
            row[PROCESS + 2 * k + 1] = past.rates[keys[k], 1, 0]


@step
def _remember(asked: Asked, past: Past, r: int, capacity: float) -> None:
    """Take request r's accesses, each to another page, into what is known."""
    write, first = asked.op[r], asked.start[r]
    one_later, slow_later = math.exp2(-1.0 / capacity), math.exp2(-1.0 / capacity / 4)
    for i in range(first, asked.start[r + 1]):
        page_id = asked.page_ids[i]
        page, now = past.pages[page_id], past.present[i - first]
        region, stretch, last = past.regions[asked.region[page_id]], past.stretches[asked.stretch[page_id]], page[LAST]
        if last >= 0:
            if i - last < len(past.again):
                past.again[int(last) & len(past.again) - 1] = i - int(last)
            page[LOG_INTERVAL] = now[3]
            page[WRITES] = (1 - LATEST) * page[WRITES] + LATEST * write
        else:
            page[WRITES] = write
        for k in range(3):
            page[COUNT + k] = now[k] + 1
        # The request's own accesses come one right after the other.
        region[1] = (region[1] * one_later if region[0] >= first else now[4]) + 1
        region[2] = (region[2] * slow_later if region[0] >= first else now[5]) + 1
        stretch[1] = (stretch[1] * slow_later if stretch[0] >= first else now[6]) + 1
        page[LAST] = region[0] = stretch[0] = i
        page[WAS_WRITE] = write
        page[SEEN_TIMES] += 1


@njit
def describe(asked: Asked, past: Past, capacity: int, span: tuple[int, int], rows: F32) -> None:
    """Inputs of the accesses of requests `span[0]` to before `span[1]`, which follow those described before.

    Args:
        asked: the whole trace's requests.
        past: changed in place.
        capacity: C, pages.
        span: requests.
        rows: float32, a row of `WIDTH` for each access of these requests, written.
    """
    base = asked.start[span[0]]
    for r in range(span[0], span[1]):
        for which in range(2):
            _settle(past, asked.start[r], HORIZONS[which] * capacity, which)
        pages = asked.start[r + 1] - asked.start[r]
        past.run[0] = past.run[0] + pages if asked.follows[r] else pages
        _describe(asked, past, r, float(capacity), rows, base)
        _remember(asked, past, r, float(capacity))
