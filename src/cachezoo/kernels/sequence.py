"""Per-request model inputs in one causal pass: what a request is, and what its pages did before it.

Requests come a piece at a time: what is known of earlier ones grows with their distinct pages, not with their number.

Only `math` functions on float64 are used and the results rounded to float32, so that compiled and interpreted runs
agree.
"""

import math
from typing import NamedTuple

import numpy as np

from cachezoo.arrays import F32, F64, I32, I64, U8
from cachezoo.kernels.jit import njit

SECTOR = 512
PAGE_BYTES = 4096
HASH_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)

# Columns that no capacity enters.
GAP, DELTA, ADDRESS, SIZE, OP, RUN, AGE, FRESH, COUNT, PAST_GAP, WRITTEN, REGION_AGE = range(12)
N_COMMON = 12
# Columns of each capacity.
RATIO, HEAT, LONG_HEAT, REGION_HEAT = range(4)
N_SIZED = 4
LONG_HALF_LIVES = 8.0

# Rows of the page table and of the region table.
LAST, USES, GAP_BEFORE, WROTE = range(4)
PAGE_FIELDS = 4


class Requests(NamedTuple):
    """A trace's requests and their page accesses."""

    time_us: I64  # int64[n] µs, in issue order
    op: U8  # uint8[n] 0 read, 1 write
    offset: I64  # int64[n] bytes
    size: I64  # int64[n] bytes, at least 1
    start: I64  # int64[n + 1] bounds of each request's page accesses, from 0 on
    page_ids: I32  # int32[m] dense page ids


class Horizons(NamedTuple):
    """What is remembered, and for how long."""

    memory: int  # page accesses after which a page or region is forgotten; bounds what a runtime must remember
    window: int  # page accesses over which the recent working set is counted
    region_bytes: int  # length of an address region
    region_bits: int  # the table of regions has 2**this slots


