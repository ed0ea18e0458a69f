"""How each quantity looks in a table, a sentence, a plot and a page."""

from collections.abc import Sequence

UNIT_SPACE = "\N{NO-BREAK SPACE}"
MINUS = "\N{MINUS SIGN}"
NONE = "\N{EN DASH}"


def number(value: float, digits: int = 0, signed: bool = False) -> str:
    """`1,234.5`, with a true minus; what rounds to zero has no sign."""
    text = f"{value:{'+' if signed else ''},.{digits}f}"
    if not any(digit in text for digit in "123456789"):
        text = text.lstrip("+-")
    return text.replace("-", MINUS)


def percent(value: float, digits: int = 1, signed: bool = False) -> str:
    """A share as `12.3 %`."""
    return f"{number(100 * value, digits, signed)}{UNIT_SPACE}%"


def points(value: float) -> str:
    """A difference of hit ratios, given in points of 0.01."""
    return f"{number(value, 1, signed=True)}{UNIT_SPACE}points"


def span(ends: Sequence[float] | None, digits: int = 0, scale: float = 100) -> str:
    """The 90 % interval `[low, high]` in the unit of the figure it stands beside; empty where there is none."""
    return "" if ends is None else f"[{number(scale * ends[0], digits)}, {number(scale * ends[1], digits)}]"


def words(items: Sequence[str]) -> str:
    """`a, b and c`."""
    return " and ".join([", ".join(items[:-1]), items[-1]] if len(items) > 1 else list(items))
