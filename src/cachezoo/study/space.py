"""What a search may choose from: ranges of numbers, and lists of values, of keys of params.yaml or groups of conf/."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution

from cachezoo.errors import ConfigError
from cachezoo.numerals import number, whole
from cachezoo.study.grid import MODEL, Setting, Settings, axis, check_once, flat
from cachezoo.yaml_file import parsed

# Figures of a number that a search tries: more would be noise in tables and in conf/.
FIGURES = 4
DOTS, LOG = "..", ":log"


@dataclass(frozen=True)
class Axis:
    """A key of params.yaml, dotted, or a group of conf/, with what it may be.

    Attributes:
        key: the key.
        drawn: what Optuna draws from: a range, both ends included, or values as typed.
        now: what params.yaml has; None where that is not among them.
    """

    key: str
    drawn: CategoricalDistribution | FloatDistribution | IntDistribution
    now: Any

    def text(self, value: Any) -> str:  # noqa: ANN401 - what Optuna drew
        """What was drawn as a setting has it; of a number that is no integer four figures, within the range."""
        if isinstance(self.drawn, CategoricalDistribution):
            return str(value)
        if isinstance(self.drawn, IntDistribution) or value == self.now:
            return repr(value)
        return repr(min(max(float(f"{value:.{FIGURES}g}"), self.drawn.low), self.drawn.high))

    def said(self) -> dict[str, Any]:
        """As plain values."""
        if isinstance(self.drawn, CategoricalDistribution):
            return {"key": self.key, "values": list(self.drawn.choices)}
        return {"key": self.key, "low": self.drawn.low, "high": self.drawn.high, "log": self.drawn.log}

    def ends(self) -> list[str]:
        """Values that are allowed if all of it is."""
        if isinstance(self.drawn, CategoricalDistribution):
            return list(map(str, self.drawn.choices))
        return [repr(self.drawn.low), repr(self.drawn.high)]

    def count(self) -> float:
        """How many values there are."""
        if isinstance(self.drawn, CategoricalDistribution):
            return len(self.drawn.choices)
        return self.drawn.high - self.drawn.low + 1 if isinstance(self.drawn, IntDistribution) else math.inf


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
        raise ConfigError("--optimize: nothing to choose from; give --set KEY=LOW..HIGH, or --set KEY=VALUE,VALUE")
    axes = [_axis(settings, text) for text in texts]
    check_once([own.key for own in axes])
    count = math.prod(own.count() for own in axes)
    if count <= trials:
        message = f"--optimize: there are {count} settings, --trials is {trials}; list all in --set without --optimize"
        raise ConfigError(message)
    return axes


def _axis(settings: Settings, text: str) -> Axis:
    key, values = axis(text)
    group = settings.is_group(key)
    place = f"{key}.arch" if group and key.split(".")[0] == MODEL else key
    now = dict(flat(settings.tree)).get(place)
    if any(DOTS in value for value in values):
        return _range(text, key, values, None if group else now)
    same = [value for value in values if now is not None and _equal(value, now)]
    return Axis(key, CategoricalDistribution(values), same[0] if same else None)


def _range(text: str, key: str, values: Sequence[str], now: object) -> Axis:
    first, _, last = values[0].partition(DOTS)
    log = last.endswith(LOG)
    typed = (first, last.removesuffix(LOG))
    low, high = map(number, typed)
    if len(values) > 1 or low is None or high is None:
        raise ConfigError(f"--set {text}: is no range; write KEY=LOW..HIGH or KEY=LOW..HIGH:log with two numbers")
    if low >= high or (log and low <= 0):
        message = f"--set {text}: a range goes from a lower number to a higher one{', above 0 if it is :log' * log}"
        raise ConfigError(message)
    inside = now if isinstance(now, int | float) and not isinstance(now, bool) and low <= now <= high else None
    if all(whole(end) is not None for end in typed):
        now_whole = int(inside) if inside is not None and inside == int(inside) else None
        return Axis(key, IntDistribution(int(low), int(high), log=log), now_whole)
    return Axis(key, FloatDistribution(low, high, log=log), inside)


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
