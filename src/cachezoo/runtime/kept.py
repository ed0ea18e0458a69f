"""What the library keeps for a caller, and how whole numbers reach it."""

from __future__ import annotations

import ctypes
import operator
import os
from typing import Any, SupportsIndex

from cachezoo.runtime import abi
from cachezoo.runtime.abi import RuntimeFault, call
from cachezoo.runtime.model import Owner, Path


def whole(name: str, value: SupportsIndex, bits: int, *, signed: bool = True) -> int:
    """A whole number of so many bits: ctypes takes a larger one too, and cuts it.

    Raises:
        RuntimeFault: it is none.
    """
    least, most = (-(1 << bits - 1), (1 << bits - 1) - 1) if signed else (0, (1 << bits) - 1)
    try:
        found = operator.index(value)
    except TypeError:
        found = most + 1
    if not least <= found <= most:
        raise RuntimeFault(f"{name}: give a whole number of {least} to {most}")
    return found


def needed_library() -> Any:  # noqa: ANN401 - ctypes.CDLL
    """The library.

    Raises:
        RuntimeFault: there is none.
    """
    found = abi.library()
    if found is None:
        raise RuntimeFault(f"caches of pages need {abi.NAME}; set {abi.VARIABLE} to where it is")
    return found


class Kept:
    """What the library keeps, under the beginning of its functions' names."""

    def __init__(self, library: Any, kind: str, handle: ctypes.c_void_p) -> None:  # noqa: ANN401 - ctypes.CDLL
        self._kind, self._own = kind, Owner(library, f"{kind}_free", handle)
        self._refer = getattr(library, f"{kind}_reference")

    def save(self, path: Path) -> None:
        """Write what it remembers, whole or not at all."""
        call(getattr(self._own.library, f"{self._kind}_save"), self._own.handle, os.fsencode(path))

    def restore(self, path: Path) -> None:
        """Go on from a file that `save` wrote under the same settings; on failure nothing changes."""
        call(getattr(self._own.library, f"{self._kind}_restore"), self._own.handle, os.fsencode(path))

    def close(self) -> None:
        """Free it."""
        self._own.close()
