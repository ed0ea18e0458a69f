"""AdaptSize: an object of s bytes enters with probability exp(-s / c), and c is tuned as requests come.

Source: Berger, Sitaraman, Harchol-Balter, "AdaptSize: orchestrating the hot object memory cache in a content delivery
network", NSDI 2017. A Markov model says what an LRU cache behind this rule would hit at any c: an object of request
rate r that enters with probability p is resident a share p (e^(rT) - 1) / (1 + p (e^(rT) - 1)) of the time, which is
its hit ratio; T, the time that an object stays without a request, is the same for all, and such that the bytes resident
on average are the capacity. At each review the c of most hits by the model is taken, from powers of 2 and then between
the neighbours of the best one. Rates are faded averages over the times between reviews.

The model is of a cache that has run for ever, in which at a small c even what enters once in a million requests is
resident at last. So here a share counts only as far as the object has entered in the H requests that the rates are
from: times 1 - (1 - e^(-x)) / x, x = p r H, which is the mean over these requests from an empty cache on.

Parameters: every 262,144, requests from one review to the next, the first after 4,096 and twice as many until the next
each time; start 32,768, c in bytes until then; seed 0.

    where it differs     here                                   libCacheSim's and the authors'
    residence            as above, exactly, within H requests   Pade approximations of it, for ever
    T                    by bisection                           20 steps of a fixed point
    c                    powers of 2, then golden section       log2 in unit steps, then golden section
    objects              in classes of like rate and size       one by one
    first review         after 4,096 requests                   after a fixed number, 500,000 the authors'
"""

from typing import NamedTuple

import numpy as np

from cachezoo.arrays import F64, I32, I64
from cachezoo.kernels.admit.draws import draw
from cachezoo.kernels.step import step

FIRST_REVIEW = 4096
FRESH = 0.3  # share of the latest time between reviews in a rate
GONE = 0.01  # requests between two reviews; a rate below is forgotten
FINENESS = 4  # classes an octave
RATES, SIZES = 40 * FINENESS, 52 * FINENESS
HALVINGS, SECTIONS = 40, 16
BEYOND = 8  # octaves of c above the capacity: there nearly all enters
LONGEST = 2.0**60
LITTLE = 1e-6
GOLDEN = 0.6180339887498949
# Places in `numbers`: requests since the last review, how many make the next, classes in use.
SINCE, PERIOD, USED = range(3)
# Columns of `classes`: objects; sums of their rates and bytes, at last the means; p; share that has entered.
COUNT, RATE, BYTES, ENTERS, ENTERED = range(5)


class State(NamedTuple):
    """What is known of the objects, and c.

    Attributes:
        ids, size: int32[n] and int64[n], of the requests.
        latest: float64[n_objects] requests since the last review.
        rate: float64[n_objects] requests of the object per request, faded.
        bytes: int64[n_objects] as last requested.
        classes: float64[RATES * SIZES, 5], the first `USED` count.
        c: float64[1] bytes.
        numbers: int64[3].
        capacity, every, seed: bytes, and the parameters.
    """

    ids: I32
    size: I64
    latest: F64
    rate: F64
    bytes: I64
    classes: F64
    c: F64
    numbers: I64
    capacity: int
    every: int
    seed: int


def make(ids: I32, size: I64, n_objects: int, capacity: int, every: int, start: float, seed: int) -> State:
    """Nothing is known.

    Args:
        ids: int32[n] of the requests, in [0, n_objects).
        size: int64[n] of the requests, bytes.
        n_objects: distinct objects.
        capacity: bytes.
        every: requests between reviews, in the end.
        start: c until the first.
        seed: of the draws.
    """
    numbers = np.zeros(3, np.int64)
    numbers[PERIOD] = min(FIRST_REVIEW, every)
    return State(
        ids, size, np.zeros(n_objects), np.zeros(n_objects), np.zeros(n_objects, np.int64),
        np.zeros((RATES * SIZES, 5)), np.full(1, float(start)), numbers, capacity, every, seed,
    )  # fmt: skip


@step
def admit(state: State, key: int, i: int) -> bool:
    """By the draw of this request, the smaller the likelier."""
    saw(state, key, i)
    return bool(draw(state.seed, i) < np.exp(-state.size[i] / state.c[0]) * 2.0**32)


