"""The marks of a prepared scratch target: what lies between them was made to be overwritten.

A whole MiB before the data and the same MiB behind them, both as they were written, with a random key. A filesystem or
partition table made there later leaves the first bytes as they were (ext4 begins at byte 1024, a partition table at
446), and what is in it is not ours to destroy; nor are the data of a device that only the beginning was copied to.
"""

import os
import re
import secrets
from dataclasses import dataclass

HEADER_BYTES = 1 << 20
LINE = re.compile(rb'cachezoo scratch target 2\n\{"data_bytes": ([0-9]{1,18}), "key": "([0-9a-f]{32})"\}\n')


@dataclass(frozen=True)
class Marker:
    """What the marks say."""

    data_bytes: int  # how much data lies between them
    key: str  # of this one preparation

    def header(self) -> bytes:
        """The MiB before the data, and behind them."""
        text = f'cachezoo scratch target 2\n{{"data_bytes": {self.data_bytes}, "key": "{self.key}"}}\n'
        return text.encode().ljust(HEADER_BYTES, b"\0")


def write_marker(path: str, data_bytes: int) -> None:
    """Write both marks, the first one last, and see them reach the device."""
    header = Marker(data_bytes, secrets.token_hex(16)).header()
    _write(path, header, HEADER_BYTES + data_bytes)
    _write(path, header, 0)


def clear_marker(path: str) -> None:
    """Overwrite the first mark, so that nothing half prepared passes for a scratch target."""
    _write(path, bytes(HEADER_BYTES), 0)


def _write(path: str, header: bytes, offset: int) -> None:
    handle = os.open(path, os.O_WRONLY | os.O_CLOEXEC)
    try:
        view = memoryview(header)
        done = 0
        while done < len(view):
            done += os.pwrite(handle, view[done:], offset + done)
        os.fsync(handle)
    finally:
        os.close(handle)


def read_marker(path: str) -> Marker | None:
    """The marker of a prepared target; None if it is none."""
    handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        header = os.pread(handle, HEADER_BYTES, 0)
        said = LINE.match(header)
        if said is None:
            return None
        marker = Marker(int(said[1]), said[2].decode())
        tail = os.pread(handle, HEADER_BYTES, HEADER_BYTES + marker.data_bytes)
    finally:
        os.close(handle)
    return marker if header == tail == marker.header() else None
