"""The cheapest labels of a line against every labelling there is."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from cachezoo.kernels.ranges import Line
from tests.oracles.ranges import naive_least


@st.composite
def lines(draw):
    labels = draw(st.integers(1, 4))
    place = [draw(st.integers(0, 5)) for _ in range(labels)]
    own = draw(st.lists(st.integers(0, labels - 1), min_size=1, max_size=9))
    weight = [draw(st.integers(0, 4)) for _ in own]
    distance = [[abs(a - b) for b in place] for a in place]
    return own, weight, distance, draw(st.integers(0, labels - 1))


def made(own, weight, distance, last) -> Line:
    return Line(np.array(own, np.uint8), np.array(weight, float), np.array(distance, float), last)


@settings(deadline=None)  # the first example compiles the kernel
@given(lines(), st.integers(1, 40))
def test_cost_and_price_of_the_ranges_are_the_least_there_is(given_line, halves):
    own, weight, distance, last = given_line
    price = halves / 2
    line = made(*given_line)
    labels = line.labels(price).tolist()
    cost = sum(heavy * distance[a][b] for heavy, a, b in zip(weight, own, labels, strict=True))
    ranges = 1 + int((np.diff([*labels, last]) != 0).sum())
    least = naive_least(own, weight, distance, last)
    together = {number: one + price * number for number, one in least.items()}
    assert cost + price * ranges == min(together.values())
    assert cost == min(one for number, one in least.items() if number <= ranges)
    assert ranges == line.ranges(price) == min(n for n, one in together.items() if one == min(together.values()))


@settings(deadline=None)  # the first example compiles the kernel
@given(lines(), st.integers(1, 40), st.integers(1, 40))
def test_a_higher_price_makes_no_more_ranges(given_line, price, further):
    line = made(*given_line)
    assert line.ranges(price + further) <= line.ranges(price)


def test_a_long_line_loses_no_digits():
    """A cost of 1 decides at the end of a line on which 2**50 was paid before."""
    n = 5000
    own = np.append(np.tile([0, 1], n), [0, 1, 0]).astype(np.uint8)
    weight = np.append(np.full(2 * n, 2.0**40), [1.0, 1.0, 1.0])
    line = Line(own, weight, np.array([[0.0, 1.0], [1.0, 0.0]]), 0)
    assert line.ranges(0.25) == len(own)
    assert line.ranges(0.75) == len(own) - 2
