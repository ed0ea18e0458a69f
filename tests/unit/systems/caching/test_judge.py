from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cachezoo.bundles.measured import Metrics, measured, promotion
from cachezoo.features.sequence import OPEN_WIDTH
from cachezoo.kernels.outcome import HIT
from cachezoo.policies.registry import OPTIMUM, classics, policy
from cachezoo.policies.simulate import Simulator
from cachezoo.policies.tuned import tuned_classics
from cachezoo.systems.caching import judge as caching_judge
from cachezoo.systems.caching.blocks import halves
from cachezoo.systems.caching.evaluate import evaluate_caching
from cachezoo.systems.caching.fit import FitTrace
from cachezoo.systems.caching.judge import Choice, choose, classic_hits, judge
from cachezoo.systems.caching.prepared import Prepared
from cachezoo.traces.pages import capacity_pages
from cachezoo.traces.warmup import auto_warmup
from tests.rcrnn_data import FIT, JUDGE, fit_and_judge, make_part, make_trace
from tests.trained_data import MadeLstm, digest


@pytest.fixture(scope="module")
def parts(tmp_path_factory: pytest.TempPathFactory) -> list[FitTrace]:
    folder = tmp_path_factory.mktemp("parts")
    return [make_part(make_trace(6000, 1, "train"), folder), make_part(make_trace(4000, 2, "validation"), folder)]


@pytest.fixture(scope="module")
def made(parts: list[FitTrace]) -> MadeLstm:
    return fit_and_judge(parts[:1], parts[1:])


