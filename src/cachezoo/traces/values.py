"""What the values of text columns may look like, and the numbers that they are: one place for all delimited text.

Whole numbers may be written as spreadsheets and data frames write them, `15421440.0` or `1.28E+17`; they are read
exactly, from their digits. Dates are those of ISO 8601, with a zone or else in UTC; times of day are hours, minutes and
seconds. All moments become whole microseconds, rounded down.
"""

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from cachezoo.arrays import I64

BLANKS = " \t"
INT64_END = 2**63
MOST_WHOLE = str(INT64_END - 1)
MOST_KEY = str(2 * INT64_END - 1)
KEYS_AS_TEXTS = "read the keys as texts with the option keys=text"
MOST_DIGITS = 100  # Python refuses to convert thousands
SECOND_US = 1_000_000
MINUTE_US = 60 * SECOND_US
DAY_US = 86_400 * SECOND_US
MOST_ZONE = 1400  # hours and minutes from UTC of the zone furthest away

_WHOLE = re.compile(r"-?[0-9]+(\.0*)?|-?[0-9]+\.?[0-9]*[eE][+-]?[0-9]{1,3}")
_PARTS = r"^[ \t]*(?P<sign>-?)(?P<whole>[0-9]+)\.?(?P<part>[0-9]*)(?:[eE](?P<power>[+-]?[0-9]{1,3}))?[ \t]*$"
_SIMPLE = r"^[ \t]*(?P<n>-?[0-9]{1,18})(?:\.0*)?[ \t]*$"
_KEY = r"0|[1-9][0-9]{0,19}"
_SIGNED_KEY = r"0|-?[1-9][0-9]{0,18}"
_FLOAT = r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?"
_COMMA = r"[+-]?([0-9]+,?[0-9]*|,[0-9]+)([eE][+-]?[0-9]+)?"
_DAY = r"(?P<year>[0-9]{4})[-/](?P<month>[0-9]{2})[-/](?P<day>[0-9]{2})"
_SECONDS = r"(?P<second>[0-9]{2})(?:[.,](?P<part>[0-9]{1,12}))?"
_DATE = (
    rf"{_DAY}(?:[T ](?P<hour>[0-9]{{2}}):(?P<minute>[0-9]{{2}})(?::{_SECONDS})?)?"
    r"[ ]?(?P<zone>Z|[+-][0-9]{2}:?[0-9]{2})?"
)
_CLOCK = rf"(?P<hour>[0-9]{{1,3}}):(?P<minute>[0-9]{{2}}):{_SECONDS}"


@dataclass(frozen=True)
class Kind:
    """A kind of values.

    Attributes:
        what: what such a value is called.
        pattern: what such texts look like, blanks around them off.
        stored: the type that pyarrow's reader of text is to give: text where `of` makes the numbers.
        of: numbers of texts: int64 or float64, null where a text is none.
        value: the number of one text that looks so; None where it is none after all.
        moment: whether the numbers are microseconds.
        fix: what to do about a text that is none.
    """

    what: str
    pattern: re.Pattern[str]
    stored: pa.DataType
    of: Callable[[pa.ChunkedArray], pa.ChunkedArray]
    value: Callable[[str], int | float | None]
    moment: bool = False
    fix: str = "fix or drop the row"

    def matches(self, text: str) -> bool:
        """Whether a text, blanks around it off, is such a value."""
        return self.pattern.fullmatch(text) is not None and self.value(text) is not None

    def why_not(self, text: str) -> str | None:
        """What a text is instead of such a value, and the fix; None where it is one."""
        if self.matches(text):
            return None
        if self.stored == pa.int64() and self.pattern.fullmatch(text) and _exact(text) is not None:
            return f"{text[:40]}, which 64 bits cannot hold; check the unit"
        return f"{text[:40]!r}, not {self.what}; {self.fix}"


def _normal(text: str) -> tuple[str, str, int] | None:
    """A decimal number's sign, its digits without zeros at either end, and the power of ten that they count."""
    found = re.match(_PARTS, text)
    if found is None:
        return None
    digits = (found["whole"] + found["part"]).lstrip("0")
    short = digits.rstrip("0")
    return found["sign"], short, int(found["power"] or 0) - len(found["part"]) + len(digits) - len(short)


