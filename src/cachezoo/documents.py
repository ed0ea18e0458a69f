"""The base of every JSON document that a stage writes, and types that many of them hold."""

from pydantic import BaseModel, ConfigDict

Interval = tuple[float, float]
Figures = dict[str, float | None]


class Document(BaseModel):
    """A frozen document; unknown keys are refused. Every field says what it means, see `cachezoo.meanings`."""

    model_config = ConfigDict(extra="forbid", frozen=True)
