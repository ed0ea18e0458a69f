from dataclasses import replace
from pathlib import Path
from typing import Any

import lightgbm as lgb
import numpy as np
import pytest

from cachezoo import paths
from cachezoo.bundles.writer import refusal
from cachezoo.errors import TrainingError
from cachezoo.models.forest import forest_scorer, write_forests
from cachezoo.models.inputs import distribution
from cachezoo.models.trained import read_fitted
from cachezoo.serving.requests import batch_of
from cachezoo.traces.store import write_trace
from cachezoo.training.episodes import Prepared
from cachezoo.zoo.admission import serve
from cachezoo.zoo.admission.fit import BESIDE, SMALL, Variant, fit_admission, fit_prepared, inputs_of, training_rows
from cachezoo.zoo.admission.judge import judge_admission
from cachezoo.zoo.admission.model import MODEL_FILE
from cachezoo.zoo.admission.serve import history_of, score_batch, serve_trace
from tests.baleen_data import (
    FIT,
    JUDGE,
    LABEL,
    fit_and_judge,
    ingested_part,
    labelled_parts,
    make_trace,
    partial_scans,
    rewritten_after,
)
from tests.trained_data import digest, in_three_folders, params_of

MODEL = "admission.database.lgbm"
IDS = (MODEL, f"{MODEL}_block", f"{MODEL}_small")
NAMES = {"namespace", "user"}


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


def test_what_fit_json_says(part: Prepared, fitted: Path) -> None:
    model = read_fitted(fitted, "admission")
    assert model.trained and model.arch["splits"] > 0 and model.reason == ""
    assert [(item.trace, item.role) for item in model.traces] == [("train", "train")]
    assert model.encodings["user"] == {"postgres": 0, "backup": 1}
    assert model.learned["eviction_age"] == part.labels.eviction_age
    assert model.learned["history"]["windows"] == FIT.history.windows
    assert model.geometry == {"block_bytes": LABEL.block_bytes, "segment_bytes": LABEL.segment_bytes}


@pytest.mark.parametrize("variant", BESIDE)
def test_models_beside_the_full_one_look_at_no_names(part: Prepared, fitted: Path, variant: Variant) -> None:
    full = read_fitted(fitted, "admission")
    model, forest = fit_prepared("database", [part], FIT, {}, variant)
    assert [feature for feature in full.features if feature.name not in NAMES] == model.features
    assert model.encodings == {} and model.learned == full.learned and model.seeds == full.seeds
    assert model.model_id == f"{full.model_id}{variant.suffix}" and model.arch["arch"] == f"lgbm{variant.suffix}"
    anonymous = replace(part.trace, user=None, namespace=None)
    rows = serve_trace(history_of(model), part.trace)
    np.testing.assert_array_equal(rows, serve_trace(history_of(model), anonymous))
    assert rows.shape[1] == len(model.features) == lgb.Booster(model_str=forest.text).num_feature()


def test_more_reads_in_the_history_never_lower_the_score(part: Prepared) -> None:
    model, forest = fit_prepared("database", [part], FIT, {})
    scorer = forest_scorer(forest.text)
    rows = serve_trace(history_of(model), part.trace)[:400]
    reads = [place for place, one in enumerate(model.features) if ".read." in one.formula]
    assert len(reads) == 2 * len(FIT.history.windows)
    rising, moved = scorer(rows), False
    for place in reads:
        more = rows.copy()
        more[:, place] += np.random.default_rng(place).integers(1, 20, len(rows))
        assert (scorer(more) >= rising).all()
        moved |= bool((scorer(more) > rising).any())
    assert moved


def test_a_forest_learns_shares_as_log_odds(part: Prepared, fitted: Path) -> None:
    """Reads that more budgets admit score higher, whichever budget there is."""
    model = read_fitted(fitted, "admission")
    features = serve_trace(history_of(model), part.trace)
    rows = training_rows([part], [features], LABEL, FIT)
    assert set(np.unique(rows.worth).tolist()) <= {0.0, 0.25, 0.5, 0.75, 1.0}
    odds = forest_scorer((fitted / MODEL_FILE).read_text(encoding="utf-8"))(rows.features)
    share = 1 / (1 + np.exp(-odds))
    assert share.mean() == pytest.approx(rows.worth.mean(), abs=0.03)
    means = [share[rows.worth == level].mean() for level in np.unique(rows.worth)]
    assert means[-1] > means[0] + 0.1


