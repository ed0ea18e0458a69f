import pytest

from lab.claims.finding import held, shown
from tests.lab.figures_data import plain


@pytest.mark.parametrize(
    ("ours", "more", "verdict"),
    [
        (0.5, {}, "holds"),
        (0.49, {}, "does not hold"),
        (0.49, {"at_most": True}, "holds"),
        (0.51, {"at_most": True}, "does not hold"),
        (0.49, {"spread": 0.02}, "undecided"),
        (0.51, {"spread": 0.02}, "undecided"),
        (0.53, {"spread": 0.02}, "holds"),
        (0.4, {"at_best": 0.5}, "undecided"),
        (0.4, {"at_best": 0.49}, "does not hold"),
        (0.5, {"at_best": 0.9}, "holds"),
        (None, {}, "not comparable"),
        (0.9, {"apart": "another network"}, "not comparable"),
    ],
)
def test_a_verdict_follows_from_the_numbers(ours, more, verdict):
    found = held("more than half", "our share", ours, 0.5, **more)
    assert found.verdict == verdict
    assert (found.why == "") == (verdict != "not comparable")
    assert found.judged.startswith(verdict)


def test_what_is_not_comparable_says_why():
    assert held("c", "m", None, 0.5).judged == "not comparable: undefined here"
    assert held("c", "m", 0.9, 0.5, apart="another network").judged == "not comparable: another network"


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (0.1234, "share", "12.3 %"),
        (-0.02, "points", "-2.0 points"),
        (6.0, "epochs", "6 epochs"),
        (1.234, "times", "1.23 times"),
        (0.23, "ms", "0.23 ms"),
        (None, "ms", "-"),
    ],
)
def test_numbers_have_their_units(value, unit, text):
    assert plain(shown(value, unit)) == text


def test_a_spread_stands_beside_the_number():
    found = held("c", "m", -0.01, 0.0, "points", at_most=True, spread=0.004)
    assert plain(found.shown) == "-1.0 points ± 0.4 points"
