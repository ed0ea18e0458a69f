"""The workload classifier on test traces and on mixtures of them, the decision tree beside it.

Mixtures are RC-RNN's concurrent streams: two categories' requests merged in time, cut and the second one's clock
stretched so that the first issues 60 or 80 % of them; within that, each keeps its bursts. A window's label is the
category that issued most of it; windows that both issued equally are left out.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import permutations
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from cachezoo import paths
from cachezoo.evaluation.bootstrap import interval, resampled_ratios
from cachezoo.evaluation.windows import accuracy, balanced_accuracy, balanced_resamples, confusion
from cachezoo.features.sequence import request_columns
from cachezoo.models.trained import TrainedModel, read_trained
from cachezoo.models.window_tree import BASELINE, WindowTree, window_statistics
from cachezoo.models.workload_step import load_workload
from cachezoo.policies.workload import UNKNOWN, WorkloadServing
from cachezoo.seeds import derive_seed
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
    requests = (trace.time_us, trace.op, trace.offset, trace.size)
    seen = serving.run(*requests)
    count, k = len(seen.classes), len(serving.classes)
    starts = np.arange(count, dtype=np.int64) * serving.window
    statistics = window_statistics(request_columns(*requests).common, starts, serving.window)
    rows = labels[: count * serving.window].reshape(count, serving.window)
    issued = np.stack([(rows == label).sum(axis=1) for label in range(k)], axis=1)
    most = np.sort(issued, axis=1)
    said = {model_id: seen.classes.astype(np.int64), BASELINE: tree.predict(statistics).astype(np.int64)}
    return Scored(issued.argmax(axis=1), most[:, -1] > most[:, -2], said, seen.votes, seen.in_force)


def _row(scored: Scored, policy: str, model_id: str, draws: tuple[int, int, int]) -> dict[str, Any]:
    labels, said = scored.labels[scored.scored], scored.said[policy][scored.scored]
    enough = len(labels) >= draws[0]
    return {
        "policy": policy,
        "kind": "model" if policy == model_id else "baseline",
        "windows": len(labels),
        "accuracy": accuracy(labels, said),
        "accuracy_interval": interval(resampled_ratios(labels == said, *draws)) if enough else None,
    }


def _monitor(scored: Scored, labels: I64) -> dict[str, Any]:
    """What the classifier's votes make of it, each vote and window against the label."""
    voted, known = scored.votes != UNKNOWN, scored.in_force != UNKNOWN
    changes = np.count_nonzero(np.diff(scored.in_force[known]))
    return {
        "votes": int(voted.sum()),
        "vote_accuracy": accuracy(labels[voted], scored.votes[voted]),
        "in_force_accuracy": accuracy(labels[known], scored.in_force[known]),
        "switches": int(changes),
    }


class _Bench:
    """The model, its baseline and what the bootstrap draws."""

    def __init__(self, model: TrainedModel, serving: WorkloadServing, params: "Params") -> None:
        self.model_id, self.serving, self.params = model.model_id, serving, params
        self.tree = WindowTree.of(model.calibration["baseline"])
        self.blocks, self.samples = params.evaluate.bootstrap_blocks, params.evaluate.bootstrap_samples

    def draws(self, *keys: str) -> tuple[int, int, int]:
        """Blocks, samples and seed of a case."""
        return self.blocks, self.samples, derive_seed(self.params.seed, "evaluate_workload", *keys)

    def rows(self, scored: Scored, *keys: str) -> list[dict[str, Any]]:
        """The model's row and the tree's."""
        return [_row(scored, policy, self.model_id, self.draws(*keys)) for policy in scored.said]

    def mixture(self, major: Trace, minor: Trace, pair: tuple[int, int], share: float) -> dict[str, Any]:
        """Concurrent streams of two categories."""
        single = [replace(trace, source=None) for trace in (major, minor)]
        mixed = interleave(single, f"{major.meta.trace_id}+{minor.meta.trace_id}", (share, 1 - share))
        labels = np.array(pair, np.int64)[sources(mixed).codes]
        scored = score(mixed, labels, self.serving, self.tree, self.model_id)
        names = [self.serving.classes[label] for label in pair]
        windows = int(scored.scored.sum())
        return {
            "major": names[0],
            "minor": names[1],
            "share": share,
            "share_found": float((labels == pair[0]).mean()),
            "windows": windows,
            "ties": int((~scored.scored).sum()),
            "enough_windows": windows >= ENOUGH_WINDOWS,
            "majority_share": float((scored.labels[scored.scored] == pair[0]).mean()) if windows else None,
            "rows": self.rows(scored, *names, str(share)),
        }


