"""Compose conf/ into params.yaml: Hydra resolves, pydantic validates, the file is written whole or not at all."""

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from itertools import combinations
from pathlib import Path
from typing import Any, TypeGuard

import yaml

from cachezoo.config.load import validate_params
from cachezoo.config.matrix_text import CACHE_TABLES, CORPORA, CORPUS, FOLDERS, KEYS, LISTS, STREAMS, WRITE_TABLE
from cachezoo.errors import DEEP, ConfigError
from cachezoo.io import atomic_file, write_json
from cachezoo.params import categories_of
from cachezoo.settings.data import cycles_of, roles_of
from cachezoo.settings.params import Params
from cachezoo.traces.formats import FORMATS
from cachezoo.yaml_file import NOT_YAML, parsed, read_yaml
from cachezoo.zoo.registry import SYSTEMS

BANNER = "# Generated from conf/ by the compose stage. Never edit: change conf/ and run `dvc repro`.\n"
SEAL = re.compile(r"^# Values: ([0-9a-f]{16})$", re.MULTILINE)
"""By this line of params.yaml the stage sees that somebody else has changed values."""


def _architectures(models: object, conf: Path) -> list[str]:
    """Hydra's choices of conf/model/<kind>/ that the matrix makes."""
    kinds = set(SYSTEMS)
    if not isinstance(models, dict) or set(models) != kinds:
        message = f"{conf / 'matrix.yaml'}: models must name an architecture of each of {', '.join(sorted(kinds))}"
        raise ConfigError(message)
    if not _is_texts(list(models.values())):
        message = f"{conf / 'matrix.yaml'}: models must map each kind to the name of a file of conf/model/<kind>/"
        raise ConfigError(message)
    return [f"model/{kind}={arch}" for kind, arch in models.items()]


def _is_texts(value: object) -> TypeGuard[list[str]]:
    return isinstance(value, list) and all(isinstance(item, str) for item in value)


def _check_matrix(matrix: object, where: Path) -> None:
    """Refuse a matrix without its tables and lists."""
    if not isinstance(matrix, dict) or set(matrix) != set(KEYS):
        raise ConfigError(f"{where}: its keys must be {', '.join(KEYS)}")
    for name in ("categories", *LISTS.values()):
        if not _is_texts(matrix[name]):
            raise ConfigError(f"{where}: {name} must be a list of the traces' categories, each once")
    tables = [matrix[name] or {} for name in CACHE_TABLES]
    if not all(isinstance(table, dict) for table in tables) or matrix["traces"] != tables[0] | tables[1]:
        raise ConfigError(f"{where}: traces must be the rows of {' and '.join(CACHE_TABLES)} together (`<<: [*…, *…]`)")
    if not isinstance(matrix[WRITE_TABLE] or {}, dict):
        raise ConfigError(f"{where}: {WRITE_TABLE} must be a table of traces ({{}} for none)")


def _check_formats(params: Params, where: Path) -> None:
    """Refuse a format that no reader has; else the first stage that reads the trace would."""
    known = ["auto", *FORMATS]
    formats = {f"traces.{key}": entry.format for key, entry in params.data.traces.items()}
    formats |= {f"{WRITE_TABLE}.{key}": entry.format for key, entry in params.data.writes.items()}
    formats |= {f"{CORPUS}.{key}": row.format for rows in params.data.corpus.values() for key, row in rows.items()}
    for place, given in formats.items():
        if given not in known:
            close = get_close_matches(given.lower(), known, n=1)
            meant = f"did you mean {close[0]}?" if close else f"use one of {', '.join(known)}"
            raise ConfigError(f"{where}: {place}.format: {given} is unknown, {meant}")


