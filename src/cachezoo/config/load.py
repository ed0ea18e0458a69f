"""Load params.yaml, the one file that stages read."""

from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from cachezoo import paths
from cachezoo.config.schema import Schema
from cachezoo.settings.params import Params
from cachezoo.yaml_file import checked, read_yaml


def validate_params(value: Any, where: str) -> Params:  # noqa: ANN401 - any YAML value
    """Check a parameter tree.

    Raises:
        ConfigError: unknown or missing key, or a value out of range; the first of them is named.
    """
    return checked(TypeAdapter(Schema), value, where, "fix it in conf/")


def load_params(path: Path = paths.PARAMS) -> Params:
    """Read and validate params.yaml.

    Raises:
        ConfigError: missing, not YAML, or not what the schema allows.
    """
    return validate_params(read_yaml(path), str(path))
