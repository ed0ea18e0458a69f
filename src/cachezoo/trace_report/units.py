"""Times, sizes and shares as people read them."""

import math

from cachezoo.show.formats import UNIT_SPACE, number, percent
from cachezoo.sizes import human

UNITS = ((172_800, 86_400, "days"), (14_400, 3_600, "hours"), (900, 60, "minutes"), (0, 1, "seconds"))
SHORT = ((86_400.0, "days"), (3_600.0, "h"), (60.0, "min"), (1.0, "s"), (1e-3, "ms"), (1e-6, "µs"))


def axis_unit(span_s: float) -> tuple[float, str]:
    """Seconds in the unit in which a span of time is drawn, and the unit's name."""
    _, scale, unit = next(entry for entry in UNITS if span_s >= entry[0])
    return float(scale), unit


def significant(value: float, digits: int = 2) -> str:
    """A number with so many digits that say something, and no exponent."""
    if value == 0:
        return "0"
    places = max(0, digits - 1 - math.floor(math.log10(abs(value))))
    text = number(value, min(places, 9))
    return text.rstrip("0").rstrip(".") if "." in text else text


def seconds(value: float) -> str:
    """A time, in the unit in which it is at least 1: `4.6 min`."""
    if value <= 0:
        return f"0{UNIT_SPACE}s"
    size, unit = next((entry for entry in SHORT if value >= entry[0] * 0.9995), SHORT[-1])
    text = significant(value / size)
    return f"{text}{UNIT_SPACE}{'day' if (text, unit) == ('1', 'days') else unit}"


def size(n_bytes: float) -> str:
    """Bytes: `1.5 GiB`, not broken at the end of a line."""
    return human(n_bytes).replace(" ", UNIT_SPACE)


def share(value: float) -> str:
    """A share as `12 %`; with a decimal below 10 %, and never 0 or 100 where it is neither."""
    if 0 < value < 0.0005:
        return f"less than 0.1{UNIT_SPACE}%"
    if 0.995 <= value < 1:
        return f"{number(math.floor(1000 * value) / 10, 1)}{UNIT_SPACE}%"
    return percent(value, 0 if round(value, 3) >= 0.1 or round(1000 * value) % 10 == 0 else 1)
