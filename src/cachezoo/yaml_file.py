"""YAML files that people write: read and checked, with one line of what is wrong."""

from pathlib import Path
from typing import Any, TypeVar

import yaml
from pydantic import TypeAdapter, ValidationError

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


def checked(schema: TypeAdapter[M], value: Any, where: str, advice: str) -> M:  # noqa: ANN401 - any YAML value
    """A value as its schema has it.

    Args:
        schema: pydantic's.
        value: as parsed.
        where: the file, which the error names.
        advice: what to do about an error.

    Raises:
        ConfigError: it breaks the schema; the first key that does is named.
    """
    try:
        return schema.validate_python(value)
    except ValidationError as error:
        first = error.errors()[0]
        key = ".".join(str(part) for part in first["loc"])
        named = f"{key}: {first['msg']}" if key else first["msg"]
        message = f"{where}: {named}; {advice} ({error.error_count()} in all)"
        raise ConfigError(message) from error
