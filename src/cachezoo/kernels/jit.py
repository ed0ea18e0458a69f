"""The one door to numba.

A kernel compiled once is cached on disk. numba's own cache does not notice edits in callees of other modules,
so the cache folder is named by the hash of every kernel source and numba's version. Where numba is not installed
(the bundle runtime needs only numpy and onnxruntime) `njit` leaves the function as it is: the same code, slower.
"""

import hashlib
import os
from collections.abc import Callable
from importlib import metadata
from pathlib import Path
from typing import Any, TypeVar, cast

F = TypeVar("F", bound=Callable[..., Any])


def _cache_folder() -> Path:
    digest = hashlib.sha256()
    for source in sorted(Path(__file__).parent.glob("*.py")):
        digest.update(source.name.encode())
        digest.update(source.read_bytes())
    digest.update(metadata.version("numba").encode())
    base = os.environ.get("CACHEZOO_CACHE_DIR")
    root = Path(base) if base else Path(__file__).resolve().parents[3] / ".cache"
    return root / "numba" / digest.hexdigest()[:16]


try:
    metadata.version("numba")
except metadata.PackageNotFoundError:
    HAVE_NUMBA = False
else:
    HAVE_NUMBA = True
    os.environ["NUMBA_CACHE_DIR"] = str(_cache_folder())


def njit(function: F) -> F:
    """Compile a kernel (nopython, no fastmath, disk cache), or return it unchanged without numba."""
    if not HAVE_NUMBA:
        return function
    import numba

    return cast(F, numba.njit(cache=True)(function))
