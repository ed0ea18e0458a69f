"""cachezoo: an end-to-end training pipeline and model zoo for storage caches.

`import cachezoo as cz` has what `cachezoo.api` lists; it is imported when one of its names is used.
"""

import os
from importlib import import_module

__version__ = "0.1.0"

# onnxruntime reports to its maker unless this is set before it is imported; it is imported below this package only.
os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")

_ASKED = (
    "Picture", "Result", "compare", "curve", "flash", "own", "read", "recommend", "share", "simulate", "size", "wear",
)  # fmt: skip


def __getattr__(name: str) -> object:
    """What `cachezoo.api` has of this name."""
    if name not in _ASKED:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value: object = getattr(import_module("cachezoo.api"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """The names of this module, those of `cachezoo.api` among them."""
    return sorted({*globals(), *_ASKED})
