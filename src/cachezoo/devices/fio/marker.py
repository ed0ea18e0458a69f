"""The header of a prepared scratch target: what lies behind it was made to be overwritten.

The whole MiB must be as it was written. A filesystem or partition table made there later leaves the first bytes as they
were (ext4 begins at byte 1024, a partition table at 446), and what is in it is not ours to destroy.
"""

import json
import os

HEADER_BYTES = 1 << 20
MAGIC = b"cachezoo scratch target 1\n"
LINE_BYTES = 4096


def write_marker(path: str, data_bytes: int) -> None:
    """Write the header, and see it reach the device."""
    _write(path, _header(data_bytes))


def _header(data_bytes: int) -> bytes:
    text = MAGIC + json.dumps({"data_bytes": data_bytes}).encode() + b"\n"
    return text.ljust(HEADER_BYTES, b"\0")


def clear_marker(path: str) -> None:
    """Overwrite the header, so that nothing half prepared passes for a scratch target."""
    _write(path, bytes(HEADER_BYTES))


def _write(path: str, header: bytes) -> None:
    handle = os.open(path, os.O_WRONLY | os.O_CLOEXEC)
    try:
        view = memoryview(header)
        done = 0
        while done < len(view):
            done += os.pwrite(handle, view[done:], done)
        os.fsync(handle)
    finally:
        os.close(handle)


def read_marker(path: str) -> int | None:
    """Bytes of the data area of a prepared target; None if it is none."""
    handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        header = os.pread(handle, HEADER_BYTES, 0)
    finally:
        os.close(handle)
    if not header.startswith(MAGIC):
        return None
    try:
        said = json.loads(header[len(MAGIC) : LINE_BYTES].split(b"\n", 1)[0])
        data_bytes = int(said["data_bytes"])
    except (ValueError, KeyError, TypeError):
        return None
    return data_bytes if header == _header(data_bytes) else None
