from pathlib import Path

import yaml

from cachezoo.flash.geometry import label_of
from cachezoo.settings.flash import EpisodeLabel

CONF = Path(__file__).parents[3] / "conf"


def test_a_category_may_have_its_own_geometry() -> None:
    label = EpisodeLabel.model_validate(yaml.safe_load((CONF / "label/episodes.yaml").read_text(encoding="utf-8")))
    blob = label_of(label, "blob")
    assert (blob.block_bytes, blob.segment_bytes) == (8 << 20, 128 << 10)
    assert blob.model_copy(update={"block_bytes": label.block_bytes, "segment_bytes": label.segment_bytes}) == label
    assert label_of(label, "web") is label
