from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from cachezoo import paths
from cachezoo.bundles.writer import refusal
from cachezoo.coded import Coded
from cachezoo.errors import ConfigError, TraceError, TrainingError
from cachezoo.features.sequence import COMMON_NAMES, request_columns
from cachezoo.features.window import WIDTH, normalised, window_columns
from cachezoo.serving.requests import batch_of
from cachezoo.traces.store import write_trace
from cachezoo.traces.table import Trace
from cachezoo.zoo.workload.fit import fit_prepared, fit_workload
from cachezoo.zoo.workload.judge import judge_workload
from cachezoo.zoo.workload.windows import Prepared, cut_windows
from tests.lstm_data import CLASSES, FIT, JUDGE, fit_and_judge, make_stream, part, parts
from tests.trained_data import MadeLstm, digest, fitted_folder, in_three_folders, params_of

FILES = {"weights.safetensors", "fit.json", "curves.csv"}
MODEL = "workload.lstm8"


@pytest.fixture(scope="module")
def made() -> MadeLstm:
    return fit_and_judge(CLASSES, parts(2000, 1), parts(1000, 3))


def test_what_fit_json_says(made: MadeLstm) -> None:
    model = made.fitted
    assert model.trained and model.reason == "" and model.category is None and model.model_id == MODEL
    told = {"known", "unknown_above"}
    assert {name: value for name, value in model.learned.items() if name not in told} == {
        "classes": CLASSES, "window": 12, "clip": 6.0, "stride": 5,
    }  # fmt: skip
    names = {
        f"without_{c}_{kind}_{what}" for c in CLASSES for kind in ("window", "vote") for what in ("auroc", "unknown")
    }
    assert set(model.figures) == {"train_windows", "loss"} | names
    assert [feature.formula for feature in model.features] == FIT.model.inputs
    assert [item.role for item in model.traces] == ["train"] * 2 + ["validation"] * 2


def test_validation_chooses_the_epoch_and_nothing_else(made: MadeLstm) -> None:
    other = fit_and_judge(CLASSES, parts(2000, 1), parts(900, 77))
    assert [loss for loss, _ in other.curves] == [loss for loss, _ in made.curves]
    assert [loss for _, loss in other.curves] != [loss for _, loss in made.curves]
    assert other.fitted.features == made.fitted.features
    trees = [one.trained.calibration["baselines"][0] for one in (other, made)]
    assert trees[0] == trees[1] and trees[0]["model"] == "tree4"
    assert other.fitted.learned["known"] == made.fitted.learned["known"]
    single = replace(FIT, fit=FIT.fit.model_copy(update={"max_epochs": 1}))
    weights = [fit_prepared(CLASSES, parts(2000, 1), parts(n, 70 + n), single, {})[1] for n in (900, 1100)]
    for name, tensor in weights[0].items():
        np.testing.assert_array_equal(tensor, weights[1][name])


def test_too_few_validation_windows_leave_the_epoch_to_the_train_loss(made: MadeLstm) -> None:
    many = replace(FIT, fit=FIT.fit.model_copy(update={"least_windows": 43, "max_epochs": 1}))
    fitted, _, curves = fit_prepared(CLASSES, parts(2000, 1), parts(1000, 3), many, {})  # 42 and 41 windows of each
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
    windows = cut_windows(given, CLASSES, 12, 5)
    assert windows.labels.tolist() == [1] * 6 + [0] * 3 and windows.counts(2).tolist() == [3, 6]
    assert windows.traces.tolist() == [0] * 6 + [2] * 3 and windows.columns.shape == (9, 12, WIDTH + 3)
    own = window_columns(batch_of(given[2].trace), np.array([5], np.int64), 12)
    np.testing.assert_array_equal(windows.columns[7, :, :WIDTH], own[0])
    of_requests = request_columns(batch_of(given[2].trace)).common[5:17]
    places = [COMMON_NAMES.index(name) for name in ("gap", "delta", "address")]
    np.testing.assert_array_equal(windows.columns[7, :, WIDTH:], of_requests[:, places])
    inputs = windows.inputs(made.fitted.features, 6.0)
    want = normalised(own, [feature.model_dump() for feature in made.fitted.features], 6.0)
    np.testing.assert_array_equal(inputs.rows[7], want[0])


