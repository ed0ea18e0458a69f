"""Admissions to a flash cache of objects: what is learned, when it is ahead, and what is said where it cannot be."""

import sys
from dataclasses import replace

import numpy as np
import pytest

from cachezoo.cli import objects
from cachezoo.cli.objects import leads_of
from cachezoo.coded import Coded
from cachezoo.contest.choice import Goal, Outcome
from cachezoo.contest.verdict import Verdict
from cachezoo.errors import ConfigError
from cachezoo.kernels.flash import DiskHead
from cachezoo.kernels.outcome import ADMITTED, HIT
from cachezoo.questions.flash.options import WriteRate
from cachezoo.questions.objects import flash
from cachezoo.questions.objects.bench import ObjectBench, Rules
from cachezoo.questions.objects.flash import ObjectFlashRow, ObjectLead, object_flash
from cachezoo.sizes import Size
from cachezoo.traces.objects import ObjectTrace
from cachezoo.traces.table import TraceMeta

RATE, SIZE = WriteRate("25%", None, 0.25), Size.parse("10%")


def trace(n=12_000, seed=4, sizes=1, lives=(10, 2)):
    """Objects of two kinds in namespaces of their own, half of the requests each; 50 of a kind live at a time.

    Args:
        n: requests.
        seed: of the draws.
        sizes: how many there are; of one, a size tells nothing.
        lives: requests for an object of either kind; of equal ones, a namespace tells nothing.
    """
    draw = np.random.default_rng(seed)
    first = draw.random(n) < 0.5
    key = np.zeros(n, np.int64)
    for kind, own in enumerate((first, ~first)):
        turn, place = np.divmod(np.arange(own.sum()), 50)
        key[own] = 10_000 * kind + (turn + place * lives[kind] // 50) // lives[kind] * 50 + place
    space = np.where(first, key % 3, 3 + key % 3).astype(np.int32)
    return ObjectTrace(
        time_us=np.arange(n) * 1000, op=(draw.random(n) < 0.1).astype(np.uint8), key=key,
        size=5000 + key * 7919 % 9000 % sizes, meta=TraceMeta("t", "x", "x", ""),
        namespace=Coded(space, ("a", "b", "c", "d", "e", "f")),
    )  # fmt: skip


def ran(own, policies=("baleen",), rates=(RATE,), share=0.1):
    bench = ObjectBench(own)
    return object_flash(bench, int(share * bench.whole), rates, policies, DiskHead())


def sentences(found):
    """The sentences of one size."""
    return leads_of(ObjectBench(trace(100)), {SIZE: found})


@pytest.fixture(scope="module")
def found():
    return ran(trace(), ("accept_all", "baleen"))


def test_baleen_is_ahead_where_the_namespace_tells_what_returns(found):
    assert [row.admission for row in found.rows] == ["accept_all", "baleen", "coin_flip", "rejectx", "by_size"]
    lead = found.leads[-1]
    assert lead.ours.admission == "baleen" and lead.ahead and lead.verdict == Verdict.BETTER
    assert lead.rival.chosen_by == min(row.chosen_by for row in found.rows if row.admission in flash.UNTRAINED)
    assert lead.ours.written_share < 0.3
    assert lead.values()["ahead"] and "not ahead" not in " ".join(sentences(found))


def test_where_sizes_differ_an_admission_by_size_is_the_rival(monkeypatch):
    """A small object saves as much of a disk's time as a large one, for fewer bytes written."""
    monkeypatch.setattr(flash, "SEEDS", 2)
    found = ran(trace(sizes=9000, lives=(3, 3)))
    assert found.leads[0].ours.admission == found.leads[-1].rival.admission == "by_size"
    assert not found.leads[-1].ahead and "run by_size, which needs no model" in " ".join(sentences(found))


def test_a_knob_without_a_setting_near_the_rate_is_marked(capsys):
    bench = ObjectBench(trace(3000))
    found = object_flash(bench, bench.whole // 10, (RATE,), ("coin_flip", "by_size"), DiskHead())
    assert [row.reached for row in found.rows] == [True, False]
    objects._print_flash("t", bench, {SIZE: found})
    said = capsys.readouterr().out
    assert said.count("% *") == 1 and "* no setting comes close to the rate" in " ".join(said.split())


def test_knobs_meet_the_rate_where_they_are_set():
    own = trace(sizes=9000)
    bench = ObjectBench(own)
    found = object_flash(bench, int(0.1 * bench.whole), (RATE,), ("coin_flip",), DiskHead()).rows[0]
    half, cut = len(own) // 2, int(flash.TRAINED_ON * (len(own) // 2))
    wrote = []
    for policy in ("lru", found.policy):
        run = bench.run(policy, int(0.1 * bench.whole)).found
        writes = (run.outcome == ADMITTED) | ((run.outcome == HIT) & (own.op == 1))
        wrote.append(int(own.size[cut:half][writes[cut:half]].sum()))
    assert found.reached and wrote[1] == pytest.approx(0.25 * wrote[0], rel=0.025)
    with pytest.raises(ConfigError, match="less than the smallest object"):
        object_flash(bench, 100_000, (WriteRate("1B/s", 1.0, 0.0),), ("coin_flip",), DiskHead())


def test_the_row_is_the_mean_of_the_seeds(found):
    row = next(row for row in found.rows if row.admission == "baleen")
    assert len(row.trainings) == flash.SEEDS
    assert row.mean == pytest.approx(np.mean([own.mean for own in row.trainings]))
    assert row.blocks == pytest.approx(np.mean([own.blocks for own in row.trainings], axis=0))
    assert row.values()["disk_seconds_by_seed"] == [own.mean for own in row.trainings]


def test_new_names_and_a_second_run_change_no_figure(monkeypatch):
    monkeypatch.setattr(flash, "SEEDS", 2)
    own = trace(6000)
    draw = np.random.default_rng(9)
    keys = np.unique(own.key)
    place = draw.choice(2**62, len(keys), replace=False)
    turn = draw.permutation(6).astype(np.int32)
    renamed = replace(
        own, key=place[np.searchsorted(keys, own.key)],
        namespace=Coded(turn[own.namespace.codes], tuple(f"space {97 - k}" for k in range(6))),
    )  # fmt: skip
    first = ran(own).values()
    assert ran(renamed).values() == ran(own).values() == first


def test_the_second_half_teaches_nothing(monkeypatch):
    monkeypatch.setattr(flash, "SEEDS", 1)
    own, scores = trace(), []
    fit = flash.fit_scores

    def kept(*given):
        scores.append(fit(*given))
        return scores[-1]

    monkeypatch.setattr(flash, "fit_scores", kept)
    half = len(own) // 2
    other = np.where(np.arange(len(own)) < half, own.key, 20_000 + np.arange(len(own)))
    for one in (own, replace(own, key=other)):
        ran(one, share=0.1 if one is own else 0.1 * ObjectBench(own).whole / ObjectBench(one).whole)
    assert (scores[0][0][:half] == scores[1][0][:half]).all()


def row(admission, blocks, written_share=0.2, trainings=()):
    blocks = np.asarray(blocks, np.float64)
    return ObjectFlashRow(
        float(blocks.mean()), blocks, "25%", admission, admission, True, 0.5, 0.5, 1, written_share, None, None, 1.0,
        tuple(Outcome(float(np.mean(own)), np.asarray(own, np.float64)) for own in trainings),
    )  # fmt: skip


def test_a_lead_has_the_variance_of_time_and_of_the_seeds():
    draw = np.random.default_rng(2)
    rival = row("rejectx", 10 + draw.random(20))
    once = 8 + draw.random(20)
    plain = row("baleen", once).saves(rival)
    same = row("baleen", once, trainings=[once] * 5).saves(rival)
    assert (same.value, same.variance) == pytest.approx((plain.value, plain.variance))
    spread = row("baleen", once, trainings=[once + k for k in (-2, -1, 0, 1, 2)]).saves(rival)
    assert spread.value == pytest.approx(1 - once.mean() / rival.blocks.mean())
    between = np.var([-2, -1, 0, 1, 2], ddof=1) / 5 / rival.blocks.mean() ** 2
    assert spread.variance == pytest.approx(plain.variance + between)
    assert row("baleen", once, trainings=[once] * 5).saves(row("rejectx", np.zeros(20))).value == 0


@pytest.mark.parametrize(
    ("ours", "written", "ahead", "said"),
    [
        (7.0, 0.2, True, "saves 30.0 % of the disks' time of rejectx (better)"),
        (7.0, 0.4, False, "25.0 % are allowed: it is not ahead"),
        (9.9, 0.2, False, ": run rejectx, which needs no model"),
        (11.0, 0.2, False, "baleen takes 10.0 % more than rejectx (worse)"),
    ],
)
def test_it_is_ahead_only_if_that_is_worth_it_and_it_writes_no_more(ours, written, ahead, said):
    rival = row("rejectx", np.full(20, 10.0))
    own = row("baleen", np.full(20, ours), written, [np.full(20, ours)] * 2)
    lead = ObjectLead("25%", own, rival, own.saves(rival), 0.25)
    assert lead.ahead == ahead
    assert lead.lead.value == pytest.approx(Goal.COST.lead(ours, 10.0))
    found = flash.ObjectFlash(1, (own, rival), (lead,))
    assert said in sentences(found)[0].replace("\xa0", " ")


def test_without_lightgbm_it_is_left_out_and_said(monkeypatch):
    monkeypatch.setitem(sys.modules, "lightgbm", None)
    found = ran(trace(3000))
    assert [row.admission for row in found.rows] == ["coin_flip", "rejectx", "by_size"]
    assert "lightgbm is not installed" in found.left_out[0] and found.left_out[0] in sentences(found)


def test_too_short_a_trace_is_not_learned_from():
    found = ran(trace(900))
    assert "baleen at 25% is left out: 450 requests in the first half: too few" in found.left_out[0]
    assert found.values()["left_out"] == list(found.left_out)


def test_deletes_expiry_and_writes_around_are_heeded(monkeypatch):
    monkeypatch.setattr(flash, "SEEDS", 1)
    own, draw = trace(6000), np.random.default_rng(1)
    own = replace(own, op=draw.choice([0, 0, 0, 1, 2], 6000).astype(np.uint8), ttl_s=draw.choice([0, 1, 3], 6000))
    for rules in (Rules(), Rules(around=True), Rules(deletes=False, ttl=False)):
        bench = ObjectBench(own, rules)
        found = object_flash(bench, bench.whole // 20, [RATE], ["baleen"], DiskHead())
        assert not found.left_out
        assert 0 < found.rows[0].written_share < 1


def test_a_rate_in_bytes_needs_a_clock():
    own = replace(trace(3000), time_us=np.zeros(3000, np.int64))
    with pytest.raises(ConfigError, match="the trace has no clock"):
        ran(own, rates=[WriteRate("1MB/s", 1e6, 0.0)])
    timed = ran(trace(3000), ("accept_all", "rejectx"), [WriteRate("1MB/s", 1e6, 0.0)])
    assert timed.rows[1].rate == "1MB/s"
