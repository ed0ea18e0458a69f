"""How each quantity looks: one function each, the same in a table, a sentence, a plot and a page.

A unit follows its number after a no-break space, which a terminal and JSON have as an ordinary one. A minus is a minus
sign; what rounds to zero has none. What there is none of is `NONE`.
"""

import math
from collections.abc import Sequence

UNIT_SPACE = "\N{NO-BREAK SPACE}"
MINUS = "\N{MINUS SIGN}"
NONE = "\N{EN DASH}"
ENDLESS = "\N{INFINITY}"
MOST_DIGITS = 2  # decimals of a percentage that is neither none nor all
LEAST_PERCENT = 0.01
LONG_YEARS, DAYS_A_YEAR, HOURS_A_DAY = 100.0, 365.25, 24
SPANS = ((86_400.0, "days"), (3_600.0, "h"), (60.0, "min"), (1.0, "s"), (1e-3, "ms"), (1e-6, "µs"))


def number(value: float | None, digits: int = 0, signed: bool = False) -> str:
    """`1,234.5`, with a true minus; what rounds to zero has no sign."""
    if value is None or math.isnan(value):
        return NONE
    text = f"{value:{'+' if signed else ''},.{digits}f}".replace("inf", ENDLESS)
    if not any(digit in text for digit in f"123456789{ENDLESS}"):
        text = text.lstrip("+-")
    return text.replace("-", MINUS)


def significant(value: float | None, digits: int = 2) -> str:
    """A number with so many digits that say something, and no exponent."""
    if value is None or value == 0 or not math.isfinite(value):
        return number(value)
    places = max(0, digits - 1 - math.floor(math.log10(abs(value))))
    text = number(value, min(places, 9))
    return text.rstrip("0").rstrip(".") if "." in text else text


def percent(value: float | None, digits: int = 1, signed: bool = False) -> str:
    """A share as `12.3 %`; what is neither none nor all gets the digits that say so."""
    if value is None or math.isnan(value):
        return NONE
    text = number(100 * value, digits, signed)
    if not signed and 0 < value < 1:
        texts = (number(100 * value, more) for more in range(digits, MOST_DIGITS + 1))
        edge = f"over {100 - LEAST_PERCENT}" if value > 1 / 2 else f"under {LEAST_PERCENT}"
        text = next((one for one in (text, *texts) if 0 < float(one) < 100), edge)
    return f"{text}{UNIT_SPACE}%"


def share(value: float | None) -> str:
    """A share in a sentence: `41 %`, below a tenth `4.6 %`."""
    coarse = value is None or round(abs(value), 3) >= 0.1 or round(1000 * value) % 10 == 0
    return percent(value, 0 if coarse else 1)


def points(value: float | None) -> str:
    """A difference of hit ratios, given in points of 0.01."""
    return NONE if value is None else f"{number(value, 1, signed=True)}{UNIT_SPACE}points"


def span(ends: Sequence[float] | None, digits: int = 0, scale: float = 100) -> str:
    """The 90 % interval `[low, high]` in the unit of the figure that it is of; empty where there is none."""
    return "" if ends is None else f"[{number(scale * ends[0], digits)}, {number(scale * ends[1], digits)}]"


def size(n_bytes: float) -> str:
    """Bytes as `1.5 GiB`."""
    from cachezoo.sizes import human

    return human(n_bytes).replace(" ", UNIT_SPACE)


def money(usd: float | None) -> str:
    """Dollars, with the digits that a small sum needs: `$1,200`, `$12.40`, `$0.0031`."""
    if usd is None:
        return NONE
    size = abs(usd)
    digits = 0 if size == 0 or size >= 100 else 2 if size >= 1 else 2 + max(0, -math.floor(math.log10(size)) - 1)
    return f"{MINUS if usd < 0 else ''}${number(size, digits)}"


def latency(us: float | None) -> str:
    """Microseconds as `0.1 µs`, `681 µs`, `4.43 ms`, `123 ms` or `12.3 s`."""
    if us is None:
        return NONE
    if us < 999.5:
        return f"{number(us, 0 if us >= 10 else 1)}{UNIT_SPACE}µs"
    if us < 9.9995e6:
        return f"{number(us / 1e3, 2 if us < 1e5 else 0)}{UNIT_SPACE}ms"
    return f"{number(us / 1e6, 1)}{UNIT_SPACE}s"


def duration(seconds: float | None) -> str:
    """A time, in the unit in which it is at least 1: `4.6 min`."""
    if seconds is None:
        return NONE
    if seconds <= 0:
        return f"0{UNIT_SPACE}s"
    size, unit = next((entry for entry in SPANS if seconds >= entry[0] * 0.9995), SPANS[-1])
    text = significant(seconds / size)
    return f"{text}{UNIT_SPACE}{'day' if (text, unit) == ('1', 'days') else unit}"


def lifetime(years: float | None) -> str:
    """How long an SSD lasts: `4.2 years`, `12 days`, `5.3 hours`; `NONE` where nothing is written."""
    if years is None:
        return "unknown"
    if math.isinf(years):
        return NONE
    days = DAYS_A_YEAR * years
    if years > LONG_YEARS:
        return f"over {LONG_YEARS:.0f}{UNIT_SPACE}years"
    if years >= 1:
        return f"{number(years, 1)}{UNIT_SPACE}years"
    if days >= 1:
        return f"{number(days, 0 if days >= 10 else 1)}{UNIT_SPACE}days"
    hours = HOURS_A_DAY * days
    return f"{number(hours, 1)}{UNIT_SPACE}hours" if hours >= 1 else "less than an hour"


def rate(bytes_s: float | None) -> str:
    """Bytes a second: `12.3 MB/s`."""
    return NONE if bytes_s is None else f"{significant(bytes_s / 1e6, 3)}{UNIT_SPACE}MB/s"


def ordinary(text: str) -> str:
    """A text with ordinary spaces before units."""
    return text.replace(UNIT_SPACE, " ")


def words(items: Sequence[str]) -> str:
    """`a, b and c`."""
    return " and ".join([", ".join(items[:-1]), items[-1]] if len(items) > 1 else list(items))
