"""A cache of some of a queue's positions: it counts what the positions are worth, and maps the best of them anew.

The cache holds exactly the pages at mapped positions; a mapping is a few runs of them. A reference is a hit where its
page's position is mapped. Pages that a move brings from outside into a run are read from the disk, and so are those
that a new mapping finds: transfers besides the misses, without which no hit ratio here says what the disk does.

After every quantum of references the fragments' values decide the mapping and then decay. See
`cachezoo.kernels.virtual.queues` for the moves, `cachezoo.kernels.virtual.mapping` for the choice.

Source: Frasca, Prabhakar, Raghavan and Kandemir, SC '11, Sec. 3.1 and 3.2.
"""

from typing import NamedTuple

import numpy as np

from cachezoo.arrays import F64, I32, I64, Bool
from cachezoo.kernels.jit import njit
from cachezoo.kernels.step import step
from cachezoo.kernels.virtual.mapping import MOST_RUNS, Work, allocate, make_work
from cachezoo.kernels.virtual.queues import Moves

FRAGMENT, MOST_FRAGMENT = 256, 2**16
LONGEST_MEMORY = 100.0  # quanta that a value remembers at most, where a learned profile stands for it


class Settings(NamedTuple):
    """How a queue's positions are mapped."""

    fragment: int = FRAGMENT  # positions that are mapped together
    f: int = 2  # runs at most, up to `MOST_RUNS`
    alpha: float = 0.95  # what a value is multiplied by at the end of each quantum
    q: int = 2000  # references of a quantum
    cost: float = 0.0  # hits that a page costs which enters a run away from the head; 0 as in the paper
    optimal: int = 0  # 1: the best of all mappings, by dynamic programming; 0: the paper's rule


class Served(NamedTuple):
    """What a cache did."""

    hit: Bool  # bool[m]
    # int32[m], pages read besides the missed one; those that a new mapping finds stand at the quantum's last reference
    moved: I32
    allocation: int  # pages read because the mapping changed
    fragmentation: int  # pages read because a move brought them into a run
    # int32[m // q + 1, MOST_RUNS, 2], the positions [low, high) of each run during each quantum, the first before any
    # reference and the last after the last whole quantum; -1 where there is no run
    mappings: I32
    kept: Bool  # bool[m], the page is in the cache after its move; of a miss, whether it entered


class State(NamedTuple):
    """One queue's cache."""

    value: F64  # float64[fragments]
    crossings: F64  # float64[fragments], pages that crossed each fragment's beginning, up to the last quantum
    change: I64  # int64[fragments + 1], this quantum's crossings of a fragment, less those of the one before
    runs: I64  # int64[MOST_RUNS, 2] positions [low, high) in the cache
    before: I64  # int64[MOST_RUNS, 2], the last mapping's
    numbers: I64  # int64[2]: runs, pages in the queue
    work: Work  # for `allocate`


RUNS, LENGTH = 0, 1


