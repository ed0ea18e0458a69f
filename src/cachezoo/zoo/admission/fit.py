"""Fits the admission forests of a category on its train traces: the full one, and those beside it.

A forest learns of each read at how many write budgets OPT would still admit its episode from there on, so that one
model ranks for every budget: a cache sets the threshold by what it may write. More reads in the history never lower
the score. Source: Baleen post, "Training Baleen to imitate OPT", where a model learns OPT's decisions at one budget,
and those on whole episodes. The held-out blocks stop training early. Thresholds and the verdict are the judge's:
`cachezoo.zoo.admission.judge`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import numpy as np

from cachezoo import paths
from cachezoo.arrays import F32, Bool
from cachezoo.errors import TrainingError, no_trace
from cachezoo.features.history import READS, AdmissionFeatures, feature_list
from cachezoo.flash_cache.problem import label_of
from cachezoo.io import dump_json
from cachezoo.models.forest import Forest, ForestRows, fit_forest, write_forests
from cachezoo.models.inputs import INPUTS_FILE, distribution
from cachezoo.models.trained import Feature, FittedModel, trace_uses
from cachezoo.params import At, Picked
from cachezoo.seeds import derive_seed
from cachezoo.settings.base import fitted_by
from cachezoo.settings.data import Roles
from cachezoo.settings.flash import EpisodeLabel, HistoryFeatures
from cachezoo.settings.forest import ForestShape
from cachezoo.traces.table import OP_READ
from cachezoo.training.episodes import Prepared, encodings, held_out, read_prepared
from cachezoo.zoo.admission.model import MODEL_FILE
from cachezoo.zoo.admission.serve import HistoryServing, history_of, serve_trace
from cachezoo.zoo.admission.settings import Fit, Model

if TYPE_CHECKING:
    from cachezoo.settings.params import Params

CONTEXT = "train_admission"


@dataclass(frozen=True)
class Variant:
    """One of a category's admission models; those beside the full one are for caches that give it less.

    A cache below a block device sees neither the user nor the namespace of a request. Where a forest that learned with
    them knows none, up to 14 % of its decisions turn and its threshold misses the write budget (docs/flash.md); so
    the others learn without. The small one, for few microseconds a decision, is a block model too.
    """

    suffix: str  # behind the name of the full one's architecture
    names: bool  # whether it looks at names, of users and namespaces
    small: bool  # whether it has the shape `model.admission.small`

    def arch(self, full: str) -> str:
        """The name of its architecture, from the full one's."""
        return full + self.suffix

    def shape(self, model: Model) -> ForestShape:
        """Its forest's shape."""
        own = model.small.model_dump() if self.small else {}
        return ForestShape(**{**model.model_dump(exclude={"small"}), **own})

    def features(self, windows: Sequence[int]) -> list[dict[str, Any]]:
        """Its inputs in order, see `feature_list`."""
        return [row for row in feature_list(windows) if self.names or not row["formula"].startswith("code.")]


FULL = Variant("", names=True, small=False)
BLOCK = Variant("_block", names=False, small=False)
SMALL = Variant("_small", names=False, small=True)
BESIDE = (BLOCK, SMALL)
VARIANTS = (FULL, *BESIDE)


@dataclass(frozen=True)
class Settings(Picked):
    """What the stage reads of params.yaml."""

    label: Annotated[EpisodeLabel, At("label.episodes")]
    history: Annotated[HistoryFeatures, At("features.history")]
    model: Annotated[Model, At("model.admission")]
    fit: Annotated[Fit, At("fit.admission")]
    roles: Annotated[Roles, At("data.roles.{category}")]
    seed: Annotated[int, At("seed")]


def model_id(category: str, arch: str = "lgbm") -> str:
    """Id of a category's admission model."""
    return f"admission.{category}.{arch}"


class Rows(NamedTuple):
    """The first k reads of each settled episode; r rows."""

    features: F32  # float32[r, F]
    worth: F32  # float32[r] share of the budgets at which it pays to admit the episode from this read on
    held: Bool  # bool[r] kept for early stopping
    open: Bool  # bool[r] the episode may go on after the trace's end, which may change its label
    weights: F32  # float32[r] what the row counts


