import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cachezoo.contest.counting import Count, first_access
from cachezoo.curves.curve import capacities_of, lru_curve, simulated_curve
from cachezoo.curves.measure import curves
from cachezoo.errors import ConfigError
from cachezoo.policies.registry import OPTIMUM, POLICIES, policy
from cachezoo.policies.simulate import simulate
from cachezoo.traces.pages import expand_pages
from tests.page_data import seeded_trace

TRACES = st.builds(seeded_trace, st.integers(20, 200), st.integers(2, 60), st.integers(0, 9))
SIZES = st.lists(st.integers(1, 250), min_size=1, max_size=12)


@given(trace=TRACES, capacities=SIZES, count=st.sampled_from(["half", "auto", "all", "7"]))
def test_lru_in_one_pass_is_lru_simulated_at_each_capacity_by_every_rule(trace, capacities, count):
    pages = expand_pages(trace)
    found = lru_curve(pages, capacities, Count(count))
    assert found.capacities.tolist() == sorted(set(capacities)) and (found.error_90, found.rate) == (None, 1.0)
    for k, capacity in enumerate(found.capacities.tolist()):
        first = first_access(pages, Count(count), capacity)
        assert found.warmup[k] == first
        assert found.hit_ratio[k] == simulate(trace, pages, "lru", capacity, first).hit_ratio


@pytest.mark.parametrize("policy_id", ["arc", "rejectx(x=2)+s3fifo", OPTIMUM, "static_hindsight"])
def test_a_simulated_curve_is_a_simulation_at_each_capacity(policy_id):
    trace = seeded_trace(300, 60, 2)
    pages = expand_pages(trace)
    found = simulated_curve(policy(policy_id), pages, [40, 10, 20])
    ratios = [simulate(trace, pages, policy_id, size, first_access(pages)).hit_ratio for size in (10, 20, 40)]
    assert found.hit_ratio.tolist() == ratios and found.kind == policy(policy_id).kind


def test_curves_are_exact_and_in_the_order_asked_for():
    pages = expand_pages(seeded_trace(400, 60, 5))
    sizes, told = capacities_of(pages, 5), []
    found = curves(pages, ["arc", "lru", OPTIMUM], sizes, advance=lambda done, note="": told.append((done, note)))
    assert [(own.policy, own.kind, own.error_90, own.rate) for own in found] == [
        ("arc", "classic", None, 1.0), ("lru", "classic", None, 1.0), (OPTIMUM, "bound", None, 1.0),
    ]  # fmt: skip
    assert (found[2].hit_ratio >= np.maximum(found[0].hit_ratio, found[1].hit_ratio)).all()
    assert found[1].hit_ratio.tolist() == simulated_curve(POLICIES["lru"], pages, sizes).hit_ratio.tolist()
    assert told == sorted(told, key=lambda each: each[0]) and told[-1][0] < 3 * len(sizes)


def test_what_cannot_be_is_refused():
    pages = expand_pages(seeded_trace(50, 20, 1))
    for asked, said in (
        (lambda: curves(pages, ["lru+next"], [3]), "leave the prefetch out"),
        (lambda: curves(pages, ["lru"], [0, 3]), "capacity 0: a cache has at least one page"),
        (lambda: curves(pages, ["lru"], []), "no capacity"),
        (lambda: curves(pages, ["lruu"], [3]), "did you mean lru"),
        (lambda: capacities_of(pages, 1), "1 points: a curve has at least 2"),
    ):
        with pytest.raises(ConfigError, match=said):
            asked()
