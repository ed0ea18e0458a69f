"""From train traces to the verdict and the test traces, on generated page accesses."""

from dataclasses import replace

import numpy as np
import pytest

from cachezoo.coded import Coded
from cachezoo.contest.blocks import block_means
from cachezoo.contest.lead import ahead
from cachezoo.errors import TrainingError
from cachezoo.traces.pages import expand_pages
from cachezoo.traces.table import OP_READ, Trace, TraceMeta
from cachezoo.zoo.virtual import evaluate, fit, judge
from cachezoo.zoo.virtual.case import Case, Run, window_of
from cachezoo.zoo.virtual.metrics import Setting, VirtualMetrics, VirtualModel
from cachezoo.zoo.virtual.settings import Fit, Judge, Model

FRAGMENT, CAPACITY = 4, 40
FIT = Fit(queues=["lru", "lfu", "arc"], pages=[64, 256])
JUDGE = Judge(
    paper={"runs": 2, "decay": 0.95, "quantum": 100}, seeds=2, trials=10, most_runs=4, decay=[0.0, 1.0],
    quantum=[20, 400], cost=[0.0, 2.0], most_transfers=1.05, least_gain=0.005, window=200, steady=0.95,
)  # fmt: skip
SEED = 7


def trace(pages: np.ndarray, key: str) -> Trace:
    """Reads of one page each, a millisecond apart."""
    n = len(pages)
    return Trace(
        np.arange(n, dtype=np.int64) * 1000, np.full(n, OP_READ, np.uint8), pages.astype(np.int64) * 4096,
        np.full(n, 4096, np.int64), Coded(np.zeros(n, np.int32), ("sda",)),
        TraceMeta(key, "database", "csv", "0" * 64),
    )  # fmt: skip


def case(pages: np.ndarray, key: str) -> Case:
    own = trace(pages, key)
    return Case(key, CAPACITY, 0, len(pages), own, expand_pages(own), FRAGMENT)


def loop(key: str, n: int = 3000) -> Case:
    """The same 120 pages in turns: every page comes back when it is far from the head."""
    return case(np.arange(n) % 120, key)


def popular(key: str, seed: int, n: int = 4000) -> Case:
    """Few pages are asked for often, in between pages that come once: frequency tells, recency does not."""
    draws = np.random.default_rng(seed)
    pages = np.where(draws.random(n) < 0.35, draws.integers(0, 45, n), 1000 + np.arange(n))
    return case(pages, key)


def settings(own: Judge = JUDGE) -> judge.Settings:
    return judge.Settings(own, FIT, "vrm", 0.1, {})


def fitted(cases: list[Case], folder) -> fit.FittedModel:
    model, profiles = fit.fit_prepared("database", cases, fit.Settings(Model(arch="vrm", fragment=4), FIT, {}, 1), {})
    folder.mkdir(parents=True, exist_ok=True)
    fit.write_profiles(profiles, folder)
    return model