def test_halves_take_turns_within_each_trace() -> None:
    windows = cut_windows(
        [part(make_stream(n, n, name)) for n, name in ((96, "turns"), (48, "pairs"))], CLASSES, 12, 12
    )
    choosing, judging = windows.halves(2)
    assert choosing.traces.tolist() == [0, 0, 0, 0, 1, 1] and judging.traces.tolist() == [0, 0, 0, 0, 1, 1]
    np.testing.assert_array_equal(choosing.columns, windows.columns[[0, 1, 4, 5, 8, 10]])
    np.testing.assert_array_equal(judging.columns, windows.columns[[2, 3, 6, 7, 9, 11]])


def test_a_shifted_disk_and_another_clock_give_the_same_bytes(made: MadeLstm, tmp_path: Path) -> None:
    def moved(given: list[Prepared]) -> list[Prepared]:
        return [
            replace(one, trace=replace(one.trace, offset=one.trace.offset + (1 << 30), time_us=one.trace.time_us * 10))
            for one in given
        ]

    fit_and_judge(CLASSES, moved(parts(2000, 1)), moved(parts(1000, 3))).write(tmp_path / "moved")
    made.write(tmp_path / "made")
    assert digest(tmp_path / "moved") == digest(tmp_path / "made")


def test_unequal_categories_weigh_the_same() -> None:
    train = [part(make_stream(3000, 1, "pairs")), part(make_stream(600, 2, "turns"))]
    longer = replace(FIT, fit=FIT.fit.model_copy(update={"max_epochs": 8}))
    few = fit_and_judge(CLASSES, train, parts(1000, 3), longer)
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


ROLES = {name: {"train": [f"{name}_train"], "validation": [f"{name}_val"]} for name in CLASSES}
PARAMS = params_of("", replace(FIT, roles=ROLES), replace(JUDGE, roles=ROLES))


def _requests(trace: Trace, key: str) -> None:
    write_trace(trace, paths.requests(trace.meta.category, key))


def test_the_stages_give_the_same_bytes_in_any_folder_and_a_judge_s_setting_leaves_the_fit_alone(
    made: MadeLstm, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stricter = JUDGE.judge.model_copy(update={"least_gain": 0.5})

    def run(otherwise: bool) -> None:
        for k, category in enumerate(CLASSES):
            _requests(make_stream(2000, 1 + k, category), f"{category}_train")
            _requests(make_stream(1000, 3 + k, category), f"{category}_val")
        judging = replace(JUDGE, judge=stricter if otherwise else JUDGE.judge, roles=ROLES)
        params = params_of("", replace(FIT, roles=ROLES), judging)
        fit_workload(params)
        judge_workload(params)

    fits, verdicts, models = in_three_folders([MODEL], run, tmp_path, monkeypatch)
    for model in models:
        assert len(model.inputs) == 4 and [item.role for item in model.traces] == ["train"] * 2 + ["validation"] * 2
        assert model.features == made.fitted.features
    assert models[0].validation == made.trained.validation
    assert set(fits[MODEL]) == FILES
    assert {digests[MODEL]["weights.safetensors"] for digests in (*verdicts, fits)} == {
        fits[MODEL]["weights.safetensors"]
    }
    lines = (paths.fitted(MODEL) / "curves.csv").read_text().splitlines()
    assert lines[0] == "epoch,train_loss,validation_loss" and len(lines) == 5


def test_a_missing_trace_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    _requests(make_stream(100, 1, "pairs"), "pairs_train")
    with pytest.raises(TraceError, match=r"turns_train\.parquet"):
        fit_workload(PARAMS)


def test_inputs_of_a_window_that_read_the_disk_are_refused() -> None:
    raw = replace(FIT, model=FIT.model.model_copy(update={"inputs": ["window.run", "address.page"]}))
    with pytest.raises(ConfigError, match=r"model\.workload\.inputs: address\.page is of a request, others are of its"):
        fit_prepared(CLASSES, parts(500, 1), [], raw, {})


def test_several_volumes_are_no_obstacle() -> None:
    def split(one: Prepared) -> Prepared:
        codes = (np.arange(len(one.trace)) % 2).astype(np.int32)
        return replace(one, trace=replace(one.trace, volume=Coded(codes, ("vda", "vdb"))))

    made = fit_and_judge(CLASSES, [split(one) for one in parts(2000, 1)], [split(one) for one in parts(1000, 3)])
    assert made.trained.validation["balanced_accuracy"] > 0.9
