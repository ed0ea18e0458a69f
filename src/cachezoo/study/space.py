"""What a search may choose from: ranges of numbers, and lists of values, of keys of params.yaml or groups of conf/."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from cachezoo.errors import ConfigError
from cachezoo.numerals import number, whole
from cachezoo.study.depends import value_at
from cachezoo.study.grid import MODEL, Setting, Settings, axis, check_once
from cachezoo.yaml_file import parsed

if TYPE_CHECKING:
    from optuna.distributions import BaseDistribution

# Figures of a number that a search tries: more would be noise in tables and in conf/.
FIGURES = 4
DOTS, LOG = "..", ":log"


@dataclass(frozen=True)
class Range:
    """Numbers from `low` to `high`, both included.

    Attributes:
        key: dotted, as in params.yaml.
        low, high: integers of a range of integers.
        log: small numbers are told apart as finely as large ones.
        now: what params.yaml has; None where that is no number of the range.
    """

    key: str
    low: float
    high: float
    log: bool
    now: float | None

    @property
    def whole(self) -> bool:
        """Whether it is of integers."""
        return isinstance(self.low, int) and isinstance(self.high, int)

    def distribution(self) -> "BaseDistribution":
        """What Optuna draws from."""
        from optuna.distributions import FloatDistribution, IntDistribution

        if self.whole:
            return IntDistribution(int(self.low), int(self.high), log=self.log)
        return FloatDistribution(float(self.low), float(self.high), log=self.log)

    def text(self, value: Any) -> str:  # noqa: ANN401 - what Optuna drew
        """A drawn number as it stands in a setting: an integer, or a number of four figures that is in the range."""
        if self.whole or value == self.now:
            return repr(value)
        return repr(min(max(float(f"{value:.{FIGURES}g}"), float(self.low)), float(self.high)))

    def said(self) -> dict[str, Any]:
        """As plain values."""
        return {"key": self.key, "low": self.low, "high": self.high, "log": self.log}

    def ends(self) -> tuple[str, ...]:
        """Values that are allowed if all of it is."""
        return repr(self.low), repr(self.high)


@dataclass(frozen=True)
class Choice:
    """Values without an order.

    Attributes:
        key: dotted, as in params.yaml, or a group of conf/.
        values: at least one.
        now: which of them params.yaml has, if any.
    """

    key: str
    values: tuple[str, ...]
    now: str | None

    def distribution(self) -> "BaseDistribution":
        """What Optuna draws from."""
        from optuna.distributions import CategoricalDistribution

        return CategoricalDistribution(self.values)

    def text(self, value: Any) -> str:  # noqa: ANN401 - what Optuna drew
        """A drawn value as it stands in a setting."""
        return str(value)

    def said(self) -> dict[str, Any]:
        """As plain values."""
        return {"key": self.key, "values": list(self.values)}

    def ends(self) -> tuple[str, ...]:
        """Values that are allowed if all of it is."""
        return self.values


Axis = Range | Choice


def space(settings: Settings, texts: Sequence[str], trials: int) -> list[Axis]:
    """The keys that a search sets, each with what it may be.

    Args:
        settings: of the project.
        texts: each `KEY=LOW..HIGH`, `KEY=LOW..HIGH:log` or `KEY=VALUE,VALUE`.
        trials: settings that the search tries.

    Raises:
        ConfigError: none is given; one is neither, or is of no use; or a value is out of what params.yaml allows.
    """
    if not texts:
        message = "--optimize: nothing to choose from; give --set KEY=LOW..HIGH, or --set KEY=VALUE,VALUE"
        raise ConfigError(message)
    axes = [_axis(settings, text) for text in texts]
    check_once([own.key for own in axes])
    count = _count(axes)
    if count is not None and count <= trials:
        message = f"--optimize: there are {count} settings, --trials is {trials}; list all in --set without --optimize"
        raise ConfigError(message)
    return axes


def _count(axes: Sequence[Axis]) -> int | None:
    """Settings that there are; None where there is no end of them."""
    counts = []
    for own in axes:
        if isinstance(own, Range) and not own.whole:
            return None
        counts.append(int(own.high) - int(own.low) + 1 if isinstance(own, Range) else len(own.values))
    return math.prod(counts)


def _axis(settings: Settings, text: str) -> Axis:
    key, values = axis(text)
    now = None if settings.is_group(key) else value_at(settings.tree, key)
    if any(DOTS in value for value in values):
        return _range(text, key, values, now)
    if settings.is_group(key) and key.split(".")[0] == MODEL:
        now = value_at(settings.tree, f"{key}.arch")
    same = [value for value in values if now is not None and _equal(value, now)]
    return Choice(key, tuple(values), same[0] if same else None)


def _range(text: str, key: str, values: Sequence[str], now: object) -> Range:
    first, _, last = values[0].partition(DOTS)
    log = last.endswith(LOG)
    typed = (first, last.removesuffix(LOG))
    low, high = map(number, typed)
    if len(values) > 1 or low is None or high is None:
        message = f"--set {text}: is no range; write KEY=LOW..HIGH or KEY=LOW..HIGH:log with two numbers"
        raise ConfigError(message)
    if low >= high or (log and low <= 0):
        message = f"--set {text}: a range goes from a lower number to a higher one{', above 0 if it is :log' * log}"
        raise ConfigError(message)
    inside = now if isinstance(now, int | float) and not isinstance(now, bool) and low <= now <= high else None
    if all(whole(end) is not None for end in typed):
        now_whole = int(inside) if inside is not None and inside == int(inside) else None
        return Range(key, int(low), int(high), log, now_whole)
    return Range(key, low, high, log, inside)


def _equal(text: str, now: object) -> bool:
    """Whether a value as typed is the one of params.yaml."""
    if isinstance(now, int | float) and not isinstance(now, bool):
        return number(text) == now
    return bool(parsed(text, "--set") == now)


def corners(settings: Settings, axes: Sequence[Axis]) -> list[Setting]:
    """Settings with each value, or end of a range, beside the first values of the other keys: all can be checked.

    Raises:
        ConfigError: one is out of what params.yaml allows.
    """
    first = {own.key: own.ends()[0] for own in axes}
    return [settings.of({**first, own.key: end}) for own in axes for end in own.ends()]


def drawn(axes: Sequence[Axis], values: Mapping[str, Any]) -> dict[str, str]:
    """What Optuna drew, as the values of a setting."""
    return {own.key: own.text(values[own.key]) for own in axes}


def here(axes: Sequence[Axis]) -> dict[str, Any] | None:
    """The setting of params.yaml as a draw; None where it is not among what may be chosen."""
    values = {own.key: own.now for own in axes}
    return None if None in values.values() else values