def test_a_profile_is_the_mean_of_the_train_traces_with_each_one_s_own_kept(tmp_path):
    one, two = loop("a"), popular("b", 1)
    model = fitted([one, two], tmp_path)
    assert model.trained and model.learned["references"] == [3000, 4000]
    mean = fit.read_profile(tmp_path, model, "lru", 256)
    each = [np.bincount(b.moves("lru", 256).position.clip(0) // 4, minlength=64) for b in (one, two)]
    rows = np.frombuffer((tmp_path / "profiles/lru.256.bin").read_bytes(), "<f8").reshape(2, 64)
    assert rows[0, 119 // 4] == (3000 - 120) / 3000
    assert np.allclose(rows[1, 1:], each[1][1:] / 4000) and np.allclose(mean, rows.mean(axis=0))
    # A queue of 64 pages never has a page of the loop when it comes back.
    assert np.frombuffer((tmp_path / "profiles/lru.64.bin").read_bytes(), "<f8")[:16].sum() == 0


def test_profiles_hang_on_train_traces_alone_and_bad_ones_are_refused(tmp_path):
    model = fitted([loop("a")], tmp_path)
    (tmp_path / "profiles/arc.64.bin").write_bytes(b"12345678")
    with pytest.raises(TrainingError, match="has 8 bytes, not those of 1 traces and 16 fragments"):
        fit.read_profile(tmp_path, model, "arc", 64)
    with pytest.raises(TrainingError, match="cannot be read"):
        fit.read_profile(tmp_path, model, "arc", 128)
    with pytest.raises(TrainingError, match="no multiple of model"):
        fit.learn([loop("a")], FIT, 7)
    with pytest.raises(TrainingError, match="train"):
        fit.fit_prepared("database", [], fit.Settings(Model(arch="vrm", fragment=4), FIT, {}, 1), {})


def test_pages_that_never_come_back_train_nothing(tmp_path):
    model = fitted([case(np.arange(500), "once")], tmp_path)
    assert not model.trained and model.reason.startswith("no page of the train traces is asked again")
    verdict, judged, chosen = judge.judge(model, tmp_path, [loop("v")], settings())
    assert chosen is None and judged.reason == model.reason and not verdict.beats_baseline


def test_the_paper_s_settings_hit_a_loop_and_save_no_transfer(tmp_path):
    own = loop("v")
    run = own.virtual(Setting(queue="lru", pages=256, runs=2, decay=0.95, quantum=100, cost=0.0))
    plain = own.plain("lru")
    assert plain.hit_ratio == 0 and run.hit_ratio > 0.8
    assert run.transfers >= plain.transfers - 0.01
    assert int(run.moved.sum()) == run.allocation + run.fragmentation
    held = own.virtual(Setting(queue="lru", pages=256, runs=2, decay=0.95, quantum=100, cost=2.0))
    assert held.hit_ratio == 0 and held.transfers == 1.0


def test_the_head_alone_is_plain_lru():
    own = popular("v", 3)
    assert np.array_equal(own.head("lru", 256).hit, own.plain("lru").hit)


def test_a_limit_of_transfers_holds_and_none_lets_the_loop_be_hit(tmp_path):
    model = fitted([loop("t")], tmp_path)
    _, held, chosen = judge.judge(model, tmp_path, [loop("v")], settings())
    assert chosen is not None and all(one.transfers <= held.limit for one in held.searches)
    free = JUDGE.model_copy(update={"most_transfers": 5.0})
    verdict, judged, chosen = judge.judge(model, tmp_path, [loop("v")], settings(free))
    assert chosen is not None and verdict.beats_baseline and verdict.validation["difference_low"] > 0.5
    assert judged.searches[0].hit_ratio > 0.8 and verdict.validation["hit_ratio"] > 0.8
    assert "interval of the lead" in verdict.reason and verdict.calibration["plain_policy"] in FIT.queues


def test_a_lead_is_that_of_the_judging_blocks_over_the_best_plain_policy(tmp_path):
    model = fitted([popular("t", 1)], tmp_path)
    own = popular("v", 2)
    verdict, judged, chosen = judge.judge(model, tmp_path, [own], settings())
    assert chosen is not None
    rival = max(judged.plain, key=judged.plain.get)
    assert verdict.calibration["plain_policy"] == rival == "lfu"
    parts = [np.array_split(run.hit, 40)[1::2] for run in (chosen.run(own), own.plain(rival))]
    mine, theirs = (np.concatenate(part) for part in parts)
    assert verdict.validation["hit_ratio"] == mine.mean() and verdict.validation["plain_hit_ratio"] == theirs.mean()
    lead = ahead(block_means(mine, 20), block_means(theirs, 20))
    assert (verdict.validation["difference_low"], verdict.validation["difference_high"]) == pytest.approx(lead.ends)
    assert verdict.beats_baseline == lead.worth(0.005)


def test_each_of_several_traces_is_halved_by_itself(tmp_path):
    model = fitted([popular("t", 1)], tmp_path)
    own = [popular("v", 2, n=4000), popular("w", 3, n=2730)]
    verdict, judged, chosen = judge.judge(model, tmp_path, own, settings())
    assert chosen is not None
    rival = verdict.calibration["plain_policy"]

    def ratio(runs: list[Run], first: int) -> float:
        return np.concatenate([part for run in runs for part in np.array_split(run.hit, 40)[first::2]]).mean()

    ran = [chosen.run(one) for one in own]
    plain = {queue: [one.plain(queue) for one in own] for queue in FIT.queues}
    said = verdict.validation
    assert judged.plain == {queue: ratio(runs, 0) for queue, runs in plain.items()}
    assert said["hit_ratio"] == ratio(ran, 1) and said["plain_hit_ratio"] == ratio(plain[rival], 1)
    assert said["head_hit_ratio"] == ratio([one.head(chosen.setting.queue, chosen.setting.pages) for one in own], 1)
    # Transfers are means over the traces, as the limit is, however long each trace is.
    transfers = [np.mean([run.transfers for run in runs]) for runs in (ran, plain[rival])]
    assert [said["transfers"], said["plain_transfers"]] == pytest.approx(transfers, abs=1e-12)
    assert judged.limit == pytest.approx(JUDGE.most_transfers * transfers[1], abs=1e-12)


def test_no_page_access_both_chooses_and_judges_and_each_does_one():
    runs = [Run(np.zeros(n, bool), np.arange(n, dtype=np.int32) + begin) for begin, n in ((0, 1000), (1000, 333))]
    choosing, judging = (judge.joined_half(runs, judging=half).moved.tolist() for half in (False, True))
    assert sorted(choosing + judging) == list(range(1333))
    assert choosing == [*runs[0].half(judging=False).moved, *runs[1].half(judging=False).moved]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"pages": [256, 64]}, "they must rise"),
        ({"pages": [64, 64]}, "they must rise"),
        ({"queues": ["lru", "lru"]}, "each once"),
    ],
)
def test_lengths_of_queues_rise_and_queues_are_named_once(change, said):
    with pytest.raises(ValueError, match=said):
        Fit(**{**FIT.model_dump(), **change})


