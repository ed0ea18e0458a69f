"""Evictions of objects that know what is asked next: MIN, the same by size, and relaxed Belady.

- `evict_farthest`: the object whose next request is farthest leaves, whatever its size. Source: Belady, IBM Systems
  Journal 5(2), 1966. With sizes it is no optimum: what is small and needed late may cost less than what is large and
  needed soon.
- `evict_costliest`: the object leaves whose bytes times the requests until its next are most. Source: the rule is that
  by which PFOO orders intervals (Berger, Beckmann, Harchol-Balter, SIGMETRICS 2018). Of more residents than
  `candidates` so many are drawn at random.
- `evict_relaxed`: of those whose next request is at or beyond a boundary the one used longest ago leaves, and the
  farthest if there is none. Source: Song, Berger, Li, Lloyd, NSDI 2020, Sec. 3, as `cachezoo.kernels.bounds.relaxed`.

Objects that are never asked for again, or deleted first, leave before all others, the one used last first. Time to live
is not looked at. With `bypass`, an object that would have to leave at once does not enter. Where all sizes are equal,
the first two are the page bounds `belady` and `belady_bypass`.

    where it differs     here                                    libCacheSim's Belady and BeladySize
    next request         none if the object is deleted first     as the trace has it
    ties (never again)   the object used last leaves first       by its heap's order
    by size              whoever is never needed again first,    the most of 128 draws, never needed again or not
                         then the most of `candidates` draws
"""

from typing import NamedTuple

import numpy as np

from cachezoo.arrays import I32, I64, U8, U64
from cachezoo.kernels.admit.draws import draw, scaled
from cachezoo.kernels.bounds import bitset
from cachezoo.kernels.bounds.following import next_access
from cachezoo.kernels.jit import njit
from cachezoo.kernels.sized.loop import DELETE
from cachezoo.kernels.step import step

# Places in `numbers`: residents, their bytes, greatest position that is or was in the set, draws, the victim chosen
# when a newcomer was weighed (-1 none), least distance of a victim's next request, where relaxed Belady's search is.
USED, BYTES, GREATEST, DRAWS, CHOSEN, NEAREST, OLDEST = range(7)
COUNT_MASK = 2**31 - 1


class State(NamedTuple):
    """The residents, by the positions of their next requests.

    Attributes:
        held: the loop's.
        ids: int32[n], of the requests.
        then: int64[n], position of the next request of the same object; n + i where there is none after request i.
        position: int64[n_objects], `then` of a resident's latest request.
        last: int64[n_objects], number of a resident's latest request.
        words, start: the positions of the residents, a set of `cachezoo.kernels.bounds.bitset` over [0, 2n).
        slot: int32[n_objects] a resident's place in `residents`, -1 of others.
        residents: int32[n_objects], the first `USED` count.
        numbers: int64[7].
        capacity, candidates, seed, boundary: bytes; draws; of the draws; requests.
        bypass: does what would leave at once stay out?
    """

    held: I64
    ids: I32
    then: I64
    position: I64
    last: I64
    words: U64
    start: I64
    slot: I32
    residents: I32
    numbers: I64
    capacity: int
    candidates: int
    seed: int
    boundary: int
    bypass: bool


@njit
def _until_deleted(op: U8, then: I64) -> None:
    n = op.size
    for i in range(n):
        if then[i] >= n or op[then[i]] == DELETE:
            then[i] = n + i


def make(
    held: I64, ids: I32, op: U8, capacity: int, candidates: int = 0, seed: int = 0, boundary: int = 0,
    bypass: bool = False,
) -> State:  # fmt: skip
    """Nothing resident.

    Args:
        held: int64[n_objects], the loop's.
        ids: int32[n] of the requests.
        op: uint8[n] of the requests.
        capacity: bytes.
        candidates: of `evict_costliest`, residents drawn; 0: all are looked at.
        seed: of the draws.
        boundary: of `evict_relaxed`, requests.
        bypass: does what would leave at once stay out?
    """
    n_objects = len(held)
    then = next_access(ids, n_objects).astype(np.int64)
    _until_deleted(op, then)
    numbers = np.zeros(7, np.int64)
    numbers[CHOSEN], numbers[NEAREST] = -1, len(ids)
    return State(
        held, ids, then, np.zeros(n_objects, np.int64), np.full(n_objects, -1, np.int64), *bitset.empty(2 * len(ids)),
        np.full(n_objects, -1, np.int32), np.zeros(n_objects, np.int32), numbers, capacity, candidates, seed, boundary,
        bypass,
    )  # fmt: skip


