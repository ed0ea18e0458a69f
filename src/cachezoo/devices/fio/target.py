"""A block device or a file as the target of a replay, and when it is refused.

A replay must neither destroy what somebody needs nor measure what is not the device. So:

- Writes go to prepared scratch targets only (`prepare.py`), whatever `force` says: marks before and behind the data
  tell that these were made to be overwritten. Addresses begin after the first.
- Reads harm nothing, but a device that is mounted, held or swap is busy, and one that is not empty may be the wrong
  one: both need `force`. So does everything on the disk of the root filesystem, where the system's own requests
  interfere.
- Reads of what was never written are answered from a table, not from the medium. A file with holes is refused, and an
  empty device that is not rotational needs `force`: preparing it fills it. An empty rotational device is read as it is.
- A target that is read-only is read; it is refused where something is to be written.
- Files in memory (tmpfs) accept O_DIRECT in new kernels and measure memory: refused, as is a filesystem without
  O_DIRECT. Files on filesystems with caches of their own are labelled, and loop devices that the page
  cache answers for.
- What was looked at is held until the last request (`hold.py`), and looked at again before each repetition that writes.
"""

import errno
import mmap
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from cachezoo.devices.fio import disks
from cachezoo.devices.fio.hold import Identity, hold, identity, name_of
from cachezoo.devices.fio.marker import HEADER_BYTES, Marker, read_marker
from cachezoo.errors import DeviceError

LEAST_BYTES = 1 << 20
SAMPLES = 64
SAMPLE_BYTES = 4096
# Their direct reads are the device's. ZFS, FUSE and network filesystems accept O_DIRECT and have caches of their own.
DIRECT = {"ext2", "ext3", "ext4", "xfs", "btrfs", "f2fs"}
PREPARE = "make a scratch target with cachezoo device prepare"


@dataclass(frozen=True)
class PathTarget:
    """A device or file that passed `open_target`; attributes as `contract.ReplayTarget`'s."""

    path: str
    name: str
    engine: str
    data_offset: int
    data_bytes: int
    seen: Identity  # what the path led to
    marker: Marker | None = None  # that it was prepared with; only then it is written
    force: bool = False  # it is read though it is in use
    facts: dict[str, str] = field(default_factory=dict)
    handle: int | None = None  # has it open while it is held

    @property
    def label(self) -> str:
        """The path as the user gave it."""
        return self.path

    @property
    def writable(self) -> bool:
        """Whether it was prepared."""
        return self.marker is not None

    def fio_options(self) -> list[str]:
        """Point every file of the iolog at what is held, and go around the page cache."""
        name = self.path if self.handle is None else name_of(self.handle)
        return [f"--replay_redirect={name}", "--allow_file_create=0", "--direct=1"]

    @contextmanager
    def held(self, writes: bool) -> Iterator["PathTarget"]:
        """See `hold.hold`."""
        if self.handle is not None:
            yield self
            return
        with hold(self.path, self.seen, writes, self.force) as handle:
            yield replace(self, handle=handle)

    def check_again(self, writes: bool) -> None:
        """Refuse to write what is no longer the scratch target that was checked; reads harm nothing."""
        if not writes or self.handle is None:
            return
        used = disks.in_use(name_of(self.handle), ours=True)
        if used:
            message = f"{self.path}: {used} since it was checked, and nothing is written there; free it and begin again"
            raise DeviceError(message)
        if read_marker(name_of(self.handle)) != self.marker:
            message = f"{self.path}: is not the scratch target that was checked any more; see what it is, or {PREPARE}"
            raise DeviceError(message)

    def plain(self, text: str) -> str:
        """With the path for the handle's name."""
        return text if self.handle is None else text.replace(name_of(self.handle), self.path)

    def describe(self) -> dict[str, str]:
        """For the provenance."""
        return {"name": self.name, **self.facts}


@dataclass(frozen=True)
class Use:
    """What a target is wanted for."""

    engine: str = "psync"  # fio's I/O engine
    block_bytes: int = 512  # what offsets and sizes are rounded to
    writes: bool = False  # whether the replay writes
    force: bool = False  # use it though it is in use, not empty, or on the root filesystem's disk
    force_word: str = "set device.force"  # how an error says to force it
    writes_word: str = "device.writes is replay"  # what, for an error, asks for writes
    reads_word: str = "set device.writes to as_reads"  # how an error says to ask for none


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
    seen = identity(path)
    if use.writes:
        check_writable(path, use.reads_word)
    if not use.force:
        check_unused(path, block_device, use.force_word)
    marker = read_marker(path)
    if marker is None and use.writes:
        raise DeviceError(f"{path}: is no prepared scratch target, and {use.writes_word}; {PREPARE}")
    if not block_device:
        check_no_memory(path)
        check_no_holes(path, path)
    elif marker is None and not use.force:
        _check_contents(path, use.force_word)
    _check_direct(path, use.block_bytes)
    offset, size = (0, size_of(path)) if marker is None else (HEADER_BYTES, marker.data_bytes)
    if size < LEAST_BYTES:
        raise DeviceError(f"{path}: has {size} bytes, a replay needs {LEAST_BYTES} or more; {PREPARE}")
    facts = _facts(path, block_device) | {"prepared": str(marker is not None).lower()}
    return PathTarget(path, name, use.engine, offset, size, seen, marker, use.force, facts)