def _corpus(matrix: dict[str, Any], where: Path) -> dict[str, dict[str, Any]]:
    """The corpus by category, each of whose files lies in its category's folder, which DVC watches."""
    rows, folders = matrix[CORPUS] or {}, matrix[CORPORA] or {}
    if not all(isinstance(value, dict) for value in (rows, folders, *rows.values())):
        message = f"{where}: {CORPUS} must be a table of traces, {CORPORA} the folder of each of its categories"
        raise ConfigError(message)
    found: dict[str, dict[str, Any]] = {}
    for key, row in rows.items():
        category = row.get("category")
        found.setdefault(str(category), {})[key] = {name: value for name, value in row.items() if name != "category"}
        folder = folders.get(category)
        if folder is None or Path(str(row.get("path"))).parent != Path(str(folder)):
            message = f"{where}: {CORPUS}.{key}: its path is not in the folder that {CORPORA} names for {category}"
            raise ConfigError(message)
    if set(found) != set(folders):
        message = f"{where}: {CORPORA} is of {sorted(folders)}, the corpus's categories are {sorted(found)}; list them"
        raise ConfigError(message)
    return found


def _overrides(conf: Path) -> list[str]:
    value = read_yaml(conf / "overrides.yaml") or {"overrides": []}
    overrides = value.get("overrides") if isinstance(value, dict) else None
    if not isinstance(value, dict) or set(value) != {"overrides"} or not _is_texts(overrides):
        message = f"{conf / 'overrides.yaml'}: its one key must be overrides, a list of KEY=VALUE ([] for none)"
        raise ConfigError(message)
    chosen = next((text for text in overrides if text.lstrip("+~").startswith("model/")), None)
    if chosen is not None:
        message = f"{conf / 'overrides.yaml'}: {chosen}: DVC names folders by it; choose it under models in matrix.yaml"
        raise ConfigError(message)
    return overrides


def compose(conf: Path, models: Mapping[str, str] | None = None, changes: Sequence[str] = ()) -> str:
    """The text of params.yaml for a conf/ folder.

    Args:
        conf: the folder with config.yaml, matrix.yaml and overrides.yaml.
        models: architectures in place of the matrix's, by kind.
        changes: overrides after those of overrides.yaml, as Hydra writes them.

    Raises:
        ConfigError: Hydra cannot compose it, or the result breaks the schema.
    """
    from hydra import compose as hydra_compose
    from hydra import initialize_config_dir
    from hydra.errors import HydraException
    from omegaconf import OmegaConf
    from omegaconf.errors import OmegaConfBaseException

    matrix = read_yaml(conf / "matrix.yaml")
    _check_matrix(matrix, conf / "matrix.yaml")
    wanted = {**matrix["models"], **(models or {})} if isinstance(matrix["models"], dict) else matrix["models"]
    overrides = [*_architectures(wanted, conf), *_overrides(conf), *changes]
    try:
        with initialize_config_dir(str(conf.resolve()), version_base="1.3"):
            tree = OmegaConf.to_container(hydra_compose("config", overrides=overrides), resolve=True)
    except RecursionError as error:
        raise ConfigError(f"{conf}: a file or a change of it is {DEEP}; fix it in conf/") from error
    except (HydraException, OmegaConfBaseException, *NOT_YAML) as error:
        raise ConfigError(f"{conf}: {' '.join(str(error).split())[:300]}; fix it in conf/") from error
    tree = dict(tree) if isinstance(tree, dict) else {}
    data = {"traces": matrix["traces"], "page_categories": sorted(matrix["page_categories"])}
    data["writes"] = matrix[WRITE_TABLE] or {}
    data["corpus"] = _corpus(matrix, conf / "matrix.yaml")
    params = validate_params({**tree, "data": data}, str(conf))
    _check_formats(params, conf / "matrix.yaml")
    for kind, arch in wanted.items():
        if getattr(params.model, kind).arch != arch:
            said = getattr(params.model, kind).arch
            raise ConfigError(f"{conf}: model.{kind}.arch is {said!r}; the file {arch}.yaml must say {arch}")
    _check_lists(matrix, params, conf / "matrix.yaml")
    tree = params.model_dump(mode="json")
    tree["data"]["roles"] = roles_of(params.data.traces)
    tree["data"]["cycles"] = cycles_of(params.data)
    return f"{BANNER}# Values: {_seal(tree)}\n{yaml.safe_dump(tree, sort_keys=True, allow_unicode=True)}"


