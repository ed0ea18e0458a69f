"""The two readers of bundles, asked the same: Python's, and libcachezoo with undefined behaviour trapped."""

import ctypes
import fcntl
import os
from functools import cache
from pathlib import Path
from typing import Any

from cachezoo.bundles.protocol import MODEL
from cachezoo.bundles.released import verify
from cachezoo.errors import BundleError
from cachezoo.runtime import abi
from tests.c_library import make_in

FOLDER = Path(__file__).parents[1] / ".tmp/judges"
TRAPPED = {"OPTIMISE": "-O1", "EXTRA_CFLAGS": "-g -fsanitize=undefined -fno-sanitize-recover=all"}
# libcachezoo has no ONNX and counts no branches of golden sets: what Python refuses for one of these, it takes.
PYTHON_ALONE = (
    *(f"/{MODEL}: ", f" of {MODEL};", f"{MODEL} holds weights", f"{MODEL} is not readable"),
    "passes other branches",
)


@cache
def library() -> Any:
    """libcachezoo, built once for all processes."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    with (FOLDER / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        make_in(FOLDER, "lib", **TRAPPED)
    return abi.opened(str(FOLDER / abi.NAME))


def by_python(path: Path, key: Path | None = None) -> str | None:
    """What Python's reader says of a bundle, held to a key where there is one; None where it verifies it."""
    try:
        verify(path, key)
    except BundleError as error:
        return str(error)
    return None


def by_c(path: Path, key: Path | None = None) -> str | None:
    """What libcachezoo says of a bundle, held to a key where there is one; None where it verifies it."""
    found, error, bundle = library(), abi.Error(), ctypes.c_void_p()
    named = None if key is None else os.fsencode(key)
    code = found.cz_open_signed(os.fsencode(path), named, 0, ctypes.byref(bundle), ctypes.byref(error))
    code = code or found.cz_verify(bundle, None, ctypes.byref(error))
    found.cz_close(bundle)
    return error.text.decode() if code else None


def comparable(python: str | None) -> bool:
    """Whether libcachezoo has to come to what Python says."""
    return python is None or not any(words in python for words in PYTHON_ALONE)
