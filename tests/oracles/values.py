"""What a text says as a value of each kind, one text at a time and with Python's own numbers and dates."""

import math
import re
from datetime import UTC, datetime, timedelta
from fractions import Fraction

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
DATE = re.compile(
    r"(\d{4})[-/](\d\d)[-/](\d\d)([T ](\d\d):(\d\d)(:(\d\d)([.,](\d{1,12}))?)?)?[ ]?(Z|[+-]\d\d:?\d\d)?", re.ASCII
)
CLOCK = re.compile(r"(\d{1,3}):(\d\d):(\d\d)([.,](\d{1,12}))?", re.ASCII)


def whole(text: str) -> int | None:
    """A whole number of 64 bits but the least, perhaps written as a float."""
    if not re.fullmatch(r"-?[0-9]+(\.0*)?|-?[0-9]+\.?[0-9]*[eE][+-]?[0-9]{1,3}", text):
        return None
    number = Fraction(text)
    return int(number) if number.denominator == 1 and abs(number) < 2**63 else None


def hexadecimal(text: str, marked: bool) -> int | None:
    """A number of 64 bits, as a signed one."""
    found = re.fullmatch(r"(0[xX])?([0-9a-fA-F]{1,16})", text)
    if found is None or (marked and not found[1]):
        return None
    number = int(found[2], 16)
    return number - 2**64 if number >= 2**63 else number


def comma(text: str) -> float | None:
    """A finite number with a decimal comma."""
    if "." in text or not re.fullmatch(r"[+-]?([0-9]+,?[0-9]*|,[0-9]+)([eE][+-]?[0-9]+)?", text):
        return None
    number = float(text.replace(",", "."))
    return number if math.isfinite(number) else None


def _micro(part: str | None) -> int:
    return int((part or "").ljust(6, "0")[:6])


def date(text: str) -> int | None:
    """Microseconds since 1970; a second of 60 is the next minute's first."""
    found = DATE.fullmatch(text)
    if found is None:
        return None
    year, month, day, hour, minute, second = (int(found[k] or 0) for k in (1, 2, 3, 5, 6, 8))
    if year < 1 or second > 60:
        return None
    try:
        moment = datetime(year, month, day, hour, minute, tzinfo=UTC) - EPOCH
    except ValueError:
        return None
    away = timedelta(0)
    if found[11] and found[11] != "Z":
        if not (found[11][-2:] < "60" and found[11].replace(":", "")[1:] <= "1400"):
            return None
        sign = -1 if found[11][0] == "-" else 1
        away = sign * timedelta(hours=int(found[11][1:3]), minutes=int(found[11][-2:]))
    return (moment + timedelta(seconds=second) - away) // timedelta(microseconds=1) + _micro(found[10])


def clock(text: str) -> int | None:
    """Microseconds since midnight."""
    found = CLOCK.fullmatch(text)
    if found is None or int(found[2]) > 59 or int(found[3]) > 60:
        return None
    return (int(found[1]) * 3600 + int(found[2]) * 60 + int(found[3])) * 10**6 + _micro(found[5])
