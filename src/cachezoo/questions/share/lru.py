"""Partitions with LRU in each: fixed ones, those of UCP, the best fixed ones, and the best of each window."""

import numpy as np

from cachezoo.arrays import I64
from cachezoo.kernels.partition import add_misses, partitioned
from cachezoo.kernels.split import lookahead, optimum
from cachezoo.policies.components import Whole
from cachezoo.questions.share.partition import FRAGMENT, NOTHING, Options, Partitioner, Shared, Task

WINDOW = Whole("window", 20000, 1, 10**9, "references of an application, on average, that a split holds for")
START = np.zeros(1, np.int64)


def equal_split(total: int, count: int) -> I64:
    """int64[A]: as many fragments each; those left over go to the first."""
    split: I64 = total // count + (np.arange(count, dtype=np.int64) < total % count)
    return split


def proportional_split(total: int, weights: I64) -> I64:
    """int64[A]: a fragment each, the others by weight; what rounding leaves goes to the largest remainders."""
    rest = total - len(weights)
    exact = rest * weights / weights.sum()
    split: I64 = exact.astype(np.int64)
    left = rest - int(split.sum())
    split[np.argsort(split - exact, kind="stable")[:left]] += 1
    return split + 1


def _run(task: Task, fragment: int, begins: I64, fragments: I64) -> Shared:
    """LRU in each partition, by fragments int64[W, A]."""
    mix = task.bench.mix
    hit, splits = np.empty(len(mix), np.bool_), fragments * fragment
    partitioned(mix.app, task.bench.distance, begins, splits, hit)
    return Shared.of_hits(hit, begins, splits)


def _equal(task: Task, options: Options) -> Shared:
    fragment = options.whole("fragment")
    split = equal_split(task.total(fragment), task.bench.mix.count)
    return _run(task, fragment, START, split[None])


def _proportional(task: Task, options: Options) -> Shared:
    fragment = options.whole("fragment")
    weights = np.array([len(one) for one in task.bench.mix.applications], np.int64)
    return _run(task, fragment, START, proportional_split(task.total(fragment), weights)[None])


def _static_best(task: Task, options: Options) -> Shared:
    fragment = options.whole("fragment")
    total = task.total(fragment)
    split = optimum(task.bench.misses(task.counted, task.pages, fragment), total, 1)
    return _run(task, fragment, START, split[None])


def _windows(task: Task, options: Options) -> I64:
    """int64[W]: where windows begin; the last may be shorter."""
    mix = task.bench.mix
    return np.arange(0, len(mix), options.whole("window") * mix.count, dtype=np.int64)


def _ucp(task: Task, options: Options) -> Shared:
    """Histograms of all references so far, halved after each window, say how the next is split."""
    mix, fragment, begins = task.bench.mix, options.whole("fragment"), _windows(task, options)
    total = task.total(fragment)
    splits, every = np.empty((len(begins), mix.count), np.int64), np.ones(len(mix), np.bool_)
    splits[0] = equal_split(total, mix.count)
    misses = np.zeros((mix.count, total + 1), np.int64)
    for window, stop in enumerate(begins[1:].tolist(), start=1):
        add_misses(mix.app, task.bench.distance, every, int(begins[window - 1]), stop, fragment, misses)
        splits[window] = lookahead(misses, total, 1)
        misses //= 2
    return _run(task, fragment, begins, splits)


def _hindsight(task: Task, options: Options) -> Shared:
    """Each window by the split that is best in it, whose pages are all taken to be there when it begins."""
    mix, fragment, begins = task.bench.mix, options.whole("fragment"), _windows(task, options)
    total, distance = task.total(fragment), task.bench.distance
    splits = np.empty((len(begins), mix.count), np.int64)
    hit = np.empty(len(mix), np.bool_)
    for window, first in enumerate(begins.tolist()):
        stop = int(begins[window + 1]) if window + 1 < len(begins) else len(mix)
        misses = np.zeros((mix.count, total + 1), np.int64)
        add_misses(mix.app, distance, task.counted, first, stop, fragment, misses)
        splits[window] = optimum(misses, total, 1)
        part = slice(first, stop)
        hit[part] = (distance[part] >= 0) & (distance[part] < (fragment * splits[window])[mix.app[part]])
    return Shared.of_hits(hit, begins, splits * fragment)


EQUAL = Partitioner("equal", "as much for each, LRU in each", NOTHING, _equal)
PROPORTIONAL = Partitioner(
    "proportional", "by how many references each makes, LRU in each", "reference counts", _proportional
)
STATIC_BEST = Partitioner(
    "static-best", "the fixed split of least transfers, LRU in each", "the whole run", _static_best
)
UCP = Partitioner(
    "ucp", "UCP's lookahead on the misses that each size would have saved, LRU in each", NOTHING, _ucp,
    (WINDOW, FRAGMENT),
)  # fmt: skip
HINDSIGHT = Partitioner(
    "hindsight", "the best split of each window with its pages there: a bound, no cache", "each window",
    _hindsight, (WINDOW, FRAGMENT),
)  # fmt: skip
