"""What the kernel knows of a disk: its partitions and holders, who uses it, what it is."""

import fcntl
import os
import re
import stat
import struct
from collections.abc import Collection, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

SYSFS = Path("/sys/dev/block")
BLOCKS = Path("/sys/block")
LOOP_GET_STATUS64 = 0x4C05
LOOP_INFO64_BYTES = 232
MEMORY = {"tmpfs", "ramfs", "devtmpfs", "hugetlbfs"}
# vd, xvd: paravirtual disks; sr is not a disk, and a name alone does not betray a hypervisor's SCSI or NVMe disk.
VIRTUAL_NAME = re.compile(r"(vd|xvd|loop|nbd|zram|ram|pmem|ublkb|rbd|drbd|null)")
VIRTUAL_MODEL = re.compile(
    r"qemu|virtual|vbox|vmware|elastic block|persistent ?disk|msft|scsi_debug|block volume|ephemeral", re.IGNORECASE
)


@dataclass(frozen=True)
class Mount:
    """A line of /proc/self/mountinfo: device number, where, filesystem type, and from what."""

    number: str
    place: str
    kind: str
    source: str


def _plain(text: str) -> str:
    """A name as it is: the kernel writes blanks and the like in octal."""
    return re.sub(r"\\([0-7]{3})", lambda match: chr(int(match[1], 8)), text)


def mounts(table: Path = Path("/proc/self/mountinfo")) -> list[Mount]:
    """What is mounted, in the order of mounting."""
    found = []
    for line in table.read_text().splitlines():
        left, _, right = line.partition(" - ")
        fields, rest = left.split(), right.split()
        found.append(Mount(fields[2], _plain(fields[4]), rest[0], _plain(rest[1])))
    return found


def mount_of(path: str) -> Mount:
    """The mount that a file is on: of the longest place above it the last, which hides the ones before."""
    real = os.path.realpath(path)
    best = Mount("0:0", "", "", "")
    for mount in mounts():
        inside = mount.place == "/" or real == mount.place or real.startswith(mount.place + "/")
        if inside and len(mount.place) >= len(best.place):
            best = mount
    return best


def number_text(device: int) -> str:
    """`major:minor` of a device number."""
    return f"{os.major(device)}:{os.minor(device)}"


def block_number(path: str) -> str | None:
    """`major:minor` of a block device's file; None if it is not one."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    return number_text(found.st_rdev) if stat.S_ISBLK(found.st_mode) else None


def device_under(path: str) -> str | None:
    """`major:minor` of the block device that is named, or that the file's filesystem is on; None if there is none."""
    own = block_number(path)
    if own is not None:
        return own
    number = number_text(os.stat(path).st_dev)
    if (SYSFS / number).exists():
        return number
    # btrfs and the like number their files' devices themselves.
    return block_number(mount_of(path).source)


def _folder(number: str) -> Path | None:
    link = SYSFS / number
    return link.resolve() if link.exists() else None


def whole_disks(number: str | None) -> frozenset[str]:
    """Names of the disks that a block device lies on: a partition's disk, and what a mapped device is made of."""
    folder = _folder(number) if number else None
    if folder is None:
        return frozenset()
    disk = folder.parent if (folder / "partition").exists() else folder
    parts = sorted((disk / "slaves").iterdir()) if (disk / "slaves").is_dir() else []
    if not parts:
        return frozenset({disk.name})
    found: set[str] = set()
    for part in parts:
        found |= whole_disks((part / "dev").read_text().strip())
    return frozenset(found)


def on_root_disk(path: str) -> bool:
    """Whether a file or device shares a disk with the root filesystem, as far as the kernel tells.

    A loop device counts as a disk: it is not followed to its file, and is called virtual anyway.
    """
    if block_number(path) is None and mount_of(path).place == "/":
        return True
    return bool(whole_disks(device_under(path)) & whole_disks(device_under("/")))


def relatives(number: str) -> Iterator[tuple[str, str]]:
    """(major:minor, name) of a block device, of its partitions, and of every device that is made of one of these."""
    folder = _folder(number)
    if folder is None:
        yield number, number
        return
    yield number, folder.name
    for child in sorted(folder.iterdir()):
        if child.is_dir() and (child / "partition").exists():
            yield from relatives((child / "dev").read_text().strip())
    if (folder / "holders").is_dir():
        for holder in sorted((folder / "holders").iterdir()):
            yield from relatives((holder / "dev").read_text().strip())


def in_use(path: str, ours: bool = False) -> str:
    """Who uses a block device or a file: text for an error, empty if nobody does.

    Args:
        path: of the device or file.
        ours: this process has claimed the device, so that the kernel's word says nothing.
    """
    found = os.stat(path)
    number = number_text(found.st_rdev) if stat.S_ISBLK(found.st_mode) else None
    family = dict(relatives(number)) if number else {}
    for mount in mounts() if family else ():
        source = mount.number if mount.number in family else block_number(mount.source)
        if source in family:
            return f"is mounted ({family[source]} at {mount.place})"
    for line in Path("/proc/swaps").read_text().splitlines()[1:]:
        swap = _plain(line.split()[0])
        if block_number(swap) in family or _same(swap, found):
            return f"is swap space ({swap})"
    holders = [name for other, name in family.items() if number and other != number and not _is_part(other, number)]
    if holders:
        return f"is part of {holders[0]}"
    loop = _loop_on(found, {*family, _disk_of(number)} if number else ())
    return f"is behind {loop}" if loop else _claimed(path) if number and not ours else ""