@step
def saw(state: State, key: int, i: int) -> None:
    """One request more of the object; the last before a review makes it."""
    numbers = state.numbers
    state.latest[key] += 1.0
    if state.size[i] > 0:
        state.bytes[key] = state.size[i]
    numbers[SINCE] += 1
    if numbers[SINCE] >= numbers[PERIOD]:
        classify(state)
        state.c[0] = best(state, numbers[SINCE] / FRESH)
        numbers[SINCE] = 0
        numbers[PERIOD] = min(2 * numbers[PERIOD], state.every)


@step
def classify(state: State) -> None:
    """Rates take in what came since the last review; objects of like rate and size are one class."""
    classes, numbers = state.classes, state.numbers
    for k in range(classes.shape[0]):
        classes[k, COUNT] = classes[k, RATE] = classes[k, BYTES] = 0.0
    period = float(numbers[SINCE])
    for key in range(state.rate.size):
        rate = (1.0 - FRESH) * state.rate[key] + FRESH * state.latest[key] / period
        if rate * period < GONE or state.bytes[key] == 0:
            rate = 0.0
        state.rate[key] = rate
        state.latest[key] = 0.0
        if rate > 0.0:
            row = min(int(-np.log2(min(rate, 1.0)) * FINENESS), RATES - 1)
            column = min(int(np.log2(float(state.bytes[key])) * FINENESS), SIZES - 1)
            k = row * SIZES + column
            classes[k, COUNT] += 1.0
            classes[k, RATE] += rate
            classes[k, BYTES] += state.bytes[key]
    used = 0
    for k in range(classes.shape[0]):
        count = classes[k, COUNT]
        if count > 0.0:
            rate, size = classes[k, RATE] / count, classes[k, BYTES] / count
            classes[used, COUNT], classes[used, RATE], classes[used, BYTES] = count, rate, size
            used += 1
    numbers[USED] = used


@step
def share(state: State, k: int, stay: float) -> float:
    """Part of the time that an object of class k is resident."""
    classes = state.classes
    left = np.exp(-classes[k, RATE] * stay)
    there = classes[k, ENTERS] * (1.0 - left)
    return float(classes[k, ENTERED] * there / (left + there)) if there > 0.0 else 0.0


@step
def resident(state: State, stay: float) -> float:
    """Bytes resident on average, if an object stays so long without a request."""
    total = 0.0
    for k in range(state.numbers[USED]):
        total += state.classes[k, COUNT] * state.classes[k, BYTES] * share(state, k, stay)
    return total


@step
def hits(state: State, c: float, known: float) -> float:
    """Hits per request of an LRU cache behind this rule, by the model, over as many requests as the rates are from."""
    classes = state.classes
    for k in range(state.numbers[USED]):
        enters = np.exp(-classes[k, BYTES] / c)
        x = enters * classes[k, RATE] * known
        classes[k, ENTERS] = enters
        classes[k, ENTERED] = 1.0 - (1.0 - np.exp(-x)) / x if x > LITTLE else x / 2.0
    high = 1.0
    while high < LONGEST and resident(state, high) < state.capacity:
        high *= 2.0
    low = 0.0
    if high < LONGEST:
        for _ in range(HALVINGS):
            middle = (low + high) / 2.0
            if resident(state, middle) < state.capacity:
                low = middle
            else:
                high = middle
    total = 0.0
    for k in range(state.numbers[USED]):
        total += classes[k, COUNT] * classes[k, RATE] * share(state, k, high)
    return total


@step
def best(state: State, known: float) -> float:
    """The c of most hits; of equals the greatest power of 2."""
    octaves = int(np.log2(float(state.capacity))) + BEYOND
    most, at = -1.0, 0
    for k in range(octaves, -1, -1):
        found = hits(state, 2.0**k, known)
        if found > most:
            most, at = found, k
    low, high = float(max(at - 1, 0)), float(min(at + 1, octaves))
    chosen = float(at)
    for _ in range(SECTIONS):
        left, right = high - GOLDEN * (high - low), low + GOLDEN * (high - low)
        there, here = hits(state, 2.0**left, known), hits(state, 2.0**right, known)
        if there > most:
            most, chosen = there, left
        if here > most:
            most, chosen = here, right
        if there > here:
            high = right
        else:
            low = left
    return float(2.0**chosen)
