from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from cachezoo import paths
from cachezoo.bundles.writer import refusal
from cachezoo.errors import TraceError, TrainingError
from cachezoo.features.table import write_features
from cachezoo.models.trained import read_fitted, read_trained
from cachezoo.settings.page_cache import BenefitLabel
from cachezoo.systems.workload.fit import fit_prepared, fit_workload
from cachezoo.systems.workload.judge import judge_workload
from cachezoo.systems.workload.windows import cut_windows
from cachezoo.traces.pages import expand_pages
from cachezoo.traces.store import write_trace
from cachezoo.traces.table import Trace
from cachezoo.training.fitted import write_lstm
from tests.lstm_data import CLASSES, FEATURES, FIT, JUDGE, fit_and_judge, make_stream, part, parts
from tests.trained_data import MadeLstm, digest, fitted_folder, params_of

FILES = {"weights.safetensors", "fit.json", "curves.csv"}
MODEL = "workload.lstm8"


@pytest.fixture(scope="module")
def made() -> MadeLstm:
    return fit_and_judge(CLASSES, parts(2000, 1), parts(1000, 3))


def test_two_fits_give_the_same_bytes(made: MadeLstm, tmp_path: Path) -> None:
    write_lstm(tmp_path / "a", made.fitted, made.weights, made.curves)
    write_lstm(tmp_path / "b", *fit_prepared(CLASSES, parts(2000, 1), parts(1000, 3), FIT, {}))
    assert digest(tmp_path / "a") == digest(tmp_path / "b")
    assert set(digest(tmp_path / "a")) == FILES
    lines = (tmp_path / "a" / "curves.csv").read_text().splitlines()
    assert lines[0] == "epoch,train_loss,validation_loss" and len(lines) == 5


def test_what_fit_json_says(made: MadeLstm) -> None:
    model = made.fitted
    assert model.trained and model.reason == "" and model.category is None and model.model_id == MODEL
    assert model.learned == {"classes": CLASSES, "window": 12, "clip": 6.0, "stride": 5}
    assert set(model.figures) == {"train_windows", "loss"}
    assert [item.role for item in model.traces] == ["train"] * 2 + ["validation"] * 2


def test_validation_chooses_the_epoch_and_nothing_else(made: MadeLstm) -> None:
    other = fit_and_judge(CLASSES, parts(2000, 1), parts(900, 77))
    assert [loss for loss, _ in other.curves] == [loss for loss, _ in made.curves]
    assert [loss for _, loss in other.curves] != [loss for _, loss in made.curves]
    assert other.fitted.features == made.fitted.features
    assert other.trained.calibration["baseline"] == made.trained.calibration["baseline"]
    single = replace(FIT, fit=FIT.fit.model_copy(update={"max_epochs": 1}))
    weights = [fit_prepared(CLASSES, parts(2000, 1), parts(n, 70 + n), single, {})[1] for n in (900, 1100)]
    for name, tensor in weights[0].items():
        np.testing.assert_array_equal(tensor, weights[1][name])


def test_too_few_validation_windows_leave_the_epoch_to_the_train_loss(made: MadeLstm) -> None:
    many = replace(FIT, fit=FIT.fit.model_copy(update={"least_windows": 84, "max_epochs": 1}))
    fitted, _, curves = fit_prepared(CLASSES, parts(2000, 1), parts(1000, 3), many, {})  # 83 windows of each
    assert [loss for _, loss in curves] == [None] and set(fitted.figures) == {"train_windows"}
    assert made.curves[0][1] is not None


def test_nothing_after_the_cut_reaches_the_model(tmp_path: Path) -> None:
    for folder, later in (("a", 5), ("b", 6)):
        cut = []
        for k, name in enumerate(CLASSES):
            head, tail = make_stream(2000, 1 + k, name), make_stream(2000, later, "turns")
            columns = {c: np.concatenate([getattr(head, c), getattr(tail, c)]) for c in ("op", "offset", "size")}
            times = np.concatenate([head.time_us, head.time_us[-1] + tail.time_us])
            whole = replace(head, time_us=times, **columns)
            cut.append(part(whole.rows(0, 2000), head.meta.trace_id))
        fit_and_judge(CLASSES, cut, parts(1000, 3)).write(tmp_path / folder)
    assert digest(tmp_path / "a") == digest(tmp_path / "b")
    assert digest(fitted_folder(tmp_path / "a")) == digest(fitted_folder(tmp_path / "b"))


def test_windows_stay_within_their_trace(made: MadeLstm) -> None:
    given = [part(make_stream(n, n, name)) for n, name in ((37, "turns"), (11, "pairs"), (24, "pairs"))]
    windows = cut_windows(given, made.fitted.features, CLASSES, 6.0, 12, 5)
    assert windows.starts.tolist() == [0, 5, 10, 15, 20, 25, 48, 53, 58]
    assert windows.labels.tolist() == [1] * 6 + [0] * 3 and windows.counts(2).tolist() == [3, 6]
    assert windows.take(np.array([6, 0])).shape == (2, 12, 5)
    np.testing.assert_array_equal(windows.take(np.array([6]))[0], windows.rows[48:60])


