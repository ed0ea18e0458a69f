"""What the stages that fit and judge a model leave behind beside its weights: `fit.json`, then `train.json`.

`fit_*` writes what it learned and on what; `judge_*` adds what validation chose and its verdict. With `train.json`
travels everything that export, evaluation and a bundle's reader need to use the model: the features in order with their
normalisation, the calibration, the policy that turns outputs into decisions, and provenance.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, Protocol, Self, TypeVar

from pydantic import Field

from cachezoo.documents import Document, Figures
from cachezoo.errors import TrainingError
from cachezoo.io import read_json, write_json
from cachezoo.meanings import Each, Means
from cachezoo.traces.table import Trace

FIT_FILE = "fit.json"
FILE = "train.json"
KIND = r"^[a-z][a-z0-9]*$"
M = TypeVar("M", "FittedModel", "TrainedModel")


class Feature(Document):
    """One model input: `formula` is an id that `cachezoo.features` defines and documents.

    `ordinal` is a name's code, which the model compares as a number.
    """

    name: Annotated[str, Means("input")]
    formula: Annotated[str, Means("id of the formula in cachezoo.features")]
    unit: Annotated[str, Means("unit of the input")]
    encoding: Annotated[
        Literal["number", "ordinal"], Means("number, or ordinal: a name's code, compared as a number")
    ] = "number"
    mean: Annotated[float, Means("taken off to normalise", "unit of the input")] = 0.0
    scale: Annotated[float, Means("divided by to normalise", "unit of the input"), Field(gt=0)] = 1.0


class TraceUse(Document):
    """A trace that a model saw, and as what."""

    trace: Annotated[str, Means("trace")]
    role: Annotated[Literal["train", "validation", "test"], Means("train or validation")]
    sha256: Annotated[str, Means("of the raw trace")]
    licence: Annotated[str, Means("of the raw trace")]


class Read(Protocol):
    """A trace as a stage read it."""

    @property
    def key(self) -> str:
        """Its name in the matrix."""

    @property
    def trace(self) -> Trace:
        """Its requests."""


def trace_uses(train: Sequence[Read], validation: Sequence[Read]) -> list[TraceUse]:
    """Provenance of the traces that a model was fitted and judged on."""
    return [
        TraceUse(
            trace=part.key,
            role="train" if index < len(train) else "validation",
            sha256=part.trace.meta.source_sha256,
            licence=part.trace.meta.licence,
        )
        for index, part in enumerate([*train, *validation])
    ]


class _Model(Document):
    """What is known of a model from its fit on."""

    model_id: Annotated[str, Means("kind[.category].arch")]  # `kind[.category].arch`
    kind: Annotated[str, Means("id of its system"), Field(pattern=KIND)]  # id of the system that it is of
    category: Annotated[str | None, Means("null for a model of all categories")]  # of workload; None where it is of all
    # Architecture parameters enough to rebuild the network (layers, units, heads …) or the booster.
    arch: Annotated[dict[str, Any], Each(text="parameters of section model that rebuild the network or forest")]
    features: Annotated[list[Feature], Each("one model input", "place in the list")]  # model inputs in order
    # Codes of names, e.g. {"user": {"postgres": 0}}.
    encodings: Annotated[
        dict[str, dict[str, int]],
        Each(
            "one name of a coded column",
            "column and name",
            "column.name",
            "code of the name",
            presence="sometimes",
        ),
    ] = Field(default_factory=dict)
    # Page, block and segment bytes that the model was trained for.
    geometry: Annotated[dict[str, int], Each(text="bytes of a page, block and segment, by kind", unit="bytes")]
    # What the model was trained and validated on.
    traces: Annotated[list[TraceUse], Each("one trace that the model saw", "trace")]
    # Sha256 of the declared inputs of both stages, by path.
    inputs: Annotated[
        dict[str, str], Each("one input file of the stages that fit and judge", "path", "file", "sha256 of the file")
    ]
    # Every seed used, by context.
    seeds: Annotated[dict[str, int], Each("one seed", "context", "context", "seed used there")]
    # False where training never moved the model (it is then reported and never exported).
    trained: Annotated[bool, Means("training moved the model; if not, it is never exported")]


class FittedModel(_Model):
    """The content of `fit.json`."""

    # What the fit found besides weights and features, and the judge or a runtime needs: eviction age, teachers, classes
    # … by kind.
    learned: Annotated[dict[str, Any], Each(text="what the fit found besides weights and features, by kind")] = Field(
        default_factory=dict
    )
    # Of the fit: rows, best validation loss …
    figures: Annotated[Figures, Each(text="figures of the fit, by kind")] = Field(default_factory=dict)
    # Why `trained` is False; empty where it is True.
    reason: Annotated[str, Means("why trained is false; empty where it is true")] = ""

    def write(self, folder: Path) -> None:
        """Write `fit.json` into `folder`."""
        write_json(folder / FIT_FILE, self.model_dump(mode="json"))


class Verdict(Document):
    """What validation says of a fitted model."""

    calibration: dict[str, Any]  # threshold, threshold-to-write-rate curve, eviction age, capacities … by kind
    policy: dict[str, Any]  # how a runtime uses the outputs (queues, state carried or reset, capacity range …)
    validation: Figures  # metrics on the validation part, next to its baseline's
    beats_baseline: bool  # the model did better than its baseline on validation
    reason: str  # one line that says how it was judged, or why `trained` or `beats_baseline` is False


class TrainedModel(_Model):
    """The content of `train.json`: a fitted model and its `Verdict`."""

    calibration: Annotated[dict[str, Any], Each(text="thresholds and what they were chosen by, by kind")] = Field(
        default_factory=dict
    )
    policy: Annotated[
        dict[str, Any], Each(text="how a runtime turns outputs into decisions: docs/bundles.md, by kind")
    ] = Field(default_factory=dict)
    validation: Annotated[Figures, Each(text="figures of the fit and on validation, by kind")]
    beats_baseline: Annotated[bool, Means("it did better than its baseline on validation")]
    reason: Annotated[str, Means("the verdict in one line")]

    @classmethod
    def of(
        cls, fitted: FittedModel, verdict: Verdict, inputs: Mapping[str, str], traces: Sequence[TraceUse] = ()
    ) -> Self:
        """Put both together.

        `inputs` and `traces` are what the judge read and the fit did not; `inputs` are sha256 by path.
        """
        own = {name: getattr(fitted, name) for name in _Model.model_fields}
        own |= {"inputs": {**fitted.inputs, **inputs}, "traces": [*fitted.traces, *traces]}
        return cls(**own, **{name: getattr(verdict, name) for name in Verdict.model_fields})

    @property
    def promoted(self) -> bool:
        """It may be champion: it trained, and the interval of its lead over its baseline on validation is above 0."""
        return self.trained and self.beats_baseline

    def write(self, folder: Path) -> None:
        """Write `train.json` into `folder`."""
        write_json(folder / FILE, self.model_dump(mode="json"))


def read_fitted(folder: Path, kind: str) -> FittedModel:
    """Read `fit.json`.

    Raises:
        TrainingError: it does not hold what this release writes, or a model of another kind.
    """
    return _of_kind(_read(FittedModel, folder / FIT_FILE), folder, kind)


def read_trained(folder: Path, kind: str | None = None) -> TrainedModel:
    """Read `train.json`; None takes a model of any kind.

    Raises:
        TrainingError: it does not hold what this release writes, or a model of another kind.
    """
    return _of_kind(_read(TrainedModel, folder / FILE), folder, kind)


def _read(schema: type[M], path: Path) -> M:
    try:
        return schema.model_validate(read_json(path))
    except ValueError as error:
        what = "fitted" if path.name == FIT_FILE else "trained"
        message = f"{path}: not a {what} model of this release ({str(error).splitlines()[0]}); train it again"
        raise TrainingError(message) from error


def _of_kind(model: M, folder: Path, kind: str | None) -> M:
    if kind is not None and model.kind != kind:
        raise TrainingError(f"{folder}: holds a model of kind {model.kind}, not {kind}")
    return model
