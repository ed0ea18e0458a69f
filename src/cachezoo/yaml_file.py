"""YAML files that people write: read and checked, with one line of what is wrong."""

from pathlib import Path
from typing import Any, TypeVar

import yaml
from pydantic import TypeAdapter, ValidationError

from cachezoo.errors import DEEP, ConfigError

M = TypeVar("M")
# PyYAML lets through what Python says of a value that its tag does not fit, such as `!!int x`.
NOT_YAML = (yaml.YAMLError, ValueError, TypeError, LookupError, AttributeError, ArithmeticError)


def parsed(text: str, where: str) -> Any:  # noqa: ANN401 - any YAML value
    """The value of a YAML text.

    Args:
        text: of people.
        where: the file, or what else the error names.

    Raises:
        ConfigError: it is no YAML, or nested too deeply.
    """
    try:
        return yaml.safe_load(text)
    except RecursionError as error:
        raise ConfigError(f"{where}: not readable as YAML ({DEEP})") from error
    except NOT_YAML as error:
        raise ConfigError(f"{where}: not readable as YAML ({' '.join(str(error).split())[:200]})") from error


def read_yaml(path: Path) -> Any:  # noqa: ANN401 - any YAML value
    """Parse a YAML file.

    Raises:
        ConfigError: missing, or not YAML.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: not readable as YAML ({' '.join(str(error).split())[:200]})") from error
    return parsed(text, str(path))


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
        raise ConfigError(f"{where}: {named}; {advice} ({error.error_count()} in all)") from error