def buffered_loops(number: str | None) -> str:
    """Loop devices under a device that go through the page cache of what they are made of; empty if there are none."""
    return " ".join(name for name in sorted(whole_disks(number)) if _line(BLOCKS / name / "loop/dio") == "0")


def _same(path: str, found: os.stat_result) -> bool:
    try:
        return os.path.samestat(os.stat(path), found)
    except OSError:
        return False


def _is_part(part: str, disk: str) -> bool:
    folder, whole = _folder(part), _folder(disk)
    return folder is not None and folder.parent == whole


def _disk_of(number: str) -> str:
    """The number of a partition's disk, or the number itself."""
    folder = _folder(number)
    if folder is None or not (folder / "partition").exists():
        return number
    return (folder.parent / "dev").read_text().strip()


def _loop_on(found: os.stat_result, numbers: Collection[str]) -> str:
    """The loop device that reads and writes a file, or a block device of one of these numbers; empty if none does."""
    for folder in sorted(BLOCKS.glob("loop*/loop")):
        device = f"/dev/{folder.parent.name}"
        info = _loop_info(device)
        if info is None:
            if _same(_line(folder / "backing_file"), found):
                return device
            continue
        under, inode, number = info
        if number_text(number) in numbers or (not numbers and (under, inode) == (found.st_dev, found.st_ino)):
            return device
    return ""


def _loop_info(device: str) -> tuple[int, int, int] | None:
    """What a loop device has open: its filesystem's device and inode, or its own number; None if it does not say."""
    with suppress(OSError):
        handle = os.open(device, os.O_RDONLY | os.O_CLOEXEC)
        try:
            under, inode, number = struct.unpack_from(
                "=QQQ", fcntl.ioctl(handle, LOOP_GET_STATUS64, bytes(LOOP_INFO64_BYTES))
            )
            return under, inode, number
        finally:
            os.close(handle)
    return None


def _claimed(path: str) -> str:
    """The kernel's own word: it knows of mounts in other namespaces too."""
    try:
        os.close(os.open(path, os.O_RDONLY | os.O_EXCL | os.O_CLOEXEC))
    except OSError as error:
        return f"is in use ({error.strerror})"
    return ""


def logical_block_bytes(number: str) -> int | None:
    """The logical block of a device's disk; None if the kernel does not say."""
    text = _queue(number, "logical_block_size")
    return int(text) if text else None


def _queue(number: str, name: str) -> str:
    folder = _folder(number)
    if folder is None:
        return ""
    disk = folder.parent if (folder / "partition").exists() else folder
    try:
        return (disk / "queue" / name).read_text().strip()
    except OSError:
        return ""


def read_only(number: str) -> bool:
    """Whether the kernel refuses writes to a block device."""
    folder = _folder(number)
    return folder is not None and (folder / "ro").exists() and (folder / "ro").read_text().strip() == "1"


def facts(number: str | None) -> dict[str, str]:
    """What is known of the disks under a device: `disk`, `model`, `rotational`.

    And, where there is one, its `identity`, which no other disk has; and `virtual` with the reason.
    """
    names = sorted(whole_disks(number))
    found = {"disk": " ".join(names) or "unknown"}
    models, rotational, virtual = [], [], []
    for name in names:
        folder = BLOCKS / name
        model = _line(folder / "device" / "model")
        vendor = _line(folder / "device" / "vendor")
        # virtio's vendor is a number of the bus.
        models.append(f"{'' if vendor.startswith('0x') else vendor} {model}".strip() or "unknown")
        rotational.append(_line(folder / "queue" / "rotational") or "?")
        if VIRTUAL_NAME.match(name):
            virtual.append(f"virtual disk ({name})")
        elif VIRTUAL_MODEL.search(model):
            virtual.append(f"virtual disk ({model})")
        elif _hypervisor():
            virtual.append(f"disk {name} of a virtual machine")
    identities = [_identity(BLOCKS / name) for name in names]
    if any(identities):
        found["identity"] = ", ".join(own or "unknown" for own in identities)
    found["model"] = ", ".join(models) or "unknown"
    found["rotational"] = ",".join(rotational) or "?"
    if virtual:
        found["virtual"] = "; ".join(virtual) + ": neither an HDD nor a bare SSD"
    return found


def _identity(folder: Path) -> str:
    """A disk's worldwide name, else its serial number; empty if the kernel knows neither."""
    lines = (_line(folder / part) for part in ("wwid", "device/wwid", "serial", "device/serial"))
    return next((" ".join(line.split()) for line in lines if line), "")


def _line(file: Path) -> str:
    try:
        return file.read_text().strip()
    except OSError:
        return ""


def _hypervisor() -> bool:
    return " hypervisor" in _line(Path("/proc/cpuinfo"))
