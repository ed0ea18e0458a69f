"""The workload classifier on test traces and on mixtures of them, the decision tree beside it.

Mixtures are RC-RNN's concurrent streams: two categories' requests merged in time, cut and the second one's clock
stretched so that the first issues 60 or 80 % of them; within that, each keeps its bursts. A window's label is the
category that issued most of it; windows that both issued equally are left out.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import permutations
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from cachezoo import paths
from cachezoo.features.sequence import request_columns
from cachezoo.measures.bootstrap import interval, resampled_ratios
from cachezoo.measures.windows import accuracy, balanced_accuracy, balanced_resamples, confusion
from cachezoo.models.trained import TrainedModel, read_trained
from cachezoo.params import traces_of
from cachezoo.seeds import derive_seed
from cachezoo.serving.requests import batch_of
from cachezoo.systems.workload.infer import load_workload
from cachezoo.systems.workload.metrics import (
    Classifier,
    ClassifierRow,
    Mixture,
    Nothing,
    Pooled,
    WindowRow,
    WorkloadMetrics,
    WorkloadTrace,
)
from cachezoo.systems.workload.serve import UNKNOWN, WorkloadServing
from cachezoo.systems.workload.tree import BASELINE, WindowTree, window_statistics
from cachezoo.traces.mixing import interleave, sources
from cachezoo.traces.store import read_trace
from cachezoo.traces.table import Trace

if TYPE_CHECKING:
    from cachezoo.config.schema import Params

I64 = npt.NDArray[np.int64]
I32 = npt.NDArray[np.int32]
SHARES = (0.6, 0.8)
ENOUGH_WINDOWS = 100


@dataclass(frozen=True)
class Scored:
    """A trace's windows: their categories, and what was said of them.

    Attributes:
        labels: int64[w] the category that issued most of the window.
        scored: bool[w], one category did.
        said: by policy id, int64[w] classes.
        votes: int32[w] of the classifier, -1 where a window completes none.
        in_force: int32[w] the category after the window, -1 before the first vote.
    """

    labels: I64
    scored: npt.NDArray[np.bool_]
    said: dict[str, I64]
    votes: I32
    in_force: I32


def score(trace: Trace, labels: I64, serving: WorkloadServing, tree: WindowTree, model_id: str) -> Scored:
    """Let the classifier and the tree name every window of a trace.

    Args:
        trace: requests.
        labels: int64[n], the category that issued each, as its place among the classes.
        serving: the classifier.
        tree: its baseline.
        model_id: the classifier's name.
    """
    batch = batch_of(trace)
    seen = serving.run(batch)
    count, k = len(seen.classes), len(serving.classes)
    starts = np.arange(count, dtype=np.int64) * serving.window
    statistics = window_statistics(request_columns(batch).common, starts, serving.window)
    rows = labels[: count * serving.window].reshape(count, serving.window)
    issued = np.stack([(rows == label).sum(axis=1) for label in range(k)], axis=1)
    most = np.sort(issued, axis=1)
    said = {model_id: seen.classes.astype(np.int64), BASELINE: tree.predict(statistics).astype(np.int64)}
    return Scored(issued.argmax(axis=1), most[:, -1] > most[:, -2], said, seen.votes, seen.in_force)


def _row(scored: Scored, policy: str, model_id: str, draws: tuple[int, int, int]) -> WindowRow:
    labels, said = scored.labels[scored.scored], scored.said[policy][scored.scored]
    enough = len(labels) >= draws[0]
    return WindowRow(
        policy=policy,
        kind="model" if policy == model_id else "baseline",
        windows=len(labels),
        accuracy=accuracy(labels, said),
        accuracy_interval=interval(resampled_ratios(labels == said, *draws)) if enough else None,
    )


def _classifier_row(row: WindowRow, scored: Scored) -> ClassifierRow:
    """The classifier's row with what its votes make of it, each vote and window against the label."""
    voted, known = scored.votes != UNKNOWN, scored.in_force != UNKNOWN
    return ClassifierRow(
        **dict(row),
        votes=int(voted.sum()),
        vote_accuracy=accuracy(scored.labels[voted], scored.votes[voted]),
        in_force_accuracy=accuracy(scored.labels[known], scored.in_force[known]),
        switches=int(np.count_nonzero(np.diff(scored.in_force[known]))),
    )


