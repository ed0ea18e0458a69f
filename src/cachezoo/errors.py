"""Typed errors. Each message is one line: it names the file, the row or key, and the fix."""

import errno
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

DEEP = "nested too deeply"
"""Why YAML or JSON with thousands of brackets within each other is refused; Python's own word is of its recursion."""


class CachezooError(Exception):
    """Base of every error that cachezoo raises on purpose."""

    # rows of a table that the command line shows above the message; most errors have none
    rows: Sequence[dict[str, str]] = ()


class ConfigError(CachezooError):
    """conf/, params.yaml or an argument holds something that cannot be used."""


class TooSmallError(ConfigError):
    """A cache has too few pages for its policy."""


class CacheError(CachezooError):
    """A folder of caches cannot be used, or others can write to it and so decide what is run."""


class TraceError(CachezooError):
    """A trace file cannot be read or holds rows that no trace can have."""


class CaptureError(CachezooError):
    """A capture cannot start, lost events, or was interrupted."""


class InterruptedCaptureError(CaptureError):
    """A capture was ended by Ctrl-C, which is no failure; the exit status says so."""

    status = 130


class DeviceError(CachezooError):
    """A device cannot be replayed on, refuses, or cannot be modelled from what was measured."""


class TrainingError(CachezooError):
    """A model cannot be trained on what it was given."""


class BundleError(CachezooError):
    """A bundle is damaged, unknown, or refused by the writer."""


class ClusterError(CachezooError):
    """Dask's scheduler or workers cannot be reached, are lost, or have something else installed."""


def no_trace(category: str, role: str) -> str:
    """What a stage says of a category that has no trace of a role it needs; the report of `trace add` foretells it."""
    add = f"cachezoo trace add FILE --category {category} --role {role}"
    return f"conf/matrix.yaml: category {category} has no {role} trace; add one: {add}"


FIXES = {
    errno.ENOSPC: "make room and run it again",
    errno.EDQUOT: "make room and run it again",
    errno.EROFS: "name a folder that can be written to",
    errno.EACCES: "change its permissions or run as its owner",
}


def os_message(error: OSError) -> str:
    """One line for what the system refused: the file (of a rename, the target), the reason, the fix if any."""
    name = error.filename2 or error.filename
    said = error.strerror or str(error) or type(error).__name__
    named = f"{os.fsdecode(name)}: {said}" if isinstance(name, str | bytes | os.PathLike) else said
    fix = FIXES.get(error.errno or 0)
    return f"{named}; {fix}" if fix else named


@contextmanager
def interrupts_as_such() -> Iterator[None]:
    """Raise KeyboardInterrupt in place of any exception that was raised for one, or while one was handled.

    Ctrl-C may come back as another exception: from a compiled kernel's dispatcher as SystemError, for one.
    """
    try:
        yield
    except Exception as error:
        own = _interrupt_in(error)
        if own is None:
            raise
        raise KeyboardInterrupt(*own.args) from error


def _interrupt_in(error: BaseException) -> KeyboardInterrupt | None:
    """The KeyboardInterrupt among what an exception was raised from; also where its context is not shown."""
    left, seen = [error], set[int]()
    while left:
        one = left.pop()
        if isinstance(one, KeyboardInterrupt):
            return one
        seen.add(id(one))
        left += [other for other in (one.__cause__, one.__context__) if other is not None and id(other) not in seen]
    return None
