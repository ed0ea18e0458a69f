"""Fits the prefetch forests of a category: ML-Range and ML-When, on the inputs of the category's admission model.

ML-Range learns how far each episode that OPT admits reaches before and after its first access; ML-When whether
fetching the predicted range at once saves disk-head time, from ranges that were predicted without the episode's own
fold of blocks (ranges of the training rows themselves would look better than any the model will serve). Which mode to
run is the judge's choice: `cachezoo.zoo.prefetch.judge`. Source: Baleen post, "Training Baleen to predict what and
when to prefetch"; out-of-fold ranges, and reaches in place of absolute positions, are ours.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from cachezoo import paths
from cachezoo.errors import TrainingError, no_trace
from cachezoo.flash.problem import label_of
from cachezoo.io import dump_json, sha256_file
from cachezoo.kernels.flash import DiskHead
from cachezoo.models.forest import Forest, write_forests
from cachezoo.models.inputs import INPUTS_FILE
from cachezoo.models.trained import FIT_FILE, FittedModel, read_fitted
from cachezoo.params import At, Picked
from cachezoo.seeds import derive_seed
from cachezoo.settings.data import Roles
from cachezoo.settings.flash import EpisodeLabel
from cachezoo.training.episodes import Prepared, read_prepared
from cachezoo.training.uses import trace_uses
from cachezoo.zoo.admission.fit import inputs_of
from cachezoo.zoo.admission.fit import model_id as admission_id
from cachezoo.zoo.admission.serve import history_of, serve_trace
from cachezoo.zoo.prefetch.ranges import Fitted, Fitter, prefetch_rows
from cachezoo.zoo.prefetch.settings import Fit, Model

if TYPE_CHECKING:
    from cachezoo.config.schema import Params

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

    Args:
        category: workload category.
        admitting: the category's admission model; its inputs are this model's too.
        parts: train traces with labels.
        settings: parameters.
        inputs: sha256 of what was read, by path.

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
