"""Requests sent one after the other to something that serves a disk, with every byte that is read checked."""

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import numpy as np

from cachezoo.arrays import F64
from cachezoo.errors import DeviceError
from cachezoo.sizes import PAGE_BYTES
from cachezoo.traces.table import OP_WRITE, Trace

WORDS = PAGE_BYTES // 8
MIX = 0x9E3779B97F4A7C15


@dataclass(frozen=True)
class Counted:
    """Page accesses that a cache was asked for, and those of them that it had; of the accesses that may hit."""

    hits: int
    asked: int

    def since(self, before: "Counted") -> "Counted":
        """What came after an earlier count."""
        return Counted(self.hits - before.hits, self.asked - before.asked)

    @property
    def share(self) -> float:
        """Of the accesses that hit."""
        return self.hits / self.asked if self.asked else 0.0


class Disk(Protocol):
    """What serves a disk, in bytes; both calls say how long they took in µs."""

    def read(self, offset: int, size: int) -> tuple[bytes, float]:
        """Bytes of the disk."""

    def write(self, offset: int, data: bytes) -> float:
        """Replace bytes of the disk."""

    @property
    def counted(self) -> Counted:
        """Accesses so far, of those that count in the mode; none where there is no cache."""


def page_data(page: int, version: int) -> bytes:
    """What a page of the demo's disk holds after so many writes to it."""
    return (((page << 32 | version) * MIX) % (1 << 64)).to_bytes(8, "little") * WORDS


def fill(disk: Path, pages: int) -> None:
    """Write a disk that no request has reached yet."""
    with disk.open("wb") as file:
        for page in range(pages):
            file.write(page_data(page, 0))


@dataclass(frozen=True)
class Replayed:
    """What the second half of a trace met: counts of the cache, and float64 response times of reads, µs."""

    counted: Counted
    read_us: F64


def replay(disk: Disk, trace: Trace, pages: int) -> Replayed:
    """Send a trace's requests, each as soon as the one before is answered.

    Args:
        disk: of `fill`, behind a cache or not.
        trace: requests of whole pages.
        pages: of the disk.

    Raises:
        DeviceError: a page was read that is not the one written last.
    """
    versions = [0] * pages
    middle, taken, before = len(trace) // 2, list[float](), Counted(0, 0)
    columns = (trace.op.tolist(), trace.offset.tolist(), trace.size.tolist())
    for k, (op, offset, size) in enumerate(zip(*columns, strict=True)):
        if k == middle:
            before = disk.counted
        own = range(offset // PAGE_BYTES, (offset + size) // PAGE_BYTES)
        if op == OP_WRITE:
            for page in own:
                versions[page] += 1
            disk.write(offset, b"".join(page_data(page, versions[page]) for page in own))
            continue
        data, took = disk.read(offset, size)
        if data != b"".join(page_data(page, versions[page]) for page in own):
            raise DeviceError(f"request {k}: what was read at {offset} is not what was written last")
        if k >= middle:
            taken.append(took)
    return Replayed(disk.counted.since(before), np.asarray(taken, np.float64))


class Waiting:
    """A disk in a file, each read of which takes some time longer."""

    def __init__(self, file: Path, wait_s: float) -> None:
        self._file, self._wait_s = file.open("r+b", buffering=0), wait_s
        self.counted = Counted(0, 0)

    def read(self, offset: int, size: int) -> tuple[bytes, float]:
        """As `Disk.read`."""
        begin = time.monotonic_ns()
        time.sleep(self._wait_s)
        self._file.seek(offset)
        return self._file.read(size), (time.monotonic_ns() - begin) / 1000

    def write(self, offset: int, data: bytes) -> float:
        """As `Disk.write`."""
        begin = time.monotonic_ns()
        self._file.seek(offset)
        self._file.write(data)
        return (time.monotonic_ns() - begin) / 1000

    def close(self) -> None:
        """Close the file."""
        self._file.close()
