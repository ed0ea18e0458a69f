"""Hold a device or file from the look at it to the last request, which may come hours later.

A path may lead elsewhere by then. So what was looked at is known by its numbers, opened once, and fio is given the name
of that handle: whatever becomes of the path, nothing else is read or written. Meanwhile a device cannot be mounted, and
neither a device nor a file can be replayed on by another. In a process that was killed the kernel lets go of it.
"""

import errno
import fcntl
import os
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager

from cachezoo.errors import DeviceError

Identity = tuple[int, int]
# udev locks a device for the moment in which it looks what is on it.
TRIES = 40
TRY_S = 0.05


def identity(path: str) -> Identity:
    """Numbers that tell one device or file from another, whatever its names."""
    return _identity(os.stat(path))


def _identity(found: os.stat_result) -> Identity:
    return (-1, found.st_rdev) if stat.S_ISBLK(found.st_mode) else (found.st_dev, found.st_ino)


def name_of(handle: int) -> str:
    """A path that leads to what a handle of this process has open, for as long as it has."""
    return f"/proc/{os.getpid()}/fd/{handle}"


@contextmanager
def hold(path: str, seen: Identity | None, writes: bool, force: bool = False) -> Iterator[int]:
    """Open a device or file, and keep others from it.

    Args:
        path: of the device or file.
        seen: what it was when it was looked at; None makes a file that is not there.
        writes: whether it will be written.
        force: read a device though it is in use.

    Yields:
        The handle.

    Raises:
        DeviceError: it is in use, or another one.
    """
    handle = _opened(path, seen is None, writes, force)
    try:
        _lock(handle, path)
        if seen is not None and _identity(os.fstat(handle)) != seen:
            message = f"{path}: is another device or file than when it was checked; see what it is, and begin again"
            raise DeviceError(message)
        yield handle
    finally:
        os.close(handle)


def _opened(path: str, new: bool, writes: bool, force: bool) -> int:
    flags = (os.O_RDWR if writes else os.O_RDONLY) | os.O_CLOEXEC
    try:
        try:
            # Of a device: a claim, which mounts respect.
            return os.open(path, flags | os.O_EXCL | (os.O_CREAT if new else 0), 0o600)
        except OSError as error:
            if error.errno != errno.EBUSY or writes or not force:
                raise
            return os.open(path, flags)
    except OSError as error:
        message = f"{path}: cannot be had for a replay alone ({error.strerror}); end what uses it, or name another"
        raise DeviceError(message) from error


def _lock(handle: int, path: str) -> None:
    for left in reversed(range(TRIES)):
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            if left and error.errno == errno.EWOULDBLOCK:
                time.sleep(TRY_S)
                continue
            why = "another replay uses it" if error.errno == errno.EWOULDBLOCK else str(error.strerror)
            message = f"{path}: cannot be locked ({why}); wait for the end of the other, or name another target"
            raise DeviceError(message) from error
        return
