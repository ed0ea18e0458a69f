"""The schema of params.yaml: the common sections of `cachezoo.settings`, and those that each system declares."""

from typing import TYPE_CHECKING, Any, TypeAlias

from pydantic import BaseModel, create_model, model_validator

from cachezoo.settings.base import Strict
from cachezoo.settings.params import Params
from cachezoo.zoo.registry import SYSTEMS


def section(name: str) -> type[BaseModel]:
    """A section with a key a system: `model`, `fit` or `judge`, as its folder's settings.py has them."""
    fields: dict[str, Any] = {system.id: (getattr(system.settings.load(), name), ...) for system in SYSTEMS.values()}
    return create_model(name, __base__=Strict, **fields)


if TYPE_CHECKING:
    Model: TypeAlias = Any
    Fit: TypeAlias = Any
    Judge: TypeAlias = Any
else:
    Model, Fit, Judge = section("Model"), section("Fit"), section("Judge")


class Schema(Params):
    """`Params` with the sections of the systems checked."""

    model: Model
    fit: Fit
    judge: Judge

    @model_validator(mode="after")
    def _costs_known(self) -> "Schema":
        wanted = {system.id for system in SYSTEMS.values() if system.page_cache is not None}
        if set(self.evaluate.decision_cost_us) != wanted:
            message = f"evaluate.decision_cost_us is of {sorted(self.evaluate.decision_cost_us)}, not {sorted(wanted)}"
            raise ValueError(message)
        return self
