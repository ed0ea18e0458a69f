from dataclasses import replace
from pathlib import Path
from typing import Any

import lightgbm as lgb
import numpy as np
import pytest

from cachezoo import paths
from cachezoo.bundles.writer import refusal
from cachezoo.coded import Coded
from cachezoo.errors import TrainingError
from cachezoo.models.forest import write_forests
from cachezoo.models.trained import read_fitted, read_trained
from cachezoo.systems.admission.fit import fit_admission, fit_prepared, training_rows
from cachezoo.systems.admission.judge import judge_admission
from cachezoo.systems.admission.model import MODEL_FILE
from cachezoo.systems.admission.serve import history_of, serve_trace
from cachezoo.traces.store import write_trace
from cachezoo.training.episodes import Prepared
from tests.baleen_data import FIT, JUDGE, LABEL, fit_and_judge, labelled_parts, make_trace
from tests.trained_data import digest, params_of

FILES = {"model.lgb.txt", "fit.json", "curves.csv"}
MODEL = "admission.database.lgbm"


@pytest.fixture(scope="module")
def part(tmp_path_factory: pytest.TempPathFactory) -> Prepared:
    return labelled_parts({"train": make_trace(20_000, 1)}, tmp_path_factory.mktemp("labels"))[0]


def write(part: Prepared, folder: Path) -> Path:
    fitted, forest = fit_prepared("database", [part], FIT, {})
    write_forests(folder, fitted, {MODEL_FILE: forest})
    return folder


