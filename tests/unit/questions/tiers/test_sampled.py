"""Hierarchies on a sample of a trace against the whole of it."""

from dataclasses import replace

import numpy as np
import pytest

from cachezoo.contest.choice import Goal
from cachezoo.contest.sampled import GROUPS
from cachezoo.errors import ConfigError
from cachezoo.questions.tiers.advice import advise
from cachezoo.questions.tiers.bench import ESTIMATED, NOTHING, Bench
from cachezoo.questions.tiers.budget import Point
from cachezoo.questions.tiers.hierarchy import parse_by, parse_hierarchy
from cachezoo.questions.tiers.options import SizeOptions
from cachezoo.questions.tiers.purchase import Terms
from cachezoo.questions.tiers.sentences import lines
from cachezoo.settings.prices import BUILT_IN
from cachezoo.traces.sampling import Plan, sampled
from tests.tiers_data import DEVICE, PAGE, skewed

TRACE = replace(skewed(n=60_000, pages=12_000).trace, latency_us=np.full(60_000, 2_600, np.int64))
POINTS = [
    NOTHING,
    *(Point(parse_hierarchy(text), ram, ssd) for text, ram, ssd in (
        ("lru", 1_500, 0), ("lru | lru", 400, 3_000), ("promotion: arc | s3fifo", 400, 3_000),
        ("hcalfu | tb=64K | lru", 400, 3_000),
    )),
]  # fmt: skip
WHOLE = Bench.of_trace("t", TRACE, DEVICE, BUILT_IN)


def bench_of(rate, seed):
    return Bench.of_trace("t", sampled(TRACE, Plan(rate, None, seed, PAGE)), DEVICE, BUILT_IN)


def test_a_follower_too_large_for_a_sample_names_the_size_that_was_given():
    point = Point(parse_hierarchy("follow(experts=lru|arc, sample=0.1)"), 800, 0)
    assert WHOLE.run(point).ram_pages == 800
    with pytest.raises(ConfigError, match=r"sample=0.1\): a cache of 800 pages is too small in the sample"):
        bench_of(0.3, 1).run(point)


def test_a_sample_counts_from_the_same_access_of_the_whole_trace_on_and_waits_as_long():
    bench = bench_of(0.3, 1)
    assert bench.footprint == pytest.approx(WHOLE.footprint, rel=0.01) and bench.accesses == WHOLE.accesses
    assert WHOLE.first <= bench.counted_from < WHOLE.first + 30
    assert (bench.depth, bench.loop) == (WHOLE.depth, WHOLE.loop) == (3, "closed")
    assert bench.reads_counted == pytest.approx(int(WHOLE.reads.sum()), rel=0.01)
    head = bench.head()
    assert head.accesses == pytest.approx(WHOLE.head().accesses, abs=30)
    assert head.reads_counted == pytest.approx(WHOLE.head().reads_counted, rel=0.01)


def test_the_whole_traces_figures_lie_within_the_bars_about_as_often_as_they_say():
    truth, within = [WHOLE.score(point) for point in POINTS], []
    for seed in range(4):
        bench = bench_of(0.3, seed)
        for exact, point in zip(truth, POINTS, strict=True):
            found = bench.score(point)
            assert set(found.errors) == set(ESTIMATED) and len(found.groups) == GROUPS
            assert found.mean == pytest.approx(found.tiered.amat_us) == pytest.approx(exact.mean, rel=0.1)
            for name in ("waits", "written_a_day"):
                ours, theirs = getattr(bench, name)(found.tiered), getattr(WHOLE, name)(exact.tiered)
                assert ours == pytest.approx(theirs, rel=0.1)
            ours, theirs = (own.load(one.tiered.ssd_busy, one.tiered) for own, one in ((bench, found), (WHOLE, exact)))
            assert ours == pytest.approx(theirs, rel=0.15)
            within += [
                abs(getattr(found.tiered, name) - getattr(exact.tiered, name)) <= found.errors[name] + 1e-12
                for name in ("amat_us", "rhr", "shr", "dhr")
            ]
    assert np.mean(within) >= 0.8


def test_of_all_blocks_the_figures_are_those_of_the_whole_trace():
    """But for errors, which a trace that is no sample has none of."""
    bench = bench_of(1.0, 0)
    for point in POINTS:
        ours, theirs = bench.score(point), WHOLE.score(point)
        assert ours.tiered.dhr == pytest.approx(theirs.tiered.dhr, rel=0.02)  # pages were counted to about a thousandth
        assert ours.mean == pytest.approx(theirs.mean, rel=0.02) and not theirs.errors


def test_what_is_sure_of_two_on_one_sample_is_surer_than_of_each():
    nothing, pair = (bench_of(0.3, 2).score(point) for point in (NOTHING, POINTS[2]))
    alone = replace(pair, groups=None).lead(replace(nothing, groups=None), Goal.COST)
    lead = pair.lead(nothing, Goal.COST)
    assert lead.value == alone.value and lead.variance > alone.variance


def test_advice_from_a_sample_is_near_that_of_all_and_says_how_near():
    options = SizeOptions(tuple(parse_by("lru,lru | lru")), terms=Terms(parts=True))
    whole = advise("t", TRACE, DEVICE, BUILT_IN, options, workers=1)
    found = advise("t", sampled(TRACE, Plan(0.4, None, 3, PAGE)), DEVICE, BUILT_IN, options, workers=1)
    assert found.all_ram.month == pytest.approx(whole.all_ram.month, rel=0.02)
    assert found.nothing.amat_us == pytest.approx(whole.nothing.amat_us, rel=0.05)
    assert found.answer.month == pytest.approx(whole.answer.month, rel=0.35)
    values = found.values()
    assert values["trace_sampled"] == found.bench.rate and "trace_sampled" not in whole.values()
    assert values["page_accesses"] == 60_000 and set(values["answer"]["errors_90"]) == set(ESTIMATED)
    said = " ".join(lines(found))
    assert "of the pages, chosen by a hash" in said and "that were read; the first half" in said
    assert "chosen by a hash" not in " ".join(lines(whole))


def test_a_sample_has_no_arrivals_for_an_open_loop():
    with pytest.raises(ConfigError, match="an open loop needs all arrivals, and a sample was read"):
        Bench.of_trace("t", sampled(TRACE, Plan(0.3)), DEVICE, BUILT_IN, loop="open")
