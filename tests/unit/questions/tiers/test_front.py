"""The Pareto front: nothing on it is beaten in both, and everything else is."""

from hypothesis import given
from hypothesis import strategies as st

from cachezoo.questions.tiers.front import front

PAIRS = st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), min_size=1, max_size=30)


@given(PAIRS)
def test_the_front_is_what_no_other_point_beats(pairs):
    cost, time = zip(*pairs, strict=True)
    found = front(cost, time)
    for k, (own_cost, own_time) in enumerate(pairs):
        beaten = any(
            (c <= own_cost and t <= own_time) and (c < own_cost or t < own_time or place < k)
            for place, (c, t) in enumerate(pairs)
            if place != k
        )
        assert (k in found) == (not beaten)
    assert [cost[k] for k in found] == sorted(cost[k] for k in found)


def test_what_takes_no_time_that_is_known_is_on_no_front():
    assert front([1.0, 2.0], [float("nan"), 3.0]) == [1]