def training_rows(parts: Sequence[Prepared], rows: Sequence[F32], label: EpisodeLabel, settings: Settings) -> Rows:
    """The rows of train traces.

    `rows` are the features float32[n, F] of each part.
    """
    chosen = []
    for part, features in zip(parts, rows, strict=True):
        labels, fit = part.labels, settings.fit
        weights = np.where(labels.open, fit.open_weight, 1.0).astype(np.float32)
        keep = (labels.episode >= 0) & (labels.access_index < label.first_accesses) & labels.settled & (weights > 0)
        held = held_out(part.trace, label, fit.holdout_every)
        chosen.append((features[keep], labels.worth[keep], held[keep], labels.open[keep], weights[keep]))
    return Rows(*(np.concatenate(column) for column in zip(*chosen, strict=True)))


def fit_prepared(
    category: str, parts: list[Prepared], settings: Settings, inputs: dict[str, str], variant: Variant = FULL
) -> tuple[FittedModel, Forest]:
    """Fit on train traces.

    `inputs` are the sha256 of what was read, by path.

    Raises:
        TrainingError: there is no train trace, or nothing in it to learn from.
    """
    if not parts:
        raise TrainingError(no_trace(category, "train"))
    arch, shape = variant.arch(settings.model.arch), variant.shape(settings.model)
    name, label = model_id(category, arch), label_of(settings.label, category)
    age = int(np.median([part.labels.eviction_age for part in parts]))
    windows = list(settings.history.windows)
    history = {"bucket_requests": max(1, round(age * settings.history.bucket_of_age)), "windows": windows}
    features, codes = variant.features(windows), encodings(parts) if variant.names else {}
    geometry = {"block_bytes": label.block_bytes, "segment_bytes": label.segment_bytes}
    served = [
        serve_trace(HistoryServing(AdmissionFeatures(features, codes, geometry, history)), part.trace) for part in parts
    ]
    rows = training_rows(parts, served, label, settings)
    if not len(rows.worth):
        message = (
            f"{name}: no episode of the train traces began early enough to have a settled label; "
            "give longer train traces"
        )
        raise TrainingError(message)
    seed = derive_seed(settings.seed, CONTEXT, category)
    names = [str(feature["name"]) for feature in features]
    rising = [feature["formula"].startswith(READS) for feature in features]
    data = ForestRows(rows.features, rows.worth, rows.held, names, rows.weights, rising)
    forest = fit_forest(data, shape, settings.fit, seed)
    own = {**shape.model_dump(), "arch": arch, **fitted_by(settings.fit)}
    fitted = FittedModel(
        model_id=name,
        kind="admission",
        category=category,
        arch={**own, "trees": forest.trees, "splits": forest.splits},
        features=[Feature(**row) for row in features],
        encodings=codes,
        geometry=geometry,
        traces=trace_uses(parts, []),
        inputs=inputs,
        seeds={CONTEXT: seed},
        trained=forest.splits > 0,
        learned={"eviction_age": age, "history": history},
        figures={
            "rows": float(len(rows.worth)),
            "positives": float(rows.worth.mean()),
            "open": float(rows.open.mean()),
        },
        reason=""
        if forest.splits
        else "training never moved the model: no split improves the loss on the labels it was given",
    )
    return fitted, forest


def inputs_of(model: FittedModel, parts: Sequence[Prepared]) -> dict[str, list[float]]:
    """How a model's inputs are distributed over the reads of its train traces, which are what it decides on."""
    rows = [serve_trace(history_of(model), part.trace)[part.trace.op == OP_READ] for part in parts]
    return distribution(model.features, np.concatenate(rows))


def fit_admission(params: "Params", category: str) -> None:
    """Stage fit_admission, one job: write `models/fitted/admission/admission.<category>.<arch>/` of each of `VARIANTS`.

    Raises:
        TrainingError: nothing to train on.
    """
    settings = Settings.of(params, category)
    parts, inputs = read_prepared(category, settings.roles.get("train", []))
    for variant in VARIANTS:
        fitted, forest = fit_prepared(category, parts, settings, inputs, variant)
        others = {INPUTS_FILE: dump_json(inputs_of(fitted, parts))}
        write_forests(paths.fitted(fitted.model_id), fitted, {MODEL_FILE: forest}, others)
