"""What a user's own past brings: which parts are fitted, and that nothing of what is judged decides anything."""

from dataclasses import replace

import numpy as np
import pytest

from cachezoo.contest.lead import Mean
from cachezoo.contest.verdict import Worth
from cachezoo.errors import TraceError
from cachezoo.traces.pages import capacity_pages, expand_pages
from cachezoo.zoo.reuse import fit
from cachezoo.zoo.reuse.cache import policy_of
from cachezoo.zoo.reuse.retrained import rows_of_part
from cachezoo.zoo.reuse.trained import Trained, serve_all
from cachezoo.zoo.reuse.tried import ALL, NOTHING, Bench, Fitted, Tried, parts_of, sentence, table
from tests.reuse_data import FIT, JUDGE, MODEL, make_trace, part

HOUR_US = 3600 * 1_000_000


@pytest.mark.parametrize(
    "hours, names",
    [
        (1, ["the last eighth", "the last quarter", "the last half", ALL]),
        (20, ["the last hour", ALL]),
        (24 * 30, ["the last hour", "the last day", "the last week", ALL]),
    ],
)
def test_parts_go_as_far_as_the_trace_s_clock(hours: int, names: list[str]) -> None:
    trace = replace(make_trace(1000, 1), time_us=np.linspace(0, hours * HOUR_US, 1000).astype(np.int64))
    found = parts_of(trace, 700)
    assert [own.name for own in found] == names
    assert found[-1].first == 0 and {own.end for own in found} == {700}
    assert [own.first for own in found] == sorted((own.first for own in found), reverse=True)
    for own in found:
        lasted = trace.time_us[699] - trace.time_us[own.first]
        assert own.seconds == pytest.approx(lasted / 1e6)
        if own.name == "the last hour":
            assert lasted <= HOUR_US < trace.time_us[699] - trace.time_us[own.first - 1]


def test_a_pause_before_what_is_judged_leaves_no_part_empty() -> None:
    time_us = np.arange(1000) * 20 * 1_000_000
    time_us[700:] += 5 * HOUR_US
    found = parts_of(replace(make_trace(1000, 1), time_us=time_us), 700)
    assert [(own.name, own.first, own.seconds) for own in found] == [("the last hour", 519, 3600), (ALL, 0, 13_980)]


def test_a_second_may_stand_for_more_and_without_a_clock_parts_are_eighths() -> None:
    trace = make_trace(1000, 1)
    scaled = replace(trace, meta=replace(trace.meta, extra={"time_scale": "1000000"}))
    assert [own.name for own in parts_of(scaled, 700)] == ["the last hour", ALL]
    silent = parts_of(replace(trace, time_us=np.arange(1000)), 800)
    assert [(own.first, own.seconds) for own in silent] == [(700, None), (600, None), (400, None), (0, None)]


TRAINED = Trained({"type": "follow", **policy_of(MODEL.model_dump(), 1)}, 100.0)


def test_every_fit_is_judged_on_the_last_part_against_a_rival_chosen_before() -> None:
    bench = Bench(part(4000, 8), 2800, JUDGE)
    zoo = fit.all_rows([part(6000, 1)], FIT)
    known = fit.learn(zoo, FIT, TRAINED.policy, TRAINED.weight)
    half = rows_of_part(bench.trace, 1400, 2800, FIT, 1)
    own = fit.learn(fit.joined([zoo, half]), FIT, TRAINED.policy, TRAINED.weight)
    found = bench.tried(TRAINED, known, [known, known, own, own])
    assert [row.name for row in found.rows] == [NOTHING, *(one.name for one in bench.parts)]
    starts = bench.trace.pages.request_start
    assert [row.accesses for row in found.rows][-2:] == [starts[2800] - starts[1400], starts[2800]]
    assert found.accesses == starts[-1] - starts[2800]
    first, last = found.rows[0], found.rows[-1]
    runs = serve_all(bench.trace, bench.capacity, own, TRAINED.policy)
    hits = [run.run.outcome[starts[2800] :] == 2 for run in runs]
    assert last.hit_ratio == pytest.approx(np.mean(hits))
    assert found.rows[1].over_zoo == Mean(0.0, 0.0, np.inf)
    assert last.over_zoo is not None and last.over_zoo.value == pytest.approx(last.hit_ratio - first.hit_ratio)
    for row in found.rows:
        assert row.over_rival.value == pytest.approx(row.hit_ratio - found.rival_hit_ratio)
    assert sentence(found).count("[") == 2 and len(table(found).rows) == 5


def test_what_is_judged_is_neither_fitted_nor_chooses_the_rival() -> None:
    own = part(4000, 8)
    order = np.append(np.arange(2800), np.arange(3999, 2799, -1))
    trace = replace(own.trace, offset=own.trace.offset[order], size=own.trace.size[order])
    changed = replace(own, trace=trace, pages=expand_pages(trace))
    benches = [Bench(one, 2800, JUDGE) for one in (own, changed)]
    known = fit.learn(fit.all_rows([part(6000, 1)], FIT), FIT, TRAINED.policy, TRAINED.weight)
    mine, theirs = (bench.tried(TRAINED, known, [known] * 4) for bench in benches)
    assert mine.rival == theirs.rival and mine.rival_hit_ratio != theirs.rival_hit_ratio
    for one, other in zip(*(bench.rows(FIT) for bench in benches), strict=True):
        for column, same in zip(one, other, strict=True):
            np.testing.assert_array_equal(column, same)


def test_rows_of_a_part_are_drawn_for_the_cache_of_the_whole_trace() -> None:
    own = part(3000, 5)
    capacity = capacity_pages(FIT.fit.capacities[0], own.pages.n_pages)
    accesses = int(own.pages.request_start[1000])
    assert 0 < accesses - 4 * capacity < FIT.fit.rows  # all whose next use is settled are drawn
    assert len(rows_of_part(own, 0, 1000, FIT, 1).target) == accesses - 4 * capacity


def test_too_little_to_judge_is_refused() -> None:
    with pytest.raises(TraceError, match=r"trace1: its last part has \d+ page accesses, too few to judge"):
        Bench(part(200, 1), 150, JUDGE)


@pytest.mark.parametrize(
    "zoo, rival, worth, told",
    [
        (0.02, 0.03, Worth.YES, "Worth it: "),
        (0.02, 0.0, Worth.UNSURE, "Not shown to be worth it: "),
        (0.02, -0.03, Worth.NO, "Not worth it: "),
        (0.0, 0.03, Worth.UNSURE, "Not shown to be worth it: "),
    ],
)
def test_it_is_worth_it_where_all_of_the_past_is_ahead_of_the_zoo_and_of_the_rival(
    zoo: float, rival: float, worth: Worth, told: str
) -> None:
    spread = (0.004**2, 3.0)
    rows = [
        Fitted(NOTHING, None, 0, 0.5, None, Mean(rival - zoo, *spread)),
        Fitted("the last hour", 3600.0, 10, 0.6, Mean(0.2, *spread), Mean(0.2, *spread)),
        Fitted(ALL, 7200.0, 20, 0.5 + zoo, Mean(zoo, *spread), Mean(rival, *spread)),
    ]
    found = Tried("day", 100, 5000, 40, "lirs", 0.5 + zoo - rival, 0.005, rows)
    assert found.worth == worth
    assert sentence(found).startswith(told) and "lirs, the best of 40 ways" in sentence(found)
