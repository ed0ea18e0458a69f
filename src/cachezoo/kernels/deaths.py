"""What is known of a page write when the drive gets it: how long versions lived here and near, and how hot it is.

The clock is the number of page writes of the host. The pages of one request are described as they were before it, so
that no write sees itself or its own request; afterwards they are counted. One kernel serves training and serving.

Inputs, in the order of `NAMES`. Of the page, of its chunk of 32 KiB and of its region of 1 MiB: page writes since it
was last written; the lifetime of the version that died last there; a decayed mean of the logarithms of such lifetimes;
its page writes with decay. Of the request: page writes since the page before and after it in address was written; its
pages, and which of them this is; the pages written in one go before it, each request beginning where the last one
ended; µs since the last write request; the region's number, the page's place in its chunk, and the zero bits that its
number ends in. What is not known is -1.

Logarithms are of base 2, of one plus the value, exact at powers of two and a straight line between them: no libm, hence
the same bits everywhere.
"""

import math
from typing import NamedTuple

import numpy as np

from cachezoo.arrays import F32, F64, I32, I64, Bool
from cachezoo.kernels.chunks import PAGES_PER_CHUNK
from cachezoo.kernels.jit import njit

LEVELS = ("page", "chunk", "region")
PER_LEVEL = ("age", "life", "mean_life", "heat")
AGE, LIFE, MEAN, HEAT = 0, 1, 2, 3
REQUEST = ("before", "after", "pages", "position", "run", "gap_us", "place", "in_chunk", "alignment")
NAMES = (*(f"{level}_{name}" for level in LEVELS for name in PER_LEVEL), *REQUEST)
UNKNOWN = -1.0  # below all that is known, so that a tree can tell it apart
MAX_VALUE = 1 << 24  # whole numbers up to here are exact in float32
WEIGHT = 0.25  # of the newest lifetime in a decayed mean
HALF_LIFE = 8192
MOST_ALIGNED = 10
REGION_PAGES = 128


class Written(NamedTuple):
    """n page writes."""

    pages: I32  # int32[n] dense ids, by rising address
    begins: Bool  # bool[n] the first page write of its request
    gap_us: I64  # int64[n] µs from the write request before; -1 where there is none in the cycle


class Places(NamedTuple):
    """Where the m pages lie.

    Attributes:
        number: int64[m] address in pages.
        chunk, region: int32[m] dense ids of what each lies in.
        region_number: int64[m] address in regions.
    """

    number: I64
    chunk: I32
    region: I32
    region_number: I64


class Seen(NamedTuple):
    """What was seen of each page, chunk or region; k of them."""

    last: I64  # int64[k] page write that wrote it last, -1 for none
    life: I64  # int64[k] lifetime of the version that died last there, -1 for none
    mean: F64  # float64[k] decayed mean of the logarithms of such lifetimes, -1 for none
    heat: F64  # float64[k] page writes, halved at each multiple of the half-life


def unseen(count: int) -> Seen:
    """The state before the first write."""
    return Seen(np.full(count, -1, np.int64), np.full(count, -1, np.int64), np.full(count, UNKNOWN), np.zeros(count))


@njit
def log2_of(value: int) -> float:
    """Base-2 logarithm of 1 + value, as the module says; value is not negative."""
    mantissa, exponent = math.frexp(value + 1.0)
    return exponent - 1.0 + (2.0 * mantissa - 1.0)


@njit
def _heat(seen: Seen, k: int, now: int, half_life: int) -> float:
    last = seen.last[k]
    return 0.0 if last < 0 else math.ldexp(seen.heat[k], last // half_life - now // half_life)


@njit
def _describe(seen: Seen, k: int, now: int, half_life: int, row: F32) -> None:
    """Fill the values of one level."""
    row[AGE] = now - seen.last[k] if seen.last[k] >= 0 else UNKNOWN
    row[LIFE] = seen.life[k]
    row[MEAN] = seen.mean[k]
    row[HEAT] = _heat(seen, k, now, half_life)


@njit
def _count(seen: Seen, k: int, now: int, life: int, half_life: int) -> None:
    """Count a page write, by which a version dies that lived so long; -1 where none does."""
    seen.heat[k] = _heat(seen, k, now, half_life) + 1.0
    seen.last[k] = now
    if life >= 0:
        own = log2_of(life)
        seen.mean[k] = own if seen.mean[k] < 0.0 else seen.mean[k] + WEIGHT * (own - seen.mean[k])
        seen.life[k] = life


@njit
def _neighbour(pages: Seen, numbers: I64, page: int, step: int, now: int) -> float:
    """Page writes since the page beside was written; unknown where it never was."""
    other = page + step
    if not 0 <= other < len(numbers) or numbers[other] != numbers[page] + step or pages.last[other] < 0:
        return UNKNOWN
    return float(now - pages.last[other])


@njit
def _aligned(number: int) -> int:
    """Zero bits at the end of a page's number, at most `MOST_ALIGNED`."""
    bits = 0
    while bits < MOST_ALIGNED and not number >> bits & 1:
        bits += 1
    return bits


@njit
def _fill(written: Written, places: Places, seen: tuple[Seen, Seen, Seen], half_life: int, out: F32) -> None:
    """Describe, then count, request by request."""
    pages, chunks, regions = seen
    wide = len(PER_LEVEL)
    low, run, end = 0, 0, -1
    while low < len(written.pages):
        high = low + 1
        while high < len(written.pages) and not written.begins[high]:
            high += 1
        first = places.number[written.pages[low]]
        run = run if end in (first, first - 1) else 0
        for i in range(low, high):
            page, row = written.pages[i], out[i]
            number = places.number[page]
            _describe(pages, page, i, half_life, row[:wide])
            _describe(chunks, places.chunk[page], i, half_life, row[wide : 2 * wide])
            _describe(regions, places.region[page], i, half_life, row[2 * wide : 3 * wide])
            own = row[3 * wide :]
            own[0] = _neighbour(pages, places.number, page, -1, i)
            own[1] = _neighbour(pages, places.number, page, 1, i)
            own[2] = high - low
            own[3] = i - low
            own[4] = min(run, MAX_VALUE)
            own[5] = min(written.gap_us[i], MAX_VALUE)
            own[6] = min(places.region_number[page], MAX_VALUE)
            own[7] = number % PAGES_PER_CHUNK
            own[8] = _aligned(number)
        for i in range(low, high):
            page = written.pages[i]
            life = i - pages.last[page] if pages.last[page] >= 0 else -1
            _count(chunks, places.chunk[page], i, life, half_life)
            _count(regions, places.region[page], i, life, half_life)
            _count(pages, page, i, life, half_life)
        run += high - low
        end = places.number[written.pages[high - 1]]
        low = high


def describe_writes(written: Written, places: Places, half_life: int = HALF_LIFE) -> F32:
    """float32[n, len(NAMES)]: the inputs of each page write, from what came before its request alone.

    Args:
        written: the page writes of a drive from its first on.
        places: of its pages; more pages than are written change nothing.
        half_life: page writes after which a heat counts half.
    """
    out = np.empty((len(written.pages), len(NAMES)), np.float32)
    counts = (len(places.number), *(int(ids.max(initial=-1)) + 1 for ids in (places.chunk, places.region)))
    pages, chunks, regions = (unseen(count) for count in counts)
    _fill(written, places, (pages, chunks, regions), half_life, out)
    return out