def _facts(path: str, block_device: bool) -> dict[str, str]:
    kind = "" if block_device else disks.mount_of(path).kind
    facts = {"kind": f"file on {kind}" if kind else "block device", **disks.facts(disks.device_under(path))}
    if kind and kind not in DIRECT:
        facts["note"] = f"a file on {kind}, which may take direct reads and answer them from its own cache"
    buffered = disks.buffered_loops(disks.device_under(path))
    if buffered:
        facts["note"] = f"{buffered} answers direct reads from the page cache; attach it with losetup --direct-io=on"
    return facts


def kind_of(path: str) -> bool:
    """Whether a path is a block device; else it is a regular file.

    Raises:
        DeviceError: neither, or not there.
    """
    try:
        mode = os.stat(path).st_mode
        if stat.S_ISREG(mode) or stat.S_ISBLK(mode):
            size_of(path)
    except FileNotFoundError as error:
        raise DeviceError(f"{path}: is not there; name a block device or a file, or {PREPARE}") from error
    except OSError as error:
        raise DeviceError(f"{path}: cannot be opened ({error.strerror}); run as root or name another target") from error
    if not (stat.S_ISREG(mode) or stat.S_ISBLK(mode)):
        raise DeviceError(f"{path}: is neither a block device nor a regular file; name one of these")
    return stat.S_ISBLK(mode)


def size_of(path: str) -> int:
    """Bytes of a device or file."""
    handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        return os.lseek(handle, 0, os.SEEK_END)
    finally:
        os.close(handle)


def check_writable(path: str, reads_word: str = "") -> None:
    """Refuse what cannot be written, and what must not be: a device or file in use.

    Args:
        path: of the device or file.
        reads_word: how to ask for reads alone, where that can be asked for.

    Raises:
        DeviceError: it is read-only, mounted or held.
    """
    number = disks.block_number(path)
    if not os.access(path, os.W_OK) or (number is not None and disks.read_only(number)):
        otherwise = f", or {reads_word}" if reads_word else ""
        raise DeviceError(f"{path}: is read-only; name a target that can be written{otherwise}")
    used = disks.in_use(path)
    if used:
        raise DeviceError(f"{path}: {used}, and nothing is ever written there; name another target or free this one")


def check_unused(path: str, block_device: bool, force_word: str) -> None:
    """Refuse what needs `force` for what it is, before anything is said of its contents.

    Args:
        path: of the device or file.
        block_device: which of them it is.
        force_word: how to force it.

    Raises:
        DeviceError: in use, or on the root filesystem's disk.
    """
    used = disks.in_use(path) if block_device else ""
    if used:
        raise DeviceError(f"{path}: {used}; free it (umount, swapoff), or {force_word} to replay reads all the same")
    if disks.on_root_disk(path):
        message = (
            f"{path}: is on the disk of the root filesystem, whose own requests disturb the times; "
            f"name a target on another disk or {force_word}"
        )
        raise DeviceError(message)


def check_no_memory(path: str) -> None:
    """Refuse a file that lives in memory.

    Raises:
        DeviceError: it does.
    """
    kind = disks.mount_of(path).kind
    if kind in disks.MEMORY:
        raise DeviceError(f"{path}: is on {kind}, which is memory and no device; name a file on the device")


def check_no_holes(path: str, label: str, end: int | None = None) -> None:
    """Refuse a file of which parts were never written.

    Args:
        path: of the file.
        label: what an error calls it.
        end: up to where; None: all of it.

    Raises:
        DeviceError: it has holes.
    """
    handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        # What is not yet on the disk has no place there.
        os.fsync(handle)
        size = os.lseek(handle, 0, os.SEEK_END)
        hole = os.lseek(handle, 0, os.SEEK_HOLE) if size else 0
    finally:
        os.close(handle)
    if hole < (size if end is None else end):
        raise DeviceError(f"{label}: has a hole at byte {hole}, and reads of holes do not reach the device; {PREPARE}")


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


def _check_contents(path: str, force_word: str) -> None:
    if not is_empty(path):
        message = f"{path}: is not empty and no prepared scratch target; is it the right one? If so {force_word}"
        raise DeviceError(message)
    if disks.facts(disks.device_under(path))["rotational"] != "1":
        raise DeviceError(f"{path}: is empty, and flash that was never written is not read; {PREPARE}, or {force_word}")


def _check_direct(path: str, block_bytes: int) -> None:
    """Read the second block directly, as fio will."""
    number = disks.device_under(path)
    least = disks.logical_block_bytes(number) if number else None
    if least and block_bytes % least:
        raise DeviceError(f"{path}: has logical blocks of {least} bytes; set device.logical_block_bytes to {least}")
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
                raise DeviceError(f"{path}: cannot be read ({error.strerror}); see dmesg for the device") from error
            refusal = f"{error.strerror} for {block_bytes} bytes"
        finally:
            os.close(handle)
    if refusal:
        message = (
            f"{path}: refuses direct reads ({refusal}); set device.logical_block_bytes to 4096, or name a device or a "
            "file on a filesystem with O_DIRECT"
        )
        raise DeviceError(message)
