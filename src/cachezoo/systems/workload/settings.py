"""Sections `model.workload`, `fit.workload` and `judge.workload`."""

from pydantic import Field

from cachezoo.settings.base import Strict
from cachezoo.settings.lstm import LstmFit


class Model(Strict):
    """`model.workload`: the classifier's network."""

    arch: str = Field(pattern=r"^[a-z0-9_]+$")
    layers: int = Field(ge=1)
    units: int = Field(ge=1)
    window: int = Field(ge=2)


class Fit(LstmFit):
    """`fit.workload`.

    Attributes:
        stride: requests between the beginnings of training windows.
        least_windows: windows that each category must have in the validation traces for their loss to choose the
            epoch; with fewer the train loss chooses.
    """

    stride: int = Field(ge=1)
    least_windows: int = Field(ge=1)


class Judge(Strict):
    """`judge.workload`.

    Attributes:
        blocks: time blocks of the bootstrap.
        bootstrap_samples: its resamples.
    """

    blocks: int = Field(ge=20)
    bootstrap_samples: int = Field(ge=100)
