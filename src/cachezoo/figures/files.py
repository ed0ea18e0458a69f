"""Where the figures' files lie, how they are read, and which command makes what is missing."""

from pathlib import Path
from typing import TypeVar

from pydantic import ValidationError

from cachezoo.documents import Document
from cachezoo.errors import CachezooError
from cachezoo.io import read_json

FOLDER = Path("experiments/rcrnn")
MAKE, REPRO = "make figures", "make repro"
D = TypeVar("D", bound=Document)


def present(path: Path, command: str) -> Path:
    """The path of an input.

    Raises:
        CachezooError: it is missing; says which command makes it.
    """
    if not path.exists():
        message = f"{path}: is missing; run `{command}`"
        raise CachezooError(message)
    return path


def read_document(path: Path, model: type[D]) -> D:
    """What a stage of experiments/dvc.yaml wrote.

    Raises:
        CachezooError: the file is missing or not JSON, or holds something else.
    """
    content = read_json(present(path, MAKE))
    try:
        return model.model_validate(content)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        message = f"{path}: holds no {model.__name__} ({where}: {first['msg']}); run `{MAKE}`"
        raise CachezooError(message) from error
