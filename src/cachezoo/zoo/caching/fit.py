"""Fits the caching LSTM of a category on the oracles' tags.

Source: RC-RNN, Sec. 4 and 5.2.2. The train traces at every labelled capacity, and copies of them where these are asked
for, teach one network, with heads for each candidate oracle; the epoch is chosen by the loss on the blocks of
validation that do not judge. `fit.caching.seeds` such networks are trained, which differ in their seed. Which of them
to ship, with which oracle, threshold and rules of the manager, is the judge's choice: `cachezoo.zoo.caching.judge`.
"""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np

from cachezoo import paths
from cachezoo.arrays import F32
from cachezoo.errors import TrainingError, no_trace
from cachezoo.features.sequence import COMMON_NAMES, Columns, fit_features, input_ranges, open_inputs
from cachezoo.features.table import read_features
from cachezoo.io import sha256_file
from cachezoo.labels.tags import BELADY
from cachezoo.models.trained import Feature, FittedModel, trace_uses
from cachezoo.params import At, Picked
from cachezoo.seeds import derive_seed
from cachezoo.settings.base import fitted_by
from cachezoo.settings.data import Roles
from cachezoo.settings.page_cache import BenefitLabel, SequenceFeatures
from cachezoo.traces.pages import percent
from cachezoo.traces.table import PAGE_BYTES
from cachezoo.training.fitted import Curves, Network, network_weights, write_networks
from cachezoo.zoo.caching.prepared import Prepared, judging_requests, read_prepared
from cachezoo.zoo.caching.sequences import Lane, Sequences, cut_lanes
from cachezoo.zoo.caching.settings import Augment, Fit, Model

if TYPE_CHECKING:
    from cachezoo.models.lstm import CachingLstm
    from cachezoo.settings.params import Params

CONTEXT = "train_caching"
COPIES = "augment_caching"  # context of the seeds of the traces' copies
PLACE = {name: place for place, name in enumerate(COMMON_NAMES)}


@dataclass(frozen=True)
class Change:
    """How a copy differs."""

    pages: int  # that all addresses are moved by
    rate: float  # factor of all gaps, above 0
    size: float  # factor of sizes, addresses and distances, above 0


def drawn_changes(columns: Columns, options: Augment, seed: int, category: str, key: str) -> list[Change]:
    """The changes of a trace's copies, the same in every run."""
    address = columns.common[:, PLACE["address"]].astype(np.float64)
    span = float(address.max() - address.min())
    found = []
    for copy in range(options.copies):
        rng = np.random.default_rng(derive_seed(seed, COPIES, category, key, copy))
        offset, rate, size = rng.uniform(-1.0, 1.0, 3)
        found.append(
            Change(
                round(offset * options.offset_spans * span),
                float(2.0 ** (rate * options.rate_octaves)),
                float(2.0 ** (size * options.size_octaves)),
            )
        )
    return found


def changed(columns: Columns, change: Change) -> Columns:
    """A trace's raw inputs as they would be elsewhere; the oracles' tags, which count page accesses, stay right.

    A size is scaled with the distances between requests, as if pages were: a request touches as many of these pages as
    before, so reuse and capacity in pages are the same. Response times would differ a little.
    """
    common = columns.common.astype(np.float64)
    gap, delta, address, size = (common[:, PLACE[name]] for name in ("gap", "delta", "address", "size"))
    common[:, PLACE["gap"]] = np.log1p(change.rate * np.expm1(gap))
    sectors = np.exp2(np.abs(delta)) - 1.0
    common[:, PLACE["delta"]] = np.sign(delta) * np.log2(1.0 + change.size * sectors)
    common[:, PLACE["address"]] = change.size * address + change.pages
    common[:, PLACE["size"]] = size + np.log2(change.size)
    return replace(columns, common=common.astype(np.float32))


@dataclass(frozen=True)
class Settings(Picked):
    """What the stage reads of params.yaml."""

    label: Annotated[BenefitLabel, At("label.benefit")]
    features: Annotated[SequenceFeatures, At("features.sequence")]
    model: Annotated[Model, At("model.caching")]
    fit: Annotated[Fit, At("fit.caching")]
    capacity: Annotated[float, At("policy.manager.capacity")]
    roles: Annotated[Roles, At("data.roles.{category}")]
    seed: Annotated[int, At("seed")]
    judged_requests: Annotated[int, At("judge.caching.closed_loop_requests")]


