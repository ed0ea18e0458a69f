"""Learned admissions of other papers for Baleen's flash cache: scores of requests, a higher one to be admitted first.

Each learns from the train traces that the category's own model learns from, with its inputs where the paper has such,
and its forest's shape. A threshold on the scores sets what is written, as for the model.

cachelib    a forest on recent access counts: is any of what is read read again within the eviction age? Every read is a
            row. Berg et al., "The CacheLib caching engine", OSDI 2020, as Baleen's paper runs it
flashield   first into RAM; what is read again while it is there is judged by a linear model on its reads and writes in
            RAM and on how long it is there. Label as above. Eisenman et al., "Flashield", NSDI 2019. Here the RAM is as
            large as the flash cache, since below a page cache hardly anything is read again sooner; it decides, and
            serves no reads
lrb         a forest that predicts the time to the next read, on recent gaps besides; the shorter, the sooner admitted.
            Its threshold takes the place of the Belady boundary. Song et al., "Learning relaxed Belady", NSDI 2020
online      Baleen's own labels and forest, trained anew at the start of each window of a trace on the train traces and
            on what of the trace itself is past
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from cachezoo.arrays import F32, F64, I64, Bool
from cachezoo.features.history import READS
from cachezoo.flash_cache.problem import FlashProblem, flash_problem_at
from cachezoo.kernels.flash import simulate_flash
from cachezoo.kernels.segments import SegmentAccesses
from cachezoo.labels.episode_file import episode_rows
from cachezoo.labels.episode_rows import EpisodeRows
from cachezoo.models.forest import ForestRows, Scorer, fit_forest, fit_regression, forest_scorer
from cachezoo.models.trained import Feature
from cachezoo.seeds import derive_seed
from cachezoo.settings.flash import EpisodeLabel
from cachezoo.traces.table import Trace
from cachezoo.training.episodes import Prepared, held_out
from cachezoo.zoo.admission.fit import FULL, Settings, training_rows

CONTEXT = "flash_rivals"
RAM_SHARE = 1.0  # of the flash cache
GAPS = 8  # of a block, the last one first
FAR = 8.0  # eviction ages; LRB takes nothing for farther
WINDOWS = 4  # of a trace, each after the first begins with a training
NEWTON_ROUNDS, RIDGE = 25, 1e-3


@dataclass(frozen=True)
class Part:
    """A trace with its cache and the model's inputs."""

    trace: Trace
    problem: FlashProblem
    rows: F32  # [n, F]


@dataclass(frozen=True)
class Labelled(Part):
    """A train trace."""

    labels: EpisodeRows  # what the category's own model learns from


@dataclass(frozen=True)
class Course:
    """What rivals of a category learn from."""

    category: str
    inputs: Sequence[Feature]
    train: Sequence[Labelled]
    age: int  # eviction age, requests
    label: EpisodeLabel
    settings: Settings

    @property
    def names(self) -> list[str]:
        """Of the inputs."""
        return [one.name for one in self.inputs]

    def held(self, trace: Trace) -> Bool:
        """bool[n]: rows of the blocks that stop training early."""
        return held_out(trace, self.label, self.settings.fit.holdout_every)


ScoresOf = Callable[[Part], F64]


def next_read(accesses: SegmentAccesses, read: Bool) -> F64:
    """float64[n]: requests until any segment of the request is read again, inf if none is before it is overwritten."""
    row = np.repeat(np.arange(len(read)), accesses.sizes)
    order = np.argsort(accesses.segment, kind="stable")
    segment, at = accesses.segment[order], row[order]
    again = (segment[1:] == segment[:-1]) & read[at[1:]]
    until = np.full(len(row), np.inf)
    until[order[:-1][again]] = (at[1:] - at[:-1])[again]
    return np.minimum.reduceat(until, accesses.start[:-1])


def block_gaps(block: I64, count: int, most: float) -> F32:
    """float32[n, count]: requests between a block's last accesses, this one's first; at most `most`, also for none."""
    order = np.argsort(block, kind="stable")
    gaps = np.full((len(block), count), most, np.float32)
    same = np.ones(len(block), np.bool_)
    for back in range(1, min(count, len(block) - 1) + 1):
        # `same` of place k: the accesses k, k - 1, … k - back + 1 are of one block.
        same = np.append(False, same[:-1]) & np.append(False, block[order[1:]] == block[order[:-1]])
        places = np.flatnonzero(same)
        gaps[order[places], back - 1] = order[places - back + 1] - order[places - back]
    return np.minimum(gaps, most)


def in_ram(problem: FlashProblem, capacity: int) -> tuple[F32, Bool]:
    """What a buffer of so many segments in RAM, with LRU, knows of each request.

    Returns:
        float32[n, 4] reads and writes of its block since that came in, and logarithms of the requests since then and
        since its last access; and bool[n] whether any of the request was in RAM, where it reads.
    """
    everything = np.ones(len(problem), np.bool_)
    found = simulate_flash(problem.accesses, problem.read, everything, capacity).hits > 0
    known: dict[int, tuple[int, int, int, int]] = {}
    rows = np.zeros((len(problem), 4), np.float32)
    for i, (block, read, hit) in enumerate(
        zip(problem.accesses.block.tolist(), problem.read.tolist(), found.tolist(), strict=True)
    ):
        reads, writes, first, last = known.get(block, (0, 0, i, i))
        if read and not hit:
            reads, writes, first, last = 0, 0, i, i
        rows[i] = reads, writes, np.log2(1 + i - first), np.log2(1 + i - last)
        known[block] = (reads + read, writes + (not read), first, i)
    return rows, found


