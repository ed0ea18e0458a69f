"""Lifetimes in words."""

import math

import pytest

from cachezoo.tiers.said import life_text

DAY = 1 / 365.25


@pytest.mark.parametrize(
    ("years", "said"),
    [(None, "unknown"), (math.inf, "-"), (101.0, "over 100 years"), (4.21, "4.2 years"), (12 * DAY, "12.0 days"),
     (0.5 * DAY, "12.0 hours"), (0.05 * DAY, "1.2 hours"), (0.01 * DAY, "less than an hour"),
     (1e-9, "less than an hour")],
)  # fmt: skip
def test_a_lifetime_is_told_in_a_unit_that_fits_it(years, said):
    assert life_text(years) == said
