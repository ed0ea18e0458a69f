"""Load params.yaml, the one file that stages read."""

from pathlib import Path
from typing import Any

import yaml
from pydantic import ValidationError

from cachezoo import paths
from cachezoo.config.schema import Params
from cachezoo.errors import ConfigError


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


def validate_params(value: Any, where: str) -> Params:  # noqa: ANN401 - any YAML value
    """Check a parameter tree.

    Raises:
        ConfigError: unknown or missing key, or a value out of range; the first of them is named.
    """
    try:
        return Params.model_validate(value)
    except ValidationError as error:
        first = error.errors()[0]
        key = ".".join(str(part) for part in first["loc"])
        named = f"{key}: {first['msg']}" if key else first["msg"]
        message = f"{where}: {named}; mend it in conf/ ({error.error_count()} in all)"
        raise ConfigError(message) from error


def load_params(path: Path = paths.PARAMS) -> Params:
    """Read and validate params.yaml.

    Raises:
        ConfigError: missing, not YAML, or not what the schema allows.
    """
    return validate_params(read_yaml(path), str(path))
