"""Make a scratch target: a file or device full of data that nobody needs, with marks that say so.

The data hardly compress (fio's random bytes: to 99 % on average), and all of them are written: an SSD answers reads of
what was never written, or of zeros, without its flash. The first mark comes last, so that nothing half made passes
for a scratch target.
"""

import os
import shutil

from cachezoo.console import progress
from cachezoo.devices.fio import disks, target
from cachezoo.devices.fio.hold import Identity, hold, identity, name_of
from cachezoo.devices.fio.marker import HEADER_BYTES, clear_marker, read_marker, write_marker
from cachezoo.devices.fio.program import find_fio, moved_bytes, run
from cachezoo.devices.fio.scratch import cleaning_up, scratch_folder
from cachezoo.errors import DeviceError

MIB = 1 << 20
DAYS_S = 7 * 86400.0
RESERVE_BYTES = 256 * MIB
MARKS_BYTES = 2 * HEADER_BYTES
FORCE = "use --force"
LIMIT = "the time that filling may take"


def prepare(path: str, size_bytes: int | None = None, force: bool = False, timeout_s: float = DAYS_S) -> int:
    """Fill a device or a file with data and mark it as a scratch target; what was there is lost.

    Args:
        path: a block device, or a file, which is made if it is not there.
        size_bytes: of the target in all, whole MiB of it; None: the whole device or the file as it is.
        force: take a device, or a file that is not empty, that is no scratch target; and what is on the root
            filesystem's disk. A device or file in use is refused all the same.
        timeout_s: then filling is given up.

    Returns:
        Bytes of data that a replay can address.

    Raises:
        DeviceError: the target is refused, too small, or cannot be filled.
    """
    program = find_fio()
    seen = None
    if os.path.lexists(path):
        seen = _check_old(path, force)
    else:
        _check_new(path, size_bytes, force)
    data = _data_bytes(path, size_bytes, seen is None)
    # Filling takes hours: what the path leads to is held, and written by its handle.
    with cleaning_up(), hold(path, seen, writes=True) as handle:
        try:
            if seen is not None:
                _check_held(path, handle, force)
            _made(path, handle, data, program.path, timeout_s)
        except OSError as error:
            _remove(path, handle, seen is None)
            message = f"{path}: cannot be prepared ({error.strerror}); make room or name another target"
            raise DeviceError(message) from error
        except BaseException:
            _remove(path, handle, seen is None)
            raise
    return data


def _made(path: str, handle: int, data: int, fio: str, timeout_s: float) -> None:
    name = name_of(handle)
    file = not target.kind_of(name)
    if file:
        os.ftruncate(handle, data + MARKS_BYTES)
    clear_marker(name)
    _fill(fio, path, name, data, timeout_s)
    if file:
        target.check_no_holes(name, path, HEADER_BYTES + data)
    write_marker(name, data)


def _check_new(path: str, size_bytes: int | None, force: bool) -> None:
    folder = os.path.dirname(os.path.abspath(path))
    if not os.path.isdir(folder):
        raise DeviceError(f"{path}: its folder is not there; make it or name another place")
    if folder.startswith("/dev/") or folder == "/dev":
        raise DeviceError(f"{path}: is not there; name a block device that is, or a file on the device")
    if size_bytes is None:
        raise DeviceError(f"{path}: is not there, and how large it shall be is not said; give a size")
    target.check_no_memory(folder)
    if not force:
        target.check_unused(folder, block_device=False, force_word=FORCE)


def _check_old(path: str, force: bool) -> Identity:
    block_device = target.kind_of(path)
    seen = identity(path)
    target.check_writable(path)
    if not block_device:
        target.check_no_memory(path)
    if not force:
        target.check_unused(path, block_device, FORCE)
        _check_loss(path, path)
    return seen


def _check_loss(path: str, name: str) -> None:
    """Refuse what is not ours to overwrite; no look at a device's samples tells that there is nothing on it."""
    if (target.kind_of(name) or target.size_of(name)) and read_marker(name) is None:
        raise DeviceError(f"{path}: is no scratch target; what is in it would be lost: name another, or {FORCE}")


def _check_held(path: str, handle: int, force: bool) -> None:
    used = disks.in_use(name_of(handle), ours=True)
    if used:
        raise DeviceError(f"{path}: {used}, and nothing is ever written there; name another target or free this one")
    if not force:
        _check_loss(path, name_of(handle))


def _data_bytes(path: str, size_bytes: int | None, made: bool) -> int:
    there = 0 if made else target.size_of(path)
    whole = there if size_bytes is None else size_bytes
    data = whole // MIB * MIB - MARKS_BYTES
    if data < target.LEAST_BYTES:
        raise DeviceError(f"{path}: {whole} bytes are too few for a scratch target; it needs 3 MiB or more")
    if not made and target.kind_of(path):
        if whole > there:
            raise DeviceError(f"{path}: has {there} bytes, not {whole}; give a smaller size or none")
        return data
    free = shutil.disk_usage(os.path.dirname(os.path.abspath(path))).free
    more = whole - (0 if made else os.stat(path).st_blocks * 512)
    if more > free - RESERVE_BYTES:
        message = f"{path}: needs {more} bytes more and its filesystem has {free}; give a smaller size or make room"
        raise DeviceError(message)
    return data


def _fill(fio: str, path: str, name: str, data: int, timeout_s: float) -> None:
    command = [
        fio,
        "--name=fill",
        "--thread",
        "--ioengine=libaio",
        "--iodepth=4",
        "--direct=1",
        "--rw=write",
        "--bs=1M",
        "--refill_buffers",
        "--randrepeat=0",
        f"--filename={name}",
        "--allow_file_create=0",
        f"--offset={HEADER_BYTES}",
        f"--size={data}",
        "--end_fsync=1",
        "--eta=never",
    ]
    with scratch_folder() as folder, progress(f"fill {path}", data) as advance:
        try:
            run(command, folder, timeout_s, path, lambda pid, _: advance(min(moved_bytes(pid), data)), LIMIT)
        except DeviceError as error:
            raise DeviceError(str(error).replace(name, path)) from error
        advance(data)


def _remove(path: str, handle: int, made: bool) -> None:
    """Remove a new file; not what somebody has put in its place."""
    found = os.fstat(handle)
    if made and os.path.lexists(path) and os.path.samestat(os.lstat(path), found):
        os.unlink(path)
