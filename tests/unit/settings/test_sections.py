from pathlib import Path

import pytest
import yaml
from pydantic import BaseModel, ValidationError

from cachezoo.settings.flash import EpisodeLabel, FlashPolicy, HistoryFeatures
from cachezoo.settings.page_cache import BenefitLabel, ManagerPolicy, SequenceFeatures
from cachezoo.settings.share import SharePolicy
from cachezoo.settings.tiers import TiersPolicy
from cachezoo.zoo.caching import settings as caching
from cachezoo.zoo.registry import SYSTEMS

CONF = Path(__file__).parents[3] / "conf"
COMMON: list[tuple[str, type[BaseModel]]] = [
    ("label/benefit.yaml", BenefitLabel),
    ("label/episodes.yaml", EpisodeLabel),
    ("features/history.yaml", HistoryFeatures),
    ("features/sequence.yaml", SequenceFeatures),
    ("policy/flash.yaml", FlashPolicy),
    ("policy/manager.yaml", ManagerPolicy),
    ("policy/share.yaml", SharePolicy),
    ("policy/tiers.yaml", TiersPolicy),
]


def of_systems() -> list[tuple[str, type[BaseModel]]]:
    """The files of conf/model, conf/fit and conf/judge, each with its system's section."""
    files = []
    for system in SYSTEMS.values():
        sections = system.settings.load()
        models = sorted((CONF / "model" / system.id).glob("*.yaml"))
        assert models, system.id
        files += [(path.relative_to(CONF).as_posix(), sections.Model) for path in models]
        files += [(f"fit/{system.id}.yaml", sections.Fit), (f"judge/{system.id}.yaml", sections.Judge)]
    return files


def read(file: str) -> dict[str, object]:
    """A file's section; of one that brings settings of other sections along, the one that its folder names."""
    text = (CONF / file).read_text(encoding="utf-8")
    values = yaml.safe_load(text)
    if text.startswith("# @package _global_"):
        for name in Path(file).parts[:-1]:
            values = values[name]
    assert isinstance(values, dict)
    return values


@pytest.mark.parametrize(("file", "schema"), [*COMMON, *of_systems()])
def test_conf_is_valid_and_typos_are_refused(file: str, schema: type[BaseModel]) -> None:
    schema.model_validate(read(file))
    with pytest.raises(ValidationError):
        schema.model_validate({**read(file), "typo": 1})


@pytest.mark.parametrize(
    ("file", "schema", "change", "message"),
    [
        ("label/benefit.yaml", BenefitLabel, {"horizons": [3, 3]}, "distinct"),
        ("label/benefit.yaml", BenefitLabel, {"horizons": ["future", "trace"]}, "a number of capacities"),
        ("label/benefit.yaml", BenefitLabel, {"horizons": [3, "past"]}, "future"),
        ("label/benefit.yaml", BenefitLabel, {"capacities": [0.1, 0.05]}, "rise"),
        ("label/benefit.yaml", BenefitLabel, {"capacities": [0.125]}, "whole percents"),
        ("label/benefit.yaml", BenefitLabel, {"oracle": "lru"}, "benefit"),
        ("policy/share.yaml", SharePolicy, {"sizes": [0.1, 0.05]}, "sizes .* must rise"),
        ("policy/share.yaml", SharePolicy, {"sizes": [0.0, 0.05]}, "greater than 0"),
        ("policy/share.yaml", SharePolicy, {"order": "turns"}, "'auto' or 'lockstep'"),
        ("policy/share.yaml", SharePolicy, {"families": {"ucp": ["ucp"]}}, "list equal, which .* beside ucp"),
        ("policy/share.yaml", SharePolicy, {"families": {"equal": []}}, "families.equal"),
        ("policy/share.yaml", SharePolicy, {"bounds": {"equal": "hindsight"}}, "equal is a family too"),
        ("policy/tiers.yaml", TiersPolicy, {"budgets": [0.1, 0.05]}, "budgets .* must rise"),
        ("policy/tiers.yaml", TiersPolicy, {"budgets": [-0.1, 0.05]}, "greater than 0"),
        ("policy/tiers.yaml", TiersPolicy, {"splits": [0.5, 0.5]}, "splits .* must rise"),
        ("policy/tiers.yaml", TiersPolicy, {"splits": [0.5, 1.0]}, "less than 1"),
        ("policy/tiers.yaml", TiersPolicy, {"families": {"hca": []}}, "families.hca"),
        (
            "policy/tiers.yaml",
            TiersPolicy,
            {"zoo": {"orders": ["{ram} | lru"], "ram": ["lru"], "ssd": ["lru"]}},
            "must hold {ram} and {ssd} once each",
        ),
        (
            "policy/tiers.yaml",
            TiersPolicy,
            {"zoo": {"orders": ["{ram} | {ssd} | {tb}"], "ram": ["lru"], "ssd": ["lru"]}},
            "no other braces",
        ),
        ("label/episodes.yaml", EpisodeLabel, {"block_bytes": 4097}, "multiple"),
        (
            "label/episodes.yaml",
            EpisodeLabel,
            {"geometry": {"web": {"block_bytes": 100, "segment_bytes": 30}}},
            r"geometry\.web.*\n.*multiple",
        ),
        ("features/history.yaml", HistoryFeatures, {"windows": [2, 2]}, "rise"),
        ("model/caching/lstm_small.yaml", caching.Model, {"state": "reset100", "sequence": 50}, "reset100"),
        ("fit/caching.yaml", caching.Fit, {"precision": "16-mixed"}, "bf16-mixed"),
        ("judge/caching.yaml", caching.Judge, {"thresholds": 2}, "greater than or equal to 3"),
        ("judge/caching.yaml", caching.Judge, {"objective": "speed"}, "'hits', 'response' or 'writes'"),
        ("judge/caching.yaml", caching.Judge, {"capacities": [0.1, 1.5]}, "less than 1"),
        ("judge/caching.yaml", caching.Judge, {"capacities": []}, "at least 1 item"),
        ("policy/manager.yaml", ManagerPolicy, {"capacity": 0.0}, "greater than 0"),
    ],
)
def test_values_out_of_range_are_named(
    file: str, schema: type[BaseModel], change: dict[str, object], message: str
) -> None:
    with pytest.raises(ValidationError, match=message):
        schema.model_validate({**read(file), **change})
