"""The settings of a study: a grid, or ranges to search, of values of keys of params.yaml or of groups of conf/."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from itertools import product
from pathlib import Path
from typing import Any

from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution

from cachezoo import paths
from cachezoo.config.compose import compose
from cachezoo.config.load import load_params, validate_params
from cachezoo.errors import ConfigError
from cachezoo.numerals import number, whole
from cachezoo.settings.params import Params
from cachezoo.yaml_file import parsed

MODEL = "model"
NEAREST = 3  # keys named beside one that there is not


@dataclass(frozen=True)
class Setting:
    """A cell of the grid."""

    values: Mapping[str, str]  # what was asked of each key
    params: Params  # the whole of params.yaml with it
    changed: frozenset[str]  # dotted paths at which it differs from params.yaml as it is

    @property
    def name(self) -> str:
        """What a table calls it."""
        text = " ".join(f"{key}={value}" for key, value in self.values.items())
        if not text:
            return "params.yaml"
        return text if self.changed else f"{text} (params.yaml)"


def axis(text: str) -> tuple[str, list[str]]:
    """The key and the values of `KEY=VALUE,VALUE`; commas in brackets part no values.

    Raises:
        ConfigError: there is no key, or no value.
    """
    key, _, rest = text.partition("=")
    values, depth = [""], 0
    for letter in rest:
        depth += (letter in "[{(") - (letter in "]})")
        if letter == "," and not depth:
            values.append("")
        else:
            values[-1] += letter
    key, values = key.strip().replace("/", "."), [value.strip() for value in values]
    if not key or not all(values) or len(set(values)) < len(values):
        raise ConfigError(f"--set {text}: is not KEY=VALUE or KEY=VALUE,VALUE with values that differ")
    return key, values


class Settings:
    """Makes settings of a project, whose params.yaml is the one that all others are compared with."""

    def __init__(self, root: Path) -> None:
        """Read params.yaml.

        Raises:
            ConfigError: it is not what conf/ says, so that the outputs of `make repro` are of other settings.
        """
        self.params = load_params(root / paths.PARAMS)
        self.tree = self.params.model_dump(mode="json")
        self._conf = root / "conf"
        composed = validate_params(parsed(compose(self._conf), "conf"), "conf")
        if composed.model_dump(mode="json") != self.tree:
            message = f"{root / paths.PARAMS}: is not what conf/ says; run `make repro`, whose outputs a study reads"
            raise ConfigError(message)

    def is_group(self, key: str) -> bool:
        """Whether a key is a group of conf/, whose values are names of files, and no key of params.yaml."""
        return (self._conf / key.replace(".", "/")).is_dir()

    def of(self, values: Mapping[str, str]) -> Setting:
        """The setting with some values.

        Raises:
            ConfigError: a key that there is not, or a value out of range.
        """
        groups = {key: value for key, value in values.items() if self.is_group(key)}
        for key in values:
            if key not in groups:
                self._check_key(key)
        models = {key.split(".")[1]: value for key, value in groups.items() if key.split(".")[0] == MODEL}
        others = [f"{key.replace('.', '/')}={value}" for key, value in groups.items() if key.split(".")[0] != MODEL]
        changes = [f"{key}={value}" for key, value in values.items() if key not in groups]
        text = compose(self._conf, models, [*others, *changes])
        params = validate_params(parsed(text, "conf"), " ".join(changes) or "conf")
        return Setting(values, params, frozenset(differing(self.tree, params.model_dump(mode="json"))))

    def _check_key(self, key: str) -> None:
        """Refuse a key that params.yaml lacks, before Hydra advises to add it."""
        leaves = [path.split(".") for path, _ in flat(self.tree)]
        known = list(dict.fromkeys(".".join(parts[: k + 1]) for parts in leaves for k in range(len(parts))))
        if key in known:
            return
        last = {path.rpartition(".")[2] for path in known}
        like = get_close_matches(key.rpartition(".")[2], last, n=NEAREST)
        near = [path for name in like for path in known if path.rpartition(".")[2] == name]
        near = list(dict.fromkeys([*get_close_matches(key, known, n=NEAREST), *near]))[:NEAREST]
        meant = f"the nearest are {', '.join(near)}" if near else "params.yaml lists them"
        raise ConfigError(f"--set {key}: params.yaml has no such key, and conf/ no such group; {meant}")


def check_once(keys: Sequence[str]) -> None:
    """Refuse a key that is set twice.

    Raises:
        ConfigError: all keys are named.
    """
    if len(set(keys)) < len(keys):
        raise ConfigError(f"--set: {', '.join(keys)} holds a key twice; give each once, with all its values")


def grid(root: Path, texts: Sequence[str]) -> list[Setting]:
    """Every combination of the values, the last key's changing first.

    Args:
        root: the project.
        texts: each `KEY=VALUE,VALUE`, the key dotted as in params.yaml, or a group of conf/ as `model.caching`.

    Raises:
        ConfigError: a key twice or one that there is not; a value out of range, or a range of values; or params.yaml
            is not what conf/ says.
    """
    axes = [axis(text) for text in texts]
    for key, values in axes:
        if any(".." in value for value in values):
            message = f"--set {key}={','.join(values)}: a range is searched; add --optimize, or list its values"
            raise ConfigError(message)
    keys = [key for key, _ in axes]
    check_once(keys)
    settings = Settings(root)
    cells = [dict(zip(keys, values, strict=True)) for values in product(*(values for _, values in axes))]
    return [settings.of(cell) for cell in cells]


def flat(value: object, path: str = "") -> Iterator[tuple[str, Any]]:
    """The values of a tree by dotted path."""
    if isinstance(value, Mapping) and value:
        for key, own in value.items():
            yield from flat(own, f"{path}.{key}" if path else str(key))
    elif path:
        yield path, value


def differing(one: object, other: object) -> dict[str, list[Any]]:
    """The values of two trees that differ, by dotted path; None where one has none."""
    first, second = dict(flat(one)), dict(flat(other))
    keys = sorted({*first, *second})
    return {key: [first.get(key), second.get(key)] for key in keys if first.get(key) != second.get(key)}


# Figures of a number that a search tries: more would be noise in tables and in conf/.
FIGURES = 4
DOTS, LOG = "..", ":log"


@dataclass(frozen=True)
class Axis:
    """A key of params.yaml, dotted, or a group of conf/, with what it may be."""

    key: str  # the key
    # what Optuna draws from: a range, both ends included, or values as typed
    drawn: CategoricalDistribution | FloatDistribution | IntDistribution
    now: Any  # what params.yaml has; None where that is not among them

    def text(self, value: Any) -> str:  # noqa: ANN401 - what Optuna drew
        """What was drawn as a setting has it; of a number that is no integer four figures, within the range."""
        if isinstance(self.drawn, CategoricalDistribution):
            return str(value)
        if isinstance(self.drawn, IntDistribution) or value == self.now:
            return repr(value)
        return repr(min(max(float(f"{value:.{FIGURES}g}"), self.drawn.low), self.drawn.high))

    def plain(self) -> dict[str, Any]:
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
