"""Load params.yaml, the one file that stages read."""

from pathlib import Path
from typing import Any, TypeVar

import yaml
from pydantic import TypeAdapter, ValidationError

from cachezoo import paths
from cachezoo.config.device import Device
from cachezoo.config.schema import Params
from cachezoo.errors import ConfigError

M = TypeVar("M")


def read_yaml(path: Path) -> Any:  # noqa: ANN401 - any YAML value
    """Parse a YAML file.

    Raises:
        ConfigError: missing, or not YAML.
    """
    try:
        return yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        message = f"{path}: not readable as YAML ({' '.join(str(error).split())[:200]})"
        raise ConfigError(message) from error


def _validate(schema: TypeAdapter[M], value: Any, where: str, mend: str) -> M:  # noqa: ANN401 - any YAML value
    try:
        return schema.validate_python(value)
    except ValidationError as error:
        first = error.errors()[0]
        key = ".".join(str(part) for part in first["loc"])
        named = f"{key}: {first['msg']}" if key else first["msg"]
        message = f"{where}: {named}; {mend} ({error.error_count()} in all)"
        raise ConfigError(message) from error


def validate_params(value: Any, where: str) -> Params:  # noqa: ANN401 - any YAML value
    """Check a parameter tree.

    Raises:
        ConfigError: unknown or missing key, or a value out of range; the first of them is named.
    """
    return _validate(TypeAdapter(Params), value, where, "mend it in conf/")


def read_device(path: Path) -> Device:
    """A device profile, such as conf/device/*.yaml.

    Raises:
        ConfigError: missing, not YAML, or not what the schema allows.
    """
    adapter: TypeAdapter[Device] = TypeAdapter(Device)
    return _validate(adapter, read_yaml(path), str(path), "conf/device holds profiles to copy from")


def load_params(path: Path = paths.PARAMS) -> Params:
    """Read and validate params.yaml.

    Raises:
        ConfigError: missing, not YAML, or not what the schema allows.
    """
    return validate_params(read_yaml(path), str(path))
