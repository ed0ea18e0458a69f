from dataclasses import replace
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
from cachezoo.traces.store import write_trace
from cachezoo.traces.table import Trace
from cachezoo.tracking.records import figures
from cachezoo.zoo.registry import SYSTEMS
from cachezoo.zoo.workload.baselines import BASELINES
from cachezoo.zoo.workload.evaluate import evaluate_workload, moves
from cachezoo.zoo.workload.infer import load_workload
from cachezoo.zoo.workload.metrics import Nothing, WorkloadMetrics
from cachezoo.zoo.workload.serve import NONE, UNKNOWN
from tests.lstm_data import CLASSES, fit_and_judge, make_stream, part, parts

MODEL = "workload.lstm8"
PARAMS: Any = SimpleNamespace(
    data=SimpleNamespace(
        roles={
            **{name: {"test": [f"{name}_test"]} for name in CLASSES},
            "blob": {"train": ["blob_train"]},
            "turns": {"test": ["turns_test", "another"]},
        },
        traces={
            **{f"{name}_test": SimpleNamespace(unseen=False) for name in CLASSES},
            "another": SimpleNamespace(unseen=True),
        },
    ),
    seed=7,
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("trained") / "workload.lstm8"
    fit_and_judge(CLASSES, parts(2000, 1), parts(1000, 3)).write(path)
    return path


TRACES = (("pairs", "pairs_test", 5), ("turns", "turns_test", 6), ("turns", "another", 9))


def strange(n: int) -> Trace:
    """Sequential reads at a steady pace."""
    trace = make_stream(n, 8, "pairs")
    steps = np.arange(n, dtype=np.int64)
    return replace(trace, op=np.zeros(n, np.uint8), offset=steps * 4096, size=steps * 0 + 4096, time_us=steps * 100)


def write_traces(n: int) -> None:
    for category, key, seed in TRACES:
        write_trace(make_stream(n, seed, category), paths.requests(category, key))
    write_trace(strange(n), paths.requests("blob", "blob_train"))


@pytest.fixture
def result(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> WorkloadMetrics:
    monkeypatch.chdir(tmp_path)
    write_traces(1505)
    return evaluate_workload(folder, PARAMS)


def test_traces_and_pooled_figures(result: WorkloadMetrics, folder: Path) -> None:
    assert result == evaluate_workload(folder, PARAMS)
    test = result.models[MODEL].test
    assert test.windows == 375 == np.sum(test.confusion)
    assert [rival.policy for rival in test.rivals] == list(BASELINES)
    assert test.accuracy == sum(test.confusion[k][k] for k in (0, 1)) / 375 > 0.9
    assert test.balanced_accuracy_interval[0] <= test.balanced_accuracy <= test.balanced_accuracy_interval[1]
    for rival in test.rivals:
        assert np.sum(rival.confusion) == 375 and rival.accuracy < 0.7 and rival.difference_interval[0] > 0
    best = next(rival for rival in test.rivals if rival.policy == test.judged_against)
    assert best.balanced_accuracy == test.rival_balanced_accuracy
    assert best.difference_interval == test.difference_interval
    _, serving = load_workload(folder)
    for category, key, seed in TRACES:
        trace, label = result.traces[key], CLASSES.index(category)
        seen = serving.run(batch_of(make_stream(1505, seed, category)))
        model, *rivals = trace.rows
        assert trace.requests == 1505 and trace.role == "test" and trace.unseen == (key == "another")
        assert model.accuracy == (seen.likeliest == label).mean() and model.windows == 125
        assert model.unknown == (seen.classes == UNKNOWN).mean() < 0.3
        votes = seen.votes[seen.votes != NONE]
        assert (model.votes, model.vote_accuracy) == (41, (votes == label).mean())
        assert model.unknown_votes == (votes == UNKNOWN).mean()
        assert model.in_force_accuracy == (seen.in_force[2:] == label).mean()
        assert [(row.policy, row.kind) for row in rivals] == [(name, "baseline") for name in BASELINES]


def test_moved_traces_get_the_same_answers(result: WorkloadMetrics) -> None:
    cases = {(case.trace, case.move): case for case in result.moved}
    names = ["as it is", "+ 1 GiB", "+ half of the disk", "clock x 10", "clock x 0.1"]
    assert list(cases) == [(key, move) for _, key, _ in TRACES for move in names]
    for (key, move), case in cases.items():
        assert case.windows == 125
        if move != "clock x 0.1":
            assert case.equal == case.same == 1 and case.accuracy == result.traces[key].rows[0].accuracy
        else:
            assert case.same > 0.95 > case.equal and abs(case.accuracy - result.traces[key].rows[0].accuracy) < 0.05


def test_moves_by_hand() -> None:
    batch = batch_of(make_stream(50, 1, "pairs"))
    moved = moves(batch)
    end = int((batch.offset + batch.size).max())
    assert set(moved["+ half of the disk"].offset - batch.offset) == {end} and end % 4096 == 0
    assert set(moved["+ 1 GiB"].offset - batch.offset) == {1 << 30}
    np.testing.assert_array_equal(moved["clock x 0.1"].time_us, batch.time_us // 10)
    np.testing.assert_array_equal(moved["clock x 10"].time_us, batch.time_us * 10)


def test_strange_categories_are_unknown(result: WorkloadMetrics) -> None:
    assert list(result.strange) == ["blob_train"]
    case = result.strange["blob_train"]
    assert (case.category, case.role, case.requests, case.windows, case.votes) == ("blob", "train", 1505, 125, 41)
    assert case.unknown == case.unknown_votes == 1 and case.named == [0, 0]


def test_mixtures_name_the_majority(result: WorkloadMetrics) -> None:
    cases = [(case.major, case.minor, case.share) for case in result.mixtures]
    pairs = [("pairs", "turns"), ("turns", "pairs")]
    assert cases == [(*pair, share) for pair in pairs for share in (0.6, 0.8)]
    for case in result.mixtures:
        assert abs(case.share_found - case.share) < 0.01
        assert case.enough_windows and case.windows >= 100
        assert case.majority_share > 0.6 and 0 <= case.rows[0].accuracy <= 1
        assert 0 < case.unknown <= 1 and 0 < case.unknown_votes <= 1
        assert all(row.windows == case.windows for row in case.rows)
        assert [row.policy for row in case.rows] == [MODEL, *BASELINES]


def test_what_the_manifest_and_tracking_take_of_it(result: WorkloadMetrics, folder: Path) -> None:
    section = measured(read_trained(folder), Metrics(result))
    assert promotion(section)[0] and set(section["baselines"]) == {"pairs_test", "turns_test", "another"}
    flat = figures(section, SYSTEMS["workload"].headline)
    test = result.models[MODEL].test
    assert flat["test/accuracy"] == test.accuracy
    assert flat["test/rival_balanced_accuracy"] == test.rival_balanced_accuracy
    assert flat["balanced_accuracy"] == test.balanced_accuracy
    assert flat["validation/paired_difference_low"] > 0


def test_too_few_windows_have_no_interval(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_traces(95)
    result = evaluate_workload(folder, PARAMS)
    test = result.models[MODEL].test
    assert test.windows == 21 and test.difference_interval is None
    assert not any(case.enough_windows for case in result.mixtures)
    assert all(row.accuracy_interval is None for case in result.mixtures for row in case.rows)


def test_without_test_traces_or_training_there_are_no_figures(folder: Path, tmp_path: Path) -> None:
    nothing: Any = SimpleNamespace(**{**vars(PARAMS), "data": SimpleNamespace(roles={})})
    assert evaluate_workload(folder, nothing).models[MODEL].test == Nothing()
    fit_and_judge(["pairs"], [part(make_stream(300, 1, "pairs"))], []).write(tmp_path / "model")
    entry = evaluate_workload(tmp_path / "model", PARAMS).models[MODEL]
    assert not entry.trained and not entry.promoted and entry.test == Nothing()
    with pytest.raises(TrainingError, match=r"weights\.safetensors: not readable"):
        (tmp_path / "model" / "weights.safetensors").unlink()
        load_workload(tmp_path / "model")
