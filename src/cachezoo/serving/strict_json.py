"""JSON as every reader of bundles takes it: the limits are those of libcachezoo's reader."""

import json
import math
from typing import Any

MOST_DEPTH = 256  # lists and objects inside each other
MOST_VALUES = 1 << 21


def read_json(data: bytes) -> Any:  # noqa: ANN401 - any JSON value
    """A document of UTF-8, finite numbers and unique keys.

    Raises:
        ValueError, RecursionError: it is anything else.
    """
    text = data.decode("utf-8")
    value = json.loads(
        text, parse_constant=_real, parse_float=_real, parse_int=_integer, object_pairs_hook=_unique_keys
    )
    # A text without escapes holds no zero and no half of a pair, and a short one is neither deep nor large.
    if "\\u" in text or text.count("[") + text.count("{") > MOST_DEPTH or len(text) > MOST_VALUES:
        _check(value)
    return value


def _real(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(f"{text[:40]} is not a finite number")
    return value


def _integer(text: str) -> int:
    _real(text)
    return int(text)


def _unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key stands twice")
    return found


def _check(document: object) -> None:
    """Raises ValueError: the document is too deep or too large, or a text holds what no C string of UTF-8 does."""
    pending, count = [(document, 1)], 0
    while pending:
        value, depth = pending.pop()
        count += 1
        texts: list[str] = [value] if isinstance(value, str) else []
        if isinstance(value, dict | list):
            if depth > MOST_DEPTH:
                raise ValueError(f"it is deeper than {MOST_DEPTH} levels")
            texts = list(value) if isinstance(value, dict) else []
            pending.extend((inner, depth + 1) for inner in (value.values() if isinstance(value, dict) else value))
        for text in texts:
            if "\0" in text:
                raise ValueError("a text holds a zero")
            text.encode("utf-8")  # half a surrogate pair is none
    if count > MOST_VALUES:
        raise ValueError(f"it holds more than {MOST_VALUES} values")
