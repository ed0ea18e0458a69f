"""Trained models with their bundles and figures on tests, as the report and the sections of systems show them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from cachezoo.metrics.base import Measurements
from cachezoo.models.trained import TrainedModel


@dataclass(frozen=True)
class Model:
    """A trained model and what became of it."""

    trained: TrainedModel  # its train.json
    curves: list[tuple[str, int, float]]  # (name, step, value) of its training
    card: str | None  # its bundle's card.md, or None where there is no bundle
    refused: str | None  # why there is no bundle, or None
    promoted: bool  # it may be champion
    reason: str  # why, or why not

    @property
    def id(self) -> str:
        """`kind[.category].arch`."""
        return self.trained.model_id


@dataclass(frozen=True, kw_only=True)
class Measured:
    """Models and figures of the systems.

    Attributes:
        models: every trained model, by id.
        overall: metrics/<system>.json of the systems whose model is of all categories, by system; those that there are.
        by_category: metrics/<system>/<category>.json of the systems that have such, by system and category.
    """

    models: Sequence[Model]
    overall: Mapping[str, Measurements] = field(default_factory=dict)
    by_category: Mapping[str, Mapping[str, Measurements]] = field(default_factory=dict)
