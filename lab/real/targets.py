"""A disk and an SSD of what a machine has: a file on its disk behind a loop device, and zram, which is its memory.

Direct I/O is turned on for the loop device: without it the kernel answers reads of the file from its page cache. The
file's name goes as soon as the loop device has it, and the loop device lets go of it with the last process that has it
open: a killed process leaves neither. zram goes on every exit but that one.
"""

import os
import stat
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from cachezoo.devices.fio.prepare import MARKS_BYTES, MIB, prepare
from cachezoo.devices.fio.scratch import cleaning_up
from cachezoo.errors import DeviceError

CONTROL = Path("/sys/class/zram-control")
BLOCK_BYTES = 4096  # zram's pages
MOST_OF_MEMORY = 0.5


@contextmanager
def disk_and_ram(folder: Path, data_bytes: int) -> Iterator[tuple[str, str]]:
    """Make both targets and prepare them for replays that write; both are gone at the end.

    Args:
        folder: on the disk.
        data_bytes: that a replay can address on each, rounded up to MiB.

    Yields:
        The paths of the loop device and of zram.

    Raises:
        DeviceError: not root, no loop device or zram here, or too little room or memory.
    """
    if os.geteuid() != 0:
        raise DeviceError("loop devices and zram are root's; run it as root")
    size = -(-data_bytes // MIB) * MIB + MARKS_BYTES
    with cleaning_up(), _zram(size) as ram, _loop(folder, size) as disk:
        for path in (disk, ram):
            prepare(path, force=True)
        yield disk, ram


@contextmanager
def _loop(folder: Path, size: int) -> Iterator[str]:
    with tempfile.NamedTemporaryFile(dir=folder) as file:
        os.truncate(file.fileno(), size)
        device = _said("losetup", "--direct-io=on", "--find", "--show", file.name)
        handle = os.open(device, os.O_RDONLY | os.O_CLOEXEC)
        try:
            _said("losetup", "--detach", device)
        except BaseException:
            os.close(handle)
            raise
    try:
        yield device
    finally:
        os.close(handle)


@contextmanager
def _zram(size: int) -> Iterator[str]:
    if not (CONTROL / "hot_add").exists():
        raise DeviceError(f"{CONTROL}: is not there; load the module zram, or use a kernel that has it")
    free = os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    if size > MOST_OF_MEMORY * free:
        raise DeviceError(f"zram of {size} bytes would take more than half of the free memory ({free}); name less")
    number = int((CONTROL / "hot_add").read_text())
    device, folder = Path(f"/dev/zram{number}"), Path(f"/sys/block/zram{number}")
    made = not device.exists()
    try:
        if made:
            os.mknod(device, 0o600 | stat.S_IFBLK, os.makedev(*map(int, (folder / "dev").read_text().split(":"))))
        (folder / "disksize").write_text(str(size))
        yield str(device)
    finally:
        (folder / "reset").write_text("1")
        (CONTROL / "hot_remove").write_text(str(number))
        if made:
            device.unlink(missing_ok=True)


def _said(*command: str) -> str:
    """What a command says.

    Raises:
        DeviceError: it fails or is not there.
    """
    try:
        done = subprocess.run(command, check=True, capture_output=True, text=True, timeout=30)
    except (OSError, subprocess.SubprocessError) as error:
        reason = str(getattr(error, "stderr", None) or error).strip()
        raise DeviceError(f"{command[0]}: {reason}; see whether loop devices can be made here") from error
    return done.stdout.strip()
