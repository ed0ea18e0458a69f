"""The gate, whether an effect is worth having, and the words for both."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cachezoo.contest.lead import Mean
from cachezoo.contest.verdict import Verdict, Worth, judged, verdict, worth
from cachezoo.contest.words import saves
from cachezoo.show.formats import ordinary

LEAST = 0.02
CASES = [
    (0.12, (0.10, 0.14), Verdict.BETTER, Worth.YES, "saves 12.0 % [10.0, 14.0]"),
    (0.005, (0.002, 0.008), Verdict.TRIFLE, Worth.NO, "saves 0.5 % [0.2, 0.8], too little to matter"),
    (0.015, (0.005, 0.025), Verdict.TRIFLE, Worth.UNSURE, "saves 1.5 % [0.5, 2.5], too little to matter"),
    (0.001, (-0.004, 0.006), Verdict.EVEN, Worth.NO, "saves 0.1 % [\u22120.4, 0.6], perhaps by chance"),
    (0.05, (-0.01, 0.11), Verdict.EVEN, Worth.UNSURE, "saves 5.0 % [\u22121.0, 11.0], perhaps by chance"),
    (-0.02, (-0.064, 0.023), Verdict.EVEN, Worth.UNSURE, "costs 2.0 % [\u22122.3, 6.4] more, perhaps by chance"),
    (0.0, (0.0, 0.0), Verdict.EVEN, Worth.NO, "saves nothing"),
    (-0.03, (-0.04, -0.02), Verdict.WORSE, Worth.NO, "costs 3.0 % [2.0, 4.0] more"),
    (0.12, None, Verdict.SHORT, Worth.UNSURE, "saves 12.0 %, how surely this trace is too short to say"),
    (-0.12, None, Verdict.SHORT, Worth.UNSURE, "costs 12.0 % more, how surely this trace is too short to say"),
]


@pytest.mark.parametrize(("value", "interval", "found", "what", "said"), CASES)
def test_an_effect_is_judged_and_said(value, interval, found, what, said):
    assert judged(value, interval, LEAST) == found
    assert worth(value, interval, LEAST) == what
    assert ordinary(saves(value, interval, LEAST)) == said


def test_a_rival_is_named_in_the_sentence():
    assert ordinary(saves(0.12, (0.10, 0.14), LEAST, "LRU")) == "saves 12.0 % [10.0, 14.0] against LRU"
    more = ordinary(saves(-0.02, (-0.064, 0.023), LEAST, "LRU", "reads"))
    assert more == "reads 2.0 % [\u22122.3, 6.4] more than LRU, perhaps by chance"
    assert saves(0.0, (0.0, 0.0), LEAST, "LRU") == "saves nothing against LRU"


@given(st.floats(-1, 1), st.floats(0, 0.01), st.floats(1, 30))
def test_a_lead_is_judged_as_its_interval(value, variance, freedom):
    lead = Mean(value, variance, freedom)
    assert verdict(lead, LEAST) == judged(value, lead.interval, LEAST)
