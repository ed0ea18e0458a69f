from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from cachezoo import paths
from cachezoo.bundles.measured import Metrics, measured, promotion
from cachezoo.errors import TrainingError
from cachezoo.models.trained import read_trained
from cachezoo.serving.requests import batch_of
from cachezoo.systems.workload.evaluate import evaluate_workload
from cachezoo.systems.workload.infer import load_workload
from cachezoo.systems.workload.metrics import Nothing, WorkloadMetrics
from cachezoo.traces.store import write_trace
from cachezoo.tracking.records import figures
from tests.lstm_data import CLASSES, fit_and_judge, make_stream, part, parts

PARAMS: Any = SimpleNamespace(
    data=SimpleNamespace(roles={name: {"test": [f"{name}_test"]} for name in CLASSES}),
    evaluate=SimpleNamespace(bootstrap_blocks=20, bootstrap_samples=100),
    seed=7,
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("trained") / "workload.lstm8"
    fit_and_judge(CLASSES, parts(2000, 1), parts(1000, 3)).write(path)
    return path


@pytest.fixture
def result(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> WorkloadMetrics:
    monkeypatch.chdir(tmp_path)
    for seed, category in ((5, "pairs"), (6, "turns")):
        write_trace(make_stream(1505, seed, category), paths.requests(category, f"{category}_test"))
    return evaluate_workload(folder, PARAMS)


def test_traces_and_pooled_figures(result: WorkloadMetrics, folder: Path) -> None:
    assert result == evaluate_workload(folder, PARAMS)
    test = result.models["workload.lstm8"].test
    assert test.windows == 250 and np.sum(test.confusion) == np.sum(test.tree_confusion) == 250
    assert test.accuracy == sum(test.confusion[k][k] for k in (0, 1)) / 250 > 0.9
    assert test.balanced_accuracy_interval[0] <= test.balanced_accuracy <= test.balanced_accuracy_interval[1]
    assert test.tree_accuracy < 0.7 and test.difference_interval[0] > 0 and test.vote_accuracy > 0.9
    _, serving = load_workload(folder)
    for label, (key, trace) in enumerate(sorted(result.traces.items())):
        stream = make_stream(1505, 5 + label, CLASSES[label])
        seen = serving.run(batch_of(stream))
        model, tree = trace.rows
        assert key == f"{CLASSES[label]}_test" and trace.requests == 1505 and trace.role == "test"
        assert model.accuracy == (seen.classes == label).mean() and model.windows == 125
        assert model.votes == 41 and model.in_force_accuracy == (seen.in_force[2:] == label).mean()
        assert tree.policy == "tree4" and tree.kind == "baseline"


def test_mixtures_name_the_majority(result: WorkloadMetrics) -> None:
    cases = [(case.major, case.minor, case.share) for case in result.mixtures]
    pairs = [("pairs", "turns"), ("turns", "pairs")]
    assert cases == [(*pair, share) for pair in pairs for share in (0.6, 0.8)]
    for case in result.mixtures:
        assert abs(case.share_found - case.share) < 0.01
        assert case.enough_windows and case.windows >= 100
        assert case.majority_share > 0.6 and 0 <= case.rows[0].accuracy <= 1
        assert all(row.windows == case.windows for row in case.rows)
        assert [row.policy for row in case.rows] == ["workload.lstm8", "tree4"]


def test_what_the_manifest_and_tracking_take_of_it(result: WorkloadMetrics, folder: Path) -> None:
    section = measured(read_trained(folder), Metrics(result))
    assert promotion(section)[0] and set(section["baselines"]) == {"pairs_test", "turns_test"}
    flat = figures(section)
    test = result.models["workload.lstm8"].test
    assert flat["test/accuracy"] == test.accuracy and flat["test/tree_accuracy"] == test.tree_accuracy
    assert flat["balanced_accuracy"] == test.balanced_accuracy
    assert flat["validation/paired_difference_low"] > 0


def test_too_few_windows_have_no_interval(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for seed, category in ((5, "pairs"), (6, "turns")):
        write_trace(make_stream(95, seed, category), paths.requests(category, f"{category}_test"))
    result = evaluate_workload(folder, PARAMS)
    test = result.models["workload.lstm8"].test
    assert test.windows == 14 and test.difference_interval is None
    assert not any(case.enough_windows for case in result.mixtures)
    assert all(row.accuracy_interval is None for case in result.mixtures for row in case.rows)


def test_without_test_traces_or_training_there_are_no_figures(folder: Path, tmp_path: Path) -> None:
    nothing: Any = SimpleNamespace(**{**vars(PARAMS), "data": SimpleNamespace(roles={})})
    assert evaluate_workload(folder, nothing).models["workload.lstm8"].test == Nothing()
    fit_and_judge(["pairs"], [part(make_stream(300, 1, "pairs"))], []).write(tmp_path / "model")
    entry = evaluate_workload(tmp_path / "model", PARAMS).models["workload.lstm8"]
    assert not entry.trained and not entry.promoted and entry.test == Nothing()
    with pytest.raises(TrainingError, match=r"weights\.safetensors: not readable"):
        (tmp_path / "model" / "weights.safetensors").unlink()
        load_workload(tmp_path / "model")
