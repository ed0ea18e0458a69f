"""What is known of a page write when the drive gets it: how long versions lived here and near, and how hot it is.

The clock is the number of page writes of the host. The pages of one request are described as they were before it, so
that no write sees itself or its own request; afterwards they are counted. One kernel serves training and serving.

Inputs, in the order of `NAMES`. Of the page, of its chunk of 32 KiB and of its region of 1 MiB: page writes since it
was last written; the lifetime of the version that died last there; a decayed mean of the logarithms of such lifetimes;
its page writes with decay. Of the request: page writes since the page before and after it in address was written; its
pages, and which of them this is; the pages written in one go before it, each request beginning where the last one
ended; µs since the last write request; the region's number, the page's place in its chunk, and the zero bits that its
number ends in. What is not known is -1.

All is done in whole numbers below 2**24, which float32 holds: the same bits in every language. Logarithms are of base
2, of one plus the value, in units of 1 / `ONE_LOG`, a straight line between powers of two; heats in 1 / `ONE_HEAT`.

Memory is bounded. Pages, chunks and regions are remembered in a table each, of sets of `WAYS` places: a number belongs
to one set, and where all places of it are taken, the one that was written longest ago is forgotten.
"""

from typing import NamedTuple

import numpy as np

from cachezoo.arrays import F32, I32, I64
from cachezoo.kernels.chunks import PAGES_PER_CHUNK
from cachezoo.kernels.jit import njit

LEVELS = ("page", "chunk", "region")
PER_LEVEL = ("age", "life", "mean_life", "heat")
AGE, LIFE, MEAN, HEAT = 0, 1, 2, 3
REQUEST = ("before", "after", "pages", "position", "run", "gap_us", "place", "in_chunk", "alignment")
NAMES = (*(f"{level}_{name}" for level in LEVELS for name in PER_LEVEL), *REQUEST)
UNKNOWN = -1  # below all that is known, so that a tree can tell it apart
MAX_VALUE = 1 << 24  # whole numbers up to here are exact in float32
LOG_BITS, HEAT_BITS = 16, 8
ONE_LOG, ONE_HEAT = 1 << LOG_BITS, 1 << HEAT_BITS
HALF_LIFE = 8192
MOST_ALIGNED = 10
REGION_PAGES = 128
WAYS = 4
PAGES_KEPT = 1 << 20  # pages that are remembered, unless a number is given
PER_PAGE = (1, 4, 16)  # how many times as many pages as chunks and regions are remembered
MIX, HIGH = 0x9E3779B1, 0x7FFFFFFF  # whose product 63 bits hold
RECORD_BYTES = 32  # of each place, with 64-bit numbers and clocks
NOW, RUN, END, TIME = 0, 1, 2, 3


class Requests(NamedTuple):
    """m write requests."""

    first: I64  # int64[m] number of the first page: address // bytes of a page
    pages: I64  # int64[m] pages that each touches
    gap_us: I64  # int64[m] µs from the write request before; -1 where there is none in the cycle


class Seen(NamedTuple):
    """What was seen of pages, chunks or regions, in places; those of one set lie side by side."""

    key: I64  # int64[places] number + 1; 0 is free
    last: I64  # int64[places] page write that wrote it last
    life: I32  # int32[places] lifetime of the version that died last there, -1 for none
    mean: I32  # int32[places] decayed mean of the logarithms of such lifetimes, -1 for none
    heat: I32  # int32[places] page writes, halved at each multiple of the half-life


class State(NamedTuple):
    """What is remembered from write to write."""

    pages: Seen
    chunks: Seen
    regions: Seen
    clock: I64  # int64[4]: page writes so far; pages in one go; where they ended; time of the last request, µs or -1


