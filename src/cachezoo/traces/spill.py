"""Columns too long for memory, in files: mapped, so that the system keeps of them what fits, and lets the rest go.

The files have no names: they end with the process, however it ends. Another process of the same user and machine may
map them as long as the one that made them lives.
"""

import mmap
import os
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any
from weakref import WeakSet

import numpy as np
import numpy.typing as npt

from cachezoo.errors import TraceError

FOLDER = "TMPDIR"
ON_DISK = Path("/var/tmp")
"""Where temporary files lie that may be larger than memory: /tmp often is memory."""


def folder() -> Path:
    """Where spilled columns lie: the folder of TMPDIR, or /var/tmp."""
    given = os.environ.get(FOLDER)
    return Path(given) if given else ON_DISK if ON_DISK.is_dir() else Path(tempfile.gettempdir())


def _full(where: str, error: OSError) -> TraceError:
    message = (
        f"{where}: its page accesses cannot be kept in {folder()} ({error.strerror}): make room there, "
        f"or name another folder in {FOLDER}"
    )
    return TraceError(message)


def _zeros(where: str, size: int) -> IO[bytes]:
    """A file of so many bytes, at least 1, for which there is room.

    Raises:
        TraceError: there is none.
    """
    try:
        file = tempfile.TemporaryFile(dir=folder())
        try:
            os.posix_fallocate(file.fileno(), 0, max(size, 1))
        except OSError:
            file.close()  # at once, not with the error: what was taken is room on the disk
            raise
    except OSError as error:
        raise _full(where, error) from error
    return file


def _mapped(where: str, size: int) -> mmap.mmap:
    """Such a file's bytes; it ends with them."""
    with _zeros(where, size) as file:
        return mmap.mmap(file.fileno(), 0)


@dataclass(frozen=True)
class InFiles:
    """A `cachezoo.arrays.Room`: each array lies in a file of its own, which ends with it."""

    where: str  # what the arrays are of, for errors

    def __call__(self, dtype: npt.DTypeLike, length: int) -> npt.NDArray[Any]:
        """Zeros.

        Raises:
            TraceError: there is no room.
        """
        return np.frombuffer(_mapped(self.where, length * np.dtype(dtype).itemsize), dtype, length)


class Spill:
    """Columns in files."""

    def __init__(self, where: str) -> None:
        """None yet.

        Args:
            where: what they are of, for errors.
        """
        self._where = where
        self._files: dict[str, IO[bytes]] = {}
        self._types: dict[str, np.dtype[Any]] = {}
        self._maps: dict[str, mmap.mmap] = {}
        self._loose: WeakSet[mmap.mmap] = WeakSet()

    def __getstate__(self) -> dict[str, Any]:
        """What another process finds the files by."""
        own = os.getpid()
        files = {name: f"/proc/{own}/fd/{file.fileno()}" for name, file in self._files.items()}
        return {"where": self._where, "files": files, "types": self._types}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Open them.

        Raises:
            FileNotFoundError: they are of another machine, or of a process that has ended.
        """
        self.__init__(state["where"])  # type: ignore[misc]
        self._types = dict(state["types"])
        self._files = {name: Path(path).open("r+b") for name, path in state["files"].items()}

    def append(self, name: str, values: npt.NDArray[Any]) -> None:
        """Write on at a column's end.

        Raises:
            TraceError: there is no room.
        """
        try:
            if name not in self._files:
                self._files[name] = tempfile.TemporaryFile(dir=folder())
                self._types[name] = values.dtype
            self._files[name].write(np.ascontiguousarray(values).data)
        except OSError as error:
            raise _full(self._where, error) from error

    def room(self, name: str, dtype: npt.DTypeLike, length: int) -> npt.NDArray[Any]:
        """A column of so many values, to be written in any order.

        Raises:
            TraceError: there is no room.
        """
        self._types[name] = np.dtype(dtype)
        self._files[name] = _zeros(self._where, length * self._types[name].itemsize)
        return self.column(name)[:length]

    def loose(self, dtype: npt.DTypeLike, length: int) -> npt.NDArray[Any]:
        """A column of so many zeros without a name, to be written in any order; it goes with the last array of it.

        Raises:
            TraceError: there is no room.
        """
        mapped = _mapped(self._where, length * np.dtype(dtype).itemsize)
        self._loose.add(mapped)
        return np.frombuffer(mapped, dtype, length)

    @property
    def names(self) -> list[str]:
        """Of the columns that there are."""
        return [*self._files]

    def has(self, name: str) -> bool:
        """Whether there is such a column."""
        return name in self._files

    def column(self, name: str) -> npt.NDArray[Any]:
        """A column, mapped; nothing may be appended any more."""
        if name not in self._maps:
            file = self._files[name]
            try:
                file.flush()
            except OSError as error:
                raise _full(self._where, error) from error
            if not os.fstat(file.fileno()).st_size:
                return np.zeros(0, self._types[name])
            self._maps[name] = mmap.mmap(file.fileno(), 0)
        mapped, dtype = self._maps[name], self._types[name]
        return np.frombuffer(mapped, dtype, len(mapped) // dtype.itemsize)

    def release(self) -> None:
        """Let the columns' memory go; it comes back from the files where they are read again."""
        for mapped in (*self._maps.values(), *self._loose):
            mapped.madvise(mmap.MADV_DONTNEED)
