"""Sections `model.workload`, `fit.workload` and `judge.workload`."""

from pydantic import Field

from cachezoo.settings.base import Count, Gain, Rounds, Strict
from cachezoo.settings.lstm import Layers, LstmFit, Units


class Model(Strict):
    """`model.workload`: the classifier's network."""

    arch: str = Field(pattern=r"^[a-z0-9_]+$")
    layers: Layers
    units: Units
    inputs: list[str] = Field(min_length=1, max_length=64)  # formulas, in order: `cachezoo.features.window`
    window: int = Field(ge=2, le=1_000_000)  # requests in a window


class Fit(LstmFit):
    """`fit.workload`."""

    stride: Rounds  # requests between the beginnings of training windows
    # Windows that each category must have in the validation traces for their loss to choose the epoch and what is
    # unknown, and as many to judge; with fewer the train loss chooses the epoch.
    least_windows: Count
    # Share of the known windows, and of the known votes, that may be called unknown.
    unknown_share: float = Field(ge=0, lt=1)


class Judge(Strict):
    """`judge.workload`."""

    least_gain: Gain  # balanced accuracy above the best baseline's that is worth a model
