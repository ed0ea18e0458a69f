"""The page worth least leaves, of some residents drawn at random: hits for the time that it is to take up room.

What a page is worth hangs on its class at its last access and its age since (`cachezoo.kernels.reuse.hazards`). The
page asked for takes part in the comparison: one worth less than all that were drawn stays out. Among equals the page
used longest ago leaves.

Parameters: candidates 64, the sample of an eviction. With as many candidates as residents all of them are compared.
"""

from typing import NamedTuple

import numpy as np

from cachezoo.arrays import I32, I64, U32
from cachezoo.kernels.admit.draws import draw, scaled
from cachezoo.kernels.outcome import NONE, REFUSED
from cachezoo.kernels.reuse.hazards import BINS, Hazards, saw
from cachezoo.kernels.step import step

USED, DRAWN, SEED = range(3)
ABSENT = -1
CHUNK = 64  # residents compared at once
PLACE, AGE, CELL = range(3)  # rows of `room`


class State(NamedTuple):
    """Who is resident."""

    hazards: Hazards  # what pages are worth
    bits: I64  # int64[K * BINS], the bits of `hazards.worth`, which have its order: none is below 0
    slot: I32  # int32[n_pages], a page's place among the residents, `ABSENT` of others
    residents: I32  # int32[C]
    seen: I64  # int64[C], latest access of each resident, and in the lowest 8 bits its class
    numbers: I64  # int64[3]: residents, draws so far, seed
    candidates: int  # drawn for each eviction
    room: U32  # uint32[3, CHUNK] of the candidates: place, age, and the cell of `bits` of its class and age
    found: I64  # int64[CHUNK], bits of what they are worth


def make(hazards: Hazards, capacity: int, candidates: int, seed: int) -> State:
    """An empty cache of `capacity` pages."""
    n_pages = len(hazards.last)
    size = min(capacity, max(1, n_pages))
    return State(
        hazards, hazards.worth.reshape(-1).view(np.int64), np.full(n_pages, ABSENT, np.int32),
        np.zeros(size, np.int32), np.zeros(size, np.int64), np.array([0, 0, seed], np.int64), candidates,
        np.zeros((3, CHUNK), np.uint32), np.zeros(CHUNK, np.int64),
    )  # fmt: skip


@step
def has(state: State, page: int) -> bool:
    """Is the page resident?"""
    return bool(state.slot[page] != ABSENT)


@step
def _entry(state: State, i: int) -> int:
    """What `seen` holds of a page whose latest access is number i."""
    return int(i << 8 | state.hazards.classes[i])


@step
def touch(state: State, page: int, i: int) -> None:
    """Access number i hit: the page's class is that access's from now on."""
    saw(state.hazards, page, i, state.residents.size)
    state.seen[state.slot[page]] = _entry(state, i)


@step
def _draw(state: State) -> None:
    """Draw the places of a chunk of candidates."""
    places, capacity = state.room[PLACE], state.residents.size
    seed, first = state.numbers[SEED], state.numbers[DRAWN]
    for k in range(CHUNK):
        places[k] = scaled(draw(seed, first + k & 0x7FFFFFFF), capacity)


@step
def _weigh(state: State, i: int) -> None:
    """Write into `found` what the chunk's candidates are worth, step by step, so that several are taken at once."""
    places, ages, cells, limits = state.room[PLACE], state.room[AGE], state.room[CELL], state.hazards.limits
    for k in range(CHUNK):
        seen = state.seen[places[k]]
        ages[k] = i - (seen >> 8)
        cells[k] = (seen & 255) * BINS
    for b in range(0, BINS, 8):
        one, two, three, four = limits[b], limits[b + 1], limits[b + 2], limits[b + 3]
        five, six, seven, eight = limits[b + 4], limits[b + 5], limits[b + 6], limits[b + 7]
        for k in range(CHUNK):
            age = ages[k]
            cells[k] += (
                np.uint32(age > one) + np.uint32(age > two) + np.uint32(age > three) + np.uint32(age > four)
                + np.uint32(age > five) + np.uint32(age > six) + np.uint32(age > seven) + np.uint32(age > eight)
            )  # fmt: skip
    for k in range(CHUNK):
        state.found[k] = state.bits[cells[k]]


@step
def _least(state: State, i: int) -> int:
    """The place of the candidate worth least, `ABSENT` if it is the page of access i itself."""
    numbers, seen, found, places = state.numbers, state.seen, state.found, state.room[PLACE]
    capacity, at, oldest = state.residents.size, ABSENT, i
    least = state.bits[np.int64(state.hazards.classes[i]) * BINS]
    every = state.candidates >= capacity
    count = capacity if every else state.candidates
    for first in range(0, count, CHUNK):
        part = min(CHUNK, count - first)
        if every:
            for k in range(CHUNK):
                places[k] = min(first + k, capacity - 1)
        else:
            _draw(state)
        _weigh(state, i)
        low = found[0]
        for k in range(part):
            low = min(low, found[k])
        if low <= least:
            for k in range(part):
                last = seen[places[k]] >> 8
                if found[k] == low and (low < least or last < oldest):
                    least, at, oldest = low, places[k], last
        numbers[DRAWN] += part
    return int(at)


@step
def insert(state: State, page: int, i: int) -> int:
    """Insert in place of the candidate worth least, unless that is the page itself."""
    saw(state.hazards, page, i, state.residents.size)
    at, victim = int(state.numbers[USED]), NONE
    if at < state.residents.size:
        state.numbers[USED] = at + 1
    else:
        at = _least(state, i)
        if at == ABSENT:
            return REFUSED
        victim = int(state.residents[at])
        state.slot[victim] = ABSENT
    state.residents[at], state.slot[page], state.seen[at] = page, at, _entry(state, i)
    return victim
