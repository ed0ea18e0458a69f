"""Sections `model.workload`, `fit.workload` and `judge.workload`."""

from pydantic import Field

from cachezoo.settings.base import Blocks, Count, Resamples, Rounds, Strict
from cachezoo.settings.lstm import Layers, LstmFit, Units


class Model(Strict):
    """`model.workload`: the classifier's network."""

    arch: str = Field(pattern=r"^[a-z0-9_]+$")
    layers: Layers
    units: Units
    window: int = Field(ge=2, le=1_000_000)


class Fit(LstmFit):
    """`fit.workload`.

    Attributes:
        stride: requests between the beginnings of training windows.
        least_windows: windows that each category must have in the validation traces for their loss to choose the
            epoch; with fewer the train loss chooses.
    """

    stride: Rounds
    least_windows: Count


class Judge(Strict):
    """`judge.workload`.

    Attributes:
        blocks: time blocks of the bootstrap.
        bootstrap_samples: its resamples.
    """

    blocks: Blocks
    bootstrap_samples: Resamples
