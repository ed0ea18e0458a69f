from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import pytest
import yaml

from cachezoo.config.load import load_params
from cachezoo.errors import ConfigError
from cachezoo.params import At, Picked, categories_of, entry_of, traces_of
from cachezoo.settings.data import Roles
from cachezoo.settings.page_cache import ManagerPolicy
from cachezoo.zoo.caching import fit

ROOT = Path(__file__).resolve().parents[2]
PARAMS = load_params(ROOT / "params.yaml")
TEXT = yaml.safe_load((ROOT / "params.yaml").read_text())


@dataclass(frozen=True)
class Read(Picked):
    """One of each: a number, a section, a part of a table, and a field that has no place."""

    seed: Annotated[int, At("seed")]
    policy: Annotated[ManagerPolicy, At("policy.manager")]
    roles: Annotated[Roles, At("data.roles.{category}")]
    more: str = "no place"


def said(path: str) -> Any:
    value = TEXT
    for key in path.split("."):
        value = value[key]
    return value


def plain(value: Any) -> Any:
    return value.model_dump(mode="json") if hasattr(value, "model_dump") else value


def test_places_are_the_fields_that_name_a_path():
    assert Read.places() == {"seed": "seed", "policy": "policy.manager", "roles": "data.roles.{category}"}


def test_values_come_from_the_named_paths_and_the_category_is_filled_in():
    read = Read.of(PARAMS, "mail")
    assert read == Read(PARAMS.seed, PARAMS.policy.manager, PARAMS.data.roles["mail"])
    assert read.more == "no place"
    assert read.roles["train"] == ["mail_train"]


def test_a_stage_reads_what_params_yaml_says_there():
    read = fit.Settings.of(PARAMS, "web")
    for name, path in fit.Settings.places().items():
        assert plain(getattr(read, name)) == said(path.format(category="web")), name


@pytest.mark.parametrize("category", ["", "nosuch"])
def test_a_category_that_params_lack_is_one_line_with_the_path(category):
    with pytest.raises(ConfigError) as error:
        Read.of(PARAMS, category)
    assert str(error.value) == f"params.yaml: holds no data.roles.{category}; run `dvc repro compose`"


@pytest.mark.parametrize("path", ["nosuch", "policy.nosuch", "policy.manager.capacity.nosuch", "policy.flash.disks"])
def test_a_missing_path_or_an_empty_value_is_one_line(path):
    @dataclass(frozen=True)
    class Wrong(Picked):
        value: Annotated[int, At(path)]

    with pytest.raises(ConfigError) as error:
        Wrong.of(PARAMS)
    assert str(error.value) == f"params.yaml: holds no {path}; run `dvc repro compose`"


def test_an_entry_is_the_matrix_row():
    entry = entry_of(PARAMS, "database_mariadb")
    assert (entry.category, entry.role, entry.unseen) == ("database", "test", True)


def test_a_trace_that_is_not_in_the_matrix_is_named_beside_those_that_are():
    with pytest.raises(ConfigError, match=r"^params\.yaml: holds no trace 'nosuch'; it has blob_test, .*, web_valid"):
        entry_of(PARAMS, "nosuch")
    with pytest.raises(ConfigError) as error:
        entry_of(PARAMS, "x" * 1000)
    assert "x" * 60 in str(error.value) and "x" * 61 not in str(error.value)


def test_an_empty_matrix_is_said_so():
    data = PARAMS.data.model_copy(update={"traces": {}, "writes": {}})
    with pytest.raises(ConfigError, match="it has none"):
        entry_of(PARAMS.model_copy(update={"data": data}), "web_train")


def test_traces_of_a_category_and_role_are_sorted_and_of_others_none():
    assert traces_of(PARAMS, "database", "test") == ["database_mariadb", "database_test"]
    assert traces_of(PARAMS, "database", "nosuch") == []
    assert traces_of(PARAMS, "nosuch", "test") == []


def test_categories_are_those_of_the_traces_sorted():
    assert categories_of(PARAMS) == ["blob", "database", "fileserver", "mail", "web"]