@pytest.fixture(scope="module")
def folder(made: MadeLstm, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("models") / "caching.database.lstm_test"
    made.write(path)
    return path


def again(made: MadeLstm, held: Prepared) -> Choice:
    """The chosen oracle's rules and thresholds judged on a trace."""
    teacher = made.trained.calibration["teacher"]
    alone = made.fitted.model_copy(update={"learned": {**made.fitted.learned, "teachers": [teacher]}})
    return choose(alone, made.kept, [held], True, JUDGE)


def test_it_learns_which_requests_come_back(made: MadeLstm) -> None:
    figures = made.trained.validation
    assert made.trained.trained
    assert figures["cached_balanced_accuracy"] > 0.9
    assert made.curves[-1][0] < made.curves[0][0]


def test_it_beats_the_best_classic_where_only_the_request_tells(made: MadeLstm, folder: Path) -> None:
    model = made.trained
    assert model.promoted, model.reason
    assert promotion(measured(model, Metrics())) == (True, model.reason)
    assert model.validation["difference_low"] > 0
    assert model.validation["optimum_hit_ratio"] >= model.validation["hit_ratio"]
    assert model.calibration["oracle_beats_classic"] is True
    assert model.calibration["calibrated_on"] == "validation"
    assert set(digest(folder)) == {"train.json", "weights.safetensors", "curves.csv"}


def test_two_verdicts_are_the_same(parts: list[FitTrace], made: MadeLstm) -> None:
    verdict, teacher = judge(made.fitted, made.weights, [parts[1].part], True, JUDGE)
    assert teacher == made.trained.calibration["teacher"]
    assert (verdict.calibration, verdict.policy) == (made.trained.calibration, made.trained.policy)
    assert (verdict.validation, verdict.reason) == (made.trained.validation, made.trained.reason)


def test_evaluation_serves_the_trained_model_on_a_trace_it_never_saw(folder: Path, tmp_path: Path) -> None:
    test = make_part(make_trace(4000, 3, "test"), tmp_path).part
    capacity = capacity_pages(0.1, test.pages.n_pages)
    run = evaluate_caching(folder, test.trace, test.pages, capacity, test.labels)
    unlabelled = evaluate_caching(folder, test.trace, test.pages, capacity)
    assert (run.outcomes.outcome == unlabelled.outcomes.outcome).all()
    assert unlabelled.figures == {}
    assert run.totals["hits"] == int((run.outcomes.outcome == 2).sum())
    assert run.totals["ssd_writes"] == run.totals["admitted"] + run.totals["write_hits"]
    assert run.figures["cached_balanced_accuracy"] > 0.9
    warmup = auto_warmup(test.pages, capacity)
    hits = {name: int(own[warmup:].sum()) for name, own in classic_hits(test, [*classics(), OPTIMUM], capacity)}
    mine = int((run.outcomes.outcome[warmup:] == 2).sum())
    assert max(hits[name] for name in classics()) < mine <= hits[OPTIMUM]


def test_the_classics_run_on_the_stream_that_an_evaluation_runs_them_on(parts: list[FitTrace]) -> None:
    part = parts[1].part
    capacity = capacity_pages(0.1, part.pages.n_pages)
    names = [*classics(), "reca(bar=0.5)", "rejectx+arc", OPTIMUM]
    simulator = Simulator(part.trace, part.pages)
    for name, hits in classic_hits(part, names, capacity):
        assert int(hits.sum()) == simulator.run(name, capacity, 0).hits, name
    # These look at writes, which single reads of a page would not show them.
    for name, hits in classic_hits(part, ["hystor", "reca"], capacity):
        as_reads = policy(name).hits(part.pages.page_ids, part.pages.n_pages, capacity)
        assert (hits != (as_reads == HIT)).any(), name


def test_the_rival_is_the_best_of_all_tuned_classics(made: MadeLstm, parts: list[FitTrace]) -> None:
    part = parts[1].part
    capacity = capacity_pages(JUDGE.manager.capacity, part.pages.n_pages)
    warmup, names = auto_warmup(part.pages, capacity), [*classics(), *tuned_classics(JUDGE.classics)]
    ratios = {
        name: [float(half.mean()) for half in halves(own[warmup:], JUDGE.judge.blocks)]
        for name, own in classic_hits(part, names, capacity)
    }
    figures = made.trained.validation
    assert figures["best_classic_hit_ratio"] == pytest.approx(max(judged for _, judged in ratios.values()))
    chosen = max(sorted(ratios), key=lambda name: ratios[name][0])
    assert figures["chosen_classic_hit_ratio"] == pytest.approx(ratios[chosen][1])


def test_the_judged_blocks_of_validation_do_not_choose(
    parts: list[FitTrace], made: MadeLstm, monkeypatch: pytest.MonkeyPatch
) -> None:
    chosen, replayed = made.trained.calibration, caching_judge._simulate

    def worse(*arguments: Any) -> Any:
        run = replayed(*arguments)
        for hits in run.hits:
            for block in np.array_split(hits, 2 * JUDGE.judge.blocks)[1::2]:
                block[: len(block) // 2] = 0
        return run

    monkeypatch.setattr(caching_judge, "_simulate", worse)
    found = again(made, parts[1].part)
    assert [row["hit_ratio"] for row in found.curve] == [row["hit_ratio"] for row in chosen["thresholds"]]
    assert found.chosen.threshold == chosen["threshold"]
    assert found.figures["hit_ratio"] < 0.7 * made.trained.validation["hit_ratio"]
    assert made.trained.beats_baseline and not found.beats


def test_the_best_candidate_of_all_oracles_and_rules_is_taken(made: MadeLstm) -> None:
    chosen, policies = made.trained.calibration, made.trained.policy
    table = chosen["candidates"]
    teachers = [*(f"benefit_{h}" for h in FIT.label.horizons), "belady"]
    assert [(r["teacher"], r["on_hit"], r["queues"]) for r in table] == [
        (teacher, on_hit, queues) for teacher in teachers for on_hit in ("stay", "requeue")
        for queues in ("three", "single")
    ]  # fmt: skip
    best = max(table, key=lambda row: (row["hit_ratio"], row["threshold"]))
    assert (best["teacher"], best["threshold"]) == (chosen["teacher"], chosen["threshold"])
    assert (best["on_hit"], best["queues"]) == (policies["on_hit"], policies["queues"])
    curve = chosen["thresholds"]
    assert [row["threshold"] for row in curve] == JUDGE.judge.thresholds
    assert max(row["hit_ratio"] for row in curve) == best["hit_ratio"]
    assert made.kept["cached.bias"].shape == (1,) and made.kept["duration.bias"].shape == (3,)
    teacher = made.fitted.learned["teachers"].index(chosen["teacher"])
    np.testing.assert_array_equal(made.kept["cached.bias"][0], made.weights["cached.bias"][teacher])
    assert len(made.trained.features) == OPEN_WIDTH


def test_an_oracle_below_the_best_classic_is_said(parts: list[FitTrace], made: MadeLstm) -> None:
    held = parts[1].part
    poor = {key: 0.0 for key in held.labels.decided_hit_ratio}
    found = again(made, replace(held, labels=replace(held.labels, decided_hit_ratio=poor)))
    assert not found.oracle_beats_classic
    assert not found.beats
    assert "oracle" in found.reason


def test_without_validation_nothing_is_claimed(parts: list[FitTrace]) -> None:
    short = replace(FIT, fit=FIT.fit.model_copy(update={"max_epochs": 1}))
    model = fit_and_judge(parts[:1], [], short).trained
    assert not model.beats_baseline
    assert "no validation trace" in model.reason
    assert model.calibration["calibrated_on"] == "train"


def test_an_untrained_model_can_still_be_served(parts: list[FitTrace], tmp_path: Path) -> None:
    wild = replace(FIT, fit=FIT.fit.model_copy(update={"learning_rate": float("inf"), "max_epochs": 1}))
    made = fit_and_judge(parts[:1], parts[1:], wild)
    made.write(tmp_path / "model")
    test, share = parts[1].part, JUDGE.manager.capacity
    capacity = capacity_pages(share, test.pages.n_pages)
    run = evaluate_caching(tmp_path / "model", test.trace, test.pages, capacity, test.labels)
    assert np.isfinite([value for value in run.figures.values() if value is not None]).all()