def test_scores_are_the_same_in_parts(part: Prepared, fitted: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = read_fitted(fitted, "admission")
    scorer = forest_scorer((fitted / MODEL_FILE).read_text(encoding="utf-8"))
    whole = scorer(serve_trace(history_of(model), part.trace))
    monkeypatch.setattr(serve, "AT_ONCE", 999)
    assert score_batch(history_of(model), batch_of(part.trace), scorer).tobytes() == whole.tobytes()


def test_the_small_forest_is_small(part: Prepared) -> None:
    model, forest = fit_prepared("database", [part], FIT, {}, SMALL)
    small = FIT.model.small
    trees = lgb.Booster(model_str=forest.text).dump_model()["tree_info"]
    assert len(trees) == forest.trees <= small.max_trees == 4
    assert max(tree["num_leaves"] for tree in trees) <= small.num_leaves == 7
    assert (model.arch["num_leaves"], model.arch["learning_rate"]) == (7, 0.3)
    assert model.arch["lambda_l2"] == FIT.model.lambda_l2 and "small" not in model.arch


def test_inputs_are_those_of_the_reads_of_the_train_traces(part: Prepared, fitted: Path) -> None:
    model = read_fitted(fitted, "admission")
    rows = serve_trace(history_of(model), part.trace)[part.trace.op == 0]
    assert inputs_of(model, [part, part]) == distribution(model.features, np.concatenate([rows, rows]))
    found = inputs_of(model, [part])
    assert found["op"] == [0.0] * 11
    users = np.array([0 if name == "postgres" else 1 for name in ("postgres", "backup/1")])
    assert part.trace.user is not None
    codes = users[part.trace.user.codes[part.trace.op == 0]]
    assert found["user"] == [0, (codes == 0).sum(), (codes == 1).sum()]


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
    found = training_rows([part], [serve_trace(history_of(model), trace)], LABEL, FIT)
    index, held = part.labels, found.held
    keep = index.settled & (index.access_index < 6) & (index.episode >= 0)
    assert len(found.features) == len(found.worth) == len(held) == keep.sum() == model.figures["rows"]
    assert 0.05 < held.mean() < 0.5
    assert set(found.weights.tolist()) == {1.0} and found.open.any()
    np.testing.assert_array_equal(found.open, index.open[keep])
    assert model.figures["open"] == index.open[keep].mean()
    sides: dict[tuple[int, int], bool] = {}
    for row, side in zip(np.flatnonzero(keep), held, strict=True):
        block = (int(trace.volume.codes[row]), int(trace.offset[row]) // LABEL.block_bytes)
        assert sides.setdefault(block, bool(side)) == side


def test_rows_of_open_episodes_count_as_the_setting_says(tmp_path: Path) -> None:
    part = labelled_parts({"scans": partial_scans(12_000, 1)}, tmp_path)[0]
    model, forest = fit_prepared("database", [part], FIT, {})
    features = serve_trace(history_of(model), part.trace)
    every = training_rows([part], [features], LABEL, FIT)
    assert 0.02 < every.open.mean() < 0.95
    models = {1.0: forest.text}
    for weight in (0.25, 0.0):
        settings = replace(FIT, fit=FIT.fit.model_copy(update={"open_weight": weight}))
        found = training_rows([part], [features], LABEL, settings)
        kept = np.ones(len(every.open), bool) if weight else ~every.open
        np.testing.assert_array_equal(found.features, every.features[kept])
        np.testing.assert_array_equal(found.worth, every.worth[kept])
        np.testing.assert_array_equal(found.held, every.held[kept])
        np.testing.assert_array_equal(found.weights, np.where(every.open[kept], weight, 1.0))
        model, forest = fit_prepared("database", [part], settings, {})
        models[weight] = forest.text
        assert model.figures["rows"] == kept.sum() and model.figures["open"] == every.open[kept].mean()
    assert len(set(models.values())) == 3


def test_nothing_after_the_cut_reaches_the_model(tmp_path: Path) -> None:
    longer, cut = make_trace(30_000, 1), 18_000
    for name, trace in (("a", longer), ("b", rewritten_after(longer, cut))):
        part = labelled_parts({"train": ingested_part(trace, cut, tmp_path / f"raw {name}")}, tmp_path)[0]
        write(part, tmp_path / name)
        whole = labelled_parts({"train": replace(trace, meta=longer.meta)}, tmp_path)[0]
        write(whole, tmp_path / f"whole {name}")
    assert digest(tmp_path / "a") == digest(tmp_path / "b")
    assert digest(tmp_path / "whole a") != digest(tmp_path / "whole b")


def test_the_stages_give_the_same_bytes_in_any_folder_and_a_judge_s_setting_leaves_the_fit_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    roles = {"train": ["one"], "validation": ["two"]}
    finer = JUDGE.judge.model_copy(update={"curve_points": 33})

    def run(otherwise: bool) -> None:
        traces = {key: make_trace(8_000, seed, key) for seed, key in ((1, "one"), (2, "two"))}
        for key, trace in traces.items():
            write_trace(trace, paths.requests("database", key))
        paths.labels("episodes", "database", "one").parent.mkdir(parents=True)
        labelled_parts({"one.parquet": traces["one"]}, paths.labels("episodes", "database", "one").parent)
        judging = replace(JUDGE, judge=finer if otherwise else JUDGE.judge, roles=roles)
        params = params_of("database", replace(FIT, roles=roles), judging)
        fit_admission(params, "database")
        judge_admission(params, "database")
        assert {path.name for path in paths.fitted(MODEL).parent.iterdir()} == set(IDS)
        assert {path.name for path in paths.trained(MODEL).parent.iterdir()} == set(IDS)

    fits, verdicts, models = in_three_folders(IDS, run, tmp_path, monkeypatch)
    read = (
        paths.requests("database", "one"),
        paths.labels("episodes", "database", "one"),
        paths.requests("database", "two"),
    )
    for model in models:
        assert set(model.inputs) == set(map(str, read))
        assert [(item.trace, item.role) for item in model.traces] == [("one", "train"), ("two", "validation")]
    assert len(models[0].calibration["curve"]) <= JUDGE.judge.curve_points < len(models[2].calibration["curve"]) <= 33
    for name in IDS:
        for file in ("model.lgb.txt", "inputs.json"):
            assert verdicts[0][name][file] == verdicts[2][name][file] == fits[name][file]
        assert set(fits[name]) == {"model.lgb.txt", "fit.json", "curves.csv", "inputs.json"}
        assert set(verdicts[0][name]) == {"model.lgb.txt", "train.json", "curves.csv", "inputs.json"}
    assert len({verdicts[0][name]["model.lgb.txt"] for name in IDS}) == len(IDS)


def test_labels_of_one_class_are_reported_as_untrained_and_not_exported(part: Prepared) -> None:
    nothing = replace(part.labels, worth=np.zeros(len(part.trace), np.float32))
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
