import hashlib
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from cachezoo import paths
from cachezoo.errors import TrainingError
from cachezoo.labels.episode_file import read_episode_labels, write_episode_labels
from cachezoo.labels.flash_problem import flash_problem
from cachezoo.models.admission import load_admission
from cachezoo.models.trained import read_trained
from cachezoo.traces.store import read_trace, write_trace
from cachezoo.traces.table import Coded, Trace
from cachezoo.training.admission import Part, fit, serve_trace, train_admission, training_rows, write_trained
from tests.baleen_data import FLASH, LABEL, SETTINGS, make_trace


def part(trace: Trace, key: str, folder: Path) -> Part:
    path = folder / f"{key}.parquet"
    write_episode_labels(trace, LABEL, FLASH, path)
    return Part(key, trace, read_episode_labels(path))


def digest(folder: Path) -> dict[str, str]:
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in sorted(folder.iterdir())}


@pytest.fixture(scope="module")
def parts(tmp_path_factory: pytest.TempPathFactory) -> tuple[Part, Part]:
    folder = tmp_path_factory.mktemp("labels")
    return part(make_trace(20_000, 1), "train", folder), part(make_trace(15_000, 2), "validation", folder)


@pytest.fixture(scope="module")
def trained(parts: tuple[Part, Part], tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("models") / "admission.database.lgbm"
    write_trained(*fit("database", [parts[0]], [parts[1]], SETTINGS), folder)
    return folder


def test_two_trainings_give_the_same_bytes(parts: tuple[Part, Part], trained: Path, tmp_path: Path) -> None:
    write_trained(*fit("database", [parts[0]], [parts[1]], SETTINGS), tmp_path / "again")
    assert digest(tmp_path / "again") == digest(trained)
    assert set(digest(trained)) == {"model.lgb.txt", "train.json", "curves.csv"}


def test_threshold_meets_the_budget_on_validation(parts: tuple[Part, Part], trained: Path) -> None:
    model, serving = load_admission(trained)
    problem = flash_problem(parts[1].trace, LABEL, FLASH)
    decisions = serving.decide(serve_trace(serving, parts[1].trace))
    writes = problem.run(decisions).segment_writes
    assert writes / problem.accept_all.segment_writes == pytest.approx(model.calibration["writes"])
    if not model.calibration["unreached"]:
        assert abs(writes - problem.budget) <= 0.025 * problem.budget
    curve = model.calibration["curve"]
    assert curve[0]["writes"] == 1.0 and len(curve) > 3
    thresholds = [point["threshold"] for point in curve]
    assert thresholds == sorted(thresholds)


def test_what_train_json_says(trained: Path) -> None:
    model = read_trained(trained)
    assert model.trained and model.arch["splits"] > 0
    assert [(item.trace, item.role) for item in model.traces] == [
        ("train", "train"),
        ("validation", "validation"),
    ]
    assert model.encodings["user"] == {"postgres": 0, "backup": 1}
    assert "RejectX" in model.reason
    assert model.beats_baseline == (model.reason.startswith("beats"))
    figures = model.validation
    if model.beats_baseline:
        assert figures["peak_dt"] <= figures["rejectx_peak_dt"] and figures["mean_dt_saved_low"] > 0


def test_unsettled_episodes_and_later_accesses_are_no_rows(parts: tuple[Part, Part], trained: Path) -> None:
    model = read_trained(trained)
    rows, labels, held = training_rows([parts[0]], model, SETTINGS)
    index = parts[0].labels
    keep = index.settled & (index.access_index < 6) & (index.episode >= 0)
    assert len(rows) == len(labels) == len(held) == keep.sum()
    assert 0.05 < held.mean() < 0.5
    sides: dict[tuple[int, int], bool] = {}
    trace = parts[0].trace
    for row, side in zip(np.flatnonzero(keep), held, strict=True):
        block = (int(trace.volume.codes[row]), int(trace.offset[row]) // LABEL.block_bytes)
        assert sides.setdefault(block, bool(side)) == side


def test_nothing_after_the_cut_reaches_the_model(
    parts: tuple[Part, Part], trained: Path, tmp_path: Path
) -> None:
    longer, other = make_trace(30_000, 1), make_trace(30_000, 77)
    cut = 18_000
    columns = {
        name: np.concatenate([getattr(longer, name)[:cut], getattr(other, name)[cut:]])
        for name in ("op", "offset", "size")
    }
    times = np.concatenate([longer.time_us[:cut], longer.time_us[cut - 1] + 5 * np.arange(1, 12_001)])
    user = Coded(
        np.where(np.arange(30_000) < cut, longer.user.codes, 3).astype(np.int32), (*longer.user.names, "new")
    )
    volume = Coded(longer.volume.codes, (*longer.volume.names, "vdz"))
    rewritten = replace(longer, time_us=times, user=user, volume=volume, **columns)
    for name, trace in (("a", longer), ("b", rewritten)):
        first = part(trace.rows(0, cut), "train", tmp_path)
        write_trained(*fit("database", [first], [parts[1]], SETTINGS), tmp_path / name)
    assert digest(tmp_path / "a") == digest(tmp_path / "b")


def test_the_stages_write_the_same_bytes_in_any_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    params = SimpleNamespace(
        label=SimpleNamespace(episodes=LABEL),
        features=SimpleNamespace(history=SETTINGS.history),
        model=SimpleNamespace(admission=SETTINGS.model),
        train=SimpleNamespace(admission=SETTINGS.train),
        policy=SimpleNamespace(flash=FLASH),
        seed=7,
        traces_of=lambda category, role: {"train": ["one"], "validation": ["two"]}.get(role, []),
    )
    results = []
    for name in ("here", "there"):
        (tmp_path / name).mkdir()
        monkeypatch.chdir(tmp_path / name)
        for seed, key in ((1, "one"), (2, "two")):
            write_trace(make_trace(8_000, seed), paths.requests("database", key))
            trace = read_trace(paths.requests("database", key))
            write_episode_labels(trace, LABEL, FLASH, paths.labels("episodes", "database", key))
        model = train_admission(params, "database")
        assert sorted(model.inputs) == sorted(
            str(path)
            for key in ("one", "two")
            for path in (paths.requests("database", key), paths.labels("episodes", "database", key))
        )
        results.append(digest(paths.trained("admission.database.lgbm")))
    assert results[0] == results[1]


def test_without_validation_nothing_is_claimed(parts: tuple[Part, Part]) -> None:
    model, _ = fit("database", [parts[0]], [], SETTINGS)
    assert not model.beats_baseline and "no validation trace" in model.reason
    assert model.calibration["calibrated_on"] == "train"


def test_labels_of_one_class_are_reported_as_untrained(parts: tuple[Part, Part]) -> None:
    nothing = replace(parts[0].labels, opt=np.zeros(len(parts[0].trace), bool))
    model, forest = fit("database", [replace(parts[0], labels=nothing)], [parts[1]], SETTINGS)
    assert forest.splits == 0
    assert not model.trained and not model.beats_baseline and "never moved" in model.reason


def test_rules(parts: tuple[Part, Part]) -> None:
    with pytest.raises(TrainingError, match="no train trace; add one: cachezoo trace add"):
        fit("database", [], [], SETTINGS)
    unsettled = replace(parts[0].labels, settled=np.zeros(len(parts[0].trace), bool))
    with pytest.raises(TrainingError, match="settled label"):
        fit("database", [replace(parts[0], labels=unsettled)], [], SETTINGS)
