"""A block device or a file as the target of a replay, and when it is refused.

A replay must neither destroy what somebody needs nor measure what is not the device. So:

- Writes go to prepared scratch targets only (`prepare.py`), whatever `force` says: their header tells that they were
  made to be overwritten. Addresses begin after it.
- Reads harm nothing, but a device that is mounted, held or swap is busy, and one that is not empty may be the wrong
  one: both need `force`. So does everything on the disk of the root filesystem, where the system's own requests
  interfere.
- Reads of what was never written are answered from a table, not from the medium. A file with holes is refused, and an
  empty device that is not rotational needs `force`: preparing it fills it. An empty rotational device is read as it is.
- A target that is read-only is read; it is refused where something is to be written.
- Files in memory (tmpfs) accept O_DIRECT in new kernels and measure memory: refused, as is a filesystem without
  O_DIRECT.
"""

import errno
import mmap
import os
import stat
from dataclasses import dataclass, field

from cachezoo.devices.fio import disks
from cachezoo.devices.fio.marker import HEADER_BYTES, read_marker
from cachezoo.errors import DeviceError

LEAST_BYTES = 1 << 20
SAMPLES = 64
SAMPLE_BYTES = 4096
PREPARE = "make a scratch target with cachezoo device prepare"


@dataclass(frozen=True)
class PathTarget:
    """A device or file that passed `open_target`; attributes as `contract.ReplayTarget`'s."""

    path: str
    name: str
    engine: str
    data_offset: int
    data_bytes: int
    writable: bool
    facts: dict[str, str] = field(default_factory=dict)

    @property
    def label(self) -> str:
        """The path as the user gave it."""
        return self.path

    def fio_options(self) -> list[str]:
        """Point every file of the iolog at the path, which may hold any sign, and go around the page cache."""
        return [f"--replay_redirect={os.path.realpath(self.path)}", "--direct=1"]

    def describe(self) -> dict[str, str]:
        """For the provenance."""
        return {"name": self.name, **self.facts}


@dataclass(frozen=True)
class Use:
    """What a target is wanted for.

    Attributes:
        engine: fio's I/O engine.
        block_bytes: what offsets and sizes are rounded to.
        writes: whether the replay writes.
        force: use it though it is in use, not empty, or on the root filesystem's disk.
    """

    engine: str = "psync"
    block_bytes: int = 512
    writes: bool = False
    force: bool = False


def open_target(path: str, name: str, use: Use) -> PathTarget:
    """Look at a device or file, and refuse what must not or cannot be replayed on.

    Args:
        path: of the device or file.
        name: what the device is, for the record.
        use: what it is wanted for.

    Raises:
        DeviceError: see the module.
    """
    block_device = kind_of(path)
    if use.writes:
        check_writable(path)
    if not use.force:
        check_unused(path, block_device)
    data = _marked(path)
    if data is None and use.writes:
        message = f"{path}: is no prepared scratch target, and device.writes is replay; {PREPARE}"
        raise DeviceError(message)
    if not block_device:
        check_no_memory(path)
        _check_no_holes(path)
    elif data is None and not use.force:
        _check_contents(path)
    _check_direct(path, use.block_bytes)
    offset, size = (0, size_of(path)) if data is None else (HEADER_BYTES, data)
    if size < LEAST_BYTES:
        message = f"{path}: has {size} bytes, a replay needs {LEAST_BYTES} or more; {PREPARE}"
        raise DeviceError(message)
    facts = {"kind": "block device" if block_device else f"file on {disks.mount_of(path).kind}"}
    facts |= disks.facts(disks.device_under(path)) | {"prepared": str(data is not None).lower()}
    return PathTarget(path, name, use.engine, offset, size, data is not None, facts)


def kind_of(path: str) -> bool:
    """Whether a path is a block device; else it is a regular file.

    Raises:
        DeviceError: neither, or not there.
    """
    try:
        mode = os.stat(path).st_mode
        if stat.S_ISREG(mode) or stat.S_ISBLK(mode):
            os.close(os.open(path, os.O_RDONLY | os.O_CLOEXEC))
    except FileNotFoundError as error:
        message = f"{path}: is not there; name a block device or a file, or {PREPARE}"
        raise DeviceError(message) from error
    except OSError as error:
        message = f"{path}: cannot be opened ({error.strerror}); run as root or name another target"
        raise DeviceError(message) from error
    if not (stat.S_ISREG(mode) or stat.S_ISBLK(mode)):
        message = f"{path}: is neither a block device nor a regular file; name one of these"
        raise DeviceError(message)
    return stat.S_ISBLK(mode)


