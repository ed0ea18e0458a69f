"""Sections `model.admission`, `fit.admission` and `judge.admission`."""

from cachezoo.settings.base import Rounds
from cachezoo.settings.forest import ForestFit, ForestJudge, ForestShape


class Model(ForestShape):
    """`model.admission`."""


class Fit(ForestFit):
    """`fit.admission`: rows and early stopping.

    Attributes:
        first_accesses: reads of each episode that become rows (k in the post).
    """

    first_accesses: Rounds


class Judge(ForestJudge):
    """`judge.admission`."""
