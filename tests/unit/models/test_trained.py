import itertools
import json
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from cachezoo.bundles.measured import Metrics, measured, promotion
from cachezoo.bundles.writer import refusal
from cachezoo.errors import TrainingError
from cachezoo.models.trained import FittedModel, TraceUse, TrainedModel, Verdict, read_fitted, read_trained
from tests.metrics_data import workload_metrics

FITTED = FittedModel(
    model_id="workload.lstm8",
    kind="workload",
    category=None,
    arch={"units": 8},
    features=[{"name": "op", "formula": "request.op", "unit": "0 read, 1 write"}],
    geometry={"page_bytes": 4096},
    traces=[TraceUse(trace="a", role="train", sha256="0" * 64, licence="CC0")],
    inputs={"data/a": "1" * 64, "data/both": "2" * 64},
    seeds={"train_workload": 7},
    trained=True,
    learned={"classes": ["x", "y"]},
    figures={"rows": 5.0},
)
HELD = TraceUse(trace="b", role="validation", sha256="0" * 64, licence="CC0")


def verdict(beats: bool = True, **changes: Any) -> Verdict:
    values = {"calibration": {"threshold": 0.5}, "policy": {}, "validation": {"accuracy": 0.9}, "reason": "it won"}
    return Verdict(**{**values, "beats_baseline": beats, **changes})


def test_a_trained_model_is_the_fitted_one_and_its_verdict() -> None:
    model = TrainedModel.of(FITTED, verdict(), {"data/b": "3" * 64, "data/both": "2" * 64}, [HELD])
    for name in ("model_id", "kind", "category", "arch", "features", "encodings", "geometry", "seeds", "trained"):
        assert getattr(model, name) == getattr(FITTED, name)
    assert model.inputs == {"data/a": "1" * 64, "data/b": "3" * 64, "data/both": "2" * 64}
    assert model.traces == [*FITTED.traces, HELD]
    assert (model.calibration, model.validation, model.reason) == ({"threshold": 0.5}, {"accuracy": 0.9}, "it won")
    assert not {"learned", "figures"} & set(model.model_dump())
    assert FITTED.inputs == {"data/a": "1" * 64, "data/both": "2" * 64}  # nothing is added to what was fitted


@pytest.mark.parametrize(
    ("changes", "match"),
    [
        ({"validation": {"accuracy": "good"}}, r"validation\.accuracy"),
        ({"beats_baseline": "perhaps"}, "beats_baseline"),
        ({"reason": None}, "reason"),
        ({"calibration": [0.5]}, "calibration"),
    ],
)
def test_what_is_put_together_is_validated(changes: dict[str, Any], match: str) -> None:
    unchecked = Verdict.model_construct(**{**verdict().model_dump(), **changes})
    with pytest.raises(ValidationError, match=match):
        TrainedModel.of(FITTED, unchecked, {})
    with pytest.raises(ValidationError, match="kind"):
        TrainedModel.of(FITTED.model_copy(update={"kind": "Work load"}), verdict(), {})
    with pytest.raises(ValidationError, match="inputs"):
        TrainedModel.of(FITTED, verdict(), {"data/b": 5})  # type: ignore[dict-item]


@pytest.mark.parametrize(("trained", "beats"), list(itertools.product([True, False], repeat=2)))
def test_promotion_has_one_definition(trained: bool, beats: bool) -> None:
    fitted = FITTED.model_copy(update={"trained": trained, "reason": "" if trained else "no loss was finite"})
    model = TrainedModel.of(fitted, verdict(beats), {})
    assert model.promoted == (trained and beats)
    if trained:
        other = workload_metrics(model.model_id, low=-0.1 if beats else 0.1)
        for metrics in (Metrics(), Metrics(other)):  # what the test traces say decides nothing
            assert promotion(measured(model, metrics)) == (model.promoted, model.reason)
    else:
        assert (refusal(model) or "").startswith("it never trained")


def test_both_files_are_read_as_they_were_written(tmp_path: Path) -> None:
    model = TrainedModel.of(FITTED, verdict(), {})
    FITTED.write(tmp_path)
    model.write(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["fit.json", "train.json"]
    assert read_fitted(tmp_path, "workload") == FITTED
    assert read_trained(tmp_path) == read_trained(tmp_path, "workload") == model
    first = [path.read_bytes() for path in sorted(tmp_path.iterdir())]
    read_fitted(tmp_path, "workload").write(tmp_path)
    read_trained(tmp_path).write(tmp_path)
    assert [path.read_bytes() for path in sorted(tmp_path.iterdir())] == first


def test_other_kinds_and_other_contents_are_named(tmp_path: Path) -> None:
    FITTED.write(tmp_path)
    TrainedModel.of(FITTED, verdict(), {}).write(tmp_path)
    for read in (read_fitted, read_trained):
        with pytest.raises(TrainingError, match="holds a model of kind workload, not caching"):
            read(tmp_path, "caching")
    for name, what, read in (("fit.json", "fitted", read_fitted), ("train.json", "trained", read_trained)):
        values = json.loads((tmp_path / name).read_text())
        for wrong in ({**values, "more": 1}, {key: values[key] for key in values if key != "seeds"}, [1]):
            (tmp_path / name).write_text(json.dumps(wrong))
            with pytest.raises(TrainingError, match=rf"{name}: not a {what} model of this release .*train it again"):
                read(tmp_path, "workload")
