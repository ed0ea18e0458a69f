import hashlib
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cachezoo import paths
from cachezoo.devices.responses import read_responses
from cachezoo.errors import TrainingError
from cachezoo.evaluation.caching import evaluate_caching
from cachezoo.features.sequence import FEEDBACK_WIDTH, OPEN_WIDTH
from cachezoo.features.table import write_features
from cachezoo.io import read_json, read_table, write_table
from cachezoo.labels.benefit import capacity_pages, write_benefit_labels
from cachezoo.models.lstm_step import one_teacher, teacher_outputs, torch_infer, torch_infer_all
from cachezoo.models.trained import read_trained
from cachezoo.policies.registry import OPTIMUM, classics, policy
from cachezoo.policies.simulate import auto_warmup
from cachezoo.traces.pages import expand_pages
from cachezoo.traces.read import read_any
from cachezoo.traces.store import read_pages, read_trace, write_trace
from cachezoo.traces.table import Coded, Trace
from cachezoo.training import caching_verdict
from cachezoo.training.caching import Fitted, Part, candidate_teachers, fit_caching, train_caching, write_fitted
from cachezoo.training.caching_verdict import halves, judge
from cachezoo.training.volumes import check_one_volume
from tests.lstm_data import lstm_sides, random_weights
from tests.rcrnn_data import SETTINGS, make_part, make_trace

FILES = {"train.json", "weights.safetensors", "curves.csv"}


def digest(folder: Path) -> dict[str, str]:
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in sorted(folder.iterdir())}


@pytest.fixture(scope="module")
def parts(tmp_path_factory: pytest.TempPathFactory) -> tuple[Part, Part]:
    folder = tmp_path_factory.mktemp("parts")
    return (
        make_part(make_trace(6000, 1, "train"), folder),
        make_part(make_trace(4000, 2, "validation"), folder),
    )


@pytest.fixture(scope="module")
def fitted(parts: tuple[Part, Part]) -> Fitted:
    return fit_caching("database", [parts[0]], [parts[1]], SETTINGS)


