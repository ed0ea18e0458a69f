import hashlib
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from cachezoo import paths
from cachezoo.config.rcrnn import BenefitLabel
from cachezoo.errors import TraceError, TrainingError
from cachezoo.features.table import write_features
from cachezoo.models.window_tree import WindowTree
from cachezoo.models.workload_step import load_workload
from cachezoo.traces.pages import expand_pages
from cachezoo.traces.store import write_trace
from cachezoo.traces.table import Trace
from cachezoo.training.fitted import Fitted, write_fitted
from cachezoo.training.windows import Part, cut_windows
from cachezoo.training.workload import fit_workload, judge, train_workload
from tests.lstm_data import FEATURES, SETTINGS, make_stream, part

CLASSES = ["pairs", "turns"]


def parts(n: int, first_seed: int) -> list[Part]:
    return [part(make_stream(n, first_seed + k, name)) for k, name in enumerate(CLASSES)]


@pytest.fixture(scope="module")
def fitted() -> Fitted:
    return fit_workload(CLASSES, parts(2000, 1), parts(1000, 3), SETTINGS)


def digest(folder: Path) -> dict[str, str]:
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in sorted(folder.iterdir())}


def test_learns_what_no_window_statistic_shows(fitted: Fitted, tmp_path: Path) -> None:
    model, figures = fitted.model, fitted.model.validation
    assert model.trained and model.beats_baseline and model.reason.startswith("beats the decision tree")
    assert figures["accuracy"] > 0.9 and figures["difference_low"] > 0
    assert figures["tree_accuracy"] < 0.7
    assert model.policy["classes"] == CLASSES and model.category is None and model.model_id == "workload.lstm8"
    write_fitted(fitted, tmp_path / "model")
    again, serving = load_workload(tmp_path / "model")
    assert again == model
    fresh = make_stream(600, 50, "turns")
    seen = serving.run(fresh.time_us, fresh.op, fresh.offset, fresh.size)
    assert (seen.classes == 1).mean() > 0.9 and seen.in_force[-1] == 1


def test_two_trainings_give_the_same_bytes(fitted: Fitted, tmp_path: Path) -> None:
    write_fitted(fitted, tmp_path / "a")
    write_fitted(fit_workload(CLASSES, parts(2000, 1), parts(1000, 3), SETTINGS), tmp_path / "b")
    assert digest(tmp_path / "a") == digest(tmp_path / "b")
    assert set(digest(tmp_path / "a")) == {"weights.safetensors", "train.json", "curves.csv"}
    lines = (tmp_path / "a" / "curves.csv").read_text().splitlines()
    assert lines[0] == "epoch,train_loss,validation_loss" and len(lines) == 5


def test_validation_chooses_the_epoch_and_nothing_else(fitted: Fitted) -> None:
    other = fit_workload(CLASSES, parts(2000, 1), parts(900, 77), SETTINGS)
    assert [loss for loss, _ in other.curves] == [loss for loss, _ in fitted.curves]
    assert [loss for _, loss in other.curves] != [loss for _, loss in fitted.curves]
    assert other.model.features == fitted.model.features
    assert other.model.calibration["baseline"] == fitted.model.calibration["baseline"]
    single = replace(SETTINGS, train=SETTINGS.train.model_copy(update={"max_epochs": 1}))
    weights = [fit_workload(CLASSES, parts(2000, 1), parts(n, 70 + n), single).weights for n in (900, 1100)]
    for name, tensor in weights[0].items():
        np.testing.assert_array_equal(tensor, weights[1][name])


def test_nothing_after_the_cut_reaches_the_model(fitted: Fitted, tmp_path: Path) -> None:
    for folder, later in (("a", 5), ("b", 6)):
        cut = []
        for k, name in enumerate(CLASSES):
            head, tail = make_stream(2000, 1 + k, name), make_stream(2000, later, "turns")
            columns = {c: np.concatenate([getattr(head, c), getattr(tail, c)]) for c in ("op", "offset", "size")}
            times = np.concatenate([head.time_us, head.time_us[-1] + tail.time_us])
            whole = replace(head, time_us=times, **columns)
            cut.append(part(whole.rows(0, 2000), head.meta.trace_id))
        write_fitted(fit_workload(CLASSES, cut, parts(1000, 3), SETTINGS), tmp_path / folder)
    assert digest(tmp_path / "a") == digest(tmp_path / "b")


def test_windows_stay_within_their_trace(fitted: Fitted) -> None:
    given = [part(make_stream(n, n, name)) for n, name in ((37, "turns"), (11, "pairs"), (24, "pairs"))]
    windows = cut_windows(given, fitted.model, 5)
    assert windows.starts.tolist() == [0, 5, 10, 15, 20, 25, 48, 53, 58]
    assert windows.labels.tolist() == [1] * 6 + [0] * 3 and windows.counts(2).tolist() == [3, 6]
    assert windows.take(np.array([6, 0])).shape == (2, 12, 5)
    np.testing.assert_array_equal(windows.take(np.array([6]))[0], windows.rows[48:60])


