"""VPA: which fragments of a queue are in the cache, given what each was worth lately.

The k fragments of most value, neighbours merged into runs; while there are more than f runs, the one of least value is
dropped and as many fragments are taken next to the others, the best first. `cost` is ours: each page that entered a
run away from the head would have cost so many hits, and a mapping that is worth no more than the head is the head.

`optimal` finds the best of all mappings instead, by the dynamic programming that the paper names (Sec. 3.2); it gives
no recurrence, so this one is ours.

Values are sums of floats. They are added in ascending order of fragments, from 0.0 on, so that whoever adds them in the
same order finds the same bits.

A run's value is summed only when it may be the least. Until then the heap has what it was before the run grew, which is
no more, because rounding keeps the order of sums; of equals the run nearest the head leaves last, and by growing a run
comes no farther from it.

Source: Frasca, Prabhakar, Raghavan and Kandemir, SC '11, Sec. 3.2 and Algorithm 1.
"""

from typing import NamedTuple

import numpy as np

from cachezoo.arrays import F64, I32, I64, U8
from cachezoo.kernels.heap import pop, push, sink
from cachezoo.kernels.jit import njit
from cachezoo.kernels.step import step

MOST_RUNS = 16
GONE = -1


class Heap(NamedTuple):
    """Ids, the least key first: float64 ranks, then int64 ties, as `cachezoo.kernels.heap` has them."""

    ids: I32
    ranks: F64
    ties: I64
    used: I64


class Work(NamedTuple):
    """Room to work in, for a queue of so many fragments; nothing in it outlasts a call.

    Attributes:
        mapped: uint8[fragments], 1 where the cache has the fragment.
        waiting: uint8[fragments], 1 where `near` has it.
        chosen: float64[fragments], values to choose from.
        low, high: int64[fragments], the fragments of each run; `GONE` and any of one that is no more.
        grown: uint8[fragments], 1 of a run that grew since it was summed.
        owner: int32[fragments], at a run's first and last fragment the run.
        least: the runs by value, and with equal values the farthest from the head first.
        near: fragments next to a run by value, the greatest first, and with equal values the nearest to the head.
        worths: float64[2, f + 1, k + 1], for `optimal`: the best worth of c fragments in r runs, the last one mapped,
            or not.
        before: uint8[fragments, f + 1, k + 1]: 1 where the latter comes from the former, 2 where a run begins.
    """

    mapped: U8
    waiting: U8
    chosen: F64
    low: I64
    high: I64
    grown: U8
    owner: I32
    least: Heap
    near: Heap
    worths: F64
    before: U8


@njit
def _heap(size: int) -> Heap:
    return Heap(np.empty(size, np.int32), np.empty(size, np.float64), np.empty(size, np.int64), np.zeros(1, np.int64))


@njit
def make_work(fragments: int, most: int = 0, f: int = 0) -> Work:
    """Room for `allocate`, to be used again and again.

    Args:
        fragments: of the queue.
        most: fragments that are mapped at most, where the mapping is to be optimal.
        f: runs at most, likewise.
    """
    return Work(
        np.zeros(fragments, np.uint8), np.zeros(fragments, np.uint8), np.empty(fragments, np.float64),
        np.empty(fragments, np.int64), np.empty(fragments, np.int64), np.zeros(fragments, np.uint8),
        np.empty(fragments, np.int32), _heap(fragments), _heap(fragments), np.empty((2, f + 1, most + 1), np.float64),
        np.empty((fragments if most else 0, f + 1, most + 1), np.uint8),
    )  # fmt: skip


@step
def _push(heap: Heap, entry: int, rank: float, tie: int) -> None:
    push(heap.ids, heap.ranks, heap.ties, heap.used[0], (entry, rank, tie))
    heap.used[0] += 1


@step
def _pop(heap: Heap) -> int:
    """Take the least out; returns it."""
    entry = int(heap.ids[0])
    pop(heap.ids, heap.ranks, heap.ties, heap.used[0])
    heap.used[0] -= 1
    return entry


@step
def total(values: F64, low: int, high: int) -> float:
    """Sum of values[low:high], in ascending order."""
    found = 0.0
    for k in range(low, high):
        found += values[k]
    return found


