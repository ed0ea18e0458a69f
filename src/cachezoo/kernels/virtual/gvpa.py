"""The global virtual-physical allocator: one cache for several applications, each with a queue of its own.

Source: the virtual I/O cache, Sec. 3.3. After each quantum every application says what its best mapping is worth at its
share of the cache, and a few steps below and above it; fragments go where they are worth more. All values are of one
quantum, which is counted in the references of all: an application that asks more often has more to say.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from cachezoo.arrays import F64, I32, I64, Bool
from cachezoo.kernels.jit import njit
from cachezoo.kernels.virtual.mapping import MOST_RUNS, Work, allocate, make_work
from cachezoo.kernels.virtual.queues import Moves
from cachezoo.kernels.virtual.vrm import Settings, fragments, memory

NEVER = -np.inf


class Shared(NamedTuple):
    """What applications found in the cache, of M references of A applications."""

    hit: Bool  # bool[M]
    # int32[M], pages read beside misses at each reference: fragmentation, and what a quantum's end maps anew at the
    # quantum's last
    moved: I32
    splits: I32  # int32[M // quantum + 1, A] fragments of each application, from each quantum's begin on
    allocation: I64  # int64[M // quantum + 1, A], of `moved` what each application mapped anew when the quantum began


class State(NamedTuple):
    """What is known of the applications; F fragments in each one's queue."""

    value: F64  # [A, F]
    crossings: F64  # [A, F] pages that moved into each fragment from the one before it
    entering: I64  # [A, F + 1] the same of this quantum, as differences
    mapped: Bool  # [A, F]
    runs: I64  # [A, MOST_RUNS, 2]
    n_runs: I64  # [A]
    length: I64  # [A] pages in the queue
    split: I64  # [A] fragments


class Terms(NamedTuple):
    """How fragments are given out."""

    fragment: int
    f: I64  # [A]
    alpha: F64  # [A]
    cost: F64  # [A]
    optimal: I64  # [A]
    most: I64  # [A] fragments of each queue
    step: int
    reach: int
    fill: float


def _state(applications: int, count: int, total: int, value: F64 | None) -> State:
    """Before the first reference: an equal split, the remainder to the first; `count` fragments in a queue."""
    shape = applications, count
    value = np.zeros(shape, np.float64) if value is None else value
    split = total // applications + (np.arange(applications) < total % applications)
    return State(
        value, np.zeros(shape, np.float64), np.zeros((applications, count + 1), np.int64),
        np.zeros(shape, np.bool_), np.zeros((applications, MOST_RUNS, 2), np.int64), np.zeros(applications, np.int64),
        np.zeros(applications, np.int64), split.astype(np.int64),
    )  # fmt: skip


@njit
def _map(state: State, terms: Terms, work: Work, allocation: I64) -> None:
    """Map every application's share anew; adds the pages that enter because of it."""
    for a in range(state.split.size):
        runs = state.runs[a]
        found = allocate(
            state.value[a], state.crossings[a], state.split[a], terms.f[a], terms.cost[a], terms.optimal[a], work, runs
        )
        state.n_runs[a] = found[0]
        mapped = state.mapped[a]
        before = mapped.copy()
        mapped[:] = False
        for r in range(state.n_runs[a]):
            for b in range(runs[r, 0], runs[r, 1]):
                mapped[b] = True
                if not before[b]:
                    pages = state.length[a] - b * terms.fragment
                    allocation[a] += max(0, min(terms.fragment, pages))


@njit
def _worths(state: State, terms: Terms, work: Work, spare: I64) -> F64:
    """float64[A, 2 · reach + 1]: what each share is worth, from `reach` steps below to `reach` above; or `NEVER`."""
    width = 2 * terms.reach + 1
    worth = np.full((state.split.size, width), NEVER)
    for a in range(state.split.size):
        for j in range(width):
            size = state.split[a] + (j - terms.reach) * terms.step
            if terms.f[a] <= size <= terms.most[a]:
                found = allocate(
                    state.value[a], state.crossings[a], size, terms.f[a], terms.cost[a], terms.optimal[a], work, spare
                )
                worth[a, j] = found[1]
    return worth


@njit
def _give(split: I64, worth: F64, terms: Terms) -> None:
    """Move fragments where they are worth more, the most worthwhile move first, each application once at most."""
    count, step, reach = split.size, terms.step, terms.reach
    moved = np.zeros(count, np.bool_)
    while True:
        best, steps, receiver, giver = 0.0, 0, -1, -1
        for d in range(1, reach + 1):
            dues = terms.fill * (d * step * terms.fragment)
            for r in range(count):
                if moved[r] or worth[r, reach + d] == NEVER:
                    continue
                gain = worth[r, reach + d] - worth[r, reach]
                for g in range(count):
                    if moved[g] or g == r or worth[g, reach - d] == NEVER:
                        continue
                    net = gain - (worth[g, reach] - worth[g, reach - d]) - dues
                    if net > best:
                        best, steps, receiver, giver = net, d, r, g
        if receiver < 0:
            break
        split[receiver] += steps * step
        split[giver] -= steps * step
        moved[receiver] = True
        moved[giver] = True


