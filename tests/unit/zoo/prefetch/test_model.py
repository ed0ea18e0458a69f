import json
from collections.abc import Callable
from pathlib import Path

import pytest

from cachezoo.errors import TrainingError
from cachezoo.zoo.admission.model import load_admission
from cachezoo.zoo.prefetch.model import MODEL_FILES, load_prefetch


@pytest.fixture
def trained(trained_of: Callable[[str], tuple[Path, object]]) -> Path:
    return trained_of("prefetch")[0]


def test_missing_files_and_other_kinds_are_named(trained: Path, tmp_path: Path) -> None:
    (tmp_path / "train.json").write_bytes((trained / "train.json").read_bytes())
    with pytest.raises(TrainingError, match=r"start\.lgb\.txt: cannot be read"):
        load_prefetch(tmp_path)
    for name in MODEL_FILES:
        (tmp_path / name).write_text("tree\n")
    with pytest.raises(TrainingError, match=r"not a .*LightGBM model text"):
        load_prefetch(tmp_path)
    with pytest.raises(TrainingError, match="kind prefetch, not admission"):
        load_admission(trained)
    values = json.loads((trained / "train.json").read_text())
    (tmp_path / "train.json").write_text(json.dumps({**values, "kind": "admission"}))
    with pytest.raises(TrainingError, match="kind admission, not prefetch"):
        load_prefetch(tmp_path)