def new_state(pages: int = PAGES_KEPT) -> State:
    """The state before the first write.

    Args:
        pages: that are remembered at most, a power of two of `WAYS` times the largest of `PER_PAGE` at least.
    """
    page, chunk, region = (_unseen(pages // divisor) for divisor in PER_PAGE)
    return State(page, chunk, region, np.array([0, 0, -1, -1], np.int64))


def _unseen(places: int) -> Seen:
    wide, narrow = (np.zeros((count, places), dtype) for count, dtype in ((2, np.int64), (3, np.int32)))
    return Seen(wide[0], wide[1], narrow[0], narrow[1], narrow[2])


@njit
def log2_of(value: int) -> int:
    """Base-2 logarithm of 1 + value, as the module says; value is from 0 to `MAX_VALUE`."""
    number, bits = value + 1, 0
    while number >> (bits + 1):
        bits += 1
    return (bits << LOG_BITS) + ((number << LOG_BITS) >> bits) - ONE_LOG


@njit
def first_place(number: int, places: int) -> int:
    """Where the set of a number begins: neighbours in different sets, and so are multiples of the sets."""
    sets, bits = places // WAYS, 0
    while sets >> (bits + 1):
        bits += 1
    return ((number + (number >> bits & HIGH) * MIX) & (sets - 1)) * WAYS


@njit
def find(seen: Seen, number: int) -> int:
    """The place of a number, -1 where it is not remembered."""
    low = first_place(number, len(seen.key))
    for k in range(low, low + WAYS):
        if seen.key[k] == number + 1:
            return k
    return -1


@njit
def _heat(seen: Seen, k: int, now: int, half_life: int) -> int:
    return int(seen.heat[k] >> min(now // half_life - seen.last[k] // half_life, 31))


@njit
def _describe(seen: Seen, number: int, now: int, half_life: int, row: F32) -> None:
    """Fill the values of one level."""
    k = find(seen, number)
    if k < 0:
        row[AGE] = row[LIFE] = row[MEAN] = UNKNOWN
        row[HEAT] = 0
        return
    row[AGE] = min(now - seen.last[k], MAX_VALUE)
    row[LIFE] = seen.life[k]
    row[MEAN] = seen.mean[k]
    row[HEAT] = _heat(seen, k, now, half_life)


@njit
def _place_for(seen: Seen, number: int) -> int:
    """The place of a number; where it has none, a free one of its set, or that of the one that it replaces."""
    low = first_place(number, len(seen.key))
    taken = low
    for k in range(low, low + WAYS):
        if seen.key[k] == number + 1:
            return k
        if seen.key[taken] != 0 and (seen.key[k] == 0 or seen.last[k] < seen.last[taken]):
            taken = k
    seen.key[taken] = number + 1
    seen.life[taken] = seen.mean[taken] = UNKNOWN
    seen.heat[taken] = 0
    seen.last[taken] = 0
    return taken


@njit
def _count(seen: Seen, number: int, now: int, life: int, half_life: int) -> None:
    """Count a page write, by which a version dies that lived so long; -1 where none does."""
    k = _place_for(seen, number)
    seen.heat[k] = _heat(seen, k, now, half_life) + ONE_HEAT
    seen.last[k] = now
    if life >= 0:
        own = log2_of(life)
        seen.mean[k] = own if seen.mean[k] < 0 else (3 * seen.mean[k] + own) >> 2
        seen.life[k] = life


@njit
def _since(pages: Seen, number: int, now: int) -> int:
    """Page writes since a page was written; unknown where it never was."""
    k = find(pages, number) if number >= 0 else -1
    return min(now - pages.last[k], MAX_VALUE) if k >= 0 else UNKNOWN


@njit
def _aligned(number: int) -> int:
    """Zero bits at the end of a page's number, at most `MOST_ALIGNED`."""
    bits = 0
    while bits < MOST_ALIGNED and not number >> bits & 1:
        bits += 1
    return bits


@njit
def _fill(requests: Requests, state: State, half_life: int, out: F32) -> None:
    """Describe, then count, request by request."""
    wide = len(PER_LEVEL)
    clock, at = state.clock, 0
    for m in range(len(requests.first)):
        first, count, now = requests.first[m], requests.pages[m], clock[NOW]
        run = clock[RUN] if clock[END] >= 0 and (first == clock[END] or first == clock[END] + 1) else 0
        for i in range(count):
            number, row = first + i, out[at + i]
            _describe(state.pages, number, now + i, half_life, row[:wide])
            _describe(state.chunks, number // PAGES_PER_CHUNK, now + i, half_life, row[wide : 2 * wide])
            _describe(state.regions, number // REGION_PAGES, now + i, half_life, row[2 * wide : 3 * wide])
            own = row[3 * wide :]
            own[0] = _since(state.pages, number - 1, now + i)
            own[1] = _since(state.pages, number + 1, now + i)
            own[2] = min(count, MAX_VALUE)
            own[3] = min(i, MAX_VALUE)
            own[4] = min(run, MAX_VALUE)
            own[5] = min(requests.gap_us[m], MAX_VALUE)
            own[6] = min(number // REGION_PAGES, MAX_VALUE)
            own[7] = number % PAGES_PER_CHUNK
            own[8] = _aligned(number)
        for i in range(count):
            number = first + i
            k = find(state.pages, number)
            life = min(now + i - state.pages.last[k], MAX_VALUE) if k >= 0 else -1
            _count(state.chunks, number // PAGES_PER_CHUNK, now + i, life, half_life)
            _count(state.regions, number // REGION_PAGES, now + i, life, half_life)
            _count(state.pages, number, now + i, life, half_life)
        clock[RUN], clock[END], clock[NOW] = run + count, first + count - 1, now + count
        at += count


def describe_writes(requests: Requests, state: State | None = None, half_life: int = HALF_LIFE) -> F32:
    """float32[page writes, len(NAMES)]: the inputs of each page write, from what came before its request alone.

    Args:
        requests: the write requests of a drive, those that follow the ones that the state has seen.
        state: what was remembered, brought up to date here; None for the drive's first write.
        half_life: page writes after which a heat counts half.
    """
    out = np.empty((int(requests.pages.sum()), len(NAMES)), np.float32)
    _fill(requests, new_state() if state is None else state, half_life, out)
    return out
