"""LHD: the object leaves whose room earns the fewest hits, as objects of its kind and age did before.

Source: Beckmann, Chen, Cidon, "LHD: improving cache hit rate by maximizing hit density", NSDI 2018. An object's age is
counted in requests since its last one, its class is how fast its last two hits came. Of each class and age the hits and
evictions are counted; from them follow the hits that an object will still have, for each request that it stays. That,
over its bytes, is its hit density. Of some residents drawn at random and the latest that entered, the one of least
density leaves. A few residents are explorers: they are kept for long, so that hits at great ages are seen at all.
Counts fade by a tenth at each review; the unit of an age follows the number of residents.

Parameters: candidates 32, residents drawn for each eviction; every 65,536, requests from one review to the next, the
first after 4,096 and twice as many until the next each time; seed 0.

    where it differs     here                                    libCacheSim's LHD (the authors')
    first review         after 4,096 requests                    after 1,048,576: till then the rank is
                                                                 (class + 1) / (age + 1) / bytes
    ages                 8,192, to 100 times the residents       20,000, set at two of the reviews
    candidates           32                                      8 until 50 reviews are over, then 32
    random numbers       hashes of a count                       a congruential generator's
    time                 requests                                hits and objects that entered
"""

from typing import NamedTuple

import numpy as np

from cachezoo.arrays import F64, I32, I64, U8
from cachezoo.kernels.admit.draws import draw, scaled
from cachezoo.kernels.step import step

CLASSES, AGES = 16, 8192
LATEST = 8  # that entered, which are candidates too
COVERED = 100  # times the number of residents: the greatest age
FADE = 0.9
EXPLORERS = 32  # of so many objects one, while the budget lasts
BUDGET_SHARE = 100  # the budget is this part of the cache
FIRST_REVIEW = 4096
# Columns of `past`.
LAST, AGE, AGE_BEFORE = range(3)
# Places in `numbers`.
USED, SHIFT, REVIEW, PERIOD, DRAWS, BUDGET, ENTERED = range(7)
COUNT_MASK = 2**31 - 1
NEW = 2**62
TINY = 1e-5


class State(NamedTuple):
    """What is remembered of the residents, and what is known of classes and ages.

    Attributes:
        held: the loop's.
        past: int64[n_objects, 3]: the resident's last request, and its ages at its last two hits; `NEW` before.
        slot: int32[n_objects] a resident's place in `residents`.
        residents: int32[n_objects], the first `USED` count.
        explorer: uint8[n_objects].
        latest: int32[LATEST] ring of what entered, -1 where nothing did.
        hits, evictions: float64[CLASSES, AGES], faded counts.
        density: float64[CLASSES, AGES], hits to come for each request that the object stays.
        residency: float64[2], faded sum of the numbers of residents at reviews, and of ones.
        numbers: int64[7].
        candidates, every, seed: the parameters.
    """

    held: I64
    past: I64
    slot: I32
    residents: I32
    explorer: U8
    latest: I32
    hits: F64
    evictions: F64
    density: F64
    residency: F64
    numbers: I64
    candidates: int
    every: int
    seed: int


def make(held: I64, capacity: int, candidates: int, every: int, seed: int) -> State:
    """Nothing resident.

    Args:
        held: int64[n_objects], the loop's.
        capacity: bytes.
        candidates: residents drawn for each eviction.
        every: requests between reviews, in the end.
        seed: of the draws.
    """
    n = len(held)
    numbers = np.zeros(7, np.int64)
    first = min(FIRST_REVIEW, every)
    numbers[[REVIEW, PERIOD, BUDGET]] = first, first, capacity // BUDGET_SHARE
    ages, classes = np.arange(1, AGES + 1), np.arange(1, CLASSES + 1)
    return State(
        held, np.zeros((n, 3), np.int64), np.full(n, -1, np.int32), np.zeros(n, np.int32), np.zeros(n, np.uint8),
        np.full(LATEST, -1, np.int32), np.zeros((CLASSES, AGES)), np.zeros((CLASSES, AGES)),
        classes[:, None] / ages[None, :], np.zeros(2), numbers, candidates, every, seed,
    )  # fmt: skip


@step
def bucket(state: State, age: int) -> int:
    """The age as the counts have it."""
    return int(min(age >> state.numbers[SHIFT], AGES - 1))


@step
def kind(state: State, key: int) -> int:
    """Class of a resident: 0 of one not yet hit, the greater the faster its last two hits came."""
    before = state.past[key, AGE_BEFORE]
    if before == NEW:
        return 0
    age = bucket(state, before + state.past[key, AGE])
    found = 0 if age else CLASSES - 1
    while 0 < age < AGES and found < CLASSES - 1:
        age <<= 1
        found += 1
    return found


@step
def density_of(state: State, key: int, i: int) -> float:
    """Hits to come for each byte and request."""
    age = bucket(state, i - state.past[key, LAST])
    if age == AGES - 1:
        return -1.0
    return float((state.density[kind(state, key), age] + state.explorer[key]) / state.held[key])