def test_unequal_categories_weigh_the_same(fitted: Fitted) -> None:
    few = fit_workload(CLASSES, [part(make_stream(3000, 1, "pairs")), part(make_stream(600, 2, "turns"))],
                       parts(1000, 3), SETTINGS)  # fmt: skip
    assert few.model.validation["balanced_accuracy"] > 0.9


def test_what_cannot_be_judged_is_not_claimed(fitted: Fitted) -> None:
    for held in ([], parts(1000, 3)[:1], parts(150, 3)):
        model = fit_workload(CLASSES, parts(2000, 1), held, SETTINGS).model
        assert model.trained and not model.beats_baseline and model.reason.startswith("not judged: validation windows")
        assert set(model.validation) == {"train_windows"}
        assert WindowTree.of(model.calibration["baseline"]).label.max() <= 1


def test_a_verdict_needs_an_interval_above_zero() -> None:
    labels = np.repeat([0, 1], 200)
    right, noise = labels.copy(), np.random.default_rng(1).random(400) < 0.1
    figures, beats, reason = judge(labels, right, np.where(noise, 1 - labels, labels), SETTINGS, 1)
    assert beats and figures["balanced_accuracy"] == 1.0 and "beats the decision tree" in reason
    for ours in (right, 1 - right):
        figures, beats, reason = judge(labels, ours, right, SETTINGS, 1)
        assert not beats and reason.startswith("does not beat")


def test_one_category_is_reported_as_untrained(tmp_path: Path) -> None:
    alone = fit_workload(["pairs"], parts(500, 1)[:1], [], SETTINGS)
    assert not alone.model.trained and "pairs is the only category" in alone.model.reason
    write_fitted(alone, tmp_path / "model")
    assert set(digest(tmp_path / "model")) == {"weights.safetensors", "train.json", "curves.csv"}


def test_a_loss_that_is_never_finite_is_reported_as_untrained() -> None:
    wild = replace(SETTINGS, train=SETTINGS.train.model_copy(update={"learning_rate": float("inf"), "max_epochs": 1}))
    model = fit_workload(CLASSES, parts(500, 1), parts(1000, 3), wild).model
    assert not model.trained and not model.beats_baseline and "never moved" in model.reason


def test_rules() -> None:
    with pytest.raises(TrainingError, match="category turns has no train trace; add one: cachezoo trace add"):
        fit_workload(CLASSES, parts(500, 1)[:1], [], SETTINGS)
    with pytest.raises(TrainingError, match="category NAME has no train trace"):
        fit_workload([], [], [], SETTINGS)
    short = [parts(500, 1)[0], part(make_stream(9, 2, "turns"))]
    with pytest.raises(TrainingError, match="train traces of turns hold no whole window of 12 requests"):
        fit_workload(CLASSES, short, [], SETTINGS)


LABEL = BenefitLabel(oracle="benefit", horizons=[3], capacities=[0.1])
PARAMS = SimpleNamespace(
    page_categories=CLASSES,
    traces_of=lambda category, role: {"train": [f"{category}_train"], "validation": [f"{category}_val"]}[role],
    features=SimpleNamespace(sequence=FEATURES),
    model=SimpleNamespace(workload=SETTINGS.model),
    train=SimpleNamespace(workload=SETTINGS.train),
    policy=SimpleNamespace(manager=SETTINGS.manager),
    evaluate=SimpleNamespace(bootstrap_blocks=20, bootstrap_samples=100),
    seed=7,
)


def _stages(trace: Trace, key: str) -> None:
    category = trace.meta.category
    write_trace(trace, paths.requests(category, key))
    write_features(trace, expand_pages(trace), FEATURES, LABEL, paths.features(category, key))


def test_the_stage_writes_the_same_bytes_in_any_folder(
    fitted: Fitted, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    results = []
    for name in ("here", "there"):
        (tmp_path / name).mkdir()
        monkeypatch.chdir(tmp_path / name)
        for k, category in enumerate(CLASSES):
            _stages(make_stream(2000, 1 + k, category), f"{category}_train")
            _stages(make_stream(1000, 3 + k, category), f"{category}_val")
        model = train_workload(PARAMS)
        results.append(digest(paths.trained("workload.lstm8")))
    assert results[0] == results[1]
    assert len(model.inputs) == 8 and [item.role for item in model.traces] == ["train"] * 2 + ["validation"] * 2
    weights = load_workload(paths.trained("workload.lstm8"))[0]
    assert weights.features == fitted.model.features and model.validation == fitted.model.validation


def test_features_of_another_trace_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for category in CLASSES:
        for key in (f"{category}_train", f"{category}_val"):
            _stages(make_stream(100, 1, category), key)
    write_trace(make_stream(90, 1, "pairs"), paths.requests("pairs", "pairs_train"))
    with pytest.raises(TraceError, match="100 rows for 90 requests; run the stage features again"):
        train_workload(PARAMS)
