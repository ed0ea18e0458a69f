"""Synthetic traces: requests that do to an LRU stack of requests what is asked of them.

The stack is that of `cachezoo.kernels.slots`.

Source: Spirn, "Program Behavior: Models and Measurements", 1977 (the LRU stack model that draws stack distances anew).
The count of earlier accesses that is drawn with a distance, the runs and the hot places are ours.
"""

import numpy as np

from cachezoo.arrays import F64, I32, I64, U8, Bool
from cachezoo.kernels.jit import njit
from cachezoo.kernels.slots import (
    COLD,
    HOT,
    LAGS,
    LOGS,
    NEAR_COLD,
    NEAR_REUSE,
    OCTAVES,
    PAGE,
    before,
    enter,
    even,
    log2,
    octave,
    slot_at,
)

LOOKED_AT, STEPS = 16, 128
"""Slots with pages that are looked at for a page of the wanted count, and slots in all, on both sides together."""
AWAY, UNEVEN, MIDDLE, RUN, FOREIGN, STEP = 4.0, 3.0, 2.0, 4.0, 6.0, 0.05
"""What it costs a candidate to have another count (times the difference of logs), to end in a page of another age than
is wanted, to be no start, to go on with a run, to lie on another volume, and a slot farther from the one asked for.
"""
OLDER, BEYOND = 2, 2
"""Times as old, or as young, as the slot at the distance asked for may another slot be; slots too old or too young to
be better than the best so far, after which no more are looked at."""
APART, LATER, OTHERWISE = 1.5, 0.1, 1.4
"""Octaves by which the page that a run goes on with may be off the distance asked for; what each other lag costs, and a
last page of another age than is wanted."""


@njit
def _alike(
    near: int, now: int, order: I32, begin: I64, head: I64, pages: I32, last: I32, count: I32, wanted: float, size: int,
    whole: int, aligned: int, draw: float, edge: I64, of_volume: I32, volume: int,
) -> int:  # fmt: skip
    """The page, in the slots of a size's octave, of about the age of another slot, that fits best; -1 without one."""
    low, high = 0, order.size
    while low < high:
        middle = (low + high) // 2
        low, high = (middle + 1, high) if order[middle] < near else (low, middle)
    best, least, looked, beyond = -1, 0.0, 0, 0
    for step in range(STEPS):
        if looked >= LOOKED_AT:
            break
        k = low + (step + 1) // 2 if step % 2 else low - step // 2
        if k < 0 or k >= order.size:
            continue
        slot, home = order[k], of_volume[order[k]]
        if now - slot > OLDER * (now - near) or now - near > OLDER * (now - slot):
            continue
        page, cost = _candidate(
            slot, begin, head, pages, last, count, wanted, size, whole, aligned, draw, edge[home], now
        )
        if page < 0:
            continue
        looked += 1
        age = abs(log2(float(now - slot) / float(now - near)))
        if best >= 0 and AWAY * age >= least:
            beyond += 1
            if beyond == BEYOND:
                break
            continue
        cost += AWAY * age + (FOREIGN if home != volume else 0.0)
        if best < 0 or cost < least:
            best, least = page, cost
    return best


@njit
def _candidate(
    slot: int, begin: I64, head: I64, pages: I32, last: I32, count: I32, wanted: float, size: int, whole: int,
    aligned: int, draw: float, edge: int, now: int,
) -> tuple[int, float]:  # fmt: skip
    """The page of a slot that a request may begin with, and how badly it fits; -1 where it holds none."""
    stop = begin[slot] + pages[slot]
    while head[slot] < stop and last[head[slot]] != slot:  # what has left a slot does not come back to it
        head[slot] += 1
    page = head[slot]
    if page >= stop:
        return -1, 0.0
    if not aligned and pages[slot] > 1:
        page = max(page, begin[slot] + 1 + int(draw * (pages[slot] - 1)))
        while page < stop and last[page] != slot:
            page += 1
        if page >= stop:
            page = head[slot]
    if page + size > edge:
        return -1, 0.0
    known = count[page]
    cost = AWAY * abs((LOGS[known] if known < LOGS.size else log2(float(known))) - wanted)
    if even(slot, last[page + size - 1], now) != (whole > 0):
        cost += UNEVEN
    if aligned and page != begin[slot]:
        cost += MIDDLE
    if page > 0 and last[page - 1] > slot and last[page - 1] >= now - LAGS:
        cost += RUN
    return page, cost