def test_a_limit_that_nothing_keeps_promotes_nothing_and_says_so(tmp_path):
    model = fitted([loop("t")], tmp_path)
    tight = JUDGE.model_copy(update={"most_transfers": 0.01})
    verdict, judged, _ = judge.judge(model, tmp_path, [popular("v", 2)], settings(tight))
    assert not verdict.beats_baseline and not any(one.allowed for one in judged.searches)
    assert verdict.reason.startswith("no setting tried stays within the limit of transfers; ")


def test_searches_are_the_same_for_a_seed_and_begin_with_the_paper_s_settings():
    own = [popular("v", 2)]
    space = judge.Space.of(own, FIT, JUDGE)
    one, again, other = (judge.search(space, own, 1.0, seed) for seed in (1, 1, 2))
    assert one == again and one != other and len(one) == JUDGE.trials
    assert [found.setting for found in one[:3]] == [space.paper(queue) for queue in FIT.queues]
    assert {found.setting.cost for found in one[:3]} == {0.0} and {found.setting.pages for found in one[:3]} == {256}


def test_of_equals_the_first_is_best_and_no_limit_broken_beats_one_kept():
    def tried(hit_ratio: float, transfers: float, allowed: bool = True, runs: int = 1) -> judge.Tried:
        setting = Setting(queue="lru", pages=64, runs=runs, decay=0.5, quantum=10, cost=0.0)
        return judge.Tried(setting=setting, hit_ratio=hit_ratio, transfers=transfers, allowed=allowed)

    first = tried(0.3, 0.7)
    assert judge.best([tried(0.9, 2.0, allowed=False), first, tried(0.3, 0.7, runs=2), tried(0.3, 0.8)]) is first
    assert judge.best([tried(0.9, 2.0, allowed=False), tried(0.1, 1.5, allowed=False)]).transfers == 1.5