@pytest.fixture(scope="module")
def fitted(part: Prepared, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(part, tmp_path_factory.mktemp("models") / MODEL)


def test_two_fits_give_the_same_bytes(part: Prepared, fitted: Path, tmp_path: Path) -> None:
    assert digest(write(part, tmp_path / "again")) == digest(fitted)
    assert set(digest(fitted)) == FILES


def test_what_fit_json_says(part: Prepared, fitted: Path) -> None:
    model = read_fitted(fitted, "admission")
    assert model.trained and model.arch["splits"] > 0 and model.reason == ""
    assert [(item.trace, item.role) for item in model.traces] == [("train", "train")]
    assert model.encodings["user"] == {"postgres": 0, "backup": 1}
    assert model.learned["eviction_age"] == part.labels.figures.eviction_age
    assert model.learned["history"]["windows"] == FIT.history.windows
    assert model.geometry == {"block_bytes": LABEL.block_bytes, "segment_bytes": LABEL.segment_bytes}


def test_codes_are_declared_as_they_are_learned(fitted: Path) -> None:
    """LightGBM compares codes as numbers, as ONNX does: that is an ordinal encoding, and no categorical one."""
    model = read_fitted(fitted, "admission")
    told = {feature.name: feature.encoding for feature in model.features}
    assert {name for name, encoding in told.items() if encoding != "number"} == {"namespace", "user"}
    dump = lgb.Booster(model_file=str(fitted / "model.lgb.txt")).dump_model()
    splits = splits_of([tree["tree_structure"] for tree in dump["tree_info"]])
    kinds = {"<=": "ordinal", "==": "categorical"}
    by = {(told[dump["feature_names"][node["split_feature"]]], kinds[node["decision_type"]]) for node in splits}
    assert by == {("number", "ordinal"), ("ordinal", "ordinal")}


def splits_of(nodes: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Every split of some trees."""
    found = []
    while nodes:
        node = nodes.pop()
        if "split_feature" in node:
            found.append(node)
            nodes += [node["left_child"], node["right_child"]]
    return found


def test_unsettled_episodes_and_later_accesses_are_no_rows(part: Prepared, fitted: Path) -> None:
    model, trace = read_fitted(fitted, "admission"), part.trace
    rows, labels, held = training_rows([part], [serve_trace(history_of(model), trace)], LABEL, FIT)
    index = part.labels
    keep = index.settled & (index.access_index < 6) & (index.episode >= 0)
    assert len(rows) == len(labels) == len(held) == keep.sum() == model.figures["rows"]
    assert 0.05 < held.mean() < 0.5
    sides: dict[tuple[int, int], bool] = {}
    for row, side in zip(np.flatnonzero(keep), held, strict=True):
        block = (int(trace.volume.codes[row]), int(trace.offset[row]) // LABEL.block_bytes)
        assert sides.setdefault(block, bool(side)) == side


def test_nothing_after_the_cut_reaches_the_model(tmp_path: Path) -> None:
    longer, other = make_trace(30_000, 1), make_trace(30_000, 77)
    cut = 18_000
    columns = {
        name: np.concatenate([getattr(longer, name)[:cut], getattr(other, name)[cut:]])
        for name in ("op", "offset", "size")
    }
    times = np.concatenate([longer.time_us[:cut], longer.time_us[cut - 1] + 5 * np.arange(1, 12_001)])
    user = Coded(np.where(np.arange(30_000) < cut, longer.user.codes, 3).astype(np.int32), (*longer.user.names, "new"))
    volume = Coded(longer.volume.codes, (*longer.volume.names, "vdz"))
    rewritten = replace(longer, time_us=times, user=user, volume=volume, **columns)
    for name, trace in (("a", longer), ("b", rewritten)):
        write(labelled_parts({"train": trace.rows(0, cut)}, tmp_path)[0], tmp_path / name)
    assert digest(tmp_path / "a") == digest(tmp_path / "b")


def test_the_stages_give_the_same_bytes_in_any_folder_and_a_judge_s_setting_leaves_the_fit_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    roles = {"train": ["one"], "validation": ["two"]}
    finer = JUDGE.judge.model_copy(update={"curve_points": 33})
    fits, verdicts = [], []
    for name, own in (("here", JUDGE.judge), ("there", JUDGE.judge), ("finer", finer)):
        (tmp_path / name).mkdir()
        monkeypatch.chdir(tmp_path / name)
        traces = {key: make_trace(8_000, seed, key) for seed, key in ((1, "one"), (2, "two"))}
        for key, trace in traces.items():
            write_trace(trace, paths.requests("database", key))
        paths.labels("episodes", "database", "one").parent.mkdir(parents=True)
        labelled_parts({"one.parquet": traces["one"]}, paths.labels("episodes", "database", "one").parent)
        params = params_of("database", replace(FIT, roles=roles), replace(JUDGE, judge=own, roles=roles))
        fit_admission(params, "database")
        judge_admission(params, "database")
        model = read_trained(paths.trained(MODEL))
        assert set(model.inputs) == {
            str(path)
            for path in (
                paths.requests("database", "one"),
                paths.labels("episodes", "database", "one"),
                paths.requests("database", "two"),
            )
        }
        assert [(item.trace, item.role) for item in model.traces] == [("one", "train"), ("two", "validation")]
        fits.append(digest(paths.fitted(MODEL)))
        verdicts.append(digest(paths.trained(MODEL)))
    assert fits[0] == fits[1] == fits[2]
    assert verdicts[0] == verdicts[1] != verdicts[2]
    assert verdicts[0]["model.lgb.txt"] == verdicts[2]["model.lgb.txt"] == fits[0]["model.lgb.txt"]


def test_labels_of_one_class_are_reported_as_untrained_and_not_exported(part: Prepared) -> None:
    nothing = replace(part.labels, opt=np.zeros(len(part.trace), bool))
    made = fit_and_judge([replace(part, labels=nothing)], [part])
    assert made.forests[MODEL_FILE].splits == 0
    assert not made.fitted.trained and "never moved" in made.fitted.reason
    assert not made.trained.trained and not made.trained.beats_baseline and not made.trained.promoted
    assert made.trained.reason == made.fitted.reason
    assert (refusal(made.trained) or "").startswith("it never trained: training never moved the model")


def test_rules(part: Prepared) -> None:
    with pytest.raises(TrainingError, match="no train trace; add one: cachezoo trace add"):
        fit_prepared("database", [], FIT, {})
    unsettled = replace(part.labels, settled=np.zeros(len(part.trace), bool))
    with pytest.raises(TrainingError, match="settled label"):
        fit_prepared("database", [replace(part, labels=unsettled)], FIT, {})
