import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cachezoo.errors import ConfigError
from cachezoo.questions.page.monitored import monitor_plan
from cachezoo.zoo.caching.switching import ALL_ENTER

SAID = [-1, -1, 0, -2, -2, 1, 1, -2, 0]
CODES = st.lists(st.integers(-2, 2), max_size=40)


def codes(values):
    return np.array(values, np.int32)


def test_unknown_keeps_the_model_or_lets_everything_enter():
    kept = monitor_plan(codes(SAID), "keep")
    assert kept.tolist() == [ALL_ENTER, ALL_ENTER, 0, 0, 0, 1, 1, 1, 0]
    none = monitor_plan(codes(SAID), "no_model")
    assert none.tolist() == [ALL_ENTER, ALL_ENTER, 0, ALL_ENTER, ALL_ENTER, 1, 1, ALL_ENTER, 0]
    assert monitor_plan(codes([-2, -2, 1]), "keep").tolist() == [ALL_ENTER, ALL_ENTER, 1]
    assert kept.dtype == none.dtype == np.int32
    with pytest.raises(ConfigError, match="unknown guess: use one of keep, no_model"):
        monitor_plan(codes(SAID), "guess")


@given(CODES)
def test_who_decides_while_unknown_is_who_did_before(values):
    last, want = ALL_ENTER, []
    for value in values:
        last = ALL_ENTER if value == -1 else last if value == -2 else value
        want.append(last)
    assert monitor_plan(codes(values), "keep").tolist() == want