def fragments(n: int, fragment: int) -> int:
    """Fragments of a queue of n pages; the last may be shorter."""
    return -(-n // fragment)


def memory(settings: Settings) -> float:
    """References that a fragment's value remembers: what hits per reference are multiplied by to be a value."""
    quanta = min(1 / (1 - settings.alpha), LONGEST_MEMORY) if settings.alpha < 1 else LONGEST_MEMORY
    return settings.q * quanta


def make(n: int, settings: Settings, profile: F64 | None = None, capacity: int = 0) -> State:
    """A queue of n pages that is empty and not yet mapped; `remap` is next.

    Args:
        n: pages.
        settings: as they are.
        profile: float64[fragments], hits per reference at each; nothing is known without it.
        capacity: pages of the cache, where its mappings are to be optimal.
    """
    count = fragments(n, settings.fragment)
    value = np.zeros(count) if profile is None else np.asarray(profile, np.float64) * memory(settings)
    ends = np.zeros((MOST_RUNS, 2), np.int64)
    return State(
        value, np.zeros(count), np.zeros(count + 1, np.int64), ends, ends.copy(), np.zeros(2, np.int64),
        make_work(count, capacity // settings.fragment, settings.f) if settings.optimal else make_work(count),
    )  # fmt: skip


@step
def is_mapped(state: State, position: int) -> bool:
    """Is the position in the cache?"""
    for run in range(state.numbers[RUNS]):
        if state.runs[run, 0] <= position < state.runs[run, 1]:
            return True
    return False


@step
def entering(state: State, vacated: int, filled: int) -> int:
    """Pages that a move brings from outside into runs: into each that begins behind `filled`, up to `vacated`."""
    found = 0
    for run in range(state.numbers[RUNS]):
        found += filled < state.runs[run, 0] <= vacated
    return found


@step
def note(state: State, fragment: int, position: int, vacated: int, filled: int) -> None:
    """Count a reference: at its page's fragment, and at the fragments whose beginning its move crosses."""
    if position >= 0:
        state.value[position // fragment] += 1
    first, last = filled // fragment, vacated // fragment
    state.change[first + 1] += 1
    state.change[last + 1] -= 1
    if vacated >= state.numbers[LENGTH]:
        state.numbers[LENGTH] = vacated + 1


@step
def tally(state: State) -> None:
    """Add the crossings of this quantum to those before."""
    crossed = 0
    for b in range(state.crossings.size):
        crossed += state.change[b]
        state.crossings[b] += crossed
    state.change[:] = 0


@step
def decay(state: State, alpha: float) -> None:
    """Forget part of what was counted."""
    for b in range(state.value.size):
        state.value[b] *= alpha
        state.crossings[b] *= alpha


@step
def _newly(state: State) -> int:
    """Positions in the mapping that hold a page and were not in the last one; both have their runs in order."""
    length, found = state.numbers[LENGTH], 0
    for run in range(state.numbers[RUNS]):
        low, high = state.runs[run, 0], min(state.runs[run, 1], length)
        found += max(0, high - low)
        for old in range(MOST_RUNS):
            found -= max(0, min(high, state.before[old, 1]) - max(low, state.before[old, 0]))
    return found


@step
def remap(state: State, n: int, capacity: int, settings: Settings) -> int:
    """Map the best positions; returns how many pages are read for it.

    Args:
        state: the queue's.
        n: pages that it holds at most.
        capacity: pages in the cache, from a fragment to n. Those beyond whole fragments make the run nearest the head
            longer at its end, or at its beginning where it ends at n.
        settings: as they are.
    """
    fragment, runs = settings.fragment, state.runs
    for run in range(MOST_RUNS):
        mapped = run < state.numbers[RUNS]
        state.before[run, 0] = runs[run, 0] if mapped else 0
        state.before[run, 1] = runs[run, 1] if mapped else 0
    k = capacity // fragment
    count, _ = allocate(state.value, state.crossings, k, settings.f, settings.cost, settings.optimal, state.work, runs)
    state.numbers[RUNS] = count
    for run in range(count):
        runs[run, 0] *= fragment
        runs[run, 1] = min(runs[run, 1] * fragment, n)
    rest = capacity - k * fragment
    if runs[0, 1] == n:
        runs[0, 0] = max(runs[0, 0] - rest, 0)
    else:
        runs[0, 1] = min(runs[0, 1] + rest, n)
    return _newly(state)


@njit
def _serve(
    moves: Moves, n: int, capacity: int, settings: Settings, state: State, each: tuple[Bool, Bool, I32], mappings: I32
) -> tuple[int, int]:
    """All references; returns the pages read for new mappings and those that moves brought into runs."""
    hit, kept, moved = each
    allocation, fragmentation, quantum = 0, 0, 0
    for i in range(hit.size):
        position, vacated, filled = moves.position[i], moves.vacated[i], moves.filled[i]
        hit[i], kept[i] = is_mapped(state, position), is_mapped(state, filled)
        moved[i] = entering(state, vacated, filled)
        fragmentation += moved[i]
        note(state, settings.fragment, position, vacated, filled)
        if (i + 1) % settings.q == 0:
            tally(state)
            read = remap(state, n, capacity, settings)
            moved[i] += read
            allocation += read
            decay(state, settings.alpha)
            quantum += 1
            _draw(state, mappings[quantum])
    return allocation, fragmentation


@step
def _draw(state: State, mapping: I32) -> None:
    for run in range(state.numbers[RUNS]):
        mapping[run, 0], mapping[run, 1] = state.runs[run, 0], state.runs[run, 1]


def simulate(moves: Moves, capacity: int, n: int, settings: Settings, profile: F64 | None = None) -> Served:
    """Serve references from an empty cache.

    Args:
        moves: of a queue of n pages, by `cachezoo.kernels.virtual.queues.moves`.
        capacity: pages, from one fragment to n.
        n: pages of the queue, at most 2**26.
        settings: fragment from 1 to `MOST_FRAGMENT`, f from 1 to `MOST_RUNS`, alpha in [0, 1], q at least 1, cost at
            least 0.
        profile: float64[fragments], hits per reference at each fragment, from which the first mapping is made. Without
            it the first mapping is the head.

    Returns:
        What the cache did at each reference.
    """
    references = len(moves.position)
    each = np.empty(references, np.bool_), np.empty(references, np.bool_), np.empty(references, np.int32)
    mappings = np.full((references // settings.q + 1, MOST_RUNS, 2), -1, np.int32)
    state = make(n, settings, profile, capacity)
    remap(state, n, capacity, settings)
    _draw(state, mappings[0])
    counts = _serve(moves, n, capacity, settings, state, each, mappings)
    hit, kept, moved = each
    return Served(hit, moved, *counts, mappings, kept)
