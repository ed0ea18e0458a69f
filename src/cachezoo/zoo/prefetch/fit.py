"""Fits the prefetch forests of a category: ML-Range and ML-When, on the inputs of the category's admission model.

ML-Range learns how far each episode that OPT admits reaches before and after its first access; ML-When whether
fetching the predicted range at once saves disk-head time, from ranges that were predicted without the episode's own
fold of blocks (ranges of the training rows themselves would look better than any the model will serve). Which mode to
run is the judge's choice: `cachezoo.zoo.prefetch.judge`. Source: Baleen post, "Training Baleen to predict what and
when to prefetch"; out-of-fold ranges, and reaches in place of absolute positions, are ours.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, NamedTuple

import numpy as np

from cachezoo import paths
from cachezoo.arrays import F32, F64, I32, I64, Bool
from cachezoo.errors import TrainingError, no_trace
from cachezoo.flash_cache.problem import label_of
from cachezoo.io import dump_json, sha256_file
from cachezoo.kernels.flash import DiskHead
from cachezoo.models.forest import Forest, ForestRows, fit_forest, forest_scorer, write_forests
from cachezoo.models.inputs import INPUTS_FILE
from cachezoo.models.trained import FIT_FILE, FittedModel, read_fitted, trace_uses
from cachezoo.params import At, Picked
from cachezoo.seeds import derive_seed
from cachezoo.settings.data import Roles
from cachezoo.settings.flash import EpisodeLabel
from cachezoo.training.episodes import Prepared, folds, held_out, read_prepared
from cachezoo.zoo.admission.fit import inputs_of
from cachezoo.zoo.admission.fit import model_id as admission_id
from cachezoo.zoo.admission.serve import history_of, serve_trace
from cachezoo.zoo.prefetch.model import MODEL_FILES
from cachezoo.zoo.prefetch.serve import predicted_range
from cachezoo.zoo.prefetch.settings import Fit, Model

if TYPE_CHECKING:
    from cachezoo.settings.params import Params

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
    """What training gave."""

    forests: dict[str, Forest]  # by file name; empty where nothing was learned
    reason: str = ""  # why, then; else empty
    figures: dict[str, float | None] = field(default_factory=dict)  # of the training rows, for train.json


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

    `low` int32[r] is the first segment of the predicted range, `high` one past its last.
    """
    contains = (low <= rows.low) & (high >= rows.high)
    common = np.maximum(np.minimum(high, rows.high) - np.maximum(low, rows.low), 0)
    outside = (high - low - common).astype(np.int64)
    net: F64 = rows.benefit * contains - cost.seconds(np.zeros(len(low)), outside * label.segment_bytes)
    return net


@dataclass(frozen=True)
class Fitter:
    """Fits the forests of one category."""

    rows: Rows  # what to learn from
    names: list[str]  # of the features
    model: Model  # the forests' shape
    train: Fit  # folds, early stopping, epsilon
    label: EpisodeLabel  # geometry
    cost: DiskHead  # disk-head time
    seed: int  # every forest's seed is derived from it

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


CONTEXT = "train_prefetch"


@dataclass(frozen=True)
class Settings(Picked):
    """What the stage reads of params.yaml."""

    label: Annotated[EpisodeLabel, At("label.episodes")]
    model: Annotated[Model, At("model.prefetch")]
    fit: Annotated[Fit, At("fit.prefetch")]
    seek_ms: Annotated[float, At("policy.flash.seek_ms")]
    rate_mib_s: Annotated[float, At("policy.flash.rate_mib_s")]
    admission: Annotated[str, At("model.admission.arch")]
    roles: Annotated[Roles, At("data.roles.{category}")]
    seed: Annotated[int, At("seed")]


def model_id(category: str, arch: str = "lgbm") -> str:
    """Id of a category's prefetch model."""
    return f"prefetch.{category}.{arch}"


def fit_prepared(
    category: str, admitting: FittedModel, parts: list[Prepared], settings: Settings, inputs: dict[str, str]
) -> tuple[FittedModel, dict[str, Forest]]:
    """Fit on train traces.

    Its inputs are those of the category's admission model, `admitting`; `inputs` are the sha256 of what was read, by
    path.

    Returns:
        The model, and the forests by file name; none where nothing was learned.

    Raises:
        TrainingError: there is no train trace.
    """
    if not parts:
        raise TrainingError(no_trace(category, "train"))
    seed = derive_seed(settings.seed, CONTEXT, category)
    found = _learn(admitting, parts, settings, label_of(settings.label, category), seed)
    fitted = FittedModel(
        model_id=model_id(category, settings.model.arch),
        kind="prefetch",
        category=category,
        arch={
            **settings.model.model_dump(),
            "threads": settings.fit.threads,
            "trees": sum(forest.trees for forest in found.forests.values()),
            "splits": sum(forest.splits for forest in found.forests.values()),
        },
        features=admitting.features,
        encodings=admitting.encodings,
        geometry=admitting.geometry,
        traces=trace_uses(parts, []),
        inputs=inputs,
        seeds={CONTEXT: seed},
        trained=bool(found.forests),
        learned={**admitting.learned, "admission": admitting.model_id},
        figures=found.figures,
        reason=found.reason,
    )
    return fitted, found.forests


def _learn(admitting: FittedModel, parts: list[Prepared], settings: Settings, label: EpisodeLabel, seed: int) -> Fitted:
    """The forests, or why there are none."""
    if not admitting.trained:
        return Fitted({}, f"its admission model never trained: {admitting.reason}")
    cost = DiskHead(settings.seek_ms, settings.rate_mib_s)
    features = [(part, serve_trace(history_of(admitting), part.trace)) for part in parts]
    rows = prefetch_rows(features, label, settings.fit)
    names = [feature.name for feature in admitting.features]
    return Fitter(rows, names, settings.model, settings.fit, label, cost, seed).fit()


def fit_prefetch(params: "Params", category: str) -> None:
    """Stage fit_prefetch, one job: write `models/fitted/prefetch/prefetch.<category>.lgbm/`.

    Raises:
        TrainingError: there is no train trace or no admission model.
    """
    settings = Settings.of(params, category)
    parts, inputs = read_prepared(category, settings.roles.get("train", []))
    folder = paths.fitted(admission_id(category, settings.admission))
    admitting = read_fitted(folder, "admission")
    inputs[str(folder / FIT_FILE)] = sha256_file(folder / FIT_FILE)
    fitted, forests = fit_prepared(category, admitting, parts, settings, inputs)
    others = {INPUTS_FILE: dump_json(inputs_of(admitting, parts))}
    write_forests(paths.fitted(fitted.model_id), fitted, forests, others)