def size_of(path: str) -> int:
    """Bytes of a device or file."""
    handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        return os.lseek(handle, 0, os.SEEK_END)
    finally:
        os.close(handle)


def check_writable(path: str) -> None:
    """Refuse what cannot be written, and what must not be: a device or file in use.

    Raises:
        DeviceError: it is read-only, mounted or held.
    """
    number = disks.block_number(path)
    if not os.access(path, os.W_OK) or (number is not None and disks.read_only(number)):
        message = f"{path}: is read-only; name a target that can be written, or set device.writes to as_reads"
        raise DeviceError(message)
    used = disks.in_use(path)
    if used:
        message = f"{path}: {used}, and nothing is ever written there; name another target or free this one"
        raise DeviceError(message)


def check_unused(path: str, block_device: bool) -> None:
    """Refuse what needs `force` for what it is, before anything is said of its contents.

    Raises:
        DeviceError: in use, or on the root filesystem's disk.
    """
    used = disks.in_use(path) if block_device else ""
    if used:
        message = f"{path}: {used}; free it (umount, swapoff), or set device.force to replay reads all the same"
        raise DeviceError(message)
    if disks.on_root_disk(path):
        message = (
            f"{path}: is on the disk of the root filesystem, whose own requests disturb the times; "
            "name a target on another disk or set device.force"
        )
        raise DeviceError(message)


def _marked(path: str) -> int | None:
    """The data area of a prepared target; None if it is not prepared."""
    data = read_marker(path)
    size = size_of(path)
    if data is not None and data + HEADER_BYTES > size:
        message = f"{path}: was prepared with {data} bytes of data and has {size} in all; prepare it again"
        raise DeviceError(message)
    return data


def check_no_memory(path: str) -> None:
    """Refuse a file that lives in memory.

    Raises:
        DeviceError: it does.
    """
    kind = disks.mount_of(path).kind
    if kind in disks.MEMORY:
        message = f"{path}: is on {kind}, which is memory and no device; name a file on the device"
        raise DeviceError(message)


def _check_no_holes(path: str) -> None:
    handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        # What is not yet on the disk has no place there.
        os.fsync(handle)
        size = os.lseek(handle, 0, os.SEEK_END)
        hole = os.lseek(handle, 0, os.SEEK_HOLE) if size else 0
    finally:
        os.close(handle)
    if hole < size:
        message = f"{path}: has a hole at byte {hole}, and reads of holes do not reach the device; {PREPARE}"
        raise DeviceError(message)


def is_empty(path: str) -> bool:
    """Whether a device's beginning, end and samples between are zeros: no partition table, filesystem or data."""
    size = size_of(path)
    handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        places = [(0, HEADER_BYTES), (max(size - HEADER_BYTES, 0), HEADER_BYTES)]
        places += [(size * index // SAMPLES, SAMPLE_BYTES) for index in range(SAMPLES)]
        for offset, length in places:
            if os.pread(handle, length, offset).strip(b"\0"):
                return False
    finally:
        os.close(handle)
    return True


def _check_contents(path: str) -> None:
    if not is_empty(path):
        message = f"{path}: is not empty and no prepared scratch target; is it the right one? If so set device.force"
        raise DeviceError(message)
    if disks.facts(disks.device_under(path))["rotational"] != "1":
        message = f"{path}: is empty, and flash that was never written is not read; {PREPARE}, or set device.force"
        raise DeviceError(message)


def _check_direct(path: str, block_bytes: int) -> None:
    """Read the second block directly, as fio will."""
    number = disks.device_under(path)
    least = disks.logical_block_bytes(number) if number else None
    if least and block_bytes % least:
        message = f"{path}: has logical blocks of {least} bytes; set device.logical_block_bytes to {least}"
        raise DeviceError(message)
    refusal = ""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_DIRECT | os.O_CLOEXEC)
    except OSError as error:
        refusal = str(error.strerror)
    else:
        buffer = mmap.mmap(-1, max(block_bytes, mmap.PAGESIZE))
        try:
            os.preadv(handle, [memoryview(buffer)[:block_bytes]], block_bytes)
        except OSError as error:
            if error.errno != errno.EINVAL:
                message = f"{path}: cannot be read ({error.strerror}); see dmesg for the device"
                raise DeviceError(message) from error
            refusal = f"{error.strerror} for {block_bytes} bytes"
        finally:
            os.close(handle)
    if refusal:
        message = (
            f"{path}: refuses direct reads ({refusal}); set device.logical_block_bytes to 4096, or name a device or a "
            "file on a filesystem with O_DIRECT"
        )
        raise DeviceError(message)
