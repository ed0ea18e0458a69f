"""Sections `model.admission`, `fit.admission` and `judge.admission`."""

from pydantic import Field

from cachezoo.settings.base import Rounds
from cachezoo.settings.forest import ForestFit, ForestJudge, ForestShape


class Model(ForestShape):
    """`model.admission`."""


class Fit(ForestFit):
    """`fit.admission`: rows and early stopping.

    Attributes:
        first_accesses: reads of each episode that become rows (k in the post).
        open_weight: weight of the rows of settled episodes that are still open where the trace ends, whose labels may
            yet change; 0 leaves them out.
    """

    first_accesses: Rounds
    open_weight: float = Field(ge=0, le=1)


class Judge(ForestJudge):
    """`judge.admission`."""
