from pathlib import Path

import numpy as np
import pytest

from cachezoo.contest.blocks import BLOCKS, halves
from cachezoo.contest.counting import first_access
from cachezoo.kernels.outcome import HIT
from cachezoo.models.trained import TrainedModel, read_fitted
from cachezoo.policies.simulate import simulate
from cachezoo.zoo.reuse import judge
from cachezoo.zoo.reuse.cache import weighted
from cachezoo.zoo.reuse.judge import Scored
from cachezoo.zoo.reuse.model import load_reuse
from tests.reuse_data import JUDGE, part, write_model


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("reuse")
    write_model(path)
    return path


def hits(rate: float, seed: int) -> np.ndarray:
    return (np.random.default_rng(seed).random(8000) < rate).astype(np.uint8)


def judged(own: float, classic: float, seeds: int = 5, key: str = "one", allowed: float = 0.03) -> Scored:
    lists = [[hits(own - 0.05 * (k == 1), 10 * k + s) for s in range(seeds)] for k in range(2)]
    return Scored(key, allowed, lists, {"lru": hits(classic, 98), "lfu": hits(classic - 0.1, 99)}, hits(0.9, 97))


def test_the_verdict_wants_a_lead_that_seeds_and_blocks_do_not_explain() -> None:
    for own, classic, seeds, beats, said in (
        (0.5, 0.4, 5, True, "90 % interval"),
        (0.4, 0.4, 5, False, "no better than a classic"),
        (0.5, 0.4, 4, False, "4 seeds say nothing of the spread"),
    ):
        figures = judge.figures_of([judged(own, classic, seeds)], 0)
        found, reason = judge._verdict(figures, 0.005)
        assert (found, said in reason) == (beats, True), reason
        assert figures["difference_low"] <= figures["hit_ratio"] - figures["chosen_classic_hit_ratio"] + 1e-9
        assert figures["hit_ratio"] - figures["chosen_classic_hit_ratio"] <= figures["difference_high"] + 1e-9


def test_one_trace_below_the_floor_forbids_it() -> None:
    traces = [judged(0.6, 0.4), judged(0.33, 0.4, key="two")]
    figures = judge.figures_of(traces, 0)
    assert figures["difference_low"] > 0
    assert figures["above_floor"] == 0.5
    assert judge._verdict(figures, 0.005) == (False, pytest.approx(judge._verdict(figures, 0.005)[1]))
    assert "below its classic" in judge._verdict(figures, 0.005)[1]


def test_the_choosing_blocks_choose_and_the_others_do_not() -> None:
    trace = judged(0.5, 0.4)
    weight, seed = judge.choose([trace], JUDGE.judge)
    assert weight == 0
    assert seed == int(np.argmax([halves(own)[0].mean() for own in trace.own[0]]))
    flipped = [[own.copy() for own in row] for row in trace.own]
    cuts = np.array_split(np.arange(8000), 2 * BLOCKS)
    for row in flipped:
        for own in row:
            for cut in cuts[1::2]:
                own[cut] = 0
    assert judge.choose([Scored("one", 0.02, flipped, trace.classics, trace.optimum)], JUDGE.judge) == (weight, seed)


def test_counts_are_thinned_to_their_weight() -> None:
    events, risks = weighted([[10, 1]], [[1000, 50]], 100)
    assert events.tolist() == [[1.0, 1.0]]
    assert risks.tolist() == [[100.0, 50.0]]


def test_what_is_judged_is_what_is_kept(folder: Path) -> None:
    trained, serving = load_reuse(folder / "model")
    fitted = read_fitted(folder / "fitted", "reuse")
    own = part(6000, 3)
    found = judge.judge_trace(own, fitted, judge.scorers_of(folder / "fitted", fitted), JUDGE)
    from cachezoo.serving.requests import batch_of

    capacity = round(0.1 * own.pages.n_pages)
    served = serving.run(batch_of(own.trace), own.pages, capacity)
    warmup = first_access(own.pages)
    weight = JUDGE.judge.weights.index(trained.calibration["weight"])
    kept = found.own[weight][trained.calibration["forest"]]
    np.testing.assert_array_equal(kept, (served.followed.run.outcome[warmup:] == HIT).astype(np.uint8))
    lru = simulate(own.trace, own.pages, "lru", capacity, 0)
    np.testing.assert_array_equal(found.classics["lru"], (lru.outcome[warmup:] == HIT).astype(np.uint8))


def test_two_seeds_are_not_promoted(folder: Path) -> None:
    trained: TrainedModel = load_reuse(folder / "model")[0]
    assert not trained.promoted
    assert "2 seeds say nothing of the spread" in trained.reason


def test_without_validation_nothing_is_claimed(folder: Path) -> None:
    fitted = read_fitted(folder / "fitted", "reuse")
    verdict = judge.judge(fitted, judge.scorers_of(folder / "fitted", fitted), [], JUDGE)
    assert not verdict.beats_baseline
    assert "there is no validation trace" in verdict.reason


def test_a_gain_too_small_to_matter_is_not_promoted() -> None:
    figures = {**judge.figures_of([judged(0.5, 0.4)], 0), "hit_ratio": 0.403, "chosen_classic_hit_ratio": 0.4}
    assert judge._verdict(figures, 0.002)[0]
    promoted, reason = judge._verdict(figures, 0.005)
    assert not promoted and "a gain of 0.0030 is too small to matter" in reason


def test_the_rival_is_the_classic_that_the_choosing_blocks_choose() -> None:
    trace = judged(0.5, 0.4)
    cuts = np.array_split(np.arange(8000), 2 * BLOCKS)
    for name, judging in (("choosing", 0), ("judging", 1)):
        own = np.zeros(8000, np.uint8)
        own[np.concatenate(cuts[judging::2])] = 1
        trace.classics[name] = own
    assert (trace.rival, trace.best) == ("choosing", "judging")
    assert judge.figures_of([trace], 0)["chosen_classic_hit_ratio"] == 0
