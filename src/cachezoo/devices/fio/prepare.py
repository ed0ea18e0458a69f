"""Make a scratch target: a file or device full of data that nobody needs, with a header that says so.

The data hardly compress (fio's random bytes: to 99 % on average), and all of them are written: an SSD answers reads of
what was never written, or of zeros, without its flash. The header comes last, so that nothing half made passes for a
scratch target.
"""

import os
import shutil
from contextlib import suppress

from cachezoo.console import progress
from cachezoo.devices.fio import target
from cachezoo.devices.fio.marker import HEADER_BYTES, clear_marker, read_marker, write_marker
from cachezoo.devices.fio.program import find_fio, moved_bytes, run
from cachezoo.devices.fio.scratch import scratch_folder
from cachezoo.errors import DeviceError

MIB = 1 << 20
DAYS_S = 7 * 86400.0
RESERVE_BYTES = 256 * MIB


def prepare(path: str, size_bytes: int | None = None, force: bool = False, timeout_s: float = DAYS_S) -> int:
    """Fill a device or a file with data and mark it as a scratch target; what was there is lost.

    Args:
        path: a block device, or a file, which is made if it is not there.
        size_bytes: of the target in all, whole MiB of it; None: the whole device or the file as it is.
        force: take a device or file that is not empty, or that is on the root filesystem's disk. A device or file in
            use is refused all the same.
        timeout_s: then filling is given up.

    Returns:
        Bytes of data that a replay can address.

    Raises:
        DeviceError: the target is refused, too small, or cannot be filled.
    """
    program = find_fio()
    made = not os.path.lexists(path)
    if made:
        _check_new(path, size_bytes, force)
    else:
        _check_old(path, force)
    data = _data_bytes(path, size_bytes, made)
    try:
        if made or not target.kind_of(path):
            _size_file(path, HEADER_BYTES + data)
        clear_marker(path)
        _fill(program.path, path, data, timeout_s)
        write_marker(path, data)
    except OSError as error:
        if made:
            _remove(path)
        message = f"{path}: cannot be prepared ({error.strerror}); make room or name another target"
        raise DeviceError(message) from error
    except BaseException:
        if made:
            _remove(path)
        raise
    return data


def _check_new(path: str, size_bytes: int | None, force: bool) -> None:
    folder = os.path.dirname(os.path.abspath(path))
    if not os.path.isdir(folder):
        message = f"{path}: its folder is not there; make it or name another place"
        raise DeviceError(message)
    if folder.startswith("/dev/") or folder == "/dev":
        message = f"{path}: is not there; name a block device that is, or a file on the device"
        raise DeviceError(message)
    if size_bytes is None:
        message = f"{path}: is not there, and how large it shall be is not said; give a size"
        raise DeviceError(message)
    target.check_no_memory(folder)
    if not force:
        target.check_unused(folder, block_device=False)


def _check_old(path: str, force: bool) -> None:
    block_device = target.kind_of(path)
    target.check_writable(path)
    if not block_device:
        target.check_no_memory(path)
    if force:
        return
    target.check_unused(path, block_device)
    empty = target.is_empty(path) if block_device else target.size_of(path) == 0
    if not empty and read_marker(path) is None:
        message = f"{path}: is not empty and no scratch target; what is in it would be lost: name another or use force"
        raise DeviceError(message)


def _data_bytes(path: str, size_bytes: int | None, made: bool) -> int:
    there = 0 if made else target.size_of(path)
    whole = there if size_bytes is None else size_bytes
    data = whole // MIB * MIB - HEADER_BYTES
    if data < target.LEAST_BYTES:
        message = f"{path}: {whole} bytes are too few for a scratch target; it needs 2 MiB or more"
        raise DeviceError(message)
    if not made and target.kind_of(path):
        if whole > there:
            message = f"{path}: has {there} bytes, not {whole}; give a smaller size or none"
            raise DeviceError(message)
        return data
    free = shutil.disk_usage(os.path.dirname(os.path.abspath(path))).free
    more = whole - (0 if made else os.stat(path).st_blocks * 512)
    if more > free - RESERVE_BYTES:
        message = f"{path}: needs {more} bytes more and its filesystem has {free}; give a smaller size or make room"
        raise DeviceError(message)
    return data


def _size_file(path: str, size: int) -> None:
    handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        os.ftruncate(handle, size)
    finally:
        os.close(handle)


def _fill(fio: str, path: str, data: int, timeout_s: float) -> None:
    # fio's list of files is separated by colons.
    name = os.path.realpath(path).replace("\\", "\\\\").replace(":", "\\:")
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
        f"--offset={HEADER_BYTES}",
        f"--size={data}",
        "--end_fsync=1",
        "--eta=never",
    ]
    with scratch_folder() as folder, progress(f"fill {path}", data) as advance:
        run(command, folder, timeout_s, path, lambda pid, _: advance(min(moved_bytes(pid), data)))
        advance(data)


def _remove(path: str) -> None:
    with suppress(FileNotFoundError):
        os.unlink(path)