@pytest.mark.parametrize(
    ("change", "said"),
    [({"pages": [8]}, "shorter than the cache"), ({"fragment": 50}, "no room for a fragment")],
)
def test_what_cannot_be_tried_is_not_judged(tmp_path, change, said):
    model = fitted([loop("t")], tmp_path)
    own = replace(loop("v"), fragment=change.get("fragment", FRAGMENT))
    change = {name: value for name, value in change.items() if name != "fragment"}
    given = judge.Settings(JUDGE, FIT.model_copy(update=change), "vrm", 0.1, {})
    verdict, judged, chosen = judge.judge(model, tmp_path, [own], given)
    assert chosen is None and said in judged.reason and verdict.reason == f"not judged: {judged.reason}"
    _, nothing, _ = judge.judge(model, tmp_path, [], settings())
    assert nothing.reason == "the category has no validation trace"


def candidates(cases: list[Case], model, folder, own: Judge = JUDGE) -> evaluate.Candidates:
    _, judged, chosen = judge.judge(model, folder, cases, settings(own))
    papers = {queue: judge.papers(queue, 256, 10, own.paper) for queue in FIT.queues}
    known = {queue: (one, fit.read_profile(folder, model, queue, one.pages)) for queue, one in papers.items()}
    return evaluate.Candidates(judged, chosen.setting, chosen.profile, known)


def test_the_test_trace_has_a_row_a_cache_and_transfers_add_up(tmp_path):
    model = fitted([loop("t")], tmp_path)
    free = JUDGE.model_copy(update={"most_transfers": 5.0})
    found = evaluate.evaluate(loop("x", 4000), candidates([loop("v")], model, tmp_path, free), free)
    names = [row.policy for row in found.rows]
    assert names == ["lru", "lfu", "arc", "vrm.lru", "vrm.lfu", "vrm.arc", "head", "tuned.cold", "tuned.warm"]
    for row in found.rows:
        assert row.transfers == pytest.approx(1 - row.hit_ratio + row.allocation + row.fragmentation)
    best = found.row(found.best_plain)
    assert (
        best.gain == 0
        and best.of_plain_transfers == 1
        and best.hit_ratio == max(row.hit_ratio for row in found.rows if row.kind == "plain")
    )
    assert [one.number for one in found.seeds] == [0, 1] and found.spread[1] is not None
    assert {(one.policy, one.start) for one in found.starts} >= {("tuned", "cold"), ("tuned", "warm")}
    model_said = VirtualModel(trained=True, promoted=True, reason="", validation={}, setting=None, start="cold")
    metrics = VirtualMetrics(category="database", reason="", traces={"x": found}, models={"m": model_said})
    assert metrics.headline("m")["hit_ratio"] == found.row("tuned.cold").hit_ratio
    assert "Virtual cache, database:" in metrics.summary() and "transfers a page access" in metrics.summary()


def test_a_trace_whose_cache_does_not_fit_is_left_out_with_the_reason(tmp_path):
    model = fitted([loop("t")], tmp_path)
    known = candidates([loop("v")], model, tmp_path)
    wide, narrow = replace(loop("wide"), size=300), replace(loop("narrow"), size=4)
    assert "wide: its cache of 300 pages is longer than a queue of " in known.unfit(wide)
    assert "narrow: its cache of 4 pages has no room for " in known.unfit(narrow) and not known.unfit(loop("x"))


def test_a_start_is_over_when_a_window_first_hits_enough():
    hit = np.array([False] * 100 + [True, False] * 150)
    run = Run(hit, np.zeros(len(hit), np.int32))
    assert run.settled == 0.5 and window_of(400, 1000) == 100 and window_of(2, 9) == 1
    assert run.reached(20, 0.95 * 0.5) == 119  # ten hits in the last twenty page accesses
    assert run.reached(20, 0.95 * 0.9) is None
    assert run.reached(20, 0.0) == 20
