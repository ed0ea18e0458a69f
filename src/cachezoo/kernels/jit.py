"""The one door to numba.

A kernel compiled once is cached on disk. numba's own cache does not notice edits in callees of other modules,
so the cache folder is named by the hash of every kernel source and numba's version. That name says all, so clones
that share CACHEZOO_CACHE_DIR share compiled kernels; numba alone would keep apart what lies in different folders.
A compiled kernel is a pickle, which runs code when it is read. So where others can write to the cache, every kernel
refuses with the reason when it is called: stages and commands, which import kernels first, then say it in one line.
Where numba is not installed (the bundle runtime needs only numpy and onnxruntime) `njit` leaves the function as it
is: the same code, slower.
"""

import functools
import hashlib
import os
from collections.abc import Callable
from importlib import metadata
from pathlib import Path
from types import FunctionType
from typing import Any, NoReturn, TypeVar, cast

from cachezoo.errors import CacheError
from cachezoo.private import cache_root, private_folder

F = TypeVar("F", bound=Callable[..., Any])
KERNELS = "kernels"


def _cache_folder() -> Path:
    digest = hashlib.sha256()
    folder = Path(__file__).parent
    for source in sorted(folder.rglob("*.py")):
        digest.update(source.relative_to(folder).as_posix().encode())
        digest.update(source.read_bytes())
    digest.update(metadata.version("numba").encode())
    return cache_root() / "numba" / digest.hexdigest()[:16]


HAVE_NUMBA = True
REFUSAL: CacheError | None = None
try:
    metadata.version("numba")
    os.environ["NUMBA_CACHE_DIR"] = str(private_folder(_cache_folder() / KERNELS).parent)
except metadata.PackageNotFoundError:
    HAVE_NUMBA = False
except CacheError as refusal:
    REFUSAL = refusal


def _refusing(function: F, refusal: CacheError) -> F:
    @functools.wraps(function)
    def refuse(*_: object, **__: object) -> NoReturn:
        raise refusal

    return cast(F, refuse)


def njit(function: F) -> F:
    """Compile a kernel (nopython, no fastmath, disk cache), or return it unchanged without numba.

    Where others can write to the cache, the kernel raises CacheError when it is called.
    """
    if not HAVE_NUMBA:
        return function
    if REFUSAL is not None:
        return _refusing(function, REFUSAL)
    import numba

    config: Any = numba.config
    config.CACHE_DIR = os.environ["NUMBA_CACHE_DIR"]  # numba read the variable when it was first imported
    before = getattr(config, "CACHE_LOCATOR_CLASSES", "")
    config.CACHE_LOCATOR_CLASSES = f"{__name__}.Locator"
    try:
        return cast(F, numba.njit(cache=True)(function))
    finally:
        config.CACHE_LOCATOR_CLASSES = before


def specialise(template: F, name: str, **steps: Callable[..., Any]) -> F:
    """A loop with its open steps bound, so that numba inlines them.

    numba compiles a function for the functions it names, not for those it is given; so each composition gets a copy
    of the template under a name of its own, by which numba's disk cache also tells it from the others.

    Args:
        template: a plain function that calls the steps by name, as if they were globals.
        name: of the copy; one name, one set of steps.
        steps: for each open name, a function of `njit`, or any Python function.

    Returns:
        The compiled copy. It is cached on disk where all steps are the package's own, because the cache's name says
        what is in those alone; it stays plain Python (about 100 times slower) where a step is not compiled.
    """
    source = cast(FunctionType, template)
    code = source.__code__.replace(co_name=name, co_qualname=name)
    copy = FunctionType(code, {**source.__globals__, **steps}, name, source.__defaults__)
    copy.__module__, copy.__qualname__, copy.__doc__ = source.__module__, name, source.__doc__
    bare = [getattr(step, "py_func", None) for step in steps.values()]
    if not HAVE_NUMBA or any(function is None for function in bare):
        return cast(F, copy)
    if all(function.__module__.startswith("cachezoo.") for function in bare):
        return cast(F, njit(copy))
    import numba

    return cast(F, numba.njit(copy))


def __getattr__(name: str) -> Any:  # noqa: ANN401
    """The class that numba asks for by name: its own for NUMBA_CACHE_DIR, without a folder for each source folder."""
    if name != "Locator":
        raise AttributeError(name)
    from numba.core.caching import UserProvidedCacheLocator

    return type(name, (UserProvidedCacheLocator,), {"get_suitable_cache_subpath": classmethod(lambda *_: KERNELS)})
