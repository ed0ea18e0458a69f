"""Sections `model.admission`, `fit.admission` and `judge.admission`."""

from pydantic import Field

from cachezoo.settings.base import Part, Rounds, Strict
from cachezoo.settings.forest import ForestFit, ForestJudge, ForestShape


class Small(Strict):
    """`model.admission.small`: what the small forest beside the full one has of its own.

    Attributes:
        num_leaves: leaves of a tree, at most.
        max_trees: trees; as few decide in a microsecond.
        learning_rate: of so few trees.
    """

    num_leaves: int = Field(ge=2, le=131_072)
    max_trees: Rounds
    learning_rate: Part


class Model(ForestShape):
    """`model.admission`.

    Attributes:
        small: of the small forest beside the full one.
    """

    small: Small


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