@step
def _kth(chosen: F64, used: int, k: int) -> float:
    """The k-th greatest of the first `used` values, k from 1 on; they are reordered. Hoare's selection."""
    low, high, want = 0, used - 1, k - 1
    while low < high:
        first, middle, last = chosen[low], chosen[(low + high) >> 1], chosen[high]
        pivot = max(min(first, middle), min(max(first, middle), last))
        i, j = low, high
        while i <= j:
            while chosen[i] > pivot:
                i += 1
            while chosen[j] < pivot:
                j -= 1
            if i <= j:
                chosen[i], chosen[j] = chosen[j], chosen[i]
                i += 1
                j -= 1
        if want <= j:
            high = j
        elif want >= i:
            low = i
        else:
            return float(pivot)
    return float(chosen[low])


@step
def _take_best(value: F64, k: int, work: Work) -> None:
    """Map the k fragments of most value, of equals those nearest the head."""
    used = 0
    for b in range(value.size):
        work.chosen[used] = value[b]
        used += value[b] > 0
    least = _kth(work.chosen, used, k) if used > k else 0.0
    equals = k
    for b in range(value.size):
        above = value[b] > least
        work.mapped[b] = above
        equals -= above
    for b in range(value.size):
        if equals == 0:
            break
        if value[b] == least:
            work.mapped[b] = 1
            equals -= 1


@step
def _find_runs(work: Work) -> int:
    """Merge mapped neighbours; returns how many runs there are, numbered from the head."""
    runs = 0
    for b in range(work.mapped.size):
        if work.mapped[b] != 0:
            if b == 0 or work.mapped[b - 1] == 0:
                work.low[runs], work.grown[runs], work.owner[b] = b, 0, runs
                runs += 1
            if b + 1 == work.mapped.size or work.mapped[b + 1] == 0:
                work.high[runs - 1], work.owner[b] = b + 1, runs - 1
    return runs


@step
def _offer(value: F64, work: Work, b: int) -> None:
    """Fragment b is next to a run, if it is a fragment."""
    if 0 <= b < value.size and work.mapped[b] == 0 and work.waiting[b] == 0:
        work.waiting[b] = 1
        _push(work.near, b, -value[b], b)


@step
def _least_run(value: F64, work: Work) -> int:
    """Take the run of least value out of the heap."""
    heap = work.least
    while True:
        run = heap.ids[0]
        low = work.low[run]
        if low == GONE:
            _pop(heap)
        elif work.grown[run] != 0:
            work.grown[run] = 0
            heap.ranks[0], heap.ties[0] = total(value, low, work.high[run]), -low
            sink(heap.ids, heap.ranks, heap.ties, None, heap.used[0])
        else:
            return _pop(heap)


@step
def _next(work: Work) -> int:
    """Take the best fragment next to a run out of the heap. What is no longer next to one is left out."""
    mapped = work.mapped
    while True:
        b = _pop(work.near)
        work.waiting[b] = 0
        beside = (b > 0 and mapped[b - 1] != 0) or (b + 1 < mapped.size and mapped[b + 1] != 0)
        if beside and mapped[b] == 0:
            return b


@step
def _grow(work: Work, b: int) -> int:
    """Map fragment b, which is next to a run or between two; returns 1 if these became one."""
    mapped, owner = work.mapped, work.owner
    mapped[b] = 1
    left = b > 0 and mapped[b - 1] != 0
    right = b + 1 < mapped.size and mapped[b + 1] != 0
    run = owner[b - 1] if left else owner[b + 1]
    if left and right:
        other = owner[b + 1]
        work.high[run] = work.high[other]
        work.low[other] = GONE
    elif left:
        work.high[run] = b + 1
    else:
        work.low[run] = b
    owner[work.low[run]] = run
    owner[work.high[run] - 1] = run
    work.grown[run] = 1
    return int(left and right)


