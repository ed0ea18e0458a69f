"""Numbers as people type them and files hold them: ASCII digits alone.

Python's own `int` and `float` also take digits of other scripts, underscores, blanks around a number, `nan` and
`infinity`, and so would make another number of a slip.
"""

import math
import re

MOST_DIGITS = 400  # no number that anything here takes is longer; Python's own limit is 4,300
WHOLE = re.compile(r"[+-]?[0-9]+")
NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")


def whole(text: str) -> int | None:
    """A whole number; None where the text is none."""
    return int(text) if len(text) <= MOST_DIGITS and WHOLE.fullmatch(text) else None


def number(text: str) -> float | None:
    """A finite number; None where the text is none."""
    value = float(text) if len(text) <= MOST_DIGITS and NUMBER.fullmatch(text) else math.inf
    return value if math.isfinite(value) else None
