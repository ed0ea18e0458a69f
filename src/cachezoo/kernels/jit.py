"""The one door to numba.

A kernel compiled once is cached on disk. numba's own cache does not notice edits in callees of other modules,
so the cache folder is named by the hash of every kernel source and numba's version. That name says all, so clones
that share CACHEZOO_CACHE_DIR share compiled kernels; numba alone would keep apart what lies in different folders.
Where numba is not installed (the bundle runtime needs only numpy and onnxruntime) `njit` leaves the function as it
is: the same code, slower.
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

    config: Any = numba.config
    before = getattr(config, "CACHE_LOCATOR_CLASSES", "")
    config.CACHE_LOCATOR_CLASSES = f"{__name__}.Locator"
    try:
        return cast(F, numba.njit(cache=True)(function))
    finally:
        config.CACHE_LOCATOR_CLASSES = before


def __getattr__(name: str) -> Any:  # noqa: ANN401
    """The class that numba asks for by name: its own for NUMBA_CACHE_DIR, without a folder for each source folder."""
    if name != "Locator":
        raise AttributeError(name)
    from numba.core.caching import UserProvidedCacheLocator

    return type(name, (UserProvidedCacheLocator,), {"get_suitable_cache_subpath": classmethod(lambda *_: "kernels")})
