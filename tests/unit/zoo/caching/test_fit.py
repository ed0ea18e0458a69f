import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import torch

from cachezoo import paths
from cachezoo.bundles.writer import refusal
from cachezoo.coded import Coded
from cachezoo.devices.responses import read_responses
from cachezoo.errors import ConfigError, TrainingError
from cachezoo.features.sequence import FEEDBACK_WIDTH, OPEN_WIDTH
from cachezoo.features.table import write_features
from cachezoo.io import read_json, read_table, write_table
from cachezoo.labels.benefit import write_benefit_labels
from cachezoo.models.trained import read_fitted, read_trained
from cachezoo.seeds import derive_seed
from cachezoo.traces.pages import capacity_pages, expand_pages
from cachezoo.traces.read import read_any
from cachezoo.traces.store import read_pages, read_trace, write_trace
from cachezoo.traces.table import Trace
from cachezoo.training.fitted import read_networks, write_networks
from cachezoo.zoo.caching.evaluate import evaluate_caching
from cachezoo.zoo.caching.fit import FitTrace, candidate_teachers, fit_caching, fit_prepared
from cachezoo.zoo.caching.infer import one_teacher, teacher_outputs, torch_infer, torch_infer_all
from cachezoo.zoo.caching.judge import judge_caching
from cachezoo.zoo.caching.prepared import check_one_volume
from tests.lstm_data import lstm_sides, random_weights
from tests.rcrnn_data import FIT, JUDGE, fit_and_judge, make_part, make_trace
from tests.trained_data import digest, fitted_folder, params_of

KEPT = {"train.json", "weights.safetensors", "curves.csv"}
FILES = {"fit.json", "network_0/weights.safetensors", "network_0/curves.csv"}
ONE_EPOCH = replace(FIT, fit=FIT.fit.model_copy(update={"max_epochs": 1}))
TEACHERS = [*(f"benefit_{horizon}" for horizon in FIT.label.horizons), "belady"]


@pytest.fixture(scope="module")
def parts(tmp_path_factory: pytest.TempPathFactory) -> list[FitTrace]:
    folder = tmp_path_factory.mktemp("parts")
    return [make_part(make_trace(6000, 1, "train"), folder), make_part(make_trace(4000, 2, "validation"), folder)]


def test_two_fits_give_the_same_bytes(parts: list[FitTrace], tmp_path: Path) -> None:
    two = replace(FIT, fit=FIT.fit.model_copy(update={"max_epochs": 2}))
    for name in ("one", "two"):
        write_networks(tmp_path / name, *fit_prepared("database", parts[:1], parts[1:], two, {}))
    assert _bytes(tmp_path / "one") == _bytes(tmp_path / "two")
    assert set(_bytes(tmp_path / "one")) == FILES


def test_networks_differ_in_their_seed_alone_and_the_first_is_that_of_a_fit_of_one(
    parts: list[FitTrace], tmp_path: Path
) -> None:
    three = replace(ONE_EPOCH, fit=ONE_EPOCH.fit.model_copy(update={"seeds": 3}))
    (_, alone), (model, networks) = (
        fit_prepared("database", parts[:1], parts[1:], settings, {}) for settings in (ONE_EPOCH, three)
    )
    assert list(model.seeds) == ["train_caching", "train_caching.1", "train_caching.2"]
    assert len(set(model.seeds.values())) == 3 and model.learned["networks"] == len(networks) == 3
    assert model.seeds["train_caching"] == derive_seed(FIT.seed, "train_caching", "database")
    assert networks[0].curves == alone[0].curves
    heads = [network.weights["cached.weight"].tobytes() for network in networks]
    assert heads[0] == alone[0].weights["cached.weight"].tobytes() and len(set(heads)) == 3
    losses = [network.curves[0][1] for network in networks]
    assert model.figures["loss"] == pytest.approx(np.mean(losses))
    write_networks(tmp_path / "model", model, networks)
    for network, weights in zip(networks, read_networks(tmp_path / "model", model), strict=True):
        assert {name: own.tobytes() for name, own in weights.items()} == {
            name: own.tobytes() for name, own in network.weights.items()
        }
    shutil.rmtree(tmp_path / "model" / "network_2")
    with pytest.raises(TrainingError, match=r"network_2.*train the model again"):
        read_networks(tmp_path / "model", model)


