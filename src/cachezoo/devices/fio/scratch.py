"""Folders for what fio and emulated disks read and write, gone when done; those of killed ones go with the next."""

import fcntl
import os
import shutil
import signal
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType

PREFIX = "cachezoo-fio-"
# Between making a folder and locking it lies no time that comes near this.
YOUNG_S = 60.0


@contextmanager
def cleaning_up() -> Iterator[None]:
    """Let SIGTERM end this as ctrl-C does, by an exception, so that what has to be removed and ended is."""
    if threading.current_thread() is not threading.main_thread() or signal.getsignal(signal.SIGTERM) != signal.SIG_DFL:
        yield
        return
    signal.signal(signal.SIGTERM, _leave)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)


def _leave(number: int, _: FrameType | None) -> None:
    # A second one must not end the cleaning up.
    signal.signal(number, signal.SIG_IGN)
    raise SystemExit(128 + number)


@contextmanager
def scratch_folder(prefix: str = PREFIX) -> Iterator[Path]:
    """A temporary folder whose name begins so; a lock on it tells that its process lives."""
    _sweep(Path(tempfile.gettempdir()), prefix)
    with cleaning_up(), tempfile.TemporaryDirectory(prefix=prefix) as name:
        handle = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX)
            yield Path(name)
        finally:
            os.close(handle)


def _sweep(parent: Path, prefix: str) -> None:
    """Remove our folders that nobody holds any more."""
    for folder in parent.glob(f"{prefix}*"):
        with suppress(OSError):
            found = folder.lstat()
            if found.st_uid != os.geteuid() or time.time() - found.st_mtime < YOUNG_S:
                continue
            handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(folder, ignore_errors=True)
            finally:
                os.close(handle)
