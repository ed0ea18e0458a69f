import inspect
import math
import pkgutil
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from types import ModuleType, UnionType
from typing import Annotated, Any, Union, get_args, get_origin

import pytest
import yaml
from pydantic import BaseModel, ValidationError

from cachezoo import settings
from cachezoo.config.load import Schema, load_params, validate_params
from cachezoo.zoo.registry import SYSTEMS

PARAMS = Path(__file__).parents[3] / "params.yaml"
MODULES: list[ModuleType] = [
    *(import_module(module.name) for module in pkgutil.iter_modules(settings.__path__, "cachezoo.settings.")),
    *(system.settings.load() for system in SYSTEMS.values()),
]
SECTIONS = [
    value
    for module in MODULES
    for value in vars(module).values()
    if inspect.isclass(value) and value.__module__ == module.__name__
]


def test_params_come_back_as_they_were_read() -> None:
    params = load_params(PARAMS)
    for mode in ("json", "python"):
        assert validate_params(params.model_dump(mode=mode), "again") == params
    text = yaml.safe_dump(params.model_dump(mode="json"))
    assert Schema.model_validate(yaml.safe_load(text)) == params
    assert params.model_dump(mode="json") == yaml.safe_load(PARAMS.read_text(encoding="utf-8"))


@pytest.mark.parametrize("section", SECTIONS, ids=lambda section: f"{section.__module__}.{section.__name__}")
def test_sections_hold_values_and_no_behaviour(section: type) -> None:
    assert issubclass(section, BaseModel) and section.model_config["frozen"]
    assert section.model_config["extra"] == "forbid"
    kinds = (property, classmethod, staticmethod)
    public = {name: value for name, value in vars(section).items() if not name.startswith("_")}
    assert not [name for name, value in public.items() if inspect.isfunction(value) or isinstance(value, kinds)]
    assert not section.model_computed_fields


Shape = Callable[[Any], Any]


def shapes(annotation: Any) -> Iterator[Shape]:
    """For each number that a field may hold: how a value of the field has it."""
    origin, inner = get_origin(annotation), get_args(annotation)
    if annotation in (int, float):
        yield lambda number: number
    elif origin is Annotated:
        yield from shapes(inner[0])
    elif origin in (Union, UnionType):
        for member in inner:
            yield from shapes(member)
    elif origin in (list, tuple):
        for shape in shapes(inner[0]):
            yield lambda number, shape=shape: [shape(number)] * len(inner)
    elif origin is dict:
        for shape in shapes(inner[1]):
            yield lambda number, shape=shape: {"key": shape(number)}


NUMBERS = [
    (section, name, shape)
    for section in SECTIONS
    if issubclass(section, BaseModel)
    for name, field in section.model_fields.items()
    for shape in shapes(field.annotation)
]
NO_NUMBERS = (math.inf, -math.inf, math.nan, True, 1e30, -1e30, 10**30, "1")


def test_every_number_of_the_schema_is_found() -> None:
    found = {f"{section.__name__}.{name}" for section, name, _ in NUMBERS}
    assert len(found) > 90
    assert {"Params.seed", "TraceEntry.part", "FlashPolicy.disks", "Evaluate.decision_cost_us", "Ssd.waf"} <= found


@pytest.mark.parametrize(
    ("section", "name", "shape"), NUMBERS, ids=[f"{section.__name__}-{name}" for section, name, _ in NUMBERS]
)
def test_every_number_is_finite_bounded_and_a_number(section: type[BaseModel], name: str, shape: Shape) -> None:
    for number in NO_NUMBERS:
        with pytest.raises(ValidationError) as caught:
            section.model_validate({name: shape(number)})
        assert name in {error["loc"][0] for error in caught.value.errors()}, number
