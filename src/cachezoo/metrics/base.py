"""What all metrics have in common: traces with rows of policies, and the verdict on each model."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Literal, Protocol

from cachezoo.documents import Document, Figures
from cachezoo.meanings import Each, Means

Role = Literal["train", "validation", "test"]


class Judged(Document):
    """A model's verdict on validation, as its train.json has it."""

    trained: Annotated[bool, Means("training moved the model")]
    promoted: Annotated[bool, Means("trained, and better than its baseline on validation")]
    reason: Annotated[str, Means("the verdict in one line")]
    validation: Annotated[Figures, Each(text="as validation in the model's train.json")]


class Shown(Protocol):
    """A trace with the rows of what was run on it."""

    @property
    def role(self) -> str:
        """`train`, `validation` or `test`."""

    @property
    def rows(self) -> Sequence[Document]:
        """A row a policy or model."""


class Measurements(Protocol):
    """Metrics of a category or a system."""

    @property
    def traces(self) -> Mapping[str, Shown]:
        """By key."""

    @property
    def models(self) -> Mapping[str, Judged]:
        """What was measured of each model, by id."""


class Overall(Measurements, Protocol):
    """Metrics of a system whose one model is of all categories."""

    def headline(self, model: str) -> Figures:
        """A model's figures over the test traces by the names of its record's `headline`; none without such traces."""

    def summary(self) -> str:
        """What was found, in a sentence or two; empty where nothing was."""