def _pooled(cases: Mapping[str, Scored], bench: _Bench) -> dict[str, Any]:
    """Figures over all test traces; the tree's beside the model's."""
    labels = np.concatenate([scored.labels for scored in cases.values()])
    ours, theirs = (
        np.concatenate([scored.said[policy] for scored in cases.values()]) for policy in (bench.model_id, BASELINE)
    )
    k, draws = len(bench.serving.classes), bench.draws("test")
    figures: dict[str, Any] = {
        "windows": len(labels),
        "accuracy": accuracy(labels, ours),
        "balanced_accuracy": balanced_accuracy(labels, ours),
        "confusion": confusion(labels, ours, k),
        "tree_accuracy": accuracy(labels, theirs),
        "tree_balanced_accuracy": balanced_accuracy(labels, theirs),
        "tree_confusion": confusion(labels, theirs, k),
        "balanced_accuracy_interval": None,
        "tree_balanced_accuracy_interval": None,
        "difference_interval": None,
    }
    if len(labels) and np.bincount(labels)[np.unique(labels)].min() >= draws[0]:
        mine, rival = balanced_resamples(labels, ours, *draws), balanced_resamples(labels, theirs, *draws)
        figures["balanced_accuracy_interval"] = interval(mine)
        figures["tree_balanced_accuracy_interval"] = interval(rival)
        figures["difference_interval"] = interval(mine - rival)
    every = [_monitor(scored, scored.labels) for scored in cases.values()]
    figures["votes"] = votes = sum(row["votes"] for row in every)
    right = sum(row["votes"] * row["vote_accuracy"] for row in every if row["votes"])
    return {**figures, "vote_accuracy": right / votes if votes else None}


def _entry(model: TrainedModel, test: dict[str, Any]) -> dict[str, Any]:
    figures = model.validation
    judged = figures.get("difference_low") is not None
    return {
        "trained": model.trained,
        "promoted": model.trained and model.beats_baseline,
        "reason": model.reason,
        "validation": dict(figures),
        "paired_difference_interval": [figures["difference_low"], figures["difference_high"]] if judged else None,
        "test": test,
    }


def evaluate_workload(model_dir: Path, params: "Params") -> dict[str, Any]:
    """Evaluate a trained workload classifier; plain JSON values.

    Args:
        model_dir: `models/trained/workload.<arch>`.
        params: the traces of role test, section evaluate and the seed are read.

    Returns:
        `classes`; `traces`: for each test trace `category`, `requests`, the `rows` of the classifier and of the tree,
        and what the monitor's votes make of it; `mixtures`: the concurrent streams, every ordered pair of categories
        with a test trace at 60 and 80 % (`enough_windows` False marks figures from fewer than 100); `models`: the
        verdict, and pooled test figures with the confusion (rows the true category, columns the said one). Intervals
        are null where a case has fewer windows than the bootstrap has blocks. An untrained model has no figures.

    Raises:
        TrainingError: the folder holds no readable workload classifier.
    """
    head = read_trained(model_dir)
    result: dict[str, Any] = {"classes": head.policy["classes"], "traces": {}, "mixtures": []}
    if not head.trained:
        return {**result, "models": {head.model_id: _entry(head, {})}}
    model, serving = load_workload(model_dir)
    bench = _Bench(model, serving, params)
    cases: dict[str, Scored] = {}
    firsts: dict[int, Trace] = {}
    for label, category in enumerate(serving.classes):
        for key in params.traces_of(category, "test"):
            trace = read_trace(paths.requests(category, key))
            firsts.setdefault(label, trace)
            labels = np.full(len(trace), label, np.int64)
            cases[key] = score(trace, labels, serving, bench.tree, model.model_id)
            rows = bench.rows(cases[key], key)
            rows[0] |= _monitor(cases[key], cases[key].labels)
            result["traces"][key] = {"role": "test", "category": category, "requests": len(trace), "rows": rows}
    for pair in permutations(firsts, 2):
        result["mixtures"] += [bench.mixture(firsts[pair[0]], firsts[pair[1]], pair, share) for share in SHARES]
    test = _pooled(cases, bench) if cases else {}
    return {**result, "models": {model.model_id: _entry(model, test)}}
