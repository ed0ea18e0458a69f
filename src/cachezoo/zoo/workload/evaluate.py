"""The workload classifier on test traces, on mixtures of them, moved, and on what it was not trained on.

Mixtures are RC-RNN's concurrent streams: two categories' requests merged in time, cut and the second one's clock
stretched so that the first issues 60 or 80 % of them; within that, each keeps its bursts. A window's label is the
category that issued most of it; windows that both issued equally are left out. Its baselines stand beside it.

Moved traces are the test traces at other addresses, or on another clock. Strange ones are of a category that it was not
trained on: the only right answer is unknown.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import permutations
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from cachezoo import paths
from cachezoo.arrays import I64, Bool
from cachezoo.contest.accuracy import accuracy, balanced_accuracy, balanced_mean, confusion, known
from cachezoo.contest.blocks import BLOCKS, block_means
from cachezoo.contest.lead import Interval, mean_of
from cachezoo.models.trained import TrainedModel, read_trained
from cachezoo.params import traces_of
from cachezoo.serving.requests import RequestBatch, batch_of
from cachezoo.settings.data import Role
from cachezoo.traces.mixing import interleave, sources
from cachezoo.traces.store import read_trace
from cachezoo.traces.table import PAGE_BYTES, Trace
from cachezoo.zoo.workload.baselines import read_baseline
from cachezoo.zoo.workload.infer import load_workload
from cachezoo.zoo.workload.metrics import (
    Classifier,
    ClassifierRow,
    Mixture,
    Moved,
    Nothing,
    Pooled,
    Rival,
    Strange,
    WindowRow,
    WorkloadMetrics,
    WorkloadTrace,
)
from cachezoo.zoo.workload.serve import NONE, UNKNOWN, Monitored, WorkloadServing
from cachezoo.zoo.workload.windows import window_columns_of

if TYPE_CHECKING:
    from cachezoo.settings.params import Params

SHARES = (0.6, 0.8)
ENOUGH_WINDOWS = 100
GIB = 1 << 30
TENTH = 10


@dataclass(frozen=True)
class Scored:
    """A trace's windows: their categories, and what was said of them."""

    labels: I64  # int64[w] the category that issued most of the window
    scored: Bool  # bool[w], one category did
    said: dict[str, I64]  # by policy id, int64[w] the likeliest class, sure or not
    seen: Monitored  # what the monitor says


def _share(chosen: Bool) -> float | None:
    return float(chosen.mean()) if len(chosen) else None


def unknown_shares(seen: Monitored) -> tuple[float | None, float | None]:
    """Shares of the windows and of the votes that are unknown; None of none."""
    return _share(seen.classes == UNKNOWN), _share(seen.votes[seen.votes != NONE] == UNKNOWN)


