import pytest

from cachezoo.errors import CachezooError
from lab.rcrnn.caches import (
    BEST,
    FIGURES,
    FREE,
    LARC,
    ORACLE,
    OURS,
    PAPER,
    Bench,
    Models,
    cache_size,
    hit_ratio,
    normalised,
    replacements,
    response,
    writes,
)
from lab.rcrnn.caches_plot import draw, table
from tests.lab.figures_data import HITS, MODEL_ID, PAPER_ID, SHAPES, bench, cells, runs

GOLDEN = """\
trace | size | best classic is | LRU | Access | LARC | ReCA | best classic | caching LSTM | the paper's network | Oracle
web_test | 10 % | sieve | 7.5 % | 15.0 % | 3.8 % | 11.2 % | 18.8 % | 30.0 % | 22.5 % | 37.5 %
web_test | 20 % | sieve | 10.0 % | 20.0 % | 5.0 % | 15.0 % | 25.0 % | 40.0 % | 30.0 % | 50.0 %"""


def said(figure):
    return [(one.ours, one.own_size, one.verdict) for one in figure.findings]


def close(*values):
    return pytest.approx(values) if len(values) > 1 else pytest.approx(values[0])


def test_hits_beside_the_rivals_and_the_oracle():
    assert said(hit_ratio(bench())) == [
        (close(8), close(8), "holds"), (close(2), close(2), "holds"), (close(0.2), close(0.15), "holds"),
    ]  # fmt: skip
    assert said(normalised(bench())) == [
        (close(0.8), close(0.8), "does not hold"), (close(0.8), close(0.8), "does not hold"),
        (close(0.4), close(0.4), "holds"),
    ]  # fmt: skip
    assert all(point.cache != ORACLE for point in normalised(bench()).points)


def test_the_paper_s_network_is_held_against_the_same_caches():
    first, second, third = hit_ratio(bench()).published
    assert (first.ours, second.ours, third.ours) == (close(6), close(1.5), close(0.1))
    assert (first.own_size, third.verdict) == (close(6), "holds")
    assert normalised(bench()).published[0].ours == close(0.6)


def test_claims_on_the_paper_s_network_are_of_the_traces_that_it_ran_on():
    both = Bench.of([*runs(), *runs({name: hits for name, hits in HITS.items() if name != PAPER_ID}, trace="other")],
                    0.1, SHAPES, "")  # fmt: skip
    found = hit_ratio(both)
    assert {point.trace for point in found.points if point.cache == PAPER} == {"web_test"}
    assert found.published == hit_ratio(Bench.of(runs(), 0.1, SHAPES, "")).published
    assert normalised(both).published == normalised(Bench.of(runs(), 0.1, SHAPES, "")).published


def test_means_and_extremes_are_over_the_traces():
    other = runs({**HITS, MODEL_ID: 0.1, "larc": 0.2}, trace="other")
    both = Bench.of([*runs(), *other], 0.1, SHAPES, "")
    most, mean, lowest = hit_ratio(both).findings
    assert (most.ours, mean.ours, lowest.ours) == (close(8), close((2 + 0.5) / 2), close(-0.1))
    assert (most.verdict, mean.verdict, lowest.verdict) == ("holds", "does not hold", "does not hold")
    assert mean.own_size is None


def test_a_larger_cache_that_brings_ever_less_is_not_linear():
    found = cache_size(bench())  # hits grow by half from 5 to 10 %, by a third from there to 20 %
    assert [one.ours for one in found.findings] == [close(2), close(2)]
    assert [one.verdict for one in found.findings] == ["holds", "holds"]
    assert {point.capacity_fraction for point in found.points} == {0.05, 0.1, 0.2}
    few = cache_size(Bench.of(runs(), 0.1, SHAPES, ""))
    assert [one.verdict for one in few.findings] == ["not comparable"] * 2


def test_replacements_are_counted_at_both_sizes():
    found = replacements(bench())
    assert {point.capacity_fraction for point in found.points} == {0.1, 0.2}
    assert said(found) == [(close(0.125), close(0.125), "does not hold"), (0.0, 0.0, "does not hold")]
    none = replacements(Bench.of([*(run.model_copy(update={"replacements": 0.0}) for run in runs())], 0.1, SHAPES, ""))
    assert [one.verdict for one in none.findings] == ["not comparable"] * 2


def test_writes_are_held_against_the_lower_of_larc_and_reca():
    assert said(writes(bench()))[0] == (close(-7), close(-7), "does not hold")
    fewer = [run.model_copy(update={"ssd_writes": 3.0}) if run.kind == "ours" else run for run in runs()]
    found = writes(Bench.of(fewer, 0.1, SHAPES, ""))
    assert [one.ours for one in found.findings] == [close(0.4), close(0.4), 1.0]
    assert [one.verdict for one in found.findings] == ["holds"] * 3


def test_the_response_time_is_with_the_decision_and_without():
    found = response(bench())
    ours, reca = 4000 * 0.6, 4000 * 0.85
    with_it, without, best, cost = found.findings
    assert (with_it.ours, without.ours) == (close(1 - ours / reca), close(1 - (ours - 230) / reca))
    assert best.ours == with_it.ours
    assert (cost.ours, cost.verdict, cost.why) == (0.23, "not comparable", "2 x 64 units here, 3 x 256 there")
    free = {(point.cache, point.capacity_fraction): point.value for point in found.points}
    assert free[FREE[OURS], 0.2] == close((ours - 230) / 1000)
    assert free[FREE[PAPER], 0.2] == close((4000 * 0.7 - 310) / 1000)
    paper = found.published[3]
    assert (paper.ours, paper.verdict, paper.why) == (close(0.31), "does not hold", "")


def test_no_claim_on_a_model_that_never_trained_is_held():
    untrained = bench(models={name: Models(one.shape, "m never trained") for name, one in SHAPES.items()})
    for column in ("findings", "published"):
        every = [one for make in FIGURES.values() for one in getattr(make(untrained), column)]
        assert {one.verdict for one in every if one.measured} == {"not comparable", "holds"}
        assert [one.claim for one in every if one.verdict == "holds"] == [
            "the Oracle's hit ratio does not rise linearly with the cache"
        ]


@pytest.mark.parametrize(("policy", "name"), [("larc", LARC), (MODEL_ID, OURS), ("belady_bypass", ORACLE)])
def test_a_cache_that_is_missing_is_named(policy, name):
    some = [run for run in runs() if run.policy != policy]
    with pytest.raises(CachezooError, match=f"has no {name} on web_test at 20 %; run `make figures`"):
        Bench.of(some, 0.1, SHAPES, "")


def test_a_trace_that_is_missing_at_a_size_is_named():
    with pytest.raises(CachezooError, match="has no LRU on other at 5 %"):
        bench(*runs(fraction=0.1, trace="other"))


def test_the_table_as_people_see_it():
    found = hit_ratio(bench())
    assert "\n".join(" | ".join(line) for line in cells(table(found))) == GOLDEN
    assert {point.policy for point in found.points if point.cache == BEST} == {"sieve"}


@pytest.mark.parametrize("make", [cache_size, replacements, response])
def test_a_plot_has_the_same_bytes_twice(make, tmp_path):
    draw(make(bench()), tmp_path / "a.png")
    draw(make(bench()), tmp_path / "b.png")
    assert (tmp_path / "a.png").read_bytes() == (tmp_path / "b.png").read_bytes()