def test_an_accelerator_that_is_not_there_is_one_line_and_auto_does_without(
    parts: list[FitTrace], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    cuda, auto, cpu = (
        replace(ONE_EPOCH, fit=ONE_EPOCH.fit.model_copy(update={"accelerator": name}))
        for name in ("cuda", "auto", "cpu")
    )
    with pytest.raises(ConfigError, match=r"^fit\.caching\.accelerator is cuda: .* set it to cpu or auto in [^\n]*$"):
        fit_prepared("database", parts[:1], parts[1:], cuda, {})
    one, other = (fit_prepared("database", parts[:1], parts[1:], settings, {})[1][0] for settings in (auto, cpu))
    assert one.curves == other.curves


def test_the_ranges_of_the_inputs_are_those_of_the_train_traces(parts: list[FitTrace]) -> None:
    model, _ = fit_prepared("database", parts[:1], parts[1:], ONE_EPOCH, {})
    ranges = model.learned["ranges"]
    assert list(ranges) == [feature.name for feature in model.features]
    assert ranges["size"] == [12.0, 12.0] and ranges["op"] == [0.0, 1.0]
    addresses = parts[0].part.trace.offset / 4096
    assert ranges["address"] == [addresses.min(), addresses.max()]


def test_what_fit_json_says_and_every_oracle_has_heads(parts: list[FitTrace]) -> None:
    model, (network,) = fit_prepared("database", parts[:1], parts[1:], ONE_EPOCH, {})
    weights, curves = network.weights, network.curves
    assert model.trained and model.reason == "" and model.model_id == "caching.database.lstm_test"
    assert model.learned["teachers"] == TEACHERS and model.learned["capacities"] == FIT.label.capacities
    assert weights["cached.bias"].shape == (len(TEACHERS),)
    assert weights["duration.bias"].shape == (3 * len(TEACHERS),)
    assert len(model.features) == OPEN_WIDTH and model.figures["loss"] == curves[0][1]
    assert [(item.trace, item.role) for item in model.traces] == [("train", "train"), ("validation", "validation")]


def test_the_heads_of_one_teacher_give_its_outputs() -> None:
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


def test_a_model_that_is_fed_its_tags_has_the_best_oracle_as_its_teacher(parts: list[FitTrace]) -> None:
    fed = replace(
        FIT,
        model=FIT.model.model_copy(update={"feedback": True}),
        fit=FIT.fit.model_copy(update={"max_epochs": 3}),
    )
    names, taught = candidate_teachers(parts[:1], FIT), parts[0].part
    best = max(names, key=lambda name: taught.labels.decided_hit_ratio[name, 10])
    assert candidate_teachers(parts[:1], fed) == [best]
    for oracle, wanted in (("belady", ["belady"]), ("benefit", names[:-1]), ("cost_belady", ["cost_belady"])):
        one = replace(FIT, label=FIT.label.model_copy(update={"oracle": oracle}))
        assert candidate_teachers(parts[1:], one) == wanted
    few = replace(JUDGE, judge=JUDGE.judge.model_copy(update={"thresholds": 4}))
    model = fit_and_judge(parts[:1], parts[1:], fed, few).trained
    assert len(model.features) == OPEN_WIDTH + FEEDBACK_WIDTH
    assert model.calibration["teacher"] == best
    assert model.validation["cached_balanced_accuracy"] > 0.8


def test_the_oracle_that_saves_response_time_teaches_is_judged_and_evaluated(tmp_path: Path) -> None:
    label = FIT.label.model_copy(update={"oracle": "cost_belady"})
    saving = replace(FIT, label=label, fit=FIT.fit.model_copy(update={"max_epochs": 3}))
    train, held = (
        make_part(make_trace(requests, seed, name), tmp_path, saving)
        for requests, seed, name in ((6000, 1, "train"), (4000, 2, "validation"))
    )
    few = replace(JUDGE, label=label, judge=JUDGE.judge.model_copy(update={"thresholds": 4}))
    made = fit_and_judge([train], [held], saving, few)
    made.write(tmp_path / "model")
    assert made.trained.calibration["teacher"] == "cost_belady" == made.fitted.learned["teachers"][0]
    assert made.trained.validation["cached_balanced_accuracy"] > 0.7
    own, capacity = held.part, capacity_pages(0.1, held.part.pages.n_pages)
    run = evaluate_caching(tmp_path / "model", own.trace, own.pages, capacity, own.labels)
    assert run.figures["oracle_hit_ratio"] == own.labels.hit_ratio["cost_belady", 10] > 0


def test_a_loss_that_is_never_finite_is_reported_as_untrained_and_not_exported(
    parts: list[FitTrace], tmp_path: Path
) -> None:
    wild = replace(FIT, fit=FIT.fit.model_copy(update={"learning_rate": float("inf"), "max_epochs": 1}))
    made = fit_and_judge(parts[:1], parts[1:], wild)
    assert not made.fitted.trained and "no epoch's loss was finite" in made.fitted.reason
    assert not made.trained.trained and not made.trained.beats_baseline and made.trained.reason == made.fitted.reason
    assert (refusal(made.trained) or "").startswith("it never trained")
    made.write(tmp_path / "model")
    assert set(_bytes(fitted_folder(tmp_path / "model"))) == FILES
    assert set(digest(tmp_path / "model")) == KEPT
    assert made.kept["cached.bias"].shape == (1,) and all(np.isfinite(own).all() for own in made.kept.values())


def test_a_trace_of_several_volumes_is_refused() -> None:
    trace = make_trace(40, 1)
    spare = replace(trace, volume=Coded(trace.volume.codes, ("0", "1")))
    check_one_volume(spare, "one")
    mixed = replace(trace, volume=Coded((np.arange(40) % 2).astype(np.int32), ("0", "1")))
    with pytest.raises(TrainingError, match=r"two: 2 volumes \(0, 1\).*split it"):
        check_one_volume(mixed, "two")


def test_no_train_trace_is_named() -> None:
    with pytest.raises(TrainingError, match="category web has no train trace; add one: cachezoo trace add"):
        fit_prepared("web", [], [], FIT, {})


def _write_source(trace: Trace, volume: list[str], path: Path) -> None:
    columns = (trace.time_us, np.where(trace.op == 1, "W", "R"), trace.offset, trace.size, volume)
    rows = [",".join(map(str, row)) for row in zip(*columns, strict=True)]
    path.write_text("\n".join(["time_us,op,offset,size,volume", *rows]) + "\n")


def _stages(source: Path) -> None:
    """Ingest the first 60 % of a source file, label it, compute its features, as the stages do."""
    whole = read_any(source, "auto", "database")
    part = whole.rows(0, int(0.6 * len(whole)))
    requests, responses = paths.requests("database", "train"), paths.responses("database", "train")
    part = replace(part, meta=replace(part.meta, trace_id="train", category="database"))
    write_trace(part, requests, expand_pages(part))
    trace, pages = read_trace(requests), read_pages(requests)
    times = {"t_hdd_us": np.full(len(trace), 5000.0) + trace.size / 4096, "t_ssd_us": np.full(len(trace), 90.0)}
    write_table(responses, pa.table(times), {})
    labels = paths.labels("benefit", "database", "train")
    write_benefit_labels(trace, pages, *read_responses(responses), FIT.label, labels)
    write_features(trace, pages, FIT.features, FIT.label, paths.features("database", "train"))


def _without_hashes(value: Any) -> Any:
    """JSON values with every hash of a file left out."""
    if isinstance(value, dict):
        return {key: _without_hashes(own) for key, own in value.items() if key not in ("sha256", "inputs")}
    return [_without_hashes(own) for own in value] if isinstance(value, list) else value


def _bytes(folder: Path) -> dict[str, Any]:
    """What a model's folder holds, but for hashes of what it was made from."""
    return {
        path.relative_to(folder).as_posix(): (
            _without_hashes(read_json(path)) if path.suffix == ".json" else path.read_bytes()
        )
        for path in sorted(folder.rglob("*.*"))
    }


def test_rows_after_the_cut_change_neither_labels_nor_model_and_a_judge_s_setting_leaves_the_fit_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    roles: dict[str, Any] = {"train": ["train"]}
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
        _stages(Path("source.csv"))
        params = params_of("database", replace(ONE_EPOCH, roles=roles), replace(JUDGE, roles=roles))
        fit_caching(params, "database")
        judge_caching(params, "database")
        folders = [place("caching.database.lstm_test") for place in (paths.fitted, paths.trained)]
        made = (paths.labels("benefit", "database", "train"), paths.features("database", "train"))
        read = {str(path) for path in (paths.requests("database", "train"), *made)}
        assert set(read_trained(folders[1]).inputs) == set(read_fitted(folders[0], "caching").inputs) == read
        seen.append([read_table(path)[0].to_pydict() for path in made])
        models.append([_bytes(folder) for folder in folders])
    sources = [(tmp_path / name / "source.csv").read_text().splitlines() for name in ("before", "after")]
    assert sources[0][: cut + 1] == sources[1][: cut + 1]
    assert not any(a == b for a, b in zip(sources[0][cut + 1 :], sources[1][cut + 1 :], strict=True))
    assert [len(table["benefit"]) for table, _ in seen] == [cut, cut]
    assert seen[0] == seen[1]
    assert models[0] == models[1] and set(models[0][0]) == FILES

    few = replace(JUDGE, roles=roles, judge=JUDGE.judge.model_copy(update={"thresholds": 5}))
    fitted, before = _bytes(folders[0]), digest(folders[1])
    params = params_of("database", replace(ONE_EPOCH, roles=roles), few)
    fit_caching(params, "database")
    judge_caching(params, "database")
    assert _bytes(folders[0]) == fitted and digest(folders[1]) != before
    assert len(read_trained(folders[1]).calibration["thresholds"]) == 5