@dataclass(frozen=True)
class Inputs:
    """A model's inputs."""

    features: list[Feature]  # in order, with their normalisation
    ranges: dict[str, list[float]]  # least and greatest value in training, by the input's name

    @classmethod
    def of(cls, parts: list["FitTrace"], model: Model) -> "Inputs":
        """Those of some train traces.

        Raises:
            ConfigError: an input that there is not.
        """
        columns = [own.columns for own in parts]
        rows = fit_features(columns, model.inputs, model.feedback)
        return cls([Feature(**row) for row in rows], input_ranges(columns, rows))


@dataclass(frozen=True)
class FitTrace:
    """A trace with its labels and raw inputs."""

    part: Prepared
    columns: Columns


def model_id(category: str, arch: str) -> str:
    """Id of a category's caching model."""
    return f"caching.{category}.{arch}"


def candidate_teachers(parts: list[FitTrace], settings: Settings) -> list[str]:
    """The oracles to imitate.

    Where the model's own tags are inputs only one can teach it: the one whose cache hits most on `parts`.
    """
    benefit, wanted = [f"benefit_{h}" for h in settings.label.horizons], settings.label.oracle
    names = {"any": [*benefit, BELADY], "benefit": benefit}.get(wanted, [wanted])
    if not settings.model.feedback:
        return names
    key = percent(settings.capacity)
    return [max(names, key=lambda name: sum(own.part.labels.decided_hit_ratio[name, key] for own in parts))]


def lanes_of(parts: list[FitTrace], inputs: Inputs, teachers: list[str], settings: Settings) -> list[Lane]:
    """Every trace at each labelled capacity."""
    return [_lane(own, inputs, teachers, settings, fraction) for own in parts for fraction in settings.label.capacities]


def choosing_lanes(parts: list[FitTrace], inputs: Inputs, teachers: list[str], settings: Settings) -> list[Lane]:
    """Every validation trace at the manager's capacity, which the verdict is spoken at; what judges does not count."""
    lanes = []
    for own in parts:
        judging = judging_requests(own.part.pages, settings.judged_requests)
        lanes.append(replace(_lane(own, inputs, teachers, settings, settings.capacity), counts=~judging))
    return lanes


def _lane(own: FitTrace, inputs: Inputs, teachers: list[str], settings: Settings, fraction: float) -> Lane:
    labelled = [percent(capacity) for capacity in settings.label.capacities].index(percent(fraction))
    rows = [feature.model_dump() for feature in inputs.features]
    values = open_inputs(own.columns, labelled, rows, settings.features.clip, inputs.ranges)
    return Lane(values, [own.part.labels.tags[teacher, percent(fraction)] for teacher in teachers])


def new_network(inputs: int, teachers: int, settings: Settings, seed: int) -> "CachingLstm":
    """A network with its first weights."""
    from cachezoo.models.lstm import CachingLstm
    from cachezoo.training.lightning_fit import seeded

    seeded(seed)
    return CachingLstm(inputs, settings.model.layers, settings.model.units, teachers)


def fit_network(
    title: str, train: Sequences, validation: Sequences | None, settings: Settings, seed: int
) -> tuple[dict[str, F32], Curves]:
    """Train the network.

    Without validation the train loss chooses the epoch.

    Returns:
        The best epoch's weights, with the heads of all teachers, empty where no loss was finite; and the curves.

    Raises:
        ConfigError: the accelerator is not there.
    """
    from cachezoo.training.lightning_fit import fit
    from cachezoo.zoo.caching.task import CachingTask, loader

    options, net = settings.fit, settings.model
    network = new_network(train.inputs.shape[2], train.cached.shape[2], settings, seed)
    batches = loader(train, options.batch, None if net.state == "carried" else seed)
    task = CachingTask(network, net, options, options.max_epochs * len(batches), seed)
    judged = loader(validation, options.batch, None) if validation is not None else None
    fit(task, batches, judged, options, title, options.accelerator)
    return task.best, task.curves


def _copies(category: str, parts: list[FitTrace], settings: Settings) -> list[FitTrace]:
    """The train traces' copies with other inputs."""
    options = settings.fit.augment
    return [
        replace(own, columns=changed(own.columns, change))
        for own in parts
        for change in drawn_changes(own.columns, options, settings.seed, category, own.part.key)
    ]


def network_seeds(category: str, settings: Settings) -> dict[str, int]:
    """The seed of each network, by context; the first is that of a model of one network."""
    keys = [(CONTEXT, ()), *((f"{CONTEXT}.{place}", (place,)) for place in range(1, settings.fit.seeds))]
    return {name: derive_seed(settings.seed, CONTEXT, category, *place) for name, place in keys}


