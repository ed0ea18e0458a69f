from pathlib import Path

import pytest
import yaml
from pydantic import BaseModel, ValidationError

from cachezoo.config.baleen import (
    AdmissionModel,
    AdmissionTrain,
    EpisodeLabel,
    FlashPolicy,
    HistoryFeatures,
    PrefetchModel,
    PrefetchTrain,
)

CONF = Path(__file__).parents[3] / "conf"
FILES: list[tuple[str, type[BaseModel]]] = [
    ("label/episodes.yaml", EpisodeLabel),
    ("features/history.yaml", HistoryFeatures),
    ("model/admission/lgbm.yaml", AdmissionModel),
    ("train/admission.yaml", AdmissionTrain),
    ("model/prefetch/lgbm.yaml", PrefetchModel),
    ("train/prefetch.yaml", PrefetchTrain),
    ("policy/flash.yaml", FlashPolicy),
]


@pytest.mark.parametrize(("file", "schema"), FILES)
def test_conf_is_valid_and_typos_are_refused(file: str, schema: type[BaseModel]) -> None:
    values = yaml.safe_load((CONF / file).read_text(encoding="utf-8"))
    schema.model_validate(values)
    with pytest.raises(ValidationError):
        schema.model_validate({**values, "typo": 1})


def test_geometry_and_windows_are_checked() -> None:
    label = yaml.safe_load((CONF / "label/episodes.yaml").read_text(encoding="utf-8"))
    with pytest.raises(ValidationError, match="multiple"):
        EpisodeLabel.model_validate({**label, "block_bytes": 4097})
    with pytest.raises(ValidationError, match=r"geometry\.web.*\n.*multiple"):
        EpisodeLabel.model_validate({**label, "geometry": {"web": {"block_bytes": 100, "segment_bytes": 30}}})
    with pytest.raises(ValidationError, match="rise"):
        HistoryFeatures(bucket_of_age=0.25, windows=[2, 2])


def test_a_category_may_have_its_own_geometry() -> None:
    label = EpisodeLabel.model_validate(yaml.safe_load((CONF / "label/episodes.yaml").read_text(encoding="utf-8")))
    blob = label.of("blob")
    assert (blob.block_bytes, blob.segment_bytes) == (8 << 20, 128 << 10)
    assert blob.model_copy(update={"block_bytes": label.block_bytes, "segment_bytes": label.segment_bytes}) == label
    assert label.of("web") is label
