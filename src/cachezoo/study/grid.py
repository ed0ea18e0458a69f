"""The settings of a study: a grid of values of keys of params.yaml, or of groups of conf/."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import yaml

from cachezoo import paths
from cachezoo.config.compose import compose
from cachezoo.config.load import load_params, validate_params
from cachezoo.config.schema import Params
from cachezoo.errors import ConfigError

MODEL = "model"


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
        message = f"--set {text}: is not KEY=VALUE or KEY=VALUE,VALUE with values that differ"
        raise ConfigError(message)
    return key, values


def grid(root: Path, texts: Sequence[str]) -> list[Setting]:
    """Every combination of the values, the last key's changing first.

    Args:
        root: the project.
        texts: each `KEY=VALUE,VALUE`, the key dotted as in params.yaml, or a group of conf/ as `model.caching`.

    Raises:
        ConfigError: a key twice or one that there is not; a value out of range; or params.yaml is not what conf/ says.
    """
    axes = [axis(text) for text in texts]
    keys = [key for key, _ in axes]
    if len(set(keys)) < len(keys):
        message = f"--set: {', '.join(keys)} holds a key twice; give each once, with all its values"
        raise ConfigError(message)
    base = load_params(root / paths.PARAMS).model_dump(mode="json")
    if validate_params(yaml.safe_load(compose(root / "conf")), "conf").model_dump(mode="json") != base:
        message = f"{root / paths.PARAMS}: is not what conf/ says; run `make repro`, whose outputs a study reads"
        raise ConfigError(message)
    cells = [dict(zip(keys, values, strict=True)) for values in product(*(values for _, values in axes))]
    return [_setting(root, cell, base) for cell in cells]


def _setting(root: Path, values: Mapping[str, str], base: Mapping[str, Any]) -> Setting:
    conf = root / "conf"
    groups = {key: value for key, value in values.items() if (conf / key.replace(".", "/")).is_dir()}
    models = {key.split(".")[1]: value for key, value in groups.items() if key.split(".")[0] == MODEL}
    others = [f"{key.replace('.', '/')}={value}" for key, value in groups.items() if key.split(".")[0] != MODEL]
    changes = [f"{key}={value}" for key, value in values.items() if key not in groups]
    params = validate_params(yaml.safe_load(compose(conf, models, [*others, *changes])), " ".join(changes) or "conf")
    return Setting(values, params, frozenset(_changed("", base, params.model_dump(mode="json"))))


def _changed(path: str, before: object, after: object) -> list[str]:
    """Dotted paths of the values that differ."""
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        keys = [*before, *(key for key in after if key not in before)]
        inside = [(f"{path}.{key}" if path else str(key), before.get(key), after.get(key)) for key in keys]
        return [found for one in inside for found in _changed(*one)]
    return [] if before == after else [path]
