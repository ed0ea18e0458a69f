import inspect
import pkgutil
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest
import yaml
from pydantic import BaseModel

from cachezoo import settings
from cachezoo.config.load import load_params, validate_params
from cachezoo.config.schema import Params
from cachezoo.systems.registry import SYSTEMS

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
    assert Params.model_validate(yaml.safe_load(text)) == params
    assert params.model_dump(mode="json") == yaml.safe_load(PARAMS.read_text(encoding="utf-8"))


@pytest.mark.parametrize("section", SECTIONS, ids=lambda section: f"{section.__module__}.{section.__name__}")
def test_sections_hold_values_and_no_behaviour(section: type) -> None:
    assert issubclass(section, BaseModel) and section.model_config["frozen"]
    assert section.model_config["extra"] == "forbid"
    kinds = (property, classmethod, staticmethod)
    public = {name: value for name, value in vars(section).items() if not name.startswith("_")}
    assert not [name for name, value in public.items() if inspect.isfunction(value) or isinstance(value, kinds)]
    assert not section.model_computed_fields
