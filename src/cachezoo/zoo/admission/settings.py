"""Sections `model.admission`, `fit.admission` and `judge.admission`."""

from pydantic import Field

from cachezoo.settings.base import Part, Rounds, Strict
from cachezoo.settings.forest import ForestFit, ForestJudge, ForestShape


class Small(Strict):
    """`model.admission.small`: what the small forest beside the full one has of its own."""

    num_leaves: int = Field(ge=2, le=131_072)  # leaves of a tree, at most
    max_trees: Rounds  # trees; as few decide in a microsecond
    learning_rate: Part  # of so few trees


class Model(ForestShape):
    """`model.admission`."""

    small: Small  # of the small forest beside the full one


class Fit(ForestFit):
    """`fit.admission`: rows and early stopping."""

    # Weight of the rows of settled episodes that are still open where the trace ends, whose labels may yet change; 0
    # leaves them out.
    open_weight: float = Field(ge=0, le=1)


class Judge(ForestJudge):
    """`judge.admission`."""
