import pytest

from cachezoo.errors import CachezooError
from cachezoo.policies.registry import OPTIMUM, classics
from lab.rcrnn.caches import (
    BEST,
    FIGURES,
    LARC,
    ORACLE,
    OURS,
    UNDECIDING,
    Bench,
    cache_size,
    hit_ratio,
    normalised,
    replacements,
    response,
    writes,
)
from lab.rcrnn.caches_plot import draw, table
from lab.rcrnn.sizes import runs_of
from tests.lab.figures_data import HITS, MODEL_ID, bench, category, cells, runs

GOLDEN = """\
trace | size | best classic is | LRU | Access | LARC | ReCA | best classic | caching LSTM | Oracle
web_test | 10 % | sieve | 7.5 % | 15.0 % | 3.8 % | 11.2 % | 18.8 % | 30.0 % | 37.5 %
web_test | 20 % | sieve | 10.0 % | 20.0 % | 5.0 % | 15.0 % | 25.0 % | 40.0 % | 50.0 %"""


def said(figure):
    return [(one.ours, one.own_size, one.verdict) for one in figure.findings]


def close(*values):
    return pytest.approx(values) if len(values) > 1 else pytest.approx(values[0])


def test_the_metrics_give_the_runs_of_their_own_size():
    found = runs_of(category(), MODEL_ID, classics(), OPTIMUM)
    assert {run.policy: run.kind for run in found} == {
        "lru": "classic", "fifo": "classic", "azor": "classic", "larc": "classic", "reca": "classic",
        "sieve": "classic", "belady_bypass": "bound", MODEL_ID: "model",
    }  # fmt: skip
    assert {(run.trace, run.capacity_fraction, run.replacements) for run in found} == {("web_test", 0.1, None)}
    (ours,) = [run for run in found if run.kind == "model"]
    assert (ours.hit_ratio, ours.ssd_writes, ours.response_us, ours.decision_us) == (0.4, 30.5, 1500.25, 230.0)


def test_hits_beside_the_rivals_and_the_oracle():
    assert said(hit_ratio(bench())) == [
        (close(8), close(8), "holds"), (close(2), close(2), "holds"), (close(0.2), close(0.15), "holds"),
    ]  # fmt: skip
    assert said(normalised(bench())) == [
        (close(0.8), close(0.8), "does not hold"), (close(0.8), close(0.8), "does not hold"),
        (close(0.4), close(0.4), "holds"),
    ]  # fmt: skip
    assert all(point.cache != ORACLE for point in normalised(bench()).points)


def test_means_and_extremes_are_over_the_traces():
    other = runs({**HITS, MODEL_ID: 0.1, "larc": 0.2}, trace="other")
    both = Bench.of([*runs(), *other], 0.1, (2, 64), "", "")
    most, mean, lowest = hit_ratio(both).findings
    assert (most.ours, mean.ours, lowest.ours) == (close(8), close((2 + 0.5) / 2), close(-0.1))
    assert (most.verdict, mean.verdict, lowest.verdict) == ("holds", "does not hold", "does not hold")
    assert mean.own_size is None


def test_a_larger_cache_that_brings_ever_less_is_not_linear():
    found = cache_size(bench())  # hits grow by half from 5 to 10 %, by a third from there to 20 %
    assert [one.ours for one in found.findings] == [close(2), close(2)]
    assert [one.verdict for one in found.findings] == ["holds", "holds"]
    assert {point.capacity_fraction for point in found.points} == {0.05, 0.1, 0.2}
    few = cache_size(Bench.of(runs(), 0.1, (2, 64), "", ""))
    assert [one.verdict for one in few.findings] == ["not comparable"] * 2


def test_replacements_are_of_the_sizes_where_they_were_counted():
    found = replacements(bench())
    assert {point.capacity_fraction for point in found.points} == {0.05, 0.2}
    assert said(found) == [(close(0.125), None, "does not hold"), (0.0, None, "does not hold")]
    none = replacements(
        Bench.of([*(run.model_copy(update={"replacements": 0.0}) for run in runs())], 0.1, (2, 64), "", "")
    )
    assert [one.verdict for one in none.findings] == ["not comparable"] * 2


def test_writes_are_held_against_the_lower_of_larc_and_reca():
    assert said(writes(bench()))[0] == (close(-7), close(-7), "does not hold")
    fewer = [run.model_copy(update={"ssd_writes": 3.0}) if run.kind == "model" else run for run in runs()]
    found = writes(Bench.of(fewer, 0.1, (2, 64), "", ""))
    assert [one.ours for one in found.findings] == [close(0.4), close(0.4), 1.0]
    assert [one.verdict for one in found.findings] == ["holds"] * 3


def test_the_response_time_is_with_the_decision_and_without():
    found = response(bench())
    ours, reca = 4000 * 0.6, 4000 * 0.85
    with_it, without, best, cost = found.findings
    assert (with_it.ours, without.ours) == (close(1 - ours / reca), close(1 - (ours - 230) / reca))
    assert best.ours == with_it.ours
    assert (cost.ours, cost.verdict, cost.why) == (0.23, "not comparable", "2 x 64 units here, 3 x 256 there")
    free = {point.capacity_fraction: point.value for point in found.points if point.cache == UNDECIDING}
    assert free[0.2] == close((ours - 230) / 1000)
    paper = response(bench(network=(3, 256))).findings[3]
    assert (paper.verdict, paper.why) == ("holds", "")


def test_no_claim_on_a_model_that_never_trained_is_held():
    every = [one for make in FIGURES.values() for one in make(bench(apart="m never trained")).findings]
    assert {one.verdict for one in every if one.measured} == {"not comparable", "holds"}
    assert [one.claim for one in every if one.verdict == "holds"] == [
        "the Oracle's hit ratio does not rise linearly with the cache"
    ]


@pytest.mark.parametrize(("policy", "name"), [("larc", LARC), (MODEL_ID, OURS), ("belady_bypass", ORACLE)])
def test_a_cache_that_is_missing_is_named(policy, name):
    some = [run for run in runs() if run.policy != policy]
    with pytest.raises(CachezooError, match=f"have no {name} on web_test at 20 %; run `make figures`"):
        Bench.of(some, 0.1, (2, 64), "", "")


def test_a_trace_that_is_missing_at_a_size_is_named():
    with pytest.raises(CachezooError, match="have no LRU on other at 5 %"):
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