class _Bench:
    """The model, its baseline and what the bootstrap draws."""

    def __init__(self, model: TrainedModel, serving: WorkloadServing, params: "Params") -> None:
        self.model_id, self.serving, self.params = model.model_id, serving, params
        self.tree = WindowTree.of(model.calibration["baseline"])
        self.blocks, self.samples = params.evaluate.bootstrap_blocks, params.evaluate.bootstrap_samples

    def draws(self, *keys: str) -> tuple[int, int, int]:
        """Blocks, samples and seed of a case."""
        return self.blocks, self.samples, derive_seed(self.params.seed, "evaluate_workload", *keys)

    def rows(self, scored: Scored, *keys: str) -> list[WindowRow]:
        """The model's row and the tree's."""
        return [_row(scored, policy, self.model_id, self.draws(*keys)) for policy in scored.said]

    def trace(self, scored: Scored, key: str, category: str, requests: int) -> WorkloadTrace:
        """A test trace of one category."""
        ours, *others = self.rows(scored, key)
        rows = [_classifier_row(ours, scored), *others]
        return WorkloadTrace(role="test", category=category, requests=requests, rows=rows)

    def mixture(self, major: Trace, minor: Trace, pair: tuple[int, int], share: float) -> Mixture:
        """Concurrent streams of two categories."""
        single = [replace(trace, source=None) for trace in (major, minor)]
        mixed = interleave(single, f"{major.meta.trace_id}+{minor.meta.trace_id}", (share, 1 - share))
        labels = np.array(pair, np.int64)[sources(mixed).codes]
        scored = score(mixed, labels, self.serving, self.tree, self.model_id)
        names = [self.serving.classes[label] for label in pair]
        windows = int(scored.scored.sum())
        return Mixture(
            major=names[0],
            minor=names[1],
            share=share,
            share_found=float((labels == pair[0]).mean()),
            windows=windows,
            ties=int((~scored.scored).sum()),
            enough_windows=windows >= ENOUGH_WINDOWS,
            majority_share=float((scored.labels[scored.scored] == pair[0]).mean()) if windows else None,
            rows=self.rows(scored, *names, str(share)),
        )


def _pooled(cases: Mapping[str, Scored], traces: Mapping[str, WorkloadTrace], bench: _Bench) -> Pooled:
    """Figures over all test traces; the tree's beside the model's."""
    labels = np.concatenate([scored.labels for scored in cases.values()])
    ours, theirs = (
        np.concatenate([scored.said[policy] for scored in cases.values()]) for policy in (bench.model_id, BASELINE)
    )
    k, draws = len(bench.serving.classes), bench.draws("test")
    mine = rival = None
    if len(labels) and np.bincount(labels)[np.unique(labels)].min() >= draws[0]:
        mine, rival = balanced_resamples(labels, ours, *draws), balanced_resamples(labels, theirs, *draws)
    rows = [row for trace in traces.values() for row in trace.rows if isinstance(row, ClassifierRow)]
    votes = sum(row.votes for row in rows)
    right = sum(row.votes * row.vote_accuracy for row in rows if row.vote_accuracy is not None)
    return Pooled(
        windows=len(labels),
        accuracy=accuracy(labels, ours),
        balanced_accuracy=balanced_accuracy(labels, ours),
        balanced_accuracy_interval=None if mine is None else interval(mine),
        confusion=confusion(labels, ours, k),
        tree_accuracy=accuracy(labels, theirs),
        tree_balanced_accuracy=balanced_accuracy(labels, theirs),
        tree_balanced_accuracy_interval=None if rival is None else interval(rival),
        tree_confusion=confusion(labels, theirs, k),
        difference_interval=None if mine is None or rival is None else interval(mine - rival),
        votes=votes,
        vote_accuracy=right / votes if votes else None,
    )


def _entry(model: TrainedModel, test: Pooled | Nothing) -> Classifier:
    low, high = (model.validation.get(f"difference_{end}") for end in ("low", "high"))
    return Classifier(
        trained=model.trained,
        promoted=model.promoted,
        reason=model.reason,
        validation=model.validation,
        paired_difference_interval=None if low is None or high is None else (low, high),
        test=test,
    )


def evaluate_workload(model_dir: Path, params: "Params") -> WorkloadMetrics:
    """Evaluate a trained workload classifier.

    Mixtures are the concurrent streams: every ordered pair of categories with a test trace, at 60 and 80 %. Intervals
    are None where a case has fewer windows than the bootstrap has blocks. An untrained model has no figures.

    Args:
        model_dir: `models/trained/workload.<arch>`.
        params: the traces of role test, section evaluate and the seed are read.

    Raises:
        TrainingError: the folder holds no readable workload classifier.
    """
    head = read_trained(model_dir)
    classes = head.policy["classes"]
    if not head.trained:
        entry = _entry(head, Nothing())
        return WorkloadMetrics(classes=classes, traces={}, mixtures=[], models={head.model_id: entry})
    model, serving = load_workload(model_dir)
    bench = _Bench(model, serving, params)
    cases: dict[str, Scored] = {}
    traces: dict[str, WorkloadTrace] = {}
    firsts: dict[int, Trace] = {}
    for label, category in enumerate(serving.classes):
        for key in traces_of(params, category, "test"):
            trace = read_trace(paths.requests(category, key))
            firsts.setdefault(label, trace)
            labels = np.full(len(trace), label, np.int64)
            cases[key] = score(trace, labels, serving, bench.tree, model.model_id)
            traces[key] = bench.trace(cases[key], key, category, len(trace))
    mixtures = [
        bench.mixture(firsts[pair[0]], firsts[pair[1]], pair, share)
        for pair in permutations(firsts, 2)
        for share in SHARES
    ]
    entry = _entry(model, _pooled(cases, traces, bench) if cases else Nothing())
    return WorkloadMetrics(classes=classes, traces=traces, mixtures=mixtures, models={model.model_id: entry})