@pytest.fixture(scope="module")
def folder(fitted: Fitted, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("models") / "caching.database.lstm_test"
    write_fitted(fitted, path)
    return path


def test_it_learns_which_requests_come_back(fitted: Fitted) -> None:
    figures = fitted.model.validation
    assert fitted.model.trained
    assert figures["cached_balanced_accuracy"] > 0.9
    assert fitted.curves[-1][0] < fitted.curves[0][0]


def test_it_beats_the_best_classic_where_only_the_request_tells(fitted: Fitted) -> None:
    model = fitted.model
    assert model.beats_baseline, model.reason
    assert model.validation["difference_low"] > 0
    assert model.validation["optimum_hit_ratio"] >= model.validation["hit_ratio"]
    assert model.calibration["oracle_beats_classic"] is True
    assert model.calibration["calibrated_on"] == "validation"


def test_two_trainings_give_the_same_bytes(parts: tuple[Part, Part], folder: Path, tmp_path: Path) -> None:
    write_fitted(fit_caching("database", [parts[0]], [parts[1]], SETTINGS), tmp_path / "again")
    assert digest(tmp_path / "again") == digest(folder)
    assert set(digest(folder)) == FILES


def test_evaluation_serves_the_trained_model_on_a_trace_it_never_saw(folder: Path, tmp_path: Path) -> None:
    test = make_part(make_trace(4000, 3, "test"), tmp_path)
    capacity = capacity_pages(0.1, test.pages.n_pages)
    run = evaluate_caching(folder, test.trace, test.pages, capacity, test.labels)
    again = evaluate_caching(folder, test.trace, test.pages, capacity)
    assert (run.outcome == again.outcome).all()
    assert again.figures == {}
    assert run.totals["hits"] == int((run.outcome == 2).sum())
    assert run.totals["ssd_writes"] == run.totals["admitted"] + run.totals["write_hits"]
    assert run.figures["cached_balanced_accuracy"] > 0.9
    warmup = auto_warmup(test.pages, capacity)
    hits = {
        name: int((policy(name).hits(test.pages.page_ids, test.pages.n_pages, capacity)[warmup:] == 2).sum())
        for name in [*classics(), OPTIMUM]
    }
    mine = int((run.outcome[warmup:] == 2).sum())
    assert max(hits[name] for name in classics()) < mine <= hits[OPTIMUM]


@given(st.integers(40, 400), st.integers(1, 20))
def test_blocks_that_choose_and_blocks_that_judge_take_turns(count: int, blocks: int) -> None:
    chosen, judged = halves(np.arange(count), blocks)
    assert sorted([*chosen, *judged]) == list(range(count))
    assert abs(len(chosen) - len(judged)) <= blocks
    assert chosen[0] == 0 and judged[-1] == count - 1
    assert (np.diff(chosen) > 1).sum() == blocks - 1


def test_the_judged_blocks_of_validation_do_not_choose(
    parts: tuple[Part, Part], fitted: Fitted, monkeypatch: pytest.MonkeyPatch
) -> None:
    chosen, replayed = fitted.model.calibration, caching_verdict._replay

    def worse(*arguments: Any) -> Any:
        run = replayed(*arguments)
        for hits in run.hits:
            for block in np.array_split(hits, 2 * SETTINGS.train.blocks)[1::2]:
                block[: len(block) // 2] = 0
        return run

    monkeypatch.setattr(caching_verdict, "_replay", worse)
    verdict = judge(fitted.model, fitted.weights, [chosen["teacher"]], [parts[1]], True, SETTINGS)
    assert [row["hit_ratio"] for row in verdict.curve] == [row["hit_ratio"] for row in chosen["thresholds"]]
    assert verdict.chosen.threshold == chosen["threshold"]
    assert verdict.figures["hit_ratio"] < 0.7 * fitted.model.validation["hit_ratio"]
    assert fitted.model.beats_baseline and not verdict.beats


def test_the_best_candidate_of_all_oracles_and_rules_is_taken(fitted: Fitted) -> None:
    chosen, policies = fitted.model.calibration, fitted.model.policy
    table = chosen["candidates"]
    teachers = [*(f"benefit_{h}" for h in SETTINGS.label.horizons), "belady"]
    assert [(r["teacher"], r["on_hit"], r["queues"]) for r in table] == [
        (teacher, on_hit, queues) for teacher in teachers for on_hit in ("stay", "requeue")
        for queues in ("three", "single")
    ]  # fmt: skip
    best = max(table, key=lambda row: (row["hit_ratio"], row["threshold"]))
    assert (best["teacher"], best["threshold"]) == (chosen["teacher"], chosen["threshold"])
    assert (best["on_hit"], best["queues"]) == (policies["on_hit"], policies["queues"])
    curve = chosen["thresholds"]
    assert [row["threshold"] for row in curve] == SETTINGS.train.thresholds
    assert max(row["hit_ratio"] for row in curve) == best["hit_ratio"]
    assert fitted.weights["cached.bias"].shape == (1,) and fitted.weights["duration.bias"].shape == (3,)
    assert len(fitted.model.features) == OPEN_WIDTH


def test_the_heads_of_one_teacher_give_its_outputs(parts: tuple[Part, Part]) -> None:
    rng = np.random.default_rng(1)
    weights = random_weights(lstm_sides(OPEN_WIDTH, 2, 8, {"cached": 3, "duration": 9}), 3, 0.5)
    rows = rng.normal(size=(230, 2, OPEN_WIDTH)).astype(np.float32)
    for every in (0, 100):
        all_heads = teacher_outputs(weights, rows, 1, every)
        assert all_heads.shape == (230, 2, 3, 4)
        for teacher in range(3):
            own = one_teacher(weights, teacher)
            infer, state, stepped = torch_infer(own, 1), None, []
            for row, values in enumerate(rows):
                out, state = infer(values, None if every and row % every == 0 else state)
                stepped.append(out)
            np.testing.assert_allclose(all_heads[:, :, teacher], np.stack(stepped), atol=2e-6)
            at_once = torch_infer_all(own, 1, every)(rows, None)
            np.testing.assert_allclose(at_once, all_heads[:, :, teacher], atol=2e-6)


def test_a_model_that_is_fed_its_tags_has_the_best_oracle_as_its_teacher(parts: tuple[Part, Part]) -> None:
    held = parts[1]
    fed = replace(
        SETTINGS,
        model=SETTINGS.model.model_copy(update={"feedback": True}),
        train=SETTINGS.train.model_copy(update={"max_epochs": 3, "thresholds": [0.3, 0.5]}),
    )
    names = candidate_teachers([held], SETTINGS)
    best = max(names, key=lambda name: held.labels.decided_hit_ratio[name, 10])
    assert candidate_teachers([held], fed) == [best]
    for oracle, wanted in (("belady", ["belady"]), ("benefit", names[:-1])):
        one = replace(SETTINGS, label=SETTINGS.label.model_copy(update={"oracle": oracle}))
        assert candidate_teachers([held], one) == wanted
    model = fit_caching("database", [parts[0]], [held], fed).model
    assert len(model.features) == OPEN_WIDTH + FEEDBACK_WIDTH
    assert model.calibration["teacher"] == best
    assert model.validation["cached_balanced_accuracy"] > 0.8


def test_an_oracle_below_the_best_classic_is_said(parts: tuple[Part, Part], fitted: Fitted) -> None:
    held = parts[1]
    poor = {key: 0.0 for key in held.labels.decided_hit_ratio}
    losing = replace(held, labels=replace(held.labels, decided_hit_ratio=poor))
    verdict = judge(fitted.model, fitted.weights, [fitted.model.calibration["teacher"]], [losing], True, SETTINGS)
    assert not verdict.oracle_beats_classic
    assert not verdict.beats
    assert "oracle" in verdict.reason


def test_without_validation_nothing_is_claimed(parts: tuple[Part, Part]) -> None:
    short = replace(SETTINGS, train=SETTINGS.train.model_copy(update={"max_epochs": 1}))
    model = fit_caching("database", [parts[0]], [], short).model
    assert not model.beats_baseline
    assert "no validation trace" in model.reason
    assert model.calibration["calibrated_on"] == "train"


def test_a_loss_that_is_never_finite_is_reported_as_untrained(parts: tuple[Part, Part], tmp_path: Path) -> None:
    options = SETTINGS.train.model_copy(update={"learning_rate": float("inf"), "max_epochs": 1})
    wild = replace(SETTINGS, train=options)
    fitted = fit_caching("database", [parts[0]], [parts[1]], wild)
    assert not fitted.model.trained and not fitted.model.beats_baseline
    assert "no epoch's loss was finite" in fitted.model.reason
    write_fitted(fitted, tmp_path / "model")
    assert set(digest(tmp_path / "model")) == FILES
    test, share = parts[1], SETTINGS.manager.capacity
    run = evaluate_caching(
        tmp_path / "model", test.trace, test.pages, capacity_pages(share, test.pages.n_pages), test.labels
    )
    assert np.isfinite([value for value in run.figures.values() if value is not None]).all()


def test_a_trace_of_several_volumes_is_refused() -> None:
    trace = make_trace(40, 1)
    spare = replace(trace, volume=Coded(trace.volume.codes, ("0", "1")))
    check_one_volume(spare, "one")
    mixed = replace(trace, volume=Coded((np.arange(40) % 2).astype(np.int32), ("0", "1")))
    with pytest.raises(TrainingError, match=r"two: 2 volumes \(0, 1\).*split it"):
        check_one_volume(mixed, "two")


def test_no_train_trace_is_named() -> None:
    with pytest.raises(TrainingError, match="category web has no train trace; add one: cachezoo trace add"):
        fit_caching("web", [], [], SETTINGS)


def _write_source(trace: Trace, volume: list[str], path: Path) -> None:
    columns = (trace.time_us, np.where(trace.op == 1, "W", "R"), trace.offset, trace.size, volume)
    rows = [",".join(map(str, row)) for row in zip(*columns, strict=True)]
    path.write_text("\n".join(["time_us,op,offset,size,volume", *rows]) + "\n")


def _stages(source: Path, settings: SimpleNamespace) -> None:
    """Ingest the first 60 % of a source file, label it, compute its features, as the stages do."""
    whole = read_any(source, "auto", "database")
    part = whole.rows(0, int(0.6 * len(whole)))
    requests, responses = paths.requests("database", "train"), paths.responses("database", "train")
    part = replace(part, meta=replace(part.meta, trace_id="train", category="database"))
    write_trace(part, requests, expand_pages(part))
    trace, pages = read_trace(requests), read_pages(requests)
    times = {"t_hdd_us": np.full(len(trace), 5000.0) + trace.size / 4096, "t_ssd_us": np.full(len(trace), 90.0)}
    write_table(responses, pa.table(times), {})
    write_benefit_labels(
        trace, pages, *read_responses(responses), settings.label.benefit, paths.labels("benefit", "database", "train")
    )
    features = paths.features("database", "train")
    write_features(trace, pages, settings.features.sequence, settings.label.benefit, features)


def _without_hashes(value: Any) -> Any:
    """JSON values with every hash of a file left out."""
    if isinstance(value, dict):
        return {key: _without_hashes(own) for key, own in value.items() if key not in ("sha256", "inputs")}
    return [_without_hashes(own) for own in value] if isinstance(value, list) else value


def test_rows_after_the_cut_change_neither_labels_nor_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    short = SETTINGS.train.model_copy(update={"max_epochs": 1})
    params = SimpleNamespace(
        label=SimpleNamespace(benefit=SETTINGS.label), features=SimpleNamespace(sequence=SETTINGS.features),
        model=SimpleNamespace(caching=SETTINGS.model), train=SimpleNamespace(caching=short),
        policy=SimpleNamespace(manager=SETTINGS.manager), seed=SETTINGS.seed,
        traces_of=lambda category, role: ["train"] if role == "train" else [],
    )  # fmt: skip
    whole, other = make_trace(5000, 4), make_trace(5000, 5)
    cut = int(0.6 * len(whole))
    mixed: dict[str, Any] = {
        name: np.concatenate([getattr(whole, name)[:cut], getattr(other, name)[cut:] + more])
        for name, more in (("op", 0), ("offset", 1 << 30), ("size", 512), ("time_us", 10**9))
    }
    late = ["0"] * cut + ["late"] * (len(whole) - cut)
    seen, models = [], []
    for name, trace, volume in (("before", whole, ["0"] * 5000), ("after", replace(whole, **mixed), late)):
        (tmp_path / name).mkdir()
        monkeypatch.chdir(tmp_path / name)
        _write_source(trace, volume, Path("source.csv"))
        _stages(Path("source.csv"), params)
        model = train_caching(params, "database")
        folder = paths.trained(model.model_id)
        assert read_trained(folder).inputs == model.inputs
        made = (paths.labels("benefit", "database", "train"), paths.features("database", "train"))
        seen.append([read_table(path)[0].to_pydict() for path in made])
        models.append(
            [(folder / file).read_bytes() for file in sorted(FILES - {"train.json"})]
            + [_without_hashes(read_json(folder / "train.json"))]
        )
    sources = [(tmp_path / name / "source.csv").read_text().splitlines() for name in ("before", "after")]
    assert sources[0][: cut + 1] == sources[1][: cut + 1]
    assert not any(a == b for a, b in zip(sources[0][cut + 1 :], sources[1][cut + 1 :], strict=True))
    assert [len(table["benefit"]) for table, _ in seen] == [cut, cut]
    assert seen[0] == seen[1]
    assert models[0] == models[1]
