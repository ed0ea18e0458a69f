"""Bundles: what a cache runtime loads and can verify.

`load` and `verify` need numpy alone; a loaded model takes its requests as a `RequestBatch`.
Writers live in `cachezoo.bundles.writer`.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cachezoo.bundles.reader import Bundle
    from cachezoo.bundles.released import load, verify
    from cachezoo.coded import Coded
    from cachezoo.serving.requests import RequestBatch

__all__ = ["Bundle", "Coded", "RequestBatch", "load", "verify"]
PLACES = {
    "Bundle": "cachezoo.bundles.reader",
    "Coded": "cachezoo.coded",
    "RequestBatch": "cachezoo.serving.requests",
    "load": "cachezoo.bundles.released",
    "verify": "cachezoo.bundles.released",
}


def __getattr__(name: str) -> Any:  # noqa: ANN401 - what stands there
    """The public names, imported when they are asked for: most stages need but a module of this room."""
    if name not in PLACES:
        raise AttributeError(f"module {__name__} has no attribute {name}")
    return getattr(import_module(PLACES[name]), name)
