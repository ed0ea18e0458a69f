from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pytest

from cachezoo.bundles.measured import Metrics, measured, promotion
from cachezoo.contest.blocks import BLOCKS, halves
from cachezoo.contest.counting import first_access
from cachezoo.devices.service import ServiceTimes
from cachezoo.features.sequence import OPEN_WIDTH
from cachezoo.policies.registry import OPTIMUM, classics
from cachezoo.policies.simulate import Simulator
from cachezoo.policies.tuned import tuned_classics
from cachezoo.serving.requests import batch_of
from cachezoo.traces.pages import capacity_pages
from cachezoo.zoo.caching.candidates import ADMIT_ALL, ADMIT_NONE
from cachezoo.zoo.caching.case import classic_hits
from cachezoo.zoo.caching.closed_loop import ClosedLoop
from cachezoo.zoo.caching.evaluate import evaluate_caching
from cachezoo.zoo.caching.fit import FitTrace
from cachezoo.zoo.caching.infer import one_teacher, serving_of
from cachezoo.zoo.caching.judge import Choice, choose, lead_of
from cachezoo.zoo.caching.prepared import Prepared
from cachezoo.zoo.caching.settings import Objective
from tests.rcrnn_data import FIT, JUDGE, MadeCaching, fit_and_judge, make_part, make_trace
from tests.trained_data import Weights, digest


@pytest.fixture(scope="module")
def parts(tmp_path_factory: pytest.TempPathFactory) -> list[FitTrace]:
    folder = tmp_path_factory.mktemp("parts")
    return [make_part(make_trace(6000, 1, "train"), folder), make_part(make_trace(4000, 2, "validation"), folder)]


@pytest.fixture(scope="module")
def made(parts: list[FitTrace]) -> MadeCaching:
    five = FIT.fit.model_copy(update={"seeds": 5, "max_epochs": 5})
    return fit_and_judge(parts[:1], parts[1:], replace(FIT, fit=five))


