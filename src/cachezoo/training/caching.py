"""Trains the caching LSTM of a category on an oracle's tags and judges its cache in closed loop on validation.

Source: RC-RNN, Sec. 4 and 5.2.2. The train traces at every labelled capacity teach one network, with heads for each
candidate oracle; the epoch is chosen by the validation loss, the oracle, the threshold and the manager's rules by the
hit ratio on validation, and the verdict compares with the best classic. The chosen oracle's heads are kept.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

from cachezoo import paths
from cachezoo.config.rcrnn import BenefitLabel, CachingModel, CachingTrain, ManagerPolicy, SequenceFeatures
from cachezoo.errors import TrainingError, no_trace
from cachezoo.features.sequence import Columns, fit_features, open_inputs
from cachezoo.features.table import read_features
from cachezoo.io import sha256_file
from cachezoo.labels.benefit import BELADY, Labels, percent, read_benefit_labels
from cachezoo.models.lstm_step import one_teacher
from cachezoo.models.trained import Feature, TracePart, TrainedModel
from cachezoo.seeds import derive_seed
from cachezoo.traces.pages import PageAccesses
from cachezoo.traces.store import read_pages, read_trace
from cachezoo.traces.table import PAGE_BYTES, Trace
from cachezoo.training.caching_verdict import judge
from cachezoo.training.fitted import Curves, Fitted, write_fitted
from cachezoo.training.sequences import Lane, Sequences, cut_lanes
from cachezoo.training.volumes import check_one_volume

if TYPE_CHECKING:
    from cachezoo.config.schema import Params
    from cachezoo.models.caching_lstm import CachingLstm

F32 = npt.NDArray[np.float32]


@dataclass(frozen=True)
class Settings:
    """The parameters that training reads."""

    label: BenefitLabel
    features: SequenceFeatures
    model: CachingModel
    train: CachingTrain
    manager: ManagerPolicy
    seed: int

    @classmethod
    def of(cls, params: "Params") -> "Settings":
        """Pick them from params.yaml."""
        return cls(
            params.label.benefit, params.features.sequence, params.model.caching, params.train.caching,
            params.policy.manager, params.seed,
        )  # fmt: skip


@dataclass(frozen=True)
class Part:
    """A trace with what earlier stages made of it."""

    key: str
    trace: Trace
    pages: PageAccesses
    labels: Labels
    columns: Columns


def model_id(category: str, arch: str) -> str:
    """Id of a category's caching model."""
    return f"caching.{category}.{arch}"


def candidate_teachers(parts: list[Part], settings: Settings) -> list[str]:
    """The oracles to imitate.

    Where the model's own tags are inputs only one can teach it: the one whose cache hits most on `parts`.
    """
    benefit, wanted = [f"benefit_{h}" for h in settings.label.horizons], settings.label.oracle
    names = {"any": [*benefit, BELADY], "benefit": benefit, "belady": [BELADY]}[wanted]
    if not settings.model.feedback:
        return names
    key = percent(settings.manager.capacity)
    return [max(names, key=lambda name: sum(part.labels.decided_hit_ratio[name, key] for part in parts))]


def lanes_of(
    parts: list[Part], model: TrainedModel, teachers: list[str], settings: Settings, capacities: list[float]
) -> list[Lane]:
    """Every trace at each of some labelled capacities."""
    features = [feature.model_dump() for feature in model.features]
    return [
        Lane(
            open_inputs(part.columns, lane, features, settings.features.clip),
            [part.labels.tags[teacher, percent(fraction)] for teacher in teachers],
        )
        for part in parts
        for lane, fraction in enumerate(settings.label.capacities)
        if percent(fraction) in map(percent, capacities)
    ]


def _policy(settings: Settings, columns: list[Columns]) -> dict[str, Any]:
    ratios = np.concatenate([part.sized[:, :, 0].ravel() for part in columns])
    return {
        "type": "three_queue_manager",
        "state": settings.model.state,
        "sequence": settings.model.sequence,
        "memory": settings.features.model_dump(),
        "demote_capacities": settings.manager.demote_capacities,
        "protected_percent": settings.manager.protected_percent,
        "fill_free": settings.manager.fill_free,
        "on_hit": settings.manager.on_hit[0],
        "queues": settings.manager.queues[0],
        "decide": "admitted iff cached >= calibration.threshold; queues three: to the likeliest of soon, mean, late; "
        "queues single: to mean; on_hit requeue: hits are decided on too",
        "capacity_ratio_log2": [float(np.quantile(ratios, q)) for q in (0.01, 0.99)],
    }


def _skeleton(category: str, parts: list[Part], validation: list[Part], settings: Settings) -> TrainedModel:
    """Everything about the model that is known before it is trained."""
    columns = [part.columns for part in parts]
    roles: list[tuple[Part, Literal["train", "validation"]]] = [(part, "train") for part in parts]
    roles += [(part, "validation") for part in validation]
    return TrainedModel(
        model_id=model_id(category, settings.model.arch),
        kind="caching",
        category=category,
        arch={
            "layers": settings.model.layers,
            "units": settings.model.units,
            "precision": settings.train.precision,
            "threads": settings.train.threads,
        },
        features=[Feature(**row) for row in fit_features(columns, "caching", settings.model.feedback)],
        geometry={"page_bytes": PAGE_BYTES},
        calibration={
            "threshold": settings.train.thresholds[0],
            "capacity": settings.manager.capacity,
            "capacities": list(settings.label.capacities),
        },
        policy=_policy(settings, columns),
        traces=[
            TracePart(
                trace=part.key,
                role=role,
                sha256=part.trace.meta.source_sha256,
                licence=part.trace.meta.licence,
            )
            for part, role in roles
        ],
        inputs={},
        seeds={"train_caching": derive_seed(settings.seed, "train_caching", category)},
        trained=False,
        validation={},
        beats_baseline=False,
        reason="not trained yet",
    )


