"""The two readers of bundles, asked the same: Python's, and libcachezoo with undefined behaviour trapped."""

import ctypes
import fcntl
import json
import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import cache, lru_cache
from pathlib import Path
from typing import Any
from unittest.mock import patch

from cachezoo.bundles.golden import Golden, paths_of
from cachezoo.bundles.protocol import ACTS
from cachezoo.bundles.reader import Bundle
from cachezoo.bundles.released import verify
from cachezoo.errors import BundleError
from cachezoo.runtime import abi
from cachezoo.serving import history, lstm
from cachezoo.serving.kind import Recomputed
from cachezoo.zoo.registry import bundling_of
from tests.c_library import make_in

FOLDER = Path(__file__).parents[1] / ".tmp/judges"
TRAPPED = {"OPTIMISE": "-O1", "EXTRA_CFLAGS": "-g -fsanitize=undefined -fno-sanitize-recover=all"}
# libcachezoo counts no branches of golden sets: what Python refuses for one of these, it takes.
PYTHON_ALONE = ("passes other branches",)
# Functions of Python's reader of a file's bytes alone, where they are called from.
OF_BYTES = ((lstm, "read_safetensors"), (history, "read_forest"))
MOST_REMEMBERED = 256


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


@dataclass(frozen=True)
class _Replayed:
    """A recomputation: all that it depends on, and how to do it."""

    of: tuple[Any, ...]
    run: Callable[[], Recomputed] = field(compare=False)


@contextmanager
def remembering() -> Iterator[None]:
    """Python's reader computes once what is the same for the same bytes: mutants have most files of a bundle as it was.

    Remembered is what is read of a file, and what a golden set's requests give by what acts and its weights; nothing
    that is refused, and no verdict.
    """
    replay, done = Bundle.replay, lru_cache(MOST_REMEMBERED)(lambda asked: asked.run())

    def replayed(bundle: Bundle, golden: Golden) -> Recomputed:
        requests, _, outputs, _ = paths_of(golden.folder)
        weights = bundling_of(bundle.kind).files(bundle.manifest["policy"])
        own = (ACTS, *weights, requests, *(() if golden.given is None else (outputs,)))
        of: list[Any] = [bundle.files.get(name) for name in own]
        of += [len(golden.requests), json.dumps(golden.entry, sort_keys=True, default=str)]
        return done(_Replayed((bundle.kind, golden.folder, *of), lambda: replay(bundle, golden)))

    with ExitStack() as patches:
        for module, name in OF_BYTES:
            patches.enter_context(patch.object(module, name, lru_cache(MOST_REMEMBERED)(getattr(module, name))))
        patches.enter_context(patch.object(Bundle, "replay", replayed))
        yield
