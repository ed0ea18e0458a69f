"""Readers of what stages write for people: metrics files and the documents of lab/."""

from pathlib import Path
from typing import TypeVar

from pydantic import ValidationError

from cachezoo.documents import Document
from cachezoo.errors import CachezooError
from cachezoo.io import read_json
from cachezoo.metrics.flash import FlashMetrics
from cachezoo.metrics.page import CategoryMetrics

MAKE, REPRO = "make figures", "make repro"
M = TypeVar("M", bound=Document)


def present(path: Path, command: str) -> Path:
    """The path of an input.

    Raises:
        CachezooError: it is missing; says which command makes it.
    """
    if not path.exists():
        raise CachezooError(f"{path}: is missing; run `{command}`")
    return path


def read(path: Path, model: type[M], command: str = REPRO) -> M:
    """What a stage wrote for people.

    Args:
        path: the file.
        model: what it has to hold.
        command: what makes it.

    Raises:
        CachezooError: the file is missing or not JSON, or holds something else.
    """
    content = read_json(present(path, command))
    try:
        return model.model_validate(content)
    except ValidationError as error:
        first = error.errors()[0]
        what = ": ".join([".".join(map(str, first["loc"])), first["msg"]])
        message = f"{path}: is not as `{command}` writes it ({what.removeprefix(': ')}); run that again"
        raise CachezooError(message) from error


def read_category(path: Path) -> CategoryMetrics:
    """metrics/page/<category>.json, see `read`."""
    return read(path, CategoryMetrics)


def read_flash(path: Path) -> FlashMetrics:
    """metrics/flash/<category>.json, see `read`."""
    return read(path, FlashMetrics)