def moves(batch: RequestBatch) -> dict[str, RequestBatch]:
    """The same requests elsewhere on the disk, or on another clock.

    A partition that begins in the middle of a disk twice as long moves what it holds by its own length. The slower
    clock keeps whole ticks of ten, as a coarser one would.
    """
    length = int((batch.offset + batch.size).max(initial=0))
    return {
        "as it is": batch,
        "+ 1 GiB": replace(batch, offset=batch.offset + GIB),
        "+ half of the disk": replace(batch, offset=batch.offset + -(-length // PAGE_BYTES) * PAGE_BYTES),
        "clock x 10": replace(batch, time_us=batch.time_us * TENTH),
        "clock x 0.1": replace(batch, time_us=batch.time_us // TENTH),
    }


def _row(scored: Scored, policy: str, model_id: str) -> WindowRow:
    labels, said = scored.labels[scored.scored], scored.said[policy][scored.scored]
    return WindowRow(
        policy=policy,
        kind="model" if policy == model_id else "baseline",
        windows=len(labels),
        accuracy=accuracy(labels, said),
        accuracy_interval=_interval(labels == said),
    )


def _interval(right: Bool) -> Interval | None:
    """Of a share of windows; None with fewer windows than blocks."""
    return mean_of(block_means(right, BLOCKS), float(right.mean())).interval if len(right) >= BLOCKS else None


def _classifier_row(row: WindowRow, scored: Scored) -> ClassifierRow:
    """The classifier's row with what its votes make of it, each vote and window against the label."""
    votes, in_force = scored.seen.votes, scored.seen.in_force
    voted, ruled = votes != NONE, in_force != NONE
    unknown, unknown_votes = unknown_shares(scored.seen)
    return ClassifierRow(
        **dict(row),
        unknown=unknown,
        votes=int(voted.sum()),
        vote_accuracy=accuracy(scored.labels[voted], votes[voted]),
        unknown_votes=unknown_votes,
        in_force_accuracy=accuracy(scored.labels[ruled], in_force[ruled]),
        switches=int(np.count_nonzero(np.diff(in_force[ruled]))),
    )


class _Bench:
    """The model and its baselines; every window is named, whatever pauses the policy has between votes."""

    def __init__(self, model: TrainedModel, serving: WorkloadServing, params: "Params") -> None:
        self.model_id, self.serving, self.params = model.model_id, serving, params
        self.rivals = {str(values["model"]): read_baseline(values) for values in model.calibration["baselines"]}
        self.judged_against = str(model.calibration["judged_against"])

    def score(self, trace: Trace, labels: I64) -> Scored:
        """Let the classifier and its baselines name every window of a trace.

        `labels` int64[n] are the places among the classes of the category that issued each request.
        """
        batch, length = batch_of(trace), self.serving.window
        seen = self.serving.run(batch, 0)
        count, k = len(seen.classes), len(self.serving.classes)
        columns = window_columns_of(batch, length, length)
        rows = labels[: count * length].reshape(count, length)
        issued = np.stack([(rows == label).sum(axis=1) for label in range(k)], axis=1)
        most = np.sort(issued, axis=1)
        said = {self.model_id: seen.likeliest.astype(np.int64)}
        said |= {name: rival.predict(columns) for name, rival in self.rivals.items()}
        return Scored(issued.argmax(axis=1), most[:, -1] > most[:, -2], said, seen)

    def rows(self, scored: Scored) -> list[WindowRow]:
        """The model's row and its baselines'."""
        return [_row(scored, policy, self.model_id) for policy in scored.said]

    def trace(self, scored: Scored, key: str, category: str, requests: int) -> WorkloadTrace:
        """A test trace of one category."""
        ours, *others = self.rows(scored)
        return WorkloadTrace(
            role="test",
            category=category,
            unseen=self.params.data.traces[key].unseen,
            requests=requests,
            rows=[_classifier_row(ours, scored), *others],
        )

    def moved(self, trace: Trace, key: str, label: int) -> list[Moved]:
        """A test trace elsewhere, and on other clocks."""
        batches = moves(batch_of(trace))
        seen = {move: self.serving.run(batch, 0) for move, batch in batches.items()}
        first = next(iter(seen.values()))
        return [
            Moved(
                move=move,
                trace=key,
                windows=len(one.likeliest),
                accuracy=_share(one.likeliest == label),
                accuracy_interval=_interval(one.likeliest == label),
                same=_share(one.classes == first.classes),
                equal=_share((one.probabilities == first.probabilities).all(axis=1)),
            )
            for move, one in seen.items()
        ]

    def strange(self, category: str, role: Role, key: str) -> Strange:
        """A trace of a category that is none of the classes."""
        trace = read_trace(paths.requests(category, key))
        seen = self.serving.run(batch_of(trace), 0)
        unknown, unknown_votes = unknown_shares(seen)
        return Strange(
            category=category,
            role=role,
            requests=len(trace),
            windows=len(seen.classes),
            unknown=unknown,
            unknown_interval=_interval(seen.classes == UNKNOWN),
            votes=int((seen.votes != NONE).sum()),
            unknown_votes=unknown_votes,
            named=np.bincount(seen.classes[seen.classes != UNKNOWN], minlength=len(self.serving.classes)).tolist(),
        )

    def mixture(self, major: Trace, minor: Trace, pair: tuple[int, int], share: float) -> Mixture:
        """Concurrent streams of two categories."""
        single = [replace(trace, source=None) for trace in (major, minor)]
        mixed = interleave(single, f"{major.meta.trace_id}+{minor.meta.trace_id}", (share, 1 - share))
        labels = np.array(pair, np.int64)[sources(mixed).codes]
        scored = self.score(mixed, labels)
        names = [self.serving.classes[label] for label in pair]
        windows = int(scored.scored.sum())
        unknown, unknown_votes = unknown_shares(scored.seen)
        return Mixture(
            major=names[0],
            minor=names[1],
            share=share,
            share_found=float((labels == pair[0]).mean()),
            windows=windows,
            ties=int((~scored.scored).sum()),
            enough_windows=windows >= ENOUGH_WINDOWS,
            majority_share=_share(scored.labels[scored.scored] == pair[0]),
            unknown=unknown,
            unknown_votes=unknown_votes,
            rows=self.rows(scored),
        )


def _pooled(cases: Mapping[str, Scored], bench: _Bench) -> Pooled:
    """Figures over all test traces; the baselines' beside the model's."""
    labels = np.concatenate([scored.labels for scored in cases.values()])
    said = {
        policy: np.concatenate([scored.said[policy] for scored in cases.values()])
        for policy in (bench.model_id, *bench.rivals)
    }
    right = {policy: (own == labels).astype(float) for policy, own in said.items()}
    enough = known(labels)

    def over(policy: str) -> dict[str, Any]:
        return {
            "accuracy": accuracy(labels, said[policy]),
            "balanced_accuracy": balanced_accuracy(labels, said[policy]),
            "balanced_accuracy_interval": balanced_mean(labels, right[policy]).interval if enough else None,
            "confusion": confusion(labels, said[policy], len(bench.serving.classes)),
        }

    def difference(policy: str) -> tuple[float, float] | None:
        return balanced_mean(labels, right[bench.model_id] - right[policy]).interval if enough else None

    seen = [scored.seen for scored in cases.values()]
    voted = np.concatenate([scored.labels[scored.seen.votes != NONE] for scored in cases.values()])
    votes = np.concatenate([one.votes[one.votes != NONE] for one in seen])
    best = bench.judged_against
    return Pooled(
        **over(bench.model_id),
        windows=len(labels),
        unknown=_share(np.concatenate([one.classes for one in seen]) == UNKNOWN),
        votes=len(votes),
        vote_accuracy=accuracy(voted, votes),
        unknown_votes=_share(votes == UNKNOWN),
        judged_against=best,
        rival_balanced_accuracy=balanced_accuracy(labels, said[best]),
        difference_interval=difference(best),
        rivals=[
            Rival(**over(policy), policy=policy, difference_interval=difference(policy)) for policy in bench.rivals
        ],
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
    are None where a case has fewer windows than there are blocks of time. An untrained model has no figures.

    Raises:
        TrainingError: the folder holds no readable workload classifier.
    """
    head = read_trained(model_dir)
    classes = head.policy["classes"]
    if not head.trained:
        models = {head.model_id: _entry(head, Nothing())}
        return WorkloadMetrics(classes=classes, traces={}, moved=[], strange={}, mixtures=[], models=models)
    model, serving = load_workload(model_dir)
    bench = _Bench(model, serving, params)
    cases: dict[str, Scored] = {}
    traces: dict[str, WorkloadTrace] = {}
    moved: list[Moved] = []
    firsts: dict[int, Trace] = {}
    for label, category in enumerate(serving.classes):
        for key in traces_of(params, category, "test"):
            trace = read_trace(paths.requests(category, key))
            if label not in firsts and not params.data.traces[key].unseen:
                firsts[label] = trace
            cases[key] = bench.score(trace, np.full(len(trace), label, np.int64))
            traces[key] = bench.trace(cases[key], key, category, len(trace))
            moved += bench.moved(trace, key, label)
    mixtures = [
        bench.mixture(firsts[pair[0]], firsts[pair[1]], pair, share)
        for pair in permutations(firsts, 2)
        for share in SHARES
    ]
    strange = {
        key: bench.strange(category, role, key)
        for category, roles in params.data.roles.items()
        if category not in serving.classes
        for role, keys in roles.items()
        for key in keys
    }
    models = {model.model_id: _entry(model, _pooled(cases, bench) if cases else Nothing())}
    return WorkloadMetrics(
        classes=classes, traces=traces, moved=moved, strange=strange, mixtures=mixtures, models=models
    )


def test_accuracies(folder: Path, params: "Params") -> dict[str, float]:
    """Share of the windows of each test trace that are named right."""
    serving, found = load_workload(folder)[1], {}
    for label, category in enumerate(serving.classes):
        for key in traces_of(params, category, "test"):
            seen = serving.run(batch_of(read_trace(paths.requests(category, key)))).classes
            found[key] = float(np.mean(seen == label))
    return found
