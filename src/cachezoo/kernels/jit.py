"""The one door to numba.

A kernel compiled once is cached on disk. numba's own cache does not notice edits in callees of other modules, so a
kernel's place in the cache is named by what its own module says and all of the package that this imports, one from
another; a loop's with steps bound to it (`specialise`) by those of the steps too. An edit compiles anew what it can
concern; one of a comment or a docstring nothing. That name says all, so clones that share CACHEZOO_CACHE_DIR share
compiled kernels; numba alone would keep apart what lies in different folders. Of two processes that want the same
kernel one compiles it, and the other waits and reads it.
A compiled kernel is a pickle, which runs code when it is read. So where others can write to the cache, every kernel
refuses with the reason when it is called: stages and commands, which import kernels first, then say it in one line.
Where numba is not installed (to serve a bundle numpy is enough) `njit` leaves the function as it
is: the same code, slower.
"""

import contextlib
import fcntl
import functools
import gc
import hashlib
import json
import time
from collections.abc import Callable, Iterator
from importlib import metadata
from pathlib import Path
from types import FunctionType
from typing import IO, Any, NoReturn, TypeVar, cast
from weakref import WeakKeyDictionary

from cachezoo.errors import CacheError
from cachezoo.private import cache_root, private_folder

F = TypeVar("F", bound=Callable[..., Any])
DOOR = Path(__file__).resolve()
PACKAGE = DOOR.parents[1]
PATIENCE = 60.0  # seconds; a process that was stopped while it compiled shall not stop all others
UNREAD = 7 * 86400.0  # seconds
KEPT = {".nbi", ".nbc", ".json"}
KEYS: WeakKeyDictionary[FunctionType, str] = WeakKeyDictionary()  # of the functions that are cached on disk

FOLDER: Path | None = None
HAVE_NUMBA = True
REFUSAL: CacheError | None = None
try:
    FOLDER = private_folder(cache_root() / "numba" / metadata.version("numba"))
except metadata.PackageNotFoundError:
    HAVE_NUMBA = False
except CacheError as refusal:
    REFUSAL = refusal


def _sha256(*parts: bytes) -> str:
    return hashlib.sha256(b"".join(hashlib.sha256(part).digest() for part in parts)).hexdigest()


@functools.cache
def _syntax() -> bytes:
    return (PACKAGE / "syntax.py").read_bytes()


@functools.cache
def _read(file: Path) -> tuple[str, list[str]]:
    """Hash of what a source says, and what of the package it may import.

    Parsing all sources takes as long as importing numba, so the answer is kept beside the kernels, by a source's bytes.
    """
    source = file.read_bytes()
    kept = cast(Path, FOLDER) / f"{_sha256(_syntax(), source)}.json"
    try:
        says, names = json.loads(kept.read_bytes())
    except (OSError, ValueError):
        import ast

        from cachezoo.syntax import digest, imported

        _sweep()
        tree = ast.parse(source)
        names = sorted(name for name in imported(tree) if name.split(".")[0] == PACKAGE.name)
        says = digest(tree)
        with contextlib.suppress(OSError):
            kept.write_text(json.dumps([says, names]), encoding="utf-8")
    return says, names


@functools.cache
def _sweep() -> None:
    """Remove what no process has read for a while; a source new here may be an edit, which leaves that behind."""
    for kept in cast(Path, FOLDER).iterdir():
        with contextlib.suppress(OSError):
            info = kept.stat()
            if kept.suffix in KEPT and max(info.st_atime, info.st_mtime) < time.time() - UNREAD:
                kept.unlink()


@functools.cache
def _file(name: str) -> Path | None:
    place = PACKAGE.joinpath(*name.split(".")[1:])
    return next((file for file in (place / "__init__.py", place.with_suffix(".py")) if file.is_file()), None)


@functools.cache
def _closure(file: Path) -> str:
    """Hash of what a source of the package and all that it imports of it say.

    What this module imports in turn is left out: it decides where kernels lie, not what they are.
    """
    todo, said = [file], {}
    while todo:
        here = todo.pop()
        if here not in said:
            said[here], names = _read(here)
            todo += [found for found in map(_file, names) if found is not None and here != DOOR]
    parts = sorted(f"{here.relative_to(PACKAGE)} {says}" for here, says in said.items())
    return _sha256(*(part.encode() for part in parts))


def _refusing(function: F, refusal: CacheError) -> F:
    @functools.wraps(function)
    def refuse(*_: object, **__: object) -> NoReturn:
        raise refusal

    return cast(F, refuse)


@functools.cache
def _turns() -> IO[bytes]:
    """The file whose bytes stand for kernels that are being compiled; never closed, which would give up all of them."""
    return (cast(Path, FOLDER) / "turns").open("ab")


@contextlib.contextmanager
def _turn(key: str) -> Iterator[None]:
    """Of all processes one at a time compiles a kernel: it is done once, and numba's index has one writer.

    Two that write the index at the same moment may give two signatures one file, and then run the wrong code. A kernel
    waits for those that it calls and none of those for it, so that the turns of two kernels cannot wait for each other.
    """
    file, place = _turns(), int(key[:15], 16)
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        try:
            fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, place)
            break
        except (BlockingIOError, PermissionError):
            time.sleep(0.02)
        except OSError:  # a file system without locks
            break
    try:
        yield
    finally:
        with contextlib.suppress(OSError):
            fcntl.lockf(file, fcntl.LOCK_UN, 1, place)


