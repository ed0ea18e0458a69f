"""The header of a prepared scratch target: what lies behind it was made to be overwritten."""

import json
import os

HEADER_BYTES = 1 << 20
MAGIC = b"cachezoo scratch target 1\n"
LINE_BYTES = 4096


def write_marker(path: str, data_bytes: int) -> None:
    """Write the header, and see it reach the device."""
    text = MAGIC + json.dumps({"data_bytes": data_bytes}).encode() + b"\n"
    _write(path, text.ljust(HEADER_BYTES, b"\0"))


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
        text = os.pread(handle, LINE_BYTES, 0)
    finally:
        os.close(handle)
    if not text.startswith(MAGIC):
        return None
    try:
        said = json.loads(text[len(MAGIC) :].split(b"\n", 1)[0])
        return int(said["data_bytes"])
    except (ValueError, KeyError, TypeError):
        return None