def _exact(text: str) -> int | None:
    """The whole number that a text is, however large; None where it is none, or is of hundreds of digits."""
    normal = _normal(text)
    if normal is None or (normal[1] and normal[2] < 0):
        return None
    sign, digits, power = normal
    if not digits:
        return 0
    if len(digits) + power > MOST_DIGITS:
        return INT64_END if not sign else -INT64_END
    return int(sign + digits + "0" * power)


def whole_of(text: str) -> int | None:
    """The whole number that a text is; None where it is none, or one that 64 bits cannot hold.

    Args:
        text: digits, `15421440.0` or `1.28E+17`.
    """
    exact = _exact(text)
    return None if exact is None or not -INT64_END < exact < INT64_END else exact


class Precision(NamedTuple):
    """How finely whole numbers with an exponent are written.

    Those without one are short, as spreadsheets write them, and say nothing of longer ones.

    Attributes:
        digits: the most that one has.
        largest: the power of ten of the largest.
    """

    digits: int = 0
    largest: int = 0

    @classmethod
    def of(cls, texts: pa.ChunkedArray) -> "Precision":
        """That of some numbers."""
        found = pc.extract_regex(texts.combine_chunks(), _PARTS)
        whole, part, power = (pc.fill_null(pc.struct_field(found, name), "") for name in ("whole", "part", "power"))
        digits = pc.utf8_ltrim(pc.binary_join_element_wise(whole, part, ""), "0")
        width, after = (np.asarray(pc.utf8_length(column), np.int64) for column in (digits, part))
        largest = _numbers(power, signed=True) - after + width - 1
        said = np.asarray(pc.not_equal(power, ""), bool) & (width > 0)  # zeros say nothing
        return cls(int(width[said].max(initial=0)), int(largest[said].max(initial=0)))

    def joined(self, other: "Precision") -> "Precision":
        """That of these numbers and others."""
        return Precision(max(self.digits, other.digits), max(self.largest, other.largest))

    @property
    def rounded_to(self) -> int:
        """The power of ten to which the largest number is rounded: 17 for `1E+17`, 15 with `1.28E+4`; else 0."""
        return max(self.largest - self.digits + 1, 0) if self.digits else 0


def _wholes(texts: pa.ChunkedArray) -> pa.ChunkedArray:
    """int64 of whole numbers."""
    simple = pc.extract_regex(texts, _SIMPLE)
    if not simple.null_count:
        return pc.struct_field(simple, "n").cast(pa.int64())
    found = pc.extract_regex(texts.combine_chunks(), _PARTS)
    sign, whole, part = (pc.struct_field(found, name) for name in ("sign", "whole", "part"))
    power = _numbers(pc.fill_null(pc.struct_field(found, "power"), ""), signed=True)
    digits = pc.utf8_ltrim(pc.binary_join_element_wise(whole, part, ""), "0")
    short = pc.utf8_rtrim(digits, "0")
    lengths = [np.asarray(pc.fill_null(pc.utf8_length(column), 0), np.int64) for column in (part, digits, short)]
    power += lengths[1] - lengths[2] - lengths[0]
    power[lengths[2] == 0] = 0
    width = lengths[2] + power
    fits = (power >= 0) & (width <= len(MOST_WHOLE))
    text = pc.if_else(pa.array(fits), short, pa.scalar(None, pa.string()))
    for zeros in np.unique(power[fits & (power > 0)]).tolist():
        longer = pc.binary_join_element_wise(text, pa.scalar("0" * zeros), "")
        text = pc.if_else(pa.array(power == zeros), longer, text)
    over = (width == len(MOST_WHOLE)) & np.asarray(pc.fill_null(pc.greater(text, MOST_WHOLE), False))
    text = pc.if_else(pa.array(over), pa.scalar(None, pa.string()), text)
    text = pc.if_else(pc.equal(text, ""), "0", text)
    return pa.chunked_array([pc.binary_join_element_wise(sign, text, "").cast(pa.int64())])


