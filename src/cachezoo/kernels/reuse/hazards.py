"""How often pages of a class came back at each age, counted as the trace goes, and what that makes a page worth.

Every access puts its page into one of K classes (by the forest's score). Its age, the accesses since then, is cut into
`BINS` half-octaves from C/64. A class has for each bin its events (the page was used again at that age) and its risks
(it reached the age, and was used again or left the bin): their ratio is the hazard. All accesses count, of resident
pages and others; counts start from those of the training traces and halve every `HALF_LIFE` capacities.

A page is worth max over T of P(used again within T) / E[time held until it is used again or T], given its age: the most
hits for the time that it takes up room. Source: LHD (Beckmann et al., NSDI 2018) ranks by hits over held time, with
classes by hand and a fixed end; the maximum over T is the Gittins index.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from cachezoo.arrays import F64, I32, I64, MOST_NUMBERED, U8, U32
from cachezoo.kernels.step import step

BINS = 24
FIRST_EDGE = 64  # the first bin ends at C over this
HALF_LIFE = 32  # capacities
RANKED_EVERY = 8  # times in a capacity


class Hazards(NamedTuple):
    """Counts of K classes, and what follows from them.

    Attributes:
        events, risks: float64[K, BINS].
        worth: float64[K, BINS], hits for an access of holding.
        edges: int64[BINS + 1], ages in accesses; bin b holds ages above edges[b], to edges[b + 1]; the last has no end.
        limits: uint32[BINS], the largest age of each bin, as `bin_of` rounds; `MOST_NUMBERED` of the last.
        left: int64[BINS], accesses that have left each bin or were used again before.
        ranked: int64[1], access number of the latest ranking.
        classes: uint8[m] of each access.
        again: uint8[m / 8], a bit for each access: was its page used again.
        last: int32[n_pages], latest access of each page, -1 before the first.
        room: float64[2, BINS], what `rank` works in.
    """

    events: F64
    risks: F64
    worth: F64
    edges: I64
    limits: U32
    left: I64
    ranked: I64
    classes: U8
    again: U8
    last: I32
    room: F64


def edges_of(capacity: int) -> I64:
    """int64[BINS + 1] ages at which bins end, whole accesses, the first 0."""
    ends = capacity / FIRST_EDGE * 2.0 ** (np.arange(BINS) / 2)
    return np.concatenate([[0], np.maximum(np.floor(ends), 1)]).astype(np.int64)


def make(classes: U8, n_pages: int, capacity: int, prior: tuple[F64, F64]) -> Hazards:
    """Before the first access.

    Args:
        classes: uint8[m] of the stream's accesses.
        n_pages: ids are below it.
        capacity: C, pages.
        prior: events and risks float64[K, BINS] to start from.
    """
    events, risks = (np.array(counts, np.float64) for counts in prior)
    hazards = Hazards(
        events, risks, np.zeros_like(events), edges_of(capacity), limits_of(capacity), np.zeros(BINS, np.int64),
        np.zeros(1, np.int64), classes, np.zeros(len(classes) // 8 + 1, np.uint8), np.full(n_pages, -1, np.int32),
        np.zeros((2, BINS)),
    )  # fmt: skip
    rank(hazards)
    return hazards


@step
def bin_of(age: int, first: float) -> int:
    """The bin of an age, where the first ends at `first` accesses."""
    return min(BINS - 1, math.ceil(2 * math.log2(age / first))) if age > first else 0


def limits_of(capacity: int) -> U32:
    """uint32[BINS] the largest age that `bin_of` puts into each bin or an earlier one, at most `MOST_NUMBERED`."""
    found = np.full(BINS, MOST_NUMBERED, np.uint32)
    for b in range(BINS - 1):
        low, high = 0, MOST_NUMBERED
        while low < high:
            middle = (low + high + 1) // 2
            low, high = (middle, high) if bin_of(middle, capacity / FIRST_EDGE) <= b else (low, middle - 1)
        found[b] = low
    return found


@step
def rank(hazards: Hazards) -> None:
    """Work out `worth` from the counts: of a class that of all bins at once, one later bin after the other."""
    events, risks, edges = hazards.events, hazards.risks, hazards.edges
    alive, held = hazards.room[0], hazards.room[1]
    for k in range(len(events)):
        best = hazards.worth[k]
        for later in range(BINS):
            hazard = min(1.0, events[k, later] / risks[k, later]) if risks[k, later] > 0 else 0.0
            width, half, stay = float(max(1, edges[later + 1] - edges[later])), 1 - 0.5 * hazard, 1 - hazard
            alive[later], held[later], best[later] = 1.0, 0.0, 0.0
            for b in range(later + 1):
                held[b] += alive[b] * width * half
                alive[b] *= stay
                found = np.divide(1 - alive[b], held[b])  # of numpy: no check for 0, so that several go at once
                best[b] = found if found > best[b] else best[b]


@step
def _leave(hazards: Hazards, i: int) -> None:
    """Count what left a bin unused by access number i."""
    for b in range(BINS - 1):
        first, stop = hazards.left[b], i - hazards.edges[b + 1]
        for j in range(first, stop):
            unused = ~hazards.again[j >> 3] >> (j & 7) & 1
            hazards.risks[hazards.classes[j], b] += unused
        hazards.left[b] = max(first, stop)


@step
def _use(hazards: Hazards, before: int, age: int) -> None:
    """Count a use of the page accessed `before`; earlier bins that have not counted it yet do so too."""
    k = hazards.classes[before]
    b: Any = 0
    for earlier in range(BINS):
        b += np.int32(age > hazards.limits[earlier])
    hazards.events[k, b] += 1
    hazards.risks[k, b] += 1
    earlier = b - 1
    while earlier >= 0 and hazards.left[earlier] <= before:  # the later a bin ends, the fewer have left it
        hazards.risks[k, earlier] += 1
        earlier -= 1
    hazards.again[before >> 3] |= 1 << (before & 7)


@step
def _refresh(hazards: Hazards, i: int, capacity: int) -> None:
    """Count what left, rank anew, and let the counts fade."""
    _leave(hazards, i)
    rank(hazards)
    fade = math.exp2(-(i - hazards.ranked[0]) / (HALF_LIFE * capacity))
    for k in range(len(hazards.events)):
        for b in range(BINS):
            hazards.events[k, b] *= fade
            hazards.risks[k, b] *= fade
    hazards.ranked[0] = i


@step
def saw(hazards: Hazards, page: int, i: int, capacity: int) -> None:
    """Take access number i to a page into the counts."""
    if i - hazards.ranked[0] >= max(1, capacity // RANKED_EVERY):
        _refresh(hazards, i, capacity)
    before = hazards.last[page]
    if before >= 0:
        _use(hazards, before, i - before)
    hazards.last[page] = i
