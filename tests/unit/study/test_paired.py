import math

import numpy as np
import pytest

from cachezoo.study.paired import difference, verdict

T_4 = 2.131846786  # Student's t, 4 degrees of freedom, 95 %


def test_seeds_in_both_are_compared_in_pairs() -> None:
    first = dict(enumerate([0.1, 0.2, 0.3, 0.4, 0.5])) | {9: 5.0}
    second = dict(enumerate([0.2, 0.3, 0.5, 0.5, 0.7])) | {8: -3.0}
    found = difference(first, second)
    steps = np.asarray([0.1, 0.1, 0.2, 0.1, 0.2])
    half = T_4 * steps.std(ddof=1) / math.sqrt(5)
    assert (found["seeds"], found["paired"], found["apart"]) == (5, True, True)
    assert (found["mean"], found["low"], found["high"]) == pytest.approx((0.14, 0.14 - half, 0.14 + half))


def test_other_seeds_are_compared_by_welch() -> None:
    one, other = np.asarray([0.1, 0.5, 0.3]), np.asarray([0.2, 0.9, 0.4, 0.5])
    found = difference(dict(enumerate(one)), dict(enumerate(other, start=10)))
    parts = [values.var(ddof=1) / len(values) for values in (one, other)]
    freedom = sum(parts) ** 2 / sum(part**2 / (len(own) - 1) for part, own in zip(parts, (one, other), strict=True))
    from scipy.stats import t

    half = float(t.ppf(0.95, freedom)) * math.sqrt(sum(parts))
    assert (found["seeds"], found["paired"], found["apart"]) == (3, False, False)
    assert (found["low"], found["high"]) == pytest.approx((0.2 - half, 0.2 + half))


@pytest.mark.filterwarnings("error")
def test_values_without_a_spread_have_an_interval_of_one_point() -> None:
    step = difference({0: 0.1, 1: 0.2, 2: 0.3}, {0: 0.15, 1: 0.25, 2: 0.35})
    assert step["low"] == step["high"] == pytest.approx(0.05) and step["apart"]
    same = difference({0: 0.1, 1: 0.2}, {0: 0.1, 1: 0.2})
    assert verdict(same, False, "more", "less") == "the same" and not same["apart"]
    apart = difference({0: 0.1, 1: 0.1}, {5: 0.2, 6: 0.2})
    assert (apart["low"], apart["high"], apart["apart"]) == pytest.approx((0.1, 0.1, True))
    equal = difference({0: 0.1, 1: 0.1}, {5: 0.1, 6: 0.1})
    assert verdict(equal, False, "more", "less") == "the same"


def test_a_difference_in_words() -> None:
    assert verdict(difference({0: 0.1}, {1: 0.2}), False, "better", "worse") == "too few seeds"
    up = difference({0: 0.1, 1: 0.2, 2: 0.3}, {0: 0.2, 1: 0.31, 2: 0.4})
    assert verdict(up, False, "better", "worse") == "better" and verdict(up, True, "better", "worse") == "worse"
    wide = difference({0: 0.1, 1: 0.2, 2: 0.3}, {0: 0.2, 1: 0.1, 2: 0.4})
    assert verdict(wide, False, "better", "worse") == "not told apart"