def test_unequal_categories_weigh_the_same() -> None:
    train = [part(make_stream(3000, 1, "pairs")), part(make_stream(600, 2, "turns"))]
    few = fit_and_judge(CLASSES, train, parts(1000, 3))
    assert few.trained.validation["balanced_accuracy"] > 0.9


def test_one_category_is_reported_as_untrained_and_not_exported(tmp_path: Path) -> None:
    alone = fit_and_judge(["pairs"], parts(500, 1)[:1], [])
    assert not alone.fitted.trained and "pairs is the only category" in alone.fitted.reason
    assert alone.trained.reason == alone.fitted.reason and not alone.trained.promoted
    assert (refusal(alone.trained) or "").startswith("it never trained: pairs is the only category")
    alone.write(tmp_path / "model")
    assert set(digest(fitted_folder(tmp_path / "model"))) == FILES
    assert set(digest(tmp_path / "model")) == {"weights.safetensors", "train.json", "curves.csv"}


def test_a_loss_that_is_never_finite_is_reported_as_untrained_and_not_exported() -> None:
    wild = replace(FIT, fit=FIT.fit.model_copy(update={"learning_rate": float("inf"), "max_epochs": 1}))
    made = fit_and_judge(CLASSES, parts(500, 1), parts(1000, 3), wild)
    assert not made.fitted.trained and "never moved" in made.fitted.reason and made.fitted.figures == {}
    assert not made.trained.trained and not made.trained.beats_baseline and made.trained.reason == made.fitted.reason
    assert (refusal(made.trained) or "").startswith("it never trained")


def test_rules() -> None:
    with pytest.raises(TrainingError, match="category turns has no train trace; add one: cachezoo trace add"):
        fit_prepared(CLASSES, parts(500, 1)[:1], [], FIT, {})
    with pytest.raises(TrainingError, match="category NAME has no train trace"):
        fit_prepared([], [], [], FIT, {})
    short = [parts(500, 1)[0], part(make_stream(9, 2, "turns"))]
    with pytest.raises(TrainingError, match="train traces of turns hold no whole window of 12 requests"):
        fit_prepared(CLASSES, short, [], FIT, {})


LABEL = BenefitLabel(oracle="benefit", horizons=[3], capacities=[0.1])
ROLES = {name: {"train": [f"{name}_train"], "validation": [f"{name}_val"]} for name in CLASSES}
PARAMS = params_of("", replace(FIT, roles=ROLES), replace(JUDGE, roles=ROLES))


def _stages(trace: Trace, key: str) -> None:
    category = trace.meta.category
    write_trace(trace, paths.requests(category, key))
    write_features(trace, expand_pages(trace), FEATURES, LABEL, paths.features(category, key))


def test_the_stages_give_the_same_bytes_in_any_folder_and_a_judge_s_setting_leaves_the_fit_alone(
    made: MadeLstm, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fewer = JUDGE.judge.model_copy(update={"bootstrap_samples": 200})
    fits, verdicts, figures = [], [], []
    for name, own in (("here", JUDGE.judge), ("there", JUDGE.judge), ("fewer", fewer)):
        (tmp_path / name).mkdir()
        monkeypatch.chdir(tmp_path / name)
        for k, category in enumerate(CLASSES):
            _stages(make_stream(2000, 1 + k, category), f"{category}_train")
            _stages(make_stream(1000, 3 + k, category), f"{category}_val")
        params = params_of("", replace(FIT, roles=ROLES), replace(JUDGE, judge=own, roles=ROLES))
        fit_workload(params)
        judge_workload(params)
        model = read_trained(paths.trained(MODEL))
        assert len(model.inputs) == 8 and [item.role for item in model.traces] == ["train"] * 2 + ["validation"] * 2
        assert model.features == made.fitted.features == read_fitted(paths.fitted(MODEL), "workload").features
        fits.append(digest(paths.fitted(MODEL)))
        verdicts.append(digest(paths.trained(MODEL)))
        figures.append(model.validation)
    assert fits[0] == fits[1] == fits[2]
    assert verdicts[0] == verdicts[1] != verdicts[2] and figures[0] == figures[1] == made.trained.validation
    assert verdicts[0]["weights.safetensors"] == verdicts[2]["weights.safetensors"] == fits[0]["weights.safetensors"]


def test_features_of_another_trace_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for category in CLASSES:
        for key in (f"{category}_train", f"{category}_val"):
            _stages(make_stream(100, 1, category), key)
    write_trace(make_stream(90, 1, "pairs"), paths.requests("pairs", "pairs_train"))
    with pytest.raises(TraceError, match="100 rows for 90 requests; run the stage features again"):
        fit_workload(PARAMS)
