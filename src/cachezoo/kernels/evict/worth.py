"""The page worth least leaves, of some residents drawn at random: hits for the time that it is to take up room.

What a page is worth hangs on its class at its last access and its age since (`cachezoo.kernels.reuse.hazards`). The
page asked for takes part in the comparison: one worth less than all that were drawn stays out. Among equals the page
used longest ago leaves.

Parameters: candidates 64, the sample of an eviction. With as many candidates as residents all of them are compared.
"""

from typing import NamedTuple

import numpy as np

from cachezoo.arrays import I32, I64
from cachezoo.kernels.admit.draws import draw, scaled
from cachezoo.kernels.outcome import NONE, REFUSED
from cachezoo.kernels.reuse.hazards import FIRST_EDGE, Hazards, bin_of, saw
from cachezoo.kernels.step import step

USED, DRAWN, SEED = range(3)
ABSENT = -1


class State(NamedTuple):
    """Who is resident."""

    hazards: Hazards  # what pages are worth
    slot: I32  # int32[n_pages], a page's place among the residents, `ABSENT` of others
    residents: I32  # int32[C]
    numbers: I64  # int64[3]: residents, draws so far, seed
    candidates: int  # drawn for each eviction


def make(hazards: Hazards, capacity: int, candidates: int, seed: int) -> State:
    """An empty cache of `capacity` pages."""
    n_pages = len(hazards.last)
    size = min(capacity, max(1, n_pages))
    return State(
        hazards, np.full(n_pages, ABSENT, np.int32), np.zeros(size, np.int32),
        np.array([0, 0, seed], np.int64), candidates,
    )  # fmt: skip


@step
def has(state: State, page: int) -> bool:
    """Is the page resident?"""
    return bool(state.slot[page] != ABSENT)


@step
def touch(state: State, page: int, i: int) -> None:
    """Access number i hit: the page's class is that access's from now on."""
    saw(state.hazards, page, i, state.residents.size)


@step
def _worth(state: State, page: int, i: int) -> float:
    """What a page is worth at access number i, its own access perhaps."""
    hazards = state.hazards
    last = hazards.last[page]
    age = i - last
    b = bin_of(age, state.residents.size / FIRST_EDGE) if age > 0 else 0
    return float(hazards.worth[hazards.classes[last], b])


@step
def insert(state: State, page: int, i: int) -> int:
    """Insert in place of the candidate worth least, unless that is the page itself."""
    capacity, numbers = state.residents.size, state.numbers
    saw(state.hazards, page, i, capacity)
    used = numbers[USED]
    if used < capacity:
        state.residents[used], state.slot[page] = page, used
        numbers[USED] = used + 1
        return NONE
    least, at, oldest = _worth(state, page, i), -1, i
    every = state.candidates >= capacity
    for k in range(capacity if every else state.candidates):
        place = k if every else scaled(draw(numbers[SEED], numbers[DRAWN] & 0x7FFFFFFF), capacity)
        numbers[DRAWN] += 1
        other = state.residents[place]
        worth, last = _worth(state, other, i), state.hazards.last[other]
        if worth < least or (worth == least and last < oldest):
            least, at, oldest = worth, place, last
    if at < 0:
        return REFUSED
    victim = state.residents[at]
    state.slot[victim] = ABSENT
    state.residents[at], state.slot[page] = page, at
    return int(victim)