def linear(rows: F32, target: Bool) -> F64:
    """Weights float64[F + 1] of a logistic regression, the last one's input 1, by Newton's method."""
    inputs = np.column_stack([rows, np.ones(len(rows))]).astype(np.float64)
    weights = np.zeros(inputs.shape[1])
    ridge = RIDGE * np.eye(len(weights))
    for _ in range(NEWTON_ROUNDS):
        likely = 1 / (1 + np.exp(-np.clip(inputs @ weights, -30, 30)))
        slope = inputs.T @ (target - likely) / len(rows) - ridge @ weights
        curve = (inputs * (likely * (1 - likely))[:, None]).T @ inputs / len(rows) + ridge
        weights = weights + np.linalg.solve(curve, slope)
    return weights


def _reused(part: Part, age: int) -> tuple[Bool, Bool]:
    """Whether a request's data are read again within the age, and of which reads that is known."""
    known = part.problem.read & (np.arange(len(part.trace)) < len(part.trace) - age)
    return next_read(part.problem.accesses, part.problem.read) <= age, known


def _forest(course: Course, data: ForestRows, seed: int) -> Scorer:
    shape, fit = FULL.shape(course.settings.model), course.settings.fit
    return forest_scorer(fit_forest(data, shape, fit, seed).text)


def cachelib(course: Course, seed: int) -> ScoresOf:
    """Learn as CacheLib's admission."""
    rows = []
    for part in course.train:
        again, known = _reused(part, course.age)
        rows.append((part.rows[known], again[known], course.held(part.trace)[known]))
    inputs, target, held = (np.concatenate(column) for column in zip(*rows, strict=True))
    scorer = _forest(course, ForestRows(inputs, target, held, course.names), seed)
    return lambda part: scorer(part.rows)


def flashield(course: Course, seed: int) -> ScoresOf:
    """Learn as Flashield; `seed` draws the rows anew, with replacement."""

    def buffered(part: Part) -> tuple[F32, Bool]:
        return in_ram(part.problem, max(1, int(part.problem.capacity * RAM_SHARE)))

    rows, target = [], []
    for part in course.train:
        (inputs, found), (again, known) = buffered(part), _reused(part, course.age)
        rows.append(inputs[found & known])
        target.append(again[found & known])
    every, targets = np.concatenate(rows), np.concatenate(target)
    drawn = np.random.default_rng(seed).integers(0, len(every), len(every))
    weights = linear(every[drawn], targets[drawn])

    def scores(part: Part) -> F64:
        inputs, found = buffered(part)
        own = np.column_stack([inputs, np.ones(len(inputs))]) @ weights
        return np.where(found, own, own.min() - 1)

    return scores


def lrb(course: Course, seed: int) -> ScoresOf:
    """Learn as LRB does when something is to leave, and admit by that."""
    far = FAR * course.age

    def inputs(part: Part) -> F32:
        return np.column_stack([part.rows, block_gaps(part.problem.accesses.block.astype(np.int64), GAPS, far)])

    rows, target = [], []
    for part in course.train:
        until = next_read(part.problem.accesses, part.problem.read)
        left = len(part.trace) - np.arange(len(part.trace))
        known = part.problem.read & ((until < np.inf) | (left > far))
        rows.append(inputs(part)[known])
        target.append(np.log2(np.minimum(until[known], far)).astype(np.float32))
    shape = FULL.shape(course.settings.model).model_dump()
    trees = int(shape["max_trees"])
    own = {
        name: shape[name]
        for name in (
            "num_leaves", "learning_rate", "feature_fraction", "bagging_fraction", "bagging_freq", "min_data_in_leaf",
        )
    }  # fmt: skip
    names = [*course.names, *(f"gap_{k + 1}" for k in range(GAPS))]
    threads = course.settings.fit.threads
    forest = fit_regression(np.concatenate(rows), np.concatenate(target), names, trees, own, threads, seed)
    scorer = forest_scorer(forest.text)
    return lambda part: -scorer(inputs(part))


def online(course: Course, seed: int) -> ScoresOf:
    """Baleen, trained anew at each window on what is past."""
    rising = [one.formula.startswith(READS) for one in course.inputs]

    def scores(part: Part) -> F64:
        n, found = len(part.trace), []
        for window in range(WINDOWS):
            first, last = window * n // WINDOWS, (window + 1) * n // WINDOWS
            known = [(Prepared("train", own.trace, own.labels), own.rows) for own in course.train]
            if window:
                past = part.trace.rows(0, first)
                known.append((Prepared("past", past, past_labels(past, part.problem, course)), part.rows[:first]))
            parts, inputs = zip(*known, strict=True)
            rows = training_rows(parts, inputs, course.label, course.settings)
            data = ForestRows(rows.features, rows.worth, rows.held, course.names, rows.weights, rising)
            found.append(_forest(course, data, seed)(part.rows[first:last]))
        return np.concatenate(found)

    return scores


def past_labels(past: Trace, problem: FlashProblem, course: Course) -> EpisodeRows:
    """What the model learns from what is past of a trace, at the whole trace's capacity."""
    own = flash_problem_at(
        past, problem.geometry, lambda _: problem.capacity, problem.cost, tolerance=problem.tolerance,
        disk=problem.disk, eviction=problem.eviction, share=course.label.write_budget,
    )  # fmt: skip
    return episode_rows(own, course.label)


RIVALS: dict[str, Callable[[Course, int], ScoresOf]] = {
    "cachelib": cachelib,
    "flashield": flashield,
    "lrb": lrb,
    "online": online,
}


def scores_of(name: str, course: Course, seed: int) -> ScoresOf:
    """Train one of `RIVALS`; what it returns scores the requests of a trace, float64[n]."""
    return RIVALS[name](course, derive_seed(seed, CONTEXT, course.category, name))