@pytest.fixture(scope="module")
def folder(made: MadeCaching, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("models") / "caching.database.lstm_test"
    made.write(path)
    return path


def again(made: MadeCaching, held: Prepared, networks: int = 5) -> Choice:
    """The chosen oracle's rules and thresholds judged on a trace."""
    teacher = made.trained.calibration["teacher"]
    alone = made.fitted.model_copy(update={"learned": {**made.fitted.learned, "teachers": [teacher]}})
    place = made.fitted.learned["teachers"].index(teacher)
    return choose(alone, [one_teacher(own, place) for own in made.weights[:networks]], [held], True, JUDGE)


def moved(made: MadeCaching, logit: float) -> list[Weights]:
    """The shipped network alone, so much surer, or less sure, of everything."""
    own = made.weights[made.trained.calibration["network"]]
    return [{**own, "cached.bias": own["cached.bias"] + np.float32(logit)}]


def test_it_learns_which_requests_come_back(made: MadeCaching) -> None:
    figures = made.trained.validation
    assert made.trained.trained
    assert figures["cached_balanced_accuracy"] > 0.9
    assert all(network.curves[-1][0] < network.curves[0][0] for network in made.networks)


def test_it_beats_the_best_classic_where_only_the_request_tells(made: MadeCaching, folder: Path) -> None:
    model = made.trained
    assert model.promoted, model.reason
    assert promotion(measured(model, Metrics())) == (True, model.reason)
    assert model.validation["difference_low"] > 0
    assert model.validation["optimum_hit_ratio"] >= model.validation["hit_ratio"]
    assert model.calibration["oracle_beats_classic"] is True
    assert model.calibration["calibrated_on"] == "validation"
    assert set(digest(folder)) == {"train.json", "weights.safetensors", "curves.csv"}


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
    warmup = first_access(test.pages)
    hits = {name: int(own[warmup:].sum()) for name, own in classic_hits(test, [*classics(), OPTIMUM], capacity)}
    mine = int((run.outcomes.outcome[warmup:] == 2).sum())
    assert max(hits[name] for name in classics()) < mine <= hits[OPTIMUM]


def test_the_rival_is_the_best_of_all_tuned_classics(made: MadeCaching, parts: list[FitTrace]) -> None:
    part = parts[1].part
    capacity = capacity_pages(JUDGE.manager.capacity, part.pages.n_pages)
    warmup, names = first_access(part.pages), [*classics(), *tuned_classics(JUDGE.classics)]
    ratios = {
        name: [float(half.mean()) for half in halves(own[warmup:])] for name, own in classic_hits(part, names, capacity)
    }
    figures = made.trained.validation
    assert figures["best_classic_hit_ratio"] == pytest.approx(max(judged for _, judged in ratios.values()))
    chosen = max(sorted(ratios), key=lambda name: ratios[name][0])
    assert figures["chosen_classic_hit_ratio"] == pytest.approx(ratios[chosen][1])


def test_the_judged_blocks_of_validation_do_not_choose(
    parts: list[FitTrace], made: MadeCaching, monkeypatch: pytest.MonkeyPatch
) -> None:
    chosen, replayed = made.trained.calibration, ClosedLoop.run

    def worse(*arguments: Any) -> Any:
        runs = replayed(*arguments)
        for run in runs:
            for block in np.array_split(run.hits, 2 * BLOCKS)[1::2]:
                block[: len(block) // 2] = 0
        return runs

    monkeypatch.setattr(ClosedLoop, "run", worse)
    found = again(made, parts[1].part)
    assert [row["hit_ratio"] for row in found.curve] == [row["hit_ratio"] for row in chosen["thresholds"]]
    assert (found.chosen.threshold, found.chosen.network) == (chosen["threshold"], chosen["network"])
    assert found.figures["hit_ratio"] < 0.7 * made.trained.validation["hit_ratio"]
    assert made.trained.beats_baseline and not found.beats


def test_the_best_candidate_of_all_networks_oracles_and_rules_is_taken(made: MadeCaching) -> None:
    chosen, policies = made.trained.calibration, made.trained.policy
    table = chosen["candidates"]
    teachers = [*(f"benefit_{h}" for h in FIT.label.horizons), "belady"]
    assert [(r["network"], r["teacher"], r["on_hit"], r["queues"]) for r in table] == [
        (network, teacher, "stay", queues)
        for network in range(5) for teacher in teachers for queues in ("three", "single")
    ]  # fmt: skip
    best = max(table, key=lambda row: (row["hit_ratio"], row["threshold"]))
    assert (best["network"], best["teacher"], best["threshold"]) == (
        chosen["network"], chosen["teacher"], chosen["threshold"],
    )  # fmt: skip
    assert (best["on_hit"], best["queues"]) == (policies["on_hit"], policies["queues"])
    curve = chosen["thresholds"]
    assert {row["network"] for row in curve} == {chosen["network"]}
    assert max(row["hit_ratio"] for row in curve) == best["hit_ratio"]
    assert made.kept["cached.bias"].shape == (1,) and made.kept["duration.bias"].shape == (3,)
    teacher = made.fitted.learned["teachers"].index(chosen["teacher"])
    np.testing.assert_array_equal(made.kept["cached.bias"][0], made.weights[chosen["network"]]["cached.bias"][teacher])
    assert len(made.trained.features) == OPEN_WIDTH
    assert policies["ranges"] == made.fitted.learned["ranges"]


def test_thresholds_part_the_outputs_and_admit_all_and_nothing_at_their_ends(made: MadeCaching) -> None:
    curve = made.trained.calibration["thresholds"]
    values = [row["threshold"] for row in curve]
    assert values == sorted(set(values)) and (values[0], values[-1]) == (ADMIT_ALL, ADMIT_NONE)
    assert len(values) <= JUDGE.judge.thresholds
    written = [row["ssd_writes"] for row in curve]
    assert written == sorted(written, reverse=True) and written[0] > 2 * written[-1]


@pytest.mark.parametrize("logit", [-6.0, 6.0])
def test_a_model_whose_best_threshold_no_fixed_grid_has_gets_it(
    made: MadeCaching, parts: list[FitTrace], logit: float
) -> None:
    usual = again(made, parts[1].part)
    alone = made.fitted.model_copy(update={"learned": {**made.fitted.learned, "teachers": [usual.chosen.teacher]}})
    place = made.fitted.learned["teachers"].index(usual.chosen.teacher)
    networks = [one_teacher(own, place) for own in moved(made, logit)]
    found = choose(alone, networks, [parts[1].part], True, JUDGE)
    assert found.chosen.threshold < 0.05 if logit < 0 else found.chosen.threshold > 0.6
    best = max(row["hit_ratio"] for row in usual.curve)
    assert max(row["hit_ratio"] for row in found.curve) == pytest.approx(best, abs=0.003)


def test_the_verdict_is_on_the_mean_over_seeds(made: MadeCaching, parts: list[FitTrace]) -> None:
    figures, part = made.trained.validation, parts[1].part
    each = []
    for network in range(5):
        rows = [row for row in made.trained.calibration["candidates"] if row["network"] == network]
        best = max(rows, key=lambda row: (row["hit_ratio"], row["threshold"]))
        place = made.fitted.learned["teachers"].index(best["teacher"])
        model = made.trained.model_copy(
            update={"policy": {**made.trained.policy, "queues": best["queues"]}, "calibration": best}
        )
        capacity = capacity_pages(JUDGE.manager.capacity, part.pages.n_pages)
        serving = serving_of(model, one_teacher(made.weights[network], place))
        hits = serving.run(batch_of(part.trace), part.pages, [serving.cache(capacity)]).hits(0)
        each.append(halves(hits[first_access(part.pages) :])[1].mean())
    assert figures["seeds"] == 5
    assert figures["seeds_hit_ratio_sd"] == pytest.approx(np.std(each, ddof=1))
    # The network that is shipped acts by the size that it sees, the others by one threshold.
    shipped = made.trained.calibration["network"]
    place = made.fitted.learned["teachers"].index(made.trained.calibration["teacher"])
    serving = serving_of(made.trained, one_teacher(made.weights[shipped], place))
    hits = serving.run(batch_of(part.trace), part.pages, [serving.cache(capacity)]).hits(0)
    each[shipped] = halves(hits[first_access(part.pages) :])[1].mean()
    assert figures["seeds_hit_ratio_mean"] == pytest.approx(np.mean(each))
    assert figures["hit_ratio"] == pytest.approx(each[shipped])
    lead = np.mean(each) - figures["chosen_classic_hit_ratio"]
    assert figures["difference_low"] < lead < figures["difference_high"]


def test_fewer_than_five_seeds_promote_nothing(made: MadeCaching, parts: list[FitTrace]) -> None:
    for networks, said in ((1, "one seed"), (4, "4 seeds")):
        found = again(made, parts[1].part, networks)
        assert found.figures["difference_low"] > 0 and not found.beats
        assert f"not promoted: {said}, and a verdict takes 5 (fit.caching.seeds)" in found.reason
    assert found.figures["seeds_hit_ratio_sd"] is not None
    assert again(made, parts[1].part, 1).figures["seeds_hit_ratio_sd"] is None
    assert again(made, parts[1].part).beats


def test_a_lead_of_one_lucky_seed_is_no_lead() -> None:
    classic = np.tile([1, 0, 0, 0], 500).astype(np.uint8)
    poor, lucky = np.tile([0, 0, 0, 1, 0], 400).astype(np.uint8), np.ones(2000, np.uint8)
    found = lead_of([[poor], [poor], [poor], [poor], [lucky]], [classic])
    assert found.value == pytest.approx(0.36 - 0.25) and not found.worth(0.0)
    assert lead_of([[lucky]] * 5, [classic]).low == pytest.approx(0.75)


def test_an_oracle_below_the_best_classic_is_said(parts: list[FitTrace], made: MadeCaching) -> None:
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


def test_what_is_chosen_by_response_waits_least_and_by_writes_writes_least(
    made: MadeCaching, parts: list[FitTrace]
) -> None:
    part = parts[1].part
    # Writes alone are slow on the disk: what the oracle of hits does not weigh.
    times = np.where(part.trace.op == 1, 90_000.0, 200.0), np.full(len(part.trace), 100.0)

    def chosen(objective: Objective) -> Choice:
        options = JUDGE.judge.model_copy(update={"objective": objective, "capacities": [0.1, 0.2]})
        return choose(made.fitted, made.weights[:1], [part], True, replace(JUDGE, judge=options), {part.key: times})

    found = {objective: chosen(objective) for objective in get_args(Objective)}

    def row(objective: Objective) -> dict[str, Any]:
        return next(one for one in found[objective].curve if one["threshold"] == found[objective].chosen.threshold)

    assert row("response")["response_us"] == min(one["response_us"] for one in found["response"].curve)
    assert row("response")["response_us"] <= row("hits")["response_us"]
    assert row("writes")["ssd_writes"] <= row("hits")["ssd_writes"]
    assert row("writes")["hit_ratio"] >= row("hits")["hit_ratio"] - JUDGE.judge.least_gain
    simulation = Simulator(part.trace, part.pages).run("lru", 50, first_access(part.pages))
    served = ServiceTimes.of(part.trace, *times)
    assert simulation.mean_response_us(served) > row("response")["response_us"] > 0
