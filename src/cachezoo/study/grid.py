"""The settings of a study: a grid of values of keys of params.yaml, or of groups of conf/."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from itertools import product
from pathlib import Path
from typing import Any

from cachezoo import paths
from cachezoo.config.compose import compose
from cachezoo.config.load import load_params, validate_params
from cachezoo.errors import ConfigError
from cachezoo.settings.params import Params
from cachezoo.yaml_file import parsed

MODEL = "model"
NEAREST = 3  # keys named beside one that there is not


@dataclass(frozen=True)
class Setting:
    """A cell of the grid.

    Attributes:
        values: what was asked of each key.
        params: the whole of params.yaml with it.
        changed: dotted paths at which it differs from params.yaml as it is.
    """

    values: Mapping[str, str]
    params: Params
    changed: frozenset[str]

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