def _seal(tree: object) -> str:
    return hashlib.sha256(json.dumps(tree, sort_keys=True).encode()).hexdigest()[:16]


def _check_lists(matrix: dict[str, Any], params: Params, where: Path) -> None:
    """Refuse lists of categories that are not those of the tables' traces."""
    traces = {**params.data.traces, **params.data.writes}
    own = {table: {traces[key].category for key in matrix[table] or ()} for table in LISTS}
    wanted = {LISTS[table]: found for table, found in own.items()}
    for name, found in {"categories": set(categories_of(params)), **wanted}.items():
        if sorted(matrix[name]) != sorted(found):
            raise ConfigError(f"{where}: {name} is {matrix[name]}, the traces' are {sorted(found)}; list them")
    for one, other in combinations(own, 2):
        if both := sorted(own[one] & own[other]):
            raise ConfigError(f"{where}: category {both[0]} has rows in {one} and in {other}; take one")
    folders = {name: f"{folder}/{name}" for table, folder in FOLDERS.items() for name in sorted(own[table])}
    if (matrix[STREAMS] or {}) != folders:
        message = f"{where}: {STREAMS} must be {{{', '.join(': '.join(pair) for pair in sorted(folders.items()))}}}"
        raise ConfigError(message)


def _values(tree: Any, path: tuple[str, ...] = ()) -> dict[tuple[str, ...], object]:  # noqa: ANN401 - any YAML value
    """Every value of a tree, by its path."""
    if not isinstance(tree, dict):
        return {path: tree}
    return {place: value for key, part in tree.items() for place, value in _values(part, (*path, str(key))).items()}


def _file_of(conf: Path, place: tuple[str, ...]) -> str:
    """Where a value of params.yaml is set, as DVC writes it: `file:key`."""
    file = conf.joinpath(*place[:2]).with_suffix(".yaml")
    return f"{file}:{'.'.join(place[2:])}" if len(place) > 2 and file.is_file() else f"{conf}/"


def check_untouched(conf: Path, path: Path, text: str) -> None:
    """Refuse to overwrite a params.yaml whose values somebody has changed, such as `dvc exp run -S fit.x=1`.

    Args:
        conf: the folder that the values belong into.
        path: params.yaml. One that is not there, or is no YAML, may be written.
        text: what is to be written.

    Raises:
        ConfigError: its values are not those that were written; the first that differs is named.
    """
    try:
        old = path.read_text(encoding="utf-8")
        tree = parsed(old, str(path))
    except (OSError, UnicodeDecodeError, ConfigError):
        return
    seal = SEAL.search(old)
    if not isinstance(tree, dict) or (seal is not None and seal[1] == _seal(tree)):
        return
    now, wanted = _values(tree), _values(parsed(text, str(conf)))
    for place in {**wanted, **now}:
        if now.get(place) != wanted.get(place):
            file = _file_of(conf, place)
            message = (
                f"{path}: {'.'.join(place)} was changed there, and it is generated; change {file} instead "
                f"(`dvc exp run -S {file}=…`), and put {path} back by `git checkout {path}`"
            )
            raise ConfigError(message)


def write_params(conf: Path, path: Path, traces: Path | None = None) -> None:
    """Write `compose(conf)`; an error leaves the old files.

    Args:
        conf: the folder.
        path: params.yaml.
        traces: a JSON file of what its `data` holds.

    Raises:
        ConfigError: see `compose` and `check_untouched`.
    """
    text = compose(conf)
    check_untouched(conf, path, text)
    with atomic_file(path) as temporary:
        temporary.write_text(text, encoding="utf-8")
    if traces is not None:
        write_json(traces, parsed(text, str(conf))["data"])
