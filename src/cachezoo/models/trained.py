"""What a training stage leaves behind beside the weights: `train.json`.

Everything that export, evaluation and a bundle's reader need to use the model travels with it: the features in
order with their normalisation, the calibration, the policy that turns outputs into decisions, and provenance.
"""

from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from cachezoo.errors import TrainingError
from cachezoo.io import read_json, write_json

Kind = Literal["workload", "caching", "admission", "prefetch"]
FILE = "train.json"


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Feature(_Strict):
    """One model input: `formula` is an id that `cachezoo.features` defines and documents."""

    name: str
    formula: str
    unit: str
    encoding: Literal["number", "categorical"] = "number"
    mean: float = 0.0
    scale: float = Field(default=1.0, gt=0)


class TracePart(_Strict):
    """A trace that a model saw, and as what."""

    trace: str
    role: Literal["train", "validation", "test"]
    sha256: str
    licence: str


class TrainedModel(_Strict):
    """The content of `train.json`.

    Attributes:
        model_id: `kind[.category].arch`.
        arch: architecture parameters enough to rebuild the network (layers, units, heads …) or the booster.
        features: model inputs in order.
        encodings: categorical encodings, e.g. {"user": {"postgres": 0}}.
        geometry: page, block and segment bytes that the model was trained for.
        calibration: threshold, threshold-to-write-rate curve, eviction age, capacities … by kind.
        policy: how a runtime uses the outputs (queues, state carried or reset, capacity range …).
        traces: what the model was trained and validated on.
        inputs: sha256 of the training stage's declared inputs, by path.
        seeds: every seed used, by context.
        trained: False where training never moved the model (it is then reported and never exported).
        validation: metrics on the validation part, next to its baseline's.
        beats_baseline: the model did better than its baseline on validation.
        reason: one line that says why `trained` or `beats_baseline` is False, or how it was judged.
    """

    model_id: str
    kind: Kind
    category: str | None
    arch: dict[str, Any]
    features: list[Feature]
    encodings: dict[str, dict[str, int]] = {}
    geometry: dict[str, int]
    calibration: dict[str, Any] = {}
    policy: dict[str, Any] = {}
    traces: list[TracePart]
    inputs: dict[str, str]
    seeds: dict[str, int]
    trained: bool
    validation: dict[str, float | None]
    beats_baseline: bool
    reason: str

    def write(self, folder: Path) -> None:
        """Write `train.json` into `folder`."""
        write_json(folder / FILE, self.model_dump(mode="json"))


def read_trained(folder: Path) -> TrainedModel:
    """Read `train.json`.

    Raises:
        TrainingError: it does not hold what this release writes.
    """
    try:
        return TrainedModel.model_validate(read_json(folder / FILE))
    except ValueError as error:
        message = f"{folder / FILE}: not a trained model of this release ({str(error).splitlines()[0]}); train it again"
        raise TrainingError(message) from error