def fit_prepared(
    category: str, parts: list[FitTrace], validation: list[FitTrace], settings: Settings, inputs: dict[str, str]
) -> tuple[FittedModel, list[Network]]:
    """Fit on some traces, choose the epochs on others.

    Without validation traces the train loss chooses the epoch. `inputs` are the sha256 of what was read, by path.

    Returns:
        The model, and its networks, with the heads of all teachers (one whose loss was never finite as it began; then
        the model is not trained).

    Raises:
        TrainingError: no train trace, or no settled label in it.
        ConfigError: an input or an accelerator that there is not.
    """
    if not parts:
        raise TrainingError(no_trace(category, "train"))
    learned_from = [*parts, *_copies(category, parts, settings)]
    given, teachers = Inputs.of(learned_from, settings.model), candidate_teachers(parts, settings)
    name, seeds = model_id(category, settings.model.arch), network_seeds(category, settings)

    def cut(lanes: list[Lane]) -> Sequences:
        options, net = settings.fit, settings.model
        found = cut_lanes(lanes, net.sequence, options.hit_weight, net.feedback, options.hit_target)
        return found if net.state == "carried" else found.taught()

    train = cut(lanes_of(learned_from, given, teachers, settings))
    if not train.weight.any():
        raise TrainingError(f"{name}: no label of the train traces is settled; give longer traces or shorter horizons")
    held = cut(choosing_lanes(validation, given, teachers, settings)) if validation else None
    found = [fit_network(name, train, held, settings, seed) for seed in seeds.values()]
    trained = all(weights for weights, _ in found)
    figures: dict[str, float | None] = {"rows": float((train.weight > 0).any(axis=2).sum())}
    if trained and validation:
        best = [min(loss for _, loss in curves if loss is not None) for _, curves in found]
        figures["loss"] = float(np.mean(best))
    fitted = FittedModel(
        model_id=name,
        kind="caching",
        category=category,
        arch={
            "layers": settings.model.layers,
            "units": settings.model.units,
            **fitted_by(settings.fit),
        },
        features=given.features,
        geometry={"page_bytes": PAGE_BYTES},
        traces=trace_uses([own.part for own in parts], [own.part for own in validation]),
        inputs=inputs,
        seeds=seeds,
        trained=trained,
        learned=_learned(teachers, given, [part.columns for part in parts], settings),
        figures=figures,
        reason="" if trained else "training never moved the model: no epoch's loss was finite",
    )
    networks = [
        Network(weights or network_weights(new_network(len(given.features), len(teachers), settings, seed)), curves)
        for (weights, curves), seed in zip(found, seeds.values(), strict=True)
    ]
    return fitted, networks


def _learned(teachers: list[str], inputs: Inputs, columns: list[Columns], settings: Settings) -> dict[str, Any]:
    """What the judge and a runtime need besides the networks."""
    ratios = np.concatenate([part.sized[:, :, 0].ravel() for part in columns])
    return {
        "networks": settings.fit.seeds,
        "teachers": teachers,
        "capacities": list(settings.label.capacities),
        "capacity_ratio_log2": [float(np.quantile(ratios, q)) for q in (0.01, 0.99)],
        "ranges": inputs.ranges,
        "state": settings.model.state,
        "sequence": settings.model.sequence,
        "memory": settings.features.model_dump(),
    }


def read_fit_traces(category: str, keys: list[str], label: BenefitLabel) -> tuple[list[FitTrace], dict[str, str]]:
    """Traces of a category with their raw inputs, and sha256 of what was read, by path.

    Raises:
        TraceError: a file is missing or damaged.
        TrainingError: a trace is of several volumes.
    """
    parts, inputs = read_prepared(category, keys, label)
    found = []
    for part in parts:
        path = paths.features(category, part.key)
        found.append(FitTrace(part, read_features(path, label, len(part.trace))))
        inputs[str(path)] = sha256_file(path)
    return found, inputs


def fit_caching(params: "Params", category: str, root: Path = paths.FITTED) -> None:
    """Stage fit_caching, one job: write `caching/caching.<category>.<arch>/` below `root`.

    Raises:
        TrainingError: nothing to train on.
    """
    settings = Settings.of(params, category)
    parts, inputs = read_fit_traces(category, settings.roles.get("train", []), settings.label)
    validation, more = read_fit_traces(category, settings.roles.get("validation", []), settings.label)
    fitted, networks = fit_prepared(category, parts, validation, settings, {**inputs, **more})
    write_networks(paths.fitted(fitted.model_id, root), fitted, networks)