def region_slots(offset: I64, region_bytes: int, bits: int) -> I64:
    """Slot of each request's region in a table of 2**bits: a multiplicative hash, collisions accepted.

    On whole arrays, whose products wrap silently, compiled or not.
    """
    keys = (offset // region_bytes + 1).astype(np.uint64)
    slots: I64 = ((keys * HASH_MULTIPLIER) >> np.uint64(64 - bits)).astype(np.int64)
    return slots


class Seen(NamedTuple):
    """What is known of earlier requests, at K capacities."""

    before: I64  # int64[4] of the last request: its time, where it ended, its run, and whether there was one
    table: I64  # int64[PAGE_FIELDS, n_pages]
    heats: F64  # float64[2 K, n_pages]
    last_region: I64  # int64[2**region_bits]
    region_heats: F64  # float64[K, 2**region_bits]
    newest: I64  # int64[n_pages] a page's last access, -1 where the window has none
    live: I64  # int64[1] distinct pages of the window


def nothing_seen(n_pages: int, capacities: int, region_bits: int) -> Seen:
    """Before the first request."""
    slots = 1 << region_bits
    return Seen(
        np.zeros(4, np.int64), np.zeros((PAGE_FIELDS, n_pages), np.int64),
        np.zeros((2 * capacities, n_pages), np.float64), np.full(slots, -1, np.int64),
        np.zeros((capacities, slots), np.float64), np.full(n_pages, -1, np.int64), np.zeros(1, np.int64),
    )  # fmt: skip


@njit
def _plain(time_us: I64, op: U8, offset: I64, size: I64, before: I64, common: F32) -> None:
    """Columns that come from the requests alone."""
    last_us, end, run, known = before
    for i in range(time_us.size):
        gap = int(time_us[i] - last_us) if known else 0
        delta = int(offset[i] - end) if known else 0
        run = run + 1 if delta == 0 and known else 0
        steps = math.log2(1.0 + abs(delta) / SECTOR)
        common[i, GAP] = math.log1p(float(gap))
        common[i, DELTA] = steps if delta >= 0 else -steps
        common[i, ADDRESS] = float(offset[i] // PAGE_BYTES)
        common[i, SIZE] = math.log2(float(size[i]))
        common[i, OP] = float(op[i])
        common[i, RUN] = math.log2(1.0 + run)
        last_us, end, known = time_us[i], offset[i] + size[i], 1
    before[0], before[1], before[2], before[3] = last_us, end, run, known


def plain_columns(time_us: I64, op: U8, offset: I64, size: I64) -> F32:
    """Columns that come from the requests alone: float32[n, RUN + 1], `GAP` to `RUN` as numbered above."""
    common = np.zeros((len(time_us), RUN + 1), np.float32)
    _plain(time_us, op, offset, size, np.zeros(4, np.int64), common)
    return common


@njit
def _decayed(heat: float, age: int, half_life: float) -> float:
    return float(heat * math.exp(-0.6931471805599453 * age / half_life))


@njit
def _use_page(p: int, page: int, write: int, table: I64, heats: F64, capacities: F64, memory: int, sums: F64) -> None:
    """Add one page's history to the request's sums, then record the access."""
    never = math.log2(1.0 + memory)
    seen = table[USES, page]
    age = int(p - table[LAST, page])
    lanes = capacities.size
    if seen == 0 or age > memory:
        seen = 0
        table[GAP_BEFORE, page] = 0
        heats[:, page] = 0.0
        sums[0] += never
        sums[1] += 1.0
        sums[3] += never
    else:
        sums[0] += math.log2(float(age))
        sums[2] += math.log2(1.0 + seen)
        before = table[GAP_BEFORE, page]
        sums[3] += math.log2(float(before)) if before > 0 else never
        sums[4] += float(table[WROTE, page])
        for k in range(lanes):
            short = _decayed(heats[k, page], age, capacities[k])
            long = _decayed(heats[lanes + k, page], age, LONG_HALF_LIVES * capacities[k])
            sums[5 + k] += math.log2(1.0 + short)
            sums[5 + lanes + k] += math.log2(1.0 + long)
            heats[k, page] = short
            heats[lanes + k, page] = long
        table[GAP_BEFORE, page] = age
    for k in range(2 * lanes):
        heats[k, page] += 1.0
    table[LAST, page] = p
    table[USES, page] = seen + 1
    table[WROTE, page] = write


@njit
def _use_region(p: int, pages: int, slot: int, last: I64, heats: F64, capacities: F64, memory: int, row: F32) -> float:
    """Write the region's heat into `row[k]` for each capacity and return its age's logarithm."""
    age = int(p - last[slot])
    known = last[slot] >= 0 and age <= memory
    for k in range(capacities.size):
        heat = _decayed(heats[k, slot], age, capacities[k]) if known else 0.0
        row[k] = math.log2(1.0 + heat)
        heats[k, slot] = heat + pages
    last[slot] = p
    return math.log2(float(age)) if known else math.log2(1.0 + memory)


@njit
def _history(
    op: U8, start: I64, page_ids: I32, origin: int, slots: I64, horizons: Horizons, seen: Seen, capacities: F64,
    common: F32, sized: F32
) -> None:  # fmt: skip
    """Columns that come from earlier accesses of the same pages and regions; page_ids[0] is of access `origin`."""
    memory, window = horizons.memory, horizons.window
    table, heats, newest, live = seen.table, seen.heats, seen.newest, seen.live
    lanes = capacities.size
    region_row = np.zeros(lanes, np.float32)
    for i in range(op.size):
        sums = np.zeros(5 + 2 * lanes, np.float64)
        count = start[i + 1] - start[i]
        for k in range(lanes):
            sized[k, i, RATIO] = math.log2(capacities[k] / max(live[0], 1))
        common[i, REGION_AGE] = _use_region(
            start[i], count, slots[i], seen.last_region, seen.region_heats, capacities, memory, region_row
        )
        for p in range(start[i], start[i + 1]):
            page = page_ids[p - origin]
            _use_page(p, page, op[i], table, heats, capacities, memory, sums)
            leaving = p - window
            if leaving >= 0 and newest[page_ids[leaving - origin]] == leaving:
                newest[page_ids[leaving - origin]] = -1
                live[0] -= 1
            if newest[page] < 0:
                live[0] += 1
            newest[page] = p
        common[i, AGE] = sums[0] / count
        common[i, FRESH] = sums[1] / count
        common[i, COUNT] = sums[2] / count
        common[i, PAST_GAP] = sums[3] / count
        common[i, WRITTEN] = sums[4] / count
        for k in range(lanes):
            sized[k, i, HEAT] = sums[5 + k] / count
            sized[k, i, LONG_HEAT] = sums[5 + lanes + k] / count
            sized[k, i, REGION_HEAT] = region_row[k]


class RequestColumns:
    """Raw model inputs of each request, from it and the requests before it, a piece after the other."""

    def __init__(self, n_pages: int, capacities: F64, horizons: Horizons) -> None:
        """Begin.

        Args:
            n_pages: distinct pages of all pieces.
            capacities: float64[K] cache sizes in pages.
            horizons: what is remembered.
        """
        self._capacities, self._horizons = capacities, horizons
        self._seen = nothing_seen(n_pages, len(capacities), horizons.region_bits)
        self._window, self._served = np.zeros(0, np.int32), 0  # the last accesses' pages; accesses so far

    def serve(self, requests: Requests) -> tuple[F32, F32]:
        """The next requests' inputs.

        Args:
            requests: n of them.

        Returns:
            float32[n, N_COMMON] and float32[K, n, N_SIZED]; columns as numbered above, units in
            `cachezoo.features.sequence`.
        """
        n, horizons = len(requests.time_us), self._horizons
        common = np.zeros((n, N_COMMON), np.float32)
        sized = np.zeros((len(self._capacities), n, N_SIZED), np.float32)
        _plain(requests.time_us, requests.op, requests.offset, requests.size, self._seen.before, common)
        slots = region_slots(requests.offset, horizons.region_bytes, horizons.region_bits)
        before, start = self._window, requests.start + self._served if self._served else requests.start
        ids = np.concatenate([before, requests.page_ids]) if len(before) else requests.page_ids
        origin = self._served - len(before)
        _history(requests.op, start, ids, origin, slots, horizons, self._seen, self._capacities, common, sized)
        self._served += len(requests.page_ids)
        self._window = ids[max(len(ids) - horizons.window, 0) :].copy()
        return common, sized


def request_columns(requests: Requests, capacities: F64, horizons: Horizons) -> tuple[F32, F32]:
    """The inputs of all requests at once, see `RequestColumns`."""
    n_pages = int(requests.page_ids.max(initial=0)) + 1
    return RequestColumns(n_pages, capacities, horizons).serve(requests)