def _numbers(texts: pa.Array, *, signed: bool = False) -> I64:
    """int64 of short texts of digits; 0 where empty or missing."""
    texts = pc.fill_null(texts, "")
    texts = pc.replace_substring_regex(texts, r"^\+", "") if signed else texts
    return np.array(pc.if_else(pc.equal(texts, ""), "0", texts).cast(pa.int64()))


def _as_they_are(values: pa.ChunkedArray) -> pa.ChunkedArray:
    return values


def _hexes(texts: pa.ChunkedArray) -> pa.ChunkedArray:
    """int64 of hexadecimal digits, with 0x or without."""
    found = pc.struct_field(pc.extract_regex(texts, r"^[ \t]*(?:0[xX])?(?P<n>[0-9a-fA-F]{1,16})[ \t]*$"), "n")
    return pc.binary_join_element_wise(pa.scalar("0x"), found, "").cast(pa.int64())


def _marked(texts: pa.ChunkedArray) -> pa.ChunkedArray:
    """int64 of hexadecimal digits with 0x."""
    marked = pc.match_substring_regex(texts, r"^[ \t]*0[xX]")
    return _hexes(pc.if_else(marked, texts, pa.scalar(None, pa.string())))


def _signed(bits: int) -> int:
    """A number of 64 bits as int64 has it."""
    return bits - 2 * INT64_END if bits >= INT64_END else bits


def _keys(texts: pa.ChunkedArray) -> pa.ChunkedArray:
    """int64 of whole numbers from 0 on that are their digits alone, by their 64 bits: no two texts are one number."""
    if pc.all(pc.match_substring_regex(texts, "^(0|[1-9][0-9]{0,17})$")).as_py():
        return texts.cast(pa.int64())
    bare = pc.utf8_trim(texts, BLANKS)
    short = pc.less(pc.utf8_length(bare), len(MOST_KEY))
    good = pc.and_(pc.match_substring_regex(bare, f"^({_KEY})$"), pc.or_(short, pc.less_equal(bare, MOST_KEY)))
    return pc.if_else(good, bare, pa.scalar(None, pa.string())).cast(pa.uint64()).cast(pa.int64(), safe=False)


def _signed_keys(texts: pa.ChunkedArray) -> pa.ChunkedArray:
    """int64 of whole numbers that are their sign and digits alone: no two texts are one number."""
    bare = pc.utf8_trim(texts, BLANKS)
    digits = pc.utf8_ltrim(bare, "-")
    short = pc.less(pc.utf8_length(digits), len(MOST_WHOLE))
    good = pc.and_(
        pc.match_substring_regex(bare, f"^({_SIGNED_KEY})$"), pc.or_(short, pc.less_equal(digits, MOST_WHOLE))
    )
    return pc.if_else(good, bare, pa.scalar(None, pa.string())).cast(pa.int64())


def _commas(texts: pa.ChunkedArray) -> pa.ChunkedArray:
    """float64 of numbers with a decimal comma; null where not finite."""
    good = pc.match_substring_regex(texts, rf"^[ \t]*{_COMMA}[ \t]*$")
    plain = pc.replace_substring(pc.utf8_trim(texts, BLANKS + "+"), ",", ".")
    numbers = pc.if_else(good, plain, pa.scalar(None, pa.string())).cast(pa.float64())
    return pc.if_else(pc.is_finite(numbers), numbers, pa.scalar(None, pa.float64()))


def _finite(text: str) -> float | None:
    number = float(text.replace(",", "."))
    return number if math.isfinite(number) else None


def _part_us(found: pa.Array) -> I64:
    """Microseconds of a fraction's digits, the further ones off."""
    part = pc.fill_null(pc.struct_field(found, "part"), "")
    return _numbers(pc.utf8_slice_codeunits(pc.utf8_rpad(part, 6, "0"), 0, 6))


def _nulled(values: I64, good: npt.NDArray[np.bool_]) -> pa.ChunkedArray:
    return pa.chunked_array([pa.array(values, mask=~good)])


