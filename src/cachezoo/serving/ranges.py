"""Values that a bundle's manifest states, held to their types and ranges before kernels compute with them."""

from collections.abc import Mapping, Sequence
from typing import Any

from cachezoo.errors import ConfigError

Sizes = Mapping[str, tuple[int, int]]
"""Least and most, by place: keys with points between. Brackets after a place: a list of such numbers is there."""

LARGEST = 1e308
LIST = "[]"
MOST_LISTED = 64


def integer(value: object, place: str, least: int, most: int) -> int:
    """A whole number.

    Raises:
        ConfigError: it is none, or out of range.
    """
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
        raise ConfigError(f"{place} is {ascii(value)[:40]}, not a whole number from {least} to {most}")
    return value


def number(value: object, place: str, least: float, most: float) -> float:
    """A number.

    Raises:
        ConfigError: it is none, or out of range.
    """
    if not isinstance(value, int | float) or isinstance(value, bool) or not least <= value <= most:
        raise ConfigError(f"{place} is {ascii(value)[:40]}, not a number from {least:g} to {most:g}")
    return float(value)


def choice(value: object, place: str, known: Sequence[str]) -> str:
    """One of a few texts.

    Raises:
        ConfigError: it is none of them.
    """
    if not isinstance(value, str) or value not in known:
        raise ConfigError(f"{place} is {ascii(value)[:40]}; this release knows {' and '.join(known)}")
    return value


def flag(value: object, place: str) -> bool:
    """True or false.

    Raises:
        ConfigError: it is neither.
    """
    if not isinstance(value, bool):
        raise ConfigError(f"{place} is {ascii(value)[:40]}, neither true nor false")
    return value


def check_sizes(manifest: Mapping[str, Any], sizes: Sizes) -> None:
    """Check every number that a kind names.

    Raises:
        ConfigError: one is no whole number, out of range, or a list is none, or too long.
        KeyError, TypeError: the manifest has no such place.
    """
    for place, (least, most) in sizes.items():
        value: Any = manifest
        for key in place.removesuffix(LIST).split("."):
            value = value[key]
        listed = place.endswith(LIST)
        if listed and not (isinstance(value, list) and 1 <= len(value) <= MOST_LISTED):
            raise ConfigError(f"{place} is no list of 1 to {MOST_LISTED} numbers")
        for one in value if listed else [value]:
            integer(one, place, least, most)
