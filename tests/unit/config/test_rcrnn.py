from pathlib import Path

import pytest
import yaml
from pydantic import BaseModel, ValidationError

from cachezoo.config.rcrnn import (
    BenefitLabel,
    CachingModel,
    CachingTrain,
    ManagerPolicy,
    SequenceFeatures,
    WorkloadModel,
    WorkloadTrain,
)

CONF = Path(__file__).parents[3] / "conf"
FILES: list[tuple[str, type[BaseModel]]] = [
    ("label/benefit.yaml", BenefitLabel),
    ("features/sequence.yaml", SequenceFeatures),
    ("model/caching/lstm3x256.yaml", CachingModel),
    ("model/caching/lstm_small.yaml", CachingModel),
    ("model/workload/lstm50.yaml", WorkloadModel),
    ("train/caching.yaml", CachingTrain),
    ("train/workload.yaml", WorkloadTrain),
    ("policy/manager.yaml", ManagerPolicy),
]


def read(file: str) -> dict[str, object]:
    values = yaml.safe_load((CONF / file).read_text(encoding="utf-8"))
    assert isinstance(values, dict)
    return values


@pytest.mark.parametrize(("file", "schema"), FILES)
def test_conf_is_valid_and_typos_are_refused(file: str, schema: type[BaseModel]) -> None:
    schema.model_validate(read(file))
    with pytest.raises(ValidationError):
        schema.model_validate({**read(file), "typo": 1})


@pytest.mark.parametrize(
    ("file", "schema", "change", "message"),
    [
        ("label/benefit.yaml", BenefitLabel, {"horizons": [3, 3]}, "distinct"),
        ("label/benefit.yaml", BenefitLabel, {"capacities": [0.1, 0.05]}, "rise"),
        ("label/benefit.yaml", BenefitLabel, {"capacities": [0.125]}, "whole percents"),
        ("label/benefit.yaml", BenefitLabel, {"oracle": "lru"}, "benefit"),
        ("model/caching/lstm_small.yaml", CachingModel, {"state": "reset100", "sequence": 50}, "reset100"),
        ("train/caching.yaml", CachingTrain, {"precision": "16-mixed"}, "bf16-mixed"),
        ("train/caching.yaml", CachingTrain, {"thresholds": [0.5, 1.5]}, "less than or equal to 1"),
        ("policy/manager.yaml", ManagerPolicy, {"capacity": 0.0}, "greater than 0"),
    ],
)
def test_values_out_of_range_are_named(
    file: str, schema: type[BaseModel], change: dict[str, object], message: str
) -> None:
    with pytest.raises(ValidationError, match=message):
        schema.model_validate({**read(file), **change})