def _network(model: TrainedModel, teachers: int, settings: Settings) -> "CachingLstm":
    from cachezoo.models.caching_lstm import CachingLstm
    from cachezoo.training.lightning_fit import seeded

    seeded(model.seeds["train_caching"])
    return CachingLstm(len(model.features), settings.model.layers, settings.model.units, teachers)


def fit_network(
    model: TrainedModel, train: Sequences, validation: Sequences | None, settings: Settings
) -> tuple[dict[str, F32], Curves]:
    """Train the network.

    Returns:
        The best epoch's weights, with the heads of all teachers, empty where no loss was finite; and the curves.
    """
    from cachezoo.training.caching_task import CachingTask, loader
    from cachezoo.training.lightning_fit import fit

    seed, options, net = model.seeds["train_caching"], settings.train, settings.model
    network = _network(model, train.cached.shape[2], settings)
    batches = loader(train, options.batch, None if net.state == "carried" else seed)
    task = CachingTask(network, net, options, options.max_epochs * len(batches), seed)
    judged = loader(validation, options.batch, None) if validation is not None else None
    fit(
        task, batches, judged, options.max_epochs, options.clip_norm, options.precision, options.threads,
        model.model_id,
    )  # fmt: skip
    return task.best, task.curves


def _untrained(model: TrainedModel, teachers: list[str], settings: Settings, curves: Curves) -> Fitted:
    """A model with the weights that training began with, and what an evaluation reads of it."""
    state = _network(model, len(teachers), settings).state_dict()
    weights = {name: tensor.numpy() for name, tensor in state.items()}
    changes = {
        "calibration": {**model.calibration, "teacher": teachers[0]},
        "reason": "training never moved the model: no epoch's loss was finite",
    }
    return Fitted(model.model_copy(update=changes), one_teacher(weights, 0), curves)


def fit_caching(category: str, parts: list[Part], validation: list[Part], settings: Settings) -> Fitted:
    """Train on some traces, choose and judge on others.

    Args:
        category: workload category.
        parts: train traces.
        validation: validation traces; where empty the train traces choose in their place, and the model is not said
            to beat its baseline, for nothing judged it.
        settings: parameters.

    Raises:
        TrainingError: no train trace, or no settled label in it.
    """
    if not parts:
        raise TrainingError(no_trace(category, "train"))
    model = _skeleton(category, parts, validation, settings)
    teachers = candidate_teachers(validation or parts, settings)

    def cut(some: list[Part], capacities: list[float]) -> Sequences:
        lanes = lanes_of(some, model, teachers, settings, capacities)
        return cut_lanes(lanes, settings.model.sequence, settings.train.hit_weight, settings.model.feedback)

    train = cut(parts, settings.label.capacities)
    if not train.weight.any():
        message = f"{model.model_id}: no label of the train traces is settled; give longer traces or shorter horizons"
        raise TrainingError(message)
    # The verdict is spoken at the manager's capacity, so the epoch is chosen there.
    judged = cut(validation, [settings.manager.capacity]) if validation else None
    weights, curves = fit_network(model, train, judged, settings)
    if not weights:
        return _untrained(model, teachers, settings, curves)
    verdict = judge(model, weights, teachers, validation or parts, bool(validation), settings)
    figures = {**verdict.figures, "rows": float((train.weight > 0).any(axis=2).sum())}
    if validation:
        figures["loss"] = min(loss for _, loss in curves if loss is not None)
    chosen = verdict.chosen
    trained = model.model_copy(
        update={
            "calibration": {
                **model.calibration,
                "threshold": chosen.threshold,
                "teacher": chosen.teacher,
                "candidates": verdict.candidates,
                "thresholds": verdict.curve,
                "calibrated_on": "validation" if validation else "train",
                "oracle_beats_classic": verdict.oracle_beats_classic,
            },
            "policy": {**model.policy, "on_hit": chosen.on_hit, "queues": chosen.queues},
            "trained": True,
            "validation": figures,
            "beats_baseline": verdict.beats,
            "reason": verdict.reason,
        }
    )
    return Fitted(trained, one_teacher(weights, teachers.index(chosen.teacher)), curves)


def _read_parts(
    params: "Params", category: str, role: str, settings: Settings
) -> tuple[list[Part], dict[str, str]]:
    parts, inputs = [], {}
    for key in params.traces_of(category, role):
        files = (
            paths.requests(category, key), paths.labels("benefit", category, key), paths.features(category, key)
        )  # fmt: skip
        trace = read_trace(files[0])
        check_one_volume(trace, key)
        parts.append(
            Part(
                key,
                trace,
                read_pages(files[0]),
                read_benefit_labels(files[1], settings.label, len(trace)),
                read_features(files[2], settings.label, len(trace)),
            )
        )
        inputs.update({str(path): sha256_file(path) for path in files})
    return parts, inputs


def train_caching(params: "Params", category: str, root: Path | None = None) -> TrainedModel:
    """Train a category's caching model and write `models/trained/caching.<category>.<arch>/`.

    Args:
        params: params.yaml.
        category: workload category.
        root: where to write instead; None takes the model's own folder.

    Raises:
        TrainingError: nothing to train on.
    """
    settings = Settings.of(params)
    parts, inputs = _read_parts(params, category, "train", settings)
    validation, more = _read_parts(params, category, "validation", settings)
    fitted = fit_caching(category, parts, validation, settings)
    model = fitted.model.model_copy(update={"inputs": {**inputs, **more}})
    write_fitted(Fitted(model, fitted.weights, fitted.curves), root or paths.trained(model.model_id))
    return model
