"""Folders for what fio reads and writes, gone when done; those of killed processes go with the next one."""

import fcntl
import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

PREFIX = "cachezoo-fio-"
# Between making a folder and locking it lies no time that comes near this.
YOUNG_S = 60.0


@contextmanager
def scratch_folder() -> Iterator[Path]:
    """A temporary folder; a lock on it tells that its process lives."""
    _sweep(Path(tempfile.gettempdir()))
    with tempfile.TemporaryDirectory(prefix=PREFIX) as name:
        handle = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX)
            yield Path(name)
        finally:
            os.close(handle)


def _sweep(parent: Path) -> None:
    """Remove our folders that nobody holds any more."""
    for folder in parent.glob(f"{PREFIX}*"):
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