@step
def chance(state: State, below: int) -> int:
    """A number in [0, below)."""
    state.numbers[DRAWS] += 1
    return int(scaled(draw(state.seed, state.numbers[DRAWS] & COUNT_MASK), below))


@step
def settle_explorer(state: State, key: int) -> None:
    """The object explores no longer, and the budget has its bytes back."""
    if state.explorer[key]:
        state.explorer[key] = 0
        state.numbers[BUDGET] += state.held[key]


@step
def renew(state: State, key: int, i: int) -> None:
    """A request of a resident: its age begins anew, and it may become an explorer."""
    numbers = state.numbers
    state.past[key, LAST] = i
    if numbers[BUDGET] > 0 and chance(state, EXPLORERS) == 0:
        state.explorer[key] = 1
        numbers[BUDGET] -= state.held[key]
    if i >= numbers[REVIEW]:
        review(state)
        numbers[PERIOD] = min(2 * numbers[PERIOD], state.every)
        numbers[REVIEW] = i + numbers[PERIOD]


@step
def touch(state: State, key: int, i: int) -> None:
    """A hit of its class at its age."""
    past = state.past
    age = i - past[key, LAST]
    state.hits[kind(state, key), bucket(state, age)] += 1
    settle_explorer(state, key)
    past[key, AGE_BEFORE] = 0 if past[key, AGE_BEFORE] == NEW else past[key, AGE]
    past[key, AGE] = age
    renew(state, key, i)


@step
def insert(state: State, key: int, i: int) -> None:
    """In, as one not yet hit."""
    numbers = state.numbers
    used = numbers[USED]
    state.slot[key] = used
    state.residents[used] = key
    numbers[USED] = used + 1
    state.past[key, AGE], state.past[key, AGE_BEFORE] = 0, NEW
    renew(state, key, i)
    if not state.explorer[key]:
        state.latest[numbers[ENTERED] % LATEST] = key
        numbers[ENTERED] += 1


@step
def remove(state: State, key: int) -> None:
    """Out; it counts as nothing."""
    settle_explorer(state, key)
    last = state.residents[state.numbers[USED] - 1]
    place = state.slot[key]
    state.residents[place] = last
    state.slot[last] = place
    state.slot[key] = -1
    state.numbers[USED] -= 1


@step
def evict(state: State, i: int) -> int:
    """The candidate of least density."""
    best = -1
    least = 0.0
    for _ in range(state.candidates):
        key = state.residents[chance(state, state.numbers[USED])]
        rank = density_of(state, key, i)
        if best < 0 or rank < least:
            best, least = key, rank
    for k in range(LATEST):
        key = state.latest[k]
        if key >= 0 and state.slot[key] >= 0:
            rank = density_of(state, key, i)
            if rank < least:
                best, least = key, rank
    state.evictions[kind(state, best), bucket(state, i - state.past[best, LAST])] += 1
    remove(state, best)
    return int(best)


@step
def resize(state: State, key: int, more: int) -> None:
    """An explorer's budget bears the difference; all else reads the loop's bytes."""
    if state.explorer[key]:
        state.numbers[BUDGET] -= more


@step
def review(state: State) -> None:
    """Counts fade, the ages' unit follows the number of residents, and the densities are worked out anew."""
    numbers, residency = state.numbers, state.residency
    for c in range(CLASSES):
        for a in range(AGES):
            state.hits[c, a] *= FADE
            state.evictions[c, a] *= FADE
    residency[0] = residency[0] * FADE + numbers[USED]
    residency[1] = residency[1] * FADE + 1.0
    unit = residency[0] / residency[1] * COVERED / AGES
    while unit > 1 << numbers[SHIFT]:
        numbers[SHIFT] += 1
        halve_ages(state.hits)
        halve_ages(state.evictions)
    while numbers[SHIFT] > 0 and unit * 4 <= 1 << numbers[SHIFT]:
        numbers[SHIFT] -= 1
        double_ages(state.hits)
        double_ages(state.evictions)
    for c in range(CLASSES):
        hits = state.hits[c, AGES - 1]
        events = hits + state.evictions[c, AGES - 1]
        stays = events
        for a in range(AGES - 2, -1, -1):
            hits += state.hits[c, a]
            events += state.hits[c, a] + state.evictions[c, a]
            stays += events
            state.density[c, a] = hits / stays if events > TINY else 0.0


@step
def halve_ages(counts: F64) -> None:
    """The unit doubles: two ages become one."""
    half = AGES // 2
    for c in range(CLASSES):
        for a in range(half):
            counts[c, a] = counts[c, 2 * a] + counts[c, 2 * a + 1]
        for a in range(half, AGES):
            counts[c, a] = 0.0


@step
def double_ages(counts: F64) -> None:
    """The unit halves: each age becomes two; what is beyond the range counts at its end."""
    half = AGES // 2
    for c in range(CLASSES):
        beyond = 0.0
        for a in range(half, AGES):
            beyond += counts[c, a]
        for a in range(AGES - 1, -1, -1):
            counts[c, a] = counts[c, a // 2] / 2
        counts[c, AGES - 1] += beyond
