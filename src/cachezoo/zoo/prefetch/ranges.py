"""Fits ML-Range and ML-When: rows of admitted episodes, ranges out of fold, then the forests."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from cachezoo.arrays import F32, F64, I32, I64, Bool
from cachezoo.kernels.flash import DiskHead
from cachezoo.models.forest import Forest, ForestRows, fit_forest, forest_scorer
from cachezoo.seeds import derive_seed
from cachezoo.settings.flash import EpisodeLabel
from cachezoo.training.episodes import Prepared, folds, held_out
from cachezoo.zoo.prefetch.model import MODEL_FILES
from cachezoo.zoo.prefetch.serve import predicted_range
from cachezoo.zoo.prefetch.settings import Fit, Model

START_FILE, END_FILE, WHEN_FILE = MODEL_FILES


class Rows(NamedTuple):
    """The first access of each admitted, settled episode; r rows.

    Attributes:
        features: float32[r, F].
        first, last: int64[r] the access's first and last segment, from its block's start; `last` may lie beyond it.
        low, high: int32[r] the episode's true range within the block.
        benefit: float64[r] disk-head seconds that prefetching the true range saves.
        held: bool[r] kept for early stopping.
        fold: int64[r].
    """

    features: F32
    first: I64
    last: I64
    low: I32
    high: I32
    benefit: F64
    held: Bool
    fold: I64

    def reaches(self, per_block: int) -> tuple[F32, F32]:
        """Segments of the episode before the access and after it, float32[r] each: what ML-Range learns."""
        end = np.minimum(self.last + 1, per_block)
        return (self.first - self.low).astype(np.float32), (self.high - end).astype(np.float32)


@dataclass(frozen=True)
class Fitted:
    """What training gave.

    Attributes:
        forests: by file name; empty where nothing was learned.
        reason: why, then; else empty.
        figures: of the training rows, for train.json.
    """

    forests: dict[str, Forest]
    reason: str = ""
    figures: dict[str, float | None] = field(default_factory=dict)


def prefetch_rows(parts: Sequence[tuple[Prepared, F32]], label: EpisodeLabel, train: Fit) -> Rows:
    """Training rows of some parts with their features float32[n, F]."""
    chosen = [_rows_of(part, features, label, train) for part, features in parts]
    return Rows(*(np.concatenate(column) for column in zip(*chosen, strict=True)))


def _rows_of(part: Prepared, features: F32, label: EpisodeLabel, train: Fit) -> Rows:
    trace, labels = part.trace, part.labels
    keep = np.flatnonzero((labels.access_index == 0) & labels.opt & labels.settled)
    start = trace.offset[keep] // label.block_bytes * label.block_bytes
    return Rows(
        features[keep],
        (trace.offset[keep] - start) // label.segment_bytes,
        (trace.offset[keep] + trace.size[keep] - 1 - start) // label.segment_bytes,
        labels.range_low[keep],
        labels.range_high[keep],
        labels.prefetch_gain[keep],
        held_out(trace, label, train.holdout_every)[keep],
        folds(trace, label, train.holdout_every, train.folds)[keep],
    )


def net_saving(rows: Rows, low: I32, high: I32, label: EpisodeLabel, cost: DiskHead) -> F64:
    """Disk-head seconds float64[r] that prefetching the predicted range saves.

    net = benefit * [the predicted range contains the true one] - DT(0 I/Os, predicted segments outside the true one).

    Args:
        rows: the training rows.
        low: int32[r] first segment of the predicted range.
        high: int32[r] one past its last.
        label: for the segments' size.
        cost: disk-head time.
    """
    contains = (low <= rows.low) & (high >= rows.high)
    common = np.maximum(np.minimum(high, rows.high) - np.maximum(low, rows.low), 0)
    outside = (high - low - common).astype(np.int64)
    net: F64 = rows.benefit * contains - cost.seconds(np.zeros(len(low)), outside * label.segment_bytes)
    return net


@dataclass(frozen=True)
class Fitter:
    """Fits the forests of one category.

    Attributes:
        rows: what to learn from.
        names: of the features.
        model: the forests' shape.
        train: folds, early stopping, epsilon.
        label: geometry.
        cost: disk-head time.
        seed: every forest's seed is derived from it.
    """

    rows: Rows
    names: list[str]
    model: Model
    train: Fit
    label: EpisodeLabel
    cost: DiskHead
    seed: int

    @property
    def per_block(self) -> int:
        """Segments to a block."""
        return self.label.block_bytes // self.label.segment_bytes

    def fit(self) -> Fitted:
        """Train everything, or say why nothing can be learned."""
        count, least = len(self.rows.first), self.train.min_episodes
        figures: dict[str, float | None] = {"episodes": float(count)}
        if count < least:
            reason = f"{count} admitted episodes to learn from, fewer than fit.prefetch.min_episodes {least}"
            return Fitted({}, reason, figures)
        sides = [self.rows.fold != fold for fold in range(self.train.folds)]
        if any((side & ~self.rows.held).sum() == 0 or side.all() for side in sides):
            return Fitted({}, "its episodes lie in so few blocks that folds of them are empty", figures)
        net, more = self._out_of_fold(sides)
        figures |= more
        worth = net > self.train.epsilon_s
        if worth.all() or not worth.any():
            which = "always" if worth.all() else "never"
            reason = f"prefetching a predicted range is {which} worth it on the train traces: there is one class only"
            return Fitted({}, reason, figures)
        before, after = self._ranges(np.ones(count, np.bool_), "final")
        when = self._when(net)
        if not when.splits or not before.splits + after.splits:
            what = "ML-When" if not when.splits else "ML-Range"
            return Fitted({}, f"training never moved {what}: no split improves the loss on the labels given", figures)
        return Fitted({START_FILE: before, END_FILE: after, WHEN_FILE: when}, "", figures)

    def _forest(self, keep: Bool, targets: F32, *keys: str) -> Forest:
        seed = derive_seed(self.seed, "prefetch_forest", *keys)
        rows, quantile = self.rows, self.train.quantile
        data = ForestRows(rows.features[keep], targets[keep], rows.held[keep], self.names)
        return fit_forest(data, self.model, self.train, seed, quantile)

    def _when(self, net: F64) -> Forest:
        """ML-When: each row counts by the disk-head time that deciding it wrongly loses."""
        seed, rows = derive_seed(self.seed, "prefetch_forest", "when"), self.rows
        margin = net - self.train.epsilon_s
        weights = (np.abs(margin) / np.abs(margin).mean()).astype(np.float32)
        data = ForestRows(rows.features, margin > 0, rows.held, self.names, weights)
        return fit_forest(data, self.model, self.train, seed)

    def _ranges(self, keep: Bool, which: str) -> tuple[Forest, Forest]:
        before, after = self.rows.reaches(self.per_block)
        return self._forest(keep, before, "start", which), self._forest(keep, after, "end", which)

    def _out_of_fold(self, sides: list[Bool]) -> tuple[F64, dict[str, float | None]]:
        """`net_saving` of the rows, and how good the ranges are, each predicted by forests that never saw its fold."""
        rows = self.rows
        outputs = np.zeros((len(rows.first), 2))
        for fold, side in enumerate(sides):
            for column, forest in enumerate(self._ranges(side, str(fold))):
                outputs[~side, column] = forest_scorer(forest.text, self.train.threads)(rows.features[~side])
        low, high = predicted_range(rows.first, rows.last, outputs, self.per_block)
        net = net_saving(rows, low, high, self.label, self.cost)
        end = np.minimum(rows.last + 1, self.per_block)
        figures: dict[str, float | None] = {
            "range_contained": float(((low <= rows.low) & (high >= rows.high)).mean()),
            "range_exact": float(((low == rows.low) & (high == rows.high)).mean()),
            "range_of_access_alone_exact": float(((rows.first == rows.low) & (end == rows.high)).mean()),
            "range_error_segments": float((np.abs(low - rows.low) + np.abs(high - rows.high)).mean()),
            "benefit_positive": float((rows.benefit > 0).mean()),
            "worth": float((net > self.train.epsilon_s).mean()),
        }
        return net, figures