@step
def _merge(value: F64, f: int, runs: int, work: Work) -> None:
    """Drop runs and let the others grow until there are at most f."""
    work.least.used[0] = work.near.used[0] = 0
    work.waiting[:] = 0
    for run in range(runs):
        low, high = work.low[run], work.high[run]
        _push(work.least, run, total(value, low, high), -low)
        _offer(value, work, low - 1)
        _offer(value, work, high)
    while runs > f:
        run = _least_run(value, work)
        low, high = work.low[run], work.high[run]
        work.low[run] = GONE
        for b in range(low, high):
            work.mapped[b] = 0
        runs -= 1
        for _ in range(low, high):
            b = _next(work)
            runs -= _grow(work, b)
            _offer(value, work, b - 1)
            _offer(value, work, b + 1)


@step
def _worth(value: F64, crossings: F64, runs: I64, count: int, cost: float) -> float:
    """Value of the mapped fragments, less what the pages cost that entered runs away from the head."""
    found, crossed = 0.0, 0.0
    for run in range(count):
        low = runs[run, 0]
        for b in range(low, runs[run, 1]):
            found += value[b]
        if low > 0:
            crossed += crossings[low]
    return found - cost * crossed


@step
def _take_optimum(value: F64, crossings: F64, k: int, f: int, cost: float, work: Work) -> None:
    """Map the k fragments in at most f runs that are worth most; of equals those whose last ones are nearest the head.

    Fragment by fragment, the best worth of c mapped ones in at most r runs, with the last one mapped (`on`) or not
    (`off`): O(fragments · k · f) steps and bytes.
    """
    on, off, before = work.worths[0], work.worths[1], work.before
    for r in range(f + 1):
        for c in range(k + 1):
            on[r, c] = -np.inf
            off[r, c] = 0.0 if c == 0 else -np.inf
    for b in range(value.size):
        due = cost * crossings[b] if b > 0 else 0.0
        for r in range(f, -1, -1):
            for c in range(k, -1, -1):
                here = 0
                if on[r, c] > off[r, c]:
                    here = 1
                    stay = on[r, c]
                else:
                    stay = off[r, c]
                found = -np.inf
                if c > 0 and r > 0:
                    found = on[r, c - 1]
                    if off[r - 1, c - 1] - due >= found:
                        found = off[r - 1, c - 1] - due
                        here |= 2
                    found += value[b]
                on[r, c], off[r, c] = found, stay
                before[b, r, c] = here
    r, c = f, k
    taken = on[r, c] > off[r, c]
    for b in range(value.size - 1, -1, -1):
        work.mapped[b] = taken
        here = before[b, r, c]
        if taken:
            c -= 1
            r -= here >> 1
            taken = here < 2
        else:
            taken = here & 1 == 1


@step
def allocate(
    value: F64, crossings: F64, k: int, f: int, cost: float, optimal: int, work: Work, runs: I64
) -> tuple[int, float]:  # fmt: skip
    """Choose the fragments that the cache holds.

    Args:
        value: float64[fragments], at least 0.
        crossings: float64[fragments], pages that crossed each fragment's beginning on their way back.
        k: fragments that fit, from 1 to all.
        f: runs at most, from 1 to `MOST_RUNS`.
        cost: hits that a page entering a run away from the head costs. Above 0, the mapping is the head alone, unless
            the other is worth more.
        optimal: 1: the best of all mappings; 0: the paper's.
        work: of `make_work(fragments)`, for `optimal` with k and f at least these.
        runs: int64[MOST_RUNS, 2], written: the fragments [low, high) of each run, the nearest to the head first.

    Returns:
        How many runs, and what the mapping is worth: its fragments' value less `cost` for each crossing into its runs.
    """
    if optimal == 1:
        _take_optimum(value, crossings, k, f, cost, work)
    else:
        _take_best(value, k, work)
    found = _find_runs(work)
    if found > f:
        _merge(value, f, found, work)
        found = _find_runs(work)
    for run in range(found):
        runs[run, 0], runs[run, 1] = work.low[run], work.high[run]
    worth = _worth(value, crossings, runs, found, cost)
    if cost > 0:
        head = total(value, 0, k)
        if head >= worth:
            found, worth = 1, head
            runs[0, 0], runs[0, 1] = 0, k
    return found, worth