@contextlib.contextmanager
def _few_collections() -> Iterator[None]:
    """To look for garbage as often as usual among what a compiler makes takes an eighth of its time."""
    often, *rest = gc.get_threshold()
    gc.set_threshold(often and max(often, 100_000), *rest)  # 0: never
    try:
        yield
    finally:
        gc.set_threshold(often, *rest)


def _cached(function: F, key: str) -> F:
    """Compile a function of the package, or read from the cache what was compiled for its key."""
    import numba
    from numba.core.compiler_lock import global_compiler_lock

    KEYS[cast(FunctionType, function)] = key
    config: Any = numba.config
    before = getattr(config, "CACHE_LOCATOR_CLASSES", "")
    config.CACHE_LOCATOR_CLASSES = f"{__name__}.Locator"
    try:
        # No kernel is a value that another is given, which is all that C's way to call one serves; it takes a tenth of
        # the time to compile.
        options: Any = {"cache": True, "no_cfunc_wrapper": True}
        kernel: Any = numba.njit(**options)(function)
    finally:
        config.CACHE_LOCATOR_CLASSES = before
    if config.DISABLE_JIT:  # numba then leaves the function as it is
        return cast(F, kernel)
    compile_at_once = kernel.compile

    def compile_in_turn(signature: object) -> object:
        # numba's lock first, as its holder may come to ask for turns: a thread with a turn must not wait for it.
        with global_compiler_lock, _turn(key), _few_collections():
            return compile_at_once(signature)

    kernel.compile = compile_in_turn
    return cast(F, kernel)


def _key(function: Callable[..., Any], *more: str) -> str | None:
    """The name in the cache of a function of the package; None of another's, whose imports are not known."""
    source = cast(FunctionType, function)
    file = Path(source.__code__.co_filename).resolve()
    if not file.is_relative_to(PACKAGE):
        return None
    parts = (_closure(file), file.relative_to(PACKAGE).as_posix(), source.__qualname__, *more)
    return _sha256(*(part.encode() for part in parts))


def njit(function: F) -> F:
    """Compile a kernel (nopython, no fastmath, disk cache), or return it unchanged without numba.

    Where others can write to the cache, the kernel raises CacheError when it is called. A function of another package
    is compiled anew by each process.
    """
    if not HAVE_NUMBA:
        return function
    if REFUSAL is not None:
        return _refusing(function, REFUSAL)
    key = _key(function)
    if key is not None:
        return _cached(function, key)
    import numba

    return cast(F, numba.njit(function))


def specialise(template: F, name: str, **steps: Callable[..., Any]) -> F:
    """A loop with its open steps bound, so that numba inlines them.

    numba compiles a function for the functions it names, not for those it is given; so each composition gets a copy
    of the template under a name of its own, by which numba's disk cache also tells it from the others.

    Args:
        template: a plain function that calls the steps by name, as if they were globals.
        name: of the copy; one name, one set of steps.
        steps: for each open name, a function of `njit`, or any Python function.

    Returns:
        The compiled copy. It is cached on disk where the template and all steps are the package's own; it stays plain
        Python (about 100 times slower) where a step is not compiled.
    """
    source = cast(FunctionType, template)
    code = source.__code__.replace(co_name=name, co_qualname=name)
    copy = FunctionType(code, {**source.__globals__, **steps}, name, source.__defaults__)
    copy.__module__, copy.__qualname__, copy.__doc__ = source.__module__, name, source.__doc__
    bare = [getattr(step, "py_func", None) for step in steps.values()]
    if not HAVE_NUMBA or None in bare:
        return cast(F, copy)
    keys = [KEYS.get(cast(FunctionType, function)) for function in bare]
    bound = (f"{open_name} {key}" for open_name, key in zip(steps, keys, strict=True))
    key = None if None in keys else _key(copy, *bound)
    if key is not None:
        return cast(F, _cached(copy, key))
    import numba

    return cast(F, numba.njit(copy))


def __getattr__(name: str) -> Any:  # noqa: ANN401
    """The class that numba asks for by name: where a function's compiled forms lie, and what they are good for."""
    if name != "Locator":
        raise AttributeError(name)
    from numba.core.caching import UserProvidedCacheLocator

    class Locator(UserProvidedCacheLocator):  # type: ignore[misc]
        def __init__(self, function: FunctionType, file: str) -> None:
            self._py_file, self._lineno = file, function.__code__.co_firstlineno
            self._cache_path, self._key = str(FOLDER), KEYS[function]

        @classmethod
        def from_function(cls, function: FunctionType, file: str) -> "Locator":
            return cls(function, file)

        def ensure_cache_path(self) -> None:
            cast(Path, FOLDER).mkdir(mode=0o700, parents=True, exist_ok=True)

        def get_source_stamp(self) -> str:
            return self._key

        def get_disambiguator(self) -> str:
            return self._key[:16]

    return Locator