@njit
def _reused(
    slot: int, now: int, begin: I64, head: I64, pages: I32, last: I32, count: I32,
    wanted: float, size: int, whole: int, aligned: int, draw: float, edge: I64, of_volume: I32, volume: int,
) -> int:  # fmt: skip
    """The page near a slot that fits best; -1 where none there leaves room for a request of this size."""
    best, least, looked = -1, 0.0, 0
    for step in range(STEPS):
        own = slot + (step + 1) // 2 if step % 2 else slot - step // 2
        if own < 0 or own >= now:
            continue
        limit = edge[of_volume[own]]
        page, cost = _candidate(own, begin, head, pages, last, count, wanted, size, whole, aligned, draw, limit, now)
        if page < 0:
            continue
        looked += 1
        cost += STEP * step + (FOREIGN if of_volume[own] != volume else 0.0)
        if best < 0 or cost < least:
            best, least = page, cost
        if least < STEP * step or looked >= LOOKED_AT:
            break
    return best


@njit
def _runs(kind: U8, size: I64, align: I64, lag: I32, ahead: I64) -> tuple[I32, I64]:
    """Of each request that goes on with a cold run the one before it, or -1; of each that begins one, its pages.

    The lag is that asked for, or the nearest at which a run's last request is. Where no run is so far, the request
    begins one.
    """
    n = kind.size
    source, root, open_ = np.full(n, -1, np.int32), np.arange(n).astype(np.int32), np.zeros(n, np.uint8)
    reach, room = np.zeros(n, np.int64), np.zeros(n, np.int64)
    for i in range(n):
        if kind[i] == NEAR_COLD:
            for step in range(2 * LAGS):
                back = lag[i] + ((step + 1) // 2 if step % 2 else -(step // 2))
                j = i - back
                if 1 <= back <= LAGS and j >= 0 and open_[j]:
                    source[i], root[i], open_[j] = j, root[j], 0
                    break
        if kind[i] == COLD or kind[i] == NEAR_COLD:
            own, open_[i] = root[i], 1
            reach[own] += size[i] + (align[i] if own == i else ahead[i])
            room[own] = (reach[own] - 1) // PAGE + 1
    return source, room


@njit
def _went_on(
    i: int, lag: int, ahead: int, distance: float, begin: I64, pages: I32, shift: I64, size: I64, last: I32, edge: I64,
    of_volume: I32, tree: I64, held: int, whole: int,
) -> tuple[int, int]:  # fmt: skip
    """The byte at which a request reuses what follows an earlier one, and that one; -1 where nothing near fits."""
    found, of, least = -1, -1, APART
    for step in range(2 * LAGS):
        back = lag + ((step + 1) // 2 if step % 2 else -(step // 2))
        j = i - back
        if back < 1 or back > LAGS or j < 0:
            continue
        at = begin[j] * PAGE + shift[j] + size[j] + ahead
        first, stop = at // PAGE, (at + size[i] - 1) // PAGE + 1
        if (at - ahead - 1) // PAGE == first and stop > first + 1:
            first += 1
        if stop > edge[of_volume[j]] or last[first] < 0:
            continue
        other = OTHERWISE if even(last[first], last[stop - 1], i) != (whole > 0) else 0.0
        if LATER * step + other >= least:
            continue
        apart = abs(log2((held - before(tree, last[first] + 1) + 1.0) / (distance + 1.0))) + LATER * step + other
        if apart < least:
            found, of, least = at, j, apart
        if least <= LATER * step:
            break
    return found, of


@njit
def _generate(
    kind: U8, size: I64, align: I64, distance: F64, wanted: F64, lag: I32, ahead: I64, aligned: U8, whole: U8,
    alike: U8, volume: I32, draw: F64, fixed: I64, source: I32, room: I64, base: I64, edge: I64,
) -> tuple[I64, I64, I32, Bool]:  # fmt: skip
    n, arena = kind.size, base[-1]
    begun = np.zeros(n, np.bool_)
    last, count = np.full(arena, -1, np.int32), np.zeros(arena, np.int32)
    begin, pages, shift = np.zeros(n, np.int64), np.zeros(n, np.int32), np.zeros(n, np.int64)
    head = np.zeros(n, np.int64)  # of each slot: no page before this one is left in it
    of_volume, tree = np.zeros(n, np.int32), np.zeros(n + 1, np.int64)
    octaves, first_of = np.zeros(n, np.int64), np.zeros(OCTAVES + 1, np.int64)
    for i in range(n):
        octaves[i] = octave(size[i])
        first_of[octaves[i] + 1] += 1
    first_of = np.cumsum(first_of)
    filled, order = first_of.copy(), np.zeros(n, np.int32)
    held, top = 0, 1
    while top * 2 <= n:
        top *= 2
    for i in range(n):
        page, where, own = -1, align[i], volume[i]
        j, at = source[i], -1
        if kind[i] == HOT:
            page, where = base[own] + fixed[i] // PAGE, fixed[i] % PAGE
        elif j >= 0:
            at = begin[j] * PAGE + shift[j] + size[j] + ahead[i]
        elif kind[i] == NEAR_REUSE:
            at, j = _went_on(
                i,
                lag[i],
                ahead[i],
                distance[i],
                begin,
                pages,
                shift,
                size,
                last,
                edge,
                of_volume,
                tree,
                held,
                whole[i],
            )
        if j >= 0:
            page, where, own = at // PAGE, at % PAGE, of_volume[j]
        touched = (where + size[i] - 1) // PAGE + 1
        if page < 0 and kind[i] >= NEAR_REUSE:
            slot = slot_at(tree, max(0, held - 1 - int(distance[i])), top) if held > 0 else 0
            if held > 0 and alike[i]:
                o = octaves[i]
                page = _alike(
                    slot, i, order[first_of[o]:filled[o]], begin, head, pages, last, count, wanted[i], touched,
                    whole[i], aligned[i], draw[i], edge, of_volume, own,
                )  # fmt: skip
            if held > 0 and page < 0:
                page = _reused(
                    slot, i, begin, head, pages, last, count, wanted[i], touched, whole[i],
                    aligned[i], draw[i], edge, of_volume, own,
                )  # fmt: skip
            if page >= 0:
                own = of_volume[last[page]]
            elif edge[own] - touched >= base[own]:
                page = edge[own] - touched
        if page < 0:
            page, begun[i] = edge[own], True
            edge[own] += max(room[i], touched)
        order[filled[octaves[i]]] = i
        filled[octaves[i]] += 1
        begin[i], head[i], pages[i], shift[i], of_volume[i] = page, page, touched, where, own
        held += enter(tree, last, count, page, touched, i)
    return begin, shift, of_volume, begun


def generate(
    kind: U8, size: I64, align: I64, distance: F64, wanted: F64, lag: I32, ahead: I64, aligned: U8, whole: U8,
    alike: U8, volume: I32, draw: F64, fixed: I64, reserved: I64,
) -> tuple[I64, I64, I32, Bool]:  # fmt: skip
    """Requests that do to a stack what is asked of each, as far as it holds what they ask for.

    A cold request begins a region behind the last one of its volume, with room for the run that later requests make of
    it. One that goes on with a run over pages that are not cold takes the earlier request whose lag is near, and the
    distance of the pages behind it too. One that reuses looks around the slot at its distance for a page of the wanted
    count from which on enough pages lie.

    Args:
        kind: uint8[n].
        size: int64[n] bytes.
        align: int64[n] bytes from the first page's start on, of those that continue no run.
        distance: float64[n] pages.
        wanted: float64[n] log2 of the accesses before.
        lag: int32[n], from 1 to `LAGS` where the kind goes on with a run.
        ahead: int64[n] bytes.
        aligned: uint8[n] as `observe` gives it.
        whole: uint8[n] as `observe` gives it.
        alike: uint8[n] as `observe` gives it.
        volume: int32[n] that the request is to lie on; one that goes on with a run lies on that of the run.
        draw: float64[n] in [0, 1): where in a slot an unaligned request begins.
        fixed: int64[n] bytes from the volume's begin on, where a hot request lies; not looked at of others.
        reserved: int64[v], pages at the begin of each volume that are for hot requests; others come to reuse them.

    Returns:
        page int64[n], the first of each request, the volumes' one behind the other; shift int64[n] bytes from its
        start on; volume int32[n]; begun bool[n], the request begins a region.
    """
    source, room = _runs(kind, size, align, lag, ahead)
    touched = (PAGE - 1 + size - 1) // PAGE + 1
    spare = 2 * int(touched.max(initial=1))
    n_volumes = reserved.size
    base = np.zeros(n_volumes + 1, np.int64)
    most = np.where(room > 0, np.maximum(room, touched), 0)
    np.cumsum(np.bincount(volume, most, n_volumes).astype(np.int64) + spare + reserved, out=base[1:])
    return _generate(  # type: ignore[no-any-return]
        kind,
        size,
        align,
        distance,
        wanted,
        lag,
        ahead,
        aligned,
        whole,
        alike,
        volume,
        draw,
        fixed,
        source,
        room,
        base,
        base[:-1] + reserved,
    )


@njit
def chain(cumulative: F64, first: int, draw: F64) -> U8:
    """A chain of classes.

    Args:
        cumulative: float64[p, k, k], of phase and class the cumulated chances of the classes that follow.
        first: the first one.
        draw: float64[n] in [0, 1).

    Returns:
        uint8[n].
    """
    n, phases = draw.size, cumulative.shape[0]
    found = np.zeros(n, np.uint8)
    own = first
    for i in range(n):
        if i > 0:
            row = cumulative[i * phases // n, own]
            own = 0
            while own < row.size - 1 and draw[i] >= row[own]:
                own += 1
        found[i] = own
    return found