@njit
def _decay(state: State, alpha: F64) -> None:
    for a in range(alpha.size):
        state.value[a] *= alpha[a]
        state.crossings[a] *= alpha[a]


@njit
def _learn(state: State) -> None:
    """Add the quantum's crossings to those before."""
    for a in range(state.split.size):
        entered = 0
        for b in range(state.value.shape[1]):
            entered += state.entering[a, b]
            state.crossings[a, b] += entered
        state.entering[a, :] = 0


@njit
def _serve(state: State, fragment: int, a: int, position: int, vacated: int, filled: int) -> tuple[bool, int]:
    """One reference: whether it hits, and how many pages enter runs away from the head."""
    hit = False
    if position >= 0:
        b = position // fragment
        hit = state.mapped[a, b]
        state.value[a, b] += 1.0
    entered = 0
    for r in range(state.n_runs[a]):
        if filled < state.runs[a, r, 0] * fragment <= vacated:
            entered += 1
    first, last = filled // fragment + 1, vacated // fragment
    if first <= last:
        state.entering[a, first] += 1
        state.entering[a, last + 1] -= 1
    state.length[a] = max(state.length[a], vacated + 1)
    return hit, entered


@njit
def _share(
    app: I32, moves: Moves, quantum: int, state: State, terms: Terms, work: Work, hit: Bool, moved: I32, splits: I32,
    allocation: I64,
) -> None:  # fmt: skip
    spare = np.zeros((MOST_RUNS, 2), np.int64)
    _map(state, terms, work, allocation[0])
    splits[0] = state.split
    window = 0
    for i in range(app.size):
        hit[i], moved[i] = _serve(state, terms.fragment, app[i], moves.position[i], moves.vacated[i], moves.filled[i])
        if (i + 1) % quantum == 0:
            window += 1
            _learn(state)
            _give(state.split, _worths(state, terms, work, spare), terms)
            _map(state, terms, work, allocation[window])
            splits[window] = state.split
            moved[i] += allocation[window].sum()
            _decay(state, terms.alpha)


def share(
    app: I32,
    moves: Moves,
    applications: int,
    total: int,
    n: int | Sequence[int],
    settings: Settings | Sequence[Settings],
    step: int = 1,
    reach: int = 1,
    fill: float = 0.0,
    profiles: F64 | None = None,
) -> Shared:
    """One cache for several applications.

    Args:
        app: int32[M] whose each reference is, in [0, applications).
        moves: what that application's queue does at each.
        applications: A.
        total: fragments of the cache, at least the sum of each application's f, and in equal parts no more than each
            one's queue has.
        n: pages of each queue, or of all.
        settings: as of one cache, of each application or for all, with one fragment; a quantum is as many references of
            all as their q are together.
        step: fragments that a step moves.
        reach: steps that an application moves at most in a quantum; 1 is the paper's.
        fill: hits that each page of a share that grows must save beyond what the other loses, because it is read
            first; ours. 0 is the paper's.
        profiles: float64[A, F] hits per reference of the application at each fragment of its queue, from which the
            first mapping is made; None: nothing is known, and the first mapping is the head.
    """
    each = [settings] * applications if isinstance(settings, Settings) else list(settings)
    lengths = [n] * applications if isinstance(n, int) else list(n)
    fragment = each[0].fragment
    most = np.array([fragments(length, fragment) for length in lengths], np.int64)
    quantum = sum(one.q for one in each)
    windows = len(app) // quantum + 1
    hit, moved = np.zeros(len(app), np.bool_), np.zeros(len(app), np.int32)
    splits, allocation = np.zeros((windows, applications), np.int32), np.zeros((windows, applications), np.int64)
    count = int(most.max())
    known = None
    if profiles is not None:
        known = np.asarray(profiles, np.float64) * np.array([memory(one) for one in each])[:, None]
    state = _state(applications, count, total, known)
    terms = Terms(
        fragment, np.array([max(one.f, 1) for one in each], np.int64), np.array([float(one.alpha) for one in each]),
        np.array([float(one.cost) for one in each]), np.array([one.optimal for one in each], np.int64), most, step,
        reach, float(fill),
    )  # fmt: skip
    optimal = any(one.optimal for one in each)
    work = make_work(count, min(count, total), int(terms.f.max())) if optimal else make_work(count)
    _share(app, moves, quantum, state, terms, work, hit, moved, splits, allocation)
    return Shared(hit, moved, splits, allocation)