@step
def _place(state: State, key: int, i: int) -> None:
    """A resident's next request is what follows request i."""
    then = state.then[i]
    state.position[key], state.last[key] = then, i
    bitset.add(state.words, state.start, then)
    state.numbers[GREATEST] = max(state.numbers[GREATEST], then)


@step
def touch(state: State, key: int, i: int) -> None:
    """Known by its next request from now on."""
    bitset.remove(state.words, state.start, state.position[key])
    _place(state, key, i)
    state.numbers[CHOSEN] = -1


@step
def insert(state: State, key: int, i: int) -> None:
    """In, known by its next request."""
    numbers = state.numbers
    state.slot[key] = numbers[USED]
    state.residents[numbers[USED]] = key
    numbers[USED] += 1
    numbers[BYTES] += state.held[key]
    _place(state, key, i)


@step
def remove(state: State, key: int) -> None:
    """Out; the last of the residents takes its slot."""
    numbers = state.numbers
    bitset.remove(state.words, state.start, state.position[key])
    numbers[BYTES] -= state.held[key]
    last = state.residents[numbers[USED] - 1]
    state.residents[state.slot[key]] = last
    state.slot[last] = state.slot[key]
    state.slot[key] = -1
    numbers[USED] -= 1


@step
def resize(state: State, key: int, more: int) -> None:
    """So many bytes more are resident."""
    state.numbers[BYTES] += more


@step
def farthest(state: State) -> int:
    """The resident whose next request is farthest; there is one."""
    position = bitset.highest(state.words, state.start, state.numbers[GREATEST])
    state.numbers[GREATEST] = position
    n = state.ids.size
    return int(state.ids[position - n if position >= n else position])


@step
def evict_farthest(state: State, i: int) -> int:
    """Out with it; the least distance of what was still needed is noted."""
    key = farthest(state)
    if state.position[key] < state.ids.size:
        state.numbers[NEAREST] = min(state.numbers[NEAREST], state.position[key] - i)
    remove(state, key)
    return key


@step
def wants_farther(state: State, key: int, i: int, size: int) -> bool:
    """Not, with `bypass`, what is needed later than all that a full cache holds."""
    if not state.bypass or state.numbers[BYTES] + size <= state.capacity:
        return True
    return bool(state.then[i] < state.position[farthest(state)])


@step
def cost(state: State, key: int, i: int) -> float:
    """Bytes times the requests from request i to the next of a resident."""
    return float(state.held[key]) * float(state.position[key] - i)


@step
def costliest(state: State, i: int) -> int:
    """Who is never needed again, or else costs most until it is; of equals the one met first."""
    key = farthest(state)
    used = state.numbers[USED]
    if state.position[key] >= state.ids.size:
        return key
    drawn = 0 < state.candidates < used
    key = -1
    for k in range(state.candidates if drawn else used):
        place = k
        if drawn:
            state.numbers[DRAWS] += 1
            place = scaled(draw(state.seed, state.numbers[DRAWS] & COUNT_MASK), used)
        other = state.residents[place]
        if key < 0 or cost(state, other, i) > cost(state, key, i):
            key = other
    return int(key)


@step
def evict_costliest(state: State, i: int) -> int:
    """Out with it."""
    key = int(state.numbers[CHOSEN])
    if key < 0:
        key = costliest(state, i)
    state.numbers[CHOSEN] = -1
    remove(state, key)
    return key


@step
def wants_cheaper(state: State, key: int, i: int, size: int) -> bool:
    """Not, with `bypass`, what costs more than whoever would leave a full cache for it, or is never needed again."""
    state.numbers[CHOSEN] = -1
    if not state.bypass or state.numbers[BYTES] + size <= state.capacity:
        return True
    n = state.ids.size
    if state.then[i] >= n:
        return False
    victim = costliest(state, i)
    state.numbers[CHOSEN] = victim
    needless = state.position[victim] >= n
    return bool(needless or float(size) * float(state.then[i] - i) < cost(state, victim, i))


@step
def evict_relaxed(state: State, i: int) -> int:
    """Out with the one used longest ago of those beyond the boundary.

    Once within the boundary an object stays within until it is used again, and what is beyond has not been used again:
    so those beyond, from the one used longest ago on, are what the search meets, and it never goes back.
    """
    numbers = state.numbers
    n = state.ids.size
    while numbers[OLDEST] < i:
        at = numbers[OLDEST]
        key = state.ids[at]
        if state.slot[key] >= 0 and state.last[key] == at:
            then = state.position[key]
            if then >= n or then - i >= state.boundary:
                remove(state, key)
                return int(key)
        numbers[OLDEST] += 1
    key = farthest(state)
    remove(state, key)
    return int(key)
