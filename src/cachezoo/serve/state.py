"""Where a served disk's sockets and notes lie, and whether it is served."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import shutil
import stat
import tempfile
import time
from pathlib import Path
from typing import Any

from cachezoo.serve import words
from cachezoo.serve.words import ServeError

FOLDER = "CACHEZOO_RUN"  # the variable that names the folder of all served disks
SYSTEM = "/run/cachezoo"
LONGEST_SOCKET = 107  # bytes of a Unix socket's path on Linux
PATIENCE_S = 30.0


def base() -> Path:
    """The folder of all served disks: root's, or one that this user alone can use."""
    if os.environ.get(FOLDER):
        return Path(os.environ[FOLDER]).absolute()
    if os.environ.get("RUNTIME_DIRECTORY", "").startswith(f"{SYSTEM}/"):  # systemd's, of a unit with any user
        return Path(SYSTEM)
    if os.geteuid() == 0:
        return Path(SYSTEM)
    own = os.environ.get("XDG_RUNTIME_DIR")
    if own and os.path.isdir(own):
        return Path(own, "cachezoo")
    return Path(tempfile.gettempdir(), f"cachezoo-{os.geteuid()}")


def served() -> list[str]:
    """Names of what is served, or was when its process was killed.

    Raises:
        ServeError: others could have written there.
    """
    folder = base()
    if not _is_safe(folder, shared=True):
        return []
    names = []
    for one in folder.iterdir():
        with contextlib.suppress(ServeError):  # one of another user is not listed
            if words.NAME.fullmatch(one.name) and _is_safe(one) and (one / "lock").exists():
                names.append(one.name)
    return sorted(names)


def served_by_root() -> list[str]:
    """Names of what root serves, for others, who may not look closer."""
    folder = Path(SYSTEM)
    if os.geteuid() == 0 or base() == folder:
        return []
    with contextlib.suppress(OSError):
        return sorted(one.name for one in folder.iterdir())
    return []


def _is_safe(folder: Path, shared: bool = False) -> bool:
    """Whether a folder is there. What is read in it is believed: it has to be this user's, or shared root's.

    Raises:
        ServeError: it is another's, or others can write to it.
    """
    try:
        found = os.lstat(folder)
    except FileNotFoundError:
        return False
    except OSError as error:
        raise ServeError(f"{folder}: {error.strerror}; run it as who serves it") from error
    owners = {os.geteuid(), 0} if shared else {os.geteuid()}
    if not stat.S_ISDIR(found.st_mode) or found.st_mode & 0o022:
        raise ServeError(f"{folder}: others can write to it; set {FOLDER} to a folder of yours")
    if found.st_uid not in owners:
        raise ServeError(f"{folder}: it is another user's; run it as who serves it")
    return True


