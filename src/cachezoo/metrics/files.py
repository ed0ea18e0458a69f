"""Readers of metrics files."""

from pathlib import Path
from typing import TypeVar

from pydantic import ValidationError

from cachezoo.documents import Document
from cachezoo.errors import CachezooError
from cachezoo.io import read_json
from cachezoo.metrics.flash import FlashMetrics
from cachezoo.metrics.page import CategoryMetrics

M = TypeVar("M", bound=Document)


def read(path: Path, model: type[M]) -> M:
    """What a stage that evaluates wrote.

    Args:
        path: the file.
        model: what it has to hold.

    Raises:
        CachezooError: the file is missing or not JSON, or holds something else.
    """
    content = read_json(path)
    try:
        return model.model_validate(content)
    except ValidationError as error:
        first = error.errors()[0]
        what = ": ".join([".".join(map(str, first["loc"])), first["msg"]])
        message = f"{path}: holds no metrics; run the stage that evaluates again ({what.removeprefix(': ')})"
        raise CachezooError(message) from error


def read_category(path: Path) -> CategoryMetrics:
    """metrics/<category>.json, see `read`."""
    return read(path, CategoryMetrics)


def read_flash(path: Path) -> FlashMetrics:
    """metrics/flash/<category>.json, see `read`."""
    return read(path, FlashMetrics)
