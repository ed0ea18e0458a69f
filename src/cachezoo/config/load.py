"""Load params.yaml, the one file that stages read."""

from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from pydantic import BaseModel, TypeAdapter, create_model, model_validator

from cachezoo import paths
from cachezoo.settings.base import Strict
from cachezoo.settings.params import Params
from cachezoo.yaml_file import checked, read_yaml
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


def validate_params(value: Any, where: str) -> Params:  # noqa: ANN401 - any YAML value
    """Check a parameter tree.

    Raises:
        ConfigError: unknown or missing key, or a value out of range; the first of them is named.
    """
    return checked(TypeAdapter(Schema), value, where, "fix it in conf/")


def load_params(path: Path = paths.PARAMS) -> Params:
    """Read and validate params.yaml.

    Raises:
        ConfigError: missing, not YAML, or not what the schema allows.
    """
    return validate_params(read_yaml(path), str(path))