class State:
    """The folder of one served disk.

    Attributes:
        folder: where it lies.
        socket: the disk's, of NBD.
        control: the filter's.
        ready: nbdkit's process id, once it serves.
        log: lines of a process in the background.
        promise: what a reload promises, for the process that supervises.
        last: of who stops it, for what the supervising process ends with.
        note: JSON of what is served, written by the process that supervises it.
        before: the note of a process that was killed, once the folder is taken.
    """

    def __init__(self, name: str) -> None:
        words.name(name, "NAME")
        self.name = name
        self.folder = base() / name
        self.socket, self.control = self.folder / "nbd.sock", self.folder / "control.sock"
        self.ready, self.note = self.folder / "nbdkit.pid", self.folder / "served.json"
        self.log, self.promise, self.last = self.folder / "log", self.folder / "promise", self.folder / "last.json"
        self.before: dict[str, Any] = {}

    @property
    def uri(self) -> str:
        """The disk's address for any NBD client."""
        return f"nbd+unix:///?socket={self.socket}"

    def make(self) -> None:
        """Make the folder, which others may not use.

        Raises:
            ServeError: it cannot be made, belongs to another user, or sockets in it had names that are too long.
        """
        if len(os.fsencode(self.control)) > LONGEST_SOCKET:
            raise ServeError(f"{self.control}: too long for a socket; set {FOLDER} to a folder with a shorter name")
        for folder in (self.folder.parent, self.folder):
            try:
                os.makedirs(folder, mode=0o700 if folder == self.folder or os.geteuid() else 0o755, exist_ok=True)
            except OSError as error:
                raise ServeError(f"{folder}: {error.strerror}; set {FOLDER} to a folder of yours") from error
            _is_safe(folder, shared=folder != self.folder)

    def take(self) -> int:
        """Lock the folder; the handle is nbdkit's, too, so that it is locked until both have ended.

        Raises:
            ServeError: it is served, or one that was killed has not ended yet.
        """
        end = time.monotonic() + PATIENCE_S
        path = self.folder / "lock"
        while True:
            handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if os.path.samestat(os.fstat(handle), os.stat(path)):
                    break
                os.close(handle)  # who held it removed it
            except FileNotFoundError:
                os.close(handle)
            except BlockingIOError:
                os.close(handle)
                noted = self.read()
                if noted and _lives(noted):
                    raise ServeError(
                        f"{self.name}: it is served by process {noted['pid']}; stop it first: serve stop {self.name}"
                    ) from None
                if time.monotonic() > end:
                    raise ServeError(f"{self.name}: the nbdkit of before has not ended yet") from None
                time.sleep(0.05)
        self.before = self.read() or {}
        for old in (self.socket, self.control, self.ready, self.note, self.promise, self.last):
            old.unlink(missing_ok=True)
        return handle

    def locked(self) -> bool:
        """Whether a process holds the folder.

        Raises:
            ServeError: the folder is another's.
        """
        if not self._is_mine():
            return False
        try:
            handle = os.open(self.folder / "lock", os.O_RDWR | os.O_CLOEXEC)
        except FileNotFoundError:
            return False
        except OSError as error:
            raise ServeError(f"{self.folder}: {error.strerror}; run it as who serves it") from error
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        finally:
            os.close(handle)
        return False

    def _is_mine(self) -> bool:
        return _is_safe(self.folder.parent, shared=True) and _is_safe(self.folder)

    def write(self, note: dict[str, Any]) -> None:
        """Replace the note."""
        replace(self.note, json.dumps(note, sort_keys=True) + "\n")

    def read(self) -> dict[str, Any] | None:
        """The note; None where there is none.

        Raises:
            ServeError: the folder is another's.
        """
        if not self._is_mine():
            return None
        with contextlib.suppress(OSError, ValueError):
            found = json.loads(self.note.read_text(encoding="utf-8"))
            return found if isinstance(found, dict) else None
        return None

    def running(self) -> dict[str, Any]:
        """The note of what is served now.

        Raises:
            ServeError: it is not.
        """
        noted = self.read() if self.locked() else None
        if noted is None or not _lives(noted):
            others = ", ".join(one for one in served() if one != self.name)
            if self.name in served_by_root():
                raise ServeError(f"{self.name}: it is served by root: run this by sudo")
            raise ServeError(f"{self.name}: it is not served{f'; there are {others}' if others else ''}")
        return noted

    def remove(self, with_log: bool = True) -> None:
        """Leave nothing behind, or the log alone; systemd removes a folder that it made."""
        log = [self.log] if with_log else []
        own = (self.socket, self.control, self.ready, self.note, self.promise, self.last)
        for one in (*own, *log, self.folder / "lock"):
            with contextlib.suppress(OSError):
                one.unlink(missing_ok=True)
        with contextlib.suppress(OSError):
            self.folder.rmdir()
            self.folder.parent.rmdir()

    def forget(self) -> None:
        """Remove what a killed process left, if nobody serves it."""
        if self._is_mine() and not self.locked():
            shutil.rmtree(self.folder, ignore_errors=True)


def _lives(note: dict[str, Any]) -> bool:
    try:
        os.kill(int(note["pid"]), 0)
    except PermissionError:
        return True
    except (OSError, KeyError, ValueError):
        return False
    return True


def replace(path: Path, text: str, mode: int | None = None) -> None:
    """Write a file whole or not at all; without a mode it is of the process's own.

    Raises:
        OSError: it cannot be written.
    """
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        temporary.write_text(text, encoding="utf-8")
        if mode is not None:
            temporary.chmod(mode)
        os.replace(temporary, path)
    except OSError:
        with contextlib.suppress(OSError):
            temporary.unlink()
        raise
