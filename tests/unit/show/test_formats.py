"""One format of each quantity: values and what they look like."""

import math

import pytest

from cachezoo.show import formats

DAY, INF, NAN = 1 / 365.25, math.inf, math.nan
# A minus sign is a hyphen here, and what there is none of a tilde.
CASES = {
    "number": [(0, "0"), (-0.4, "0"), (1234.5, "1,234"), (-12, "-12"), (1e15, "1,000,000,000,000,000"), (None, "~"),
               (NAN, "~"), (INF, "∞"), (-INF, "-∞")],
    "significant": [(0, "0"), (0.0349, "0.035"), (9.96, "10"), (12.4, "12"), (1234, "1,234"), (-0.5, "-0.5"),
                    (1e-12, "0"), (None, "~"), (INF, "∞")],
    "percent": [(0, "0.0 %"), (1, "100.0 %"), (0.1234, "12.3 %"), (-0.05, "-5.0 %"), (0.0003, "0.03 %"),
                (1e-6, "under 0.01 %"), (0.9997, "99.97 %"), (0.99999, "over 99.99 %"), (-1e-9, "0.0 %"),
                (12.5, "1,250.0 %"), (None, "~"), (NAN, "~"), (INF, "∞ %")],
    "share": [(0, "0 %"), (1, "100 %"), (0.414, "41 %"), (0.0349, "3.5 %"), (0.02, "2 %"), (0.0996, "10 %"),
              (0.998, "99.8 %"), (0.99996, "over 99.99 %"), (0.001, "0.1 %"), (1e-5, "under 0.01 %"), (-0.2, "-20 %"),
              (None, "~")],
    "points": [(0, "0.0 points"), (1.25, "+1.2 points"), (-0.04, "0.0 points"), (-3, "-3.0 points"), (None, "~")],
    "money": [(0, "$0"), (0.0031, "$0.0031"), (0.05, "$0.050"), (0.5, "$0.50"), (12.4, "$12.40"), (1234.5, "$1,234"),
              (-3, "-$3.00"), (1e12, "$1,000,000,000,000"), (None, "~"), (INF, "$∞")],
    "size": [(0, "0 B"), (1536, "1.5 KiB"), (2**50, "1,024 TiB")],
    "latency": [(0, "0.0 µs"), (0.1, "0.1 µs"), (46, "46 µs"), (999.6, "1.00 ms"), (4430, "4.43 ms"),
                (52_100, "52.10 ms"), (1.23e5, "123 ms"), (9.9e6, "9,900 ms"), (12.3e6, "12.3 s"), (None, "~"),
                (INF, "∞ s")],
    "duration": [(0, "0 s"), (-1, "0 s"), (3e-6, "3 µs"), (0.07, "70 ms"), (79, "1.3 min"), (80_280, "22 h"),
                 (86_400, "1 day"), (129_600, "1.5 days"), (1e9, "11,574 days"), (None, "~"), (INF, "∞ days")],
    "lifetime": [(None, "unknown"), (INF, "~"), (101.0, "over 100 years"), (4.21, "4.2 years"),
                 (12 * DAY, "12 days"), (2 * DAY, "2.0 days"),
                 (0.5 * DAY, "12.0 hours"), (0.05 * DAY, "1.2 hours"), (0.01 * DAY, "less than an hour"),
                 (0.0, "less than an hour")],
    "rate": [(0, "0 MB/s"), (12_340_000, "12.3 MB/s"), (25e6, "25 MB/s"), (1.2345e9, "1,234 MB/s"), (None, "~"),
             (INF, "∞ MB/s")],
}  # fmt: skip


def typed(text):
    return formats.ordinary(text).replace(formats.MINUS, "-").replace(formats.NONE, "~")


@pytest.mark.parametrize(
    ("name", "value", "shown"), [(name, *case) for name, cases in CASES.items() for case in cases]
)  # fmt: skip
def test_what_a_quantity_looks_like(name, value, shown):
    assert typed(getattr(formats, name)(value)) == shown


@pytest.mark.parametrize("name", [name for name in CASES if name not in ("number", "significant", "money")])
def test_a_unit_does_not_part_from_its_number(name):
    assert formats.UNIT_SPACE in getattr(formats, name)(1234.5)


@pytest.mark.parametrize(
    ("ends", "digits", "scale", "shown"),
    [(None, 1, 100, ""), ((-0.012, 0.034), 1, 100, "[-1.2, 3.4]"), ((0.61, 0.64), 2, 1, "[0.61, 0.64]"),
     ((0.0, INF), 0, 1, "[0, ∞]")],
)  # fmt: skip
def test_an_interval(ends, digits, scale, shown):
    assert typed(formats.span(ends, digits, scale)) == shown


@pytest.mark.parametrize(("value", "shown"), [(0.012, "+1.2 %"), (-0.012, "-1.2 %"), (0.0001, "0.0 %"), (0.0, "0.0 %")])
def test_a_change_has_its_sign(value, shown):
    assert typed(formats.percent(value, signed=True)) == shown


@pytest.mark.parametrize(("items", "said"), [([], ""), (["a"], "a"), (["a", "b"], "a and b"), ("abc", "a, b and c")])
def test_a_list_in_words(items, said):
    assert formats.words(items) == said