def _dates(texts: pa.ChunkedArray) -> pa.ChunkedArray:
    """int64 microseconds since 1970, in UTC."""
    found = pc.extract_regex(texts.combine_chunks(), rf"^[ \t]*{_DATE}[ \t]*$")
    year, month, day, hour, minute, second = (
        _numbers(pc.struct_field(found, name)) for name in ("year", "month", "day", "hour", "minute", "second")
    )
    good = np.asarray(pc.is_valid(found)) & (1 <= month) & (month <= 12)
    months = np.where(good, (year - 1970) * 12 + month - 1, 0).astype("M8[M]")
    first = months.astype("M8[D]").astype(np.int64)
    length = (months + 1).astype("M8[D]").astype(np.int64) - first
    good &= (1 <= day) & (day <= length) & (hour < 24) & (minute < 60) & (second < 61)
    zone = pc.replace_substring(pc.fill_null(pc.struct_field(found, "zone"), ""), ":", "")
    zone = pc.if_else(pc.equal(zone, "Z"), "", zone)
    away = _numbers(zone, signed=True)  # of +0130, 130
    good &= (np.abs(away) <= MOST_ZONE) & (np.abs(away) % 100 < 60)
    away = np.sign(away) * (np.abs(away) // 100 * 60 + np.abs(away) % 100)
    seconds = hour * 3600 + (minute - away) * 60 + second
    return _nulled((first + day - 1) * DAY_US + seconds * SECOND_US + _part_us(found), good)


def _clocks(texts: pa.ChunkedArray) -> pa.ChunkedArray:
    """int64 microseconds since midnight."""
    found = pc.extract_regex(texts.combine_chunks(), rf"^[ \t]*{_CLOCK}[ \t]*$")
    hour, minute, second = (_numbers(pc.struct_field(found, name)) for name in ("hour", "minute", "second"))
    good = np.asarray(pc.is_valid(found)) & (minute < 60) & (second < 61)
    return _nulled((hour * 60 + minute) * MINUTE_US + second * SECOND_US + _part_us(found), good)


def _one(of: Callable[[pa.ChunkedArray], pa.ChunkedArray]) -> Callable[[str], int | float | None]:
    """The number of one text."""

    def value(text: str) -> int | float | None:
        number: int | float | None = of(pa.chunked_array([[text]], pa.string()))[0].as_py()
        return number

    return value


KINDS = {
    "int": Kind("a whole number", _WHOLE, pa.int64(), _wholes, whole_of),
    "key": Kind(
        "a whole number in digits alone, as the first keys are",
        re.compile(_KEY),
        pa.string(),  # as a number, pyarrow would take 007 for 7
        _keys,
        lambda text: _signed(int(text)) if int(text) < 2 * INT64_END else None,
        fix=KEYS_AS_TEXTS,
    ),
    "signed_key": Kind(
        "a whole number in digits alone, as the first keys are",
        re.compile(_SIGNED_KEY),
        pa.string(),
        _signed_keys,
        whole_of,
        fix=KEYS_AS_TEXTS,
    ),
    "float": Kind("a number", re.compile(_FLOAT), pa.float64(), _as_they_are, _finite),
    "hex": Kind(
        "a hexadecimal number of 64 bits such as 0x1f",
        re.compile(r"0[xX][0-9a-fA-F]{1,16}"),
        pa.string(),  # as a number, pyarrow would take decimal digits too
        _marked,
        lambda text: _signed(int(text, 16)),
    ),
    "bare_hex": Kind(
        "a hexadecimal number of 64 bits such as 1f",
        re.compile(r"(0[xX])?[0-9a-fA-F]{1,16}"),
        pa.string(),
        _hexes,
        lambda text: _signed(int(text, 16)),
    ),
    "decimal_comma": Kind("a number with a decimal comma", re.compile(_COMMA), pa.string(), _commas, _finite),
    "date": Kind(
        "a date such as 2024-01-31T12:00:00.5Z", re.compile(_DATE), pa.string(), _dates, _one(_dates), moment=True
    ),
    "clock": Kind("a time of day such as 12:00:00.5", re.compile(_CLOCK), pa.string(), _clocks, _one(_clocks), True),
}
