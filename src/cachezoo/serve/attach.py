"""A served disk as a block device, where the kernel can: by nbd-client, or by nbdublk where it has ublk.

Both are programs of others: `nbd-client -unix SOCKET DEVICE -b 512` and `-d DEVICE` as nbd-client(8) has them, `nbdublk
DEVICE URI` as nbdublk(1).
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from cachezoo.serve.found import program
from cachezoo.serve.words import ServeError

PATIENCE_S = 20.0
DEV, SYS = Path("/dev"), Path("/sys")


@dataclass
class Attached:
    """A block device that a served disk is.

    Attributes:
        device: its path.
        helper: the process that serves it, of ublk; None of nbd, which the kernel serves.
        holder: what the kernel names as who attached it, of nbd: a process, which may have ended.
    """

    device: str
    helper: subprocess.Popen[bytes] | None = None
    holder: str | None = None

    def detach(self) -> None:
        """Take the device away, which writes what the kernel holds of it first.

        Raises:
            ServeError: nbd-client cannot do it.
        """
        if self.helper is not None:
            self.helper.terminate()
            try:
                self.helper.wait(PATIENCE_S)
            except subprocess.TimeoutExpired:
                self.helper.kill()
                self.helper.wait()
            return
        client = program("nbd-client")
        if client is None:
            raise ServeError(f"{self.device}: it cannot be detached, as nbd-client is not installed any more")
        try:
            subprocess.run([client, "-d", self.device], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                           check=False, timeout=PATIENCE_S)  # fmt: skip
        except (OSError, subprocess.TimeoutExpired) as error:
            raise ServeError(f"{self.device}: nbd-client does not detach it: {error}") from error


def attach(socket: str, uri: str, wanted: str) -> Attached | str:
    """Attach a served disk, if that is wanted and can be done.

    Args:
        socket: of the disk.
        uri: its address.
        wanted: auto, no, or a device.

    Returns:
        The device, or why there is none.

    Raises:
        ServeError: a device was named, and cannot be had.
    """
    if wanted == "no":
        return "--attach no"
    reasons = []
    named = wanted if wanted != "auto" else None
    if named is None or named.startswith("/dev/nbd"):
        found = _by_nbd(socket, named)
        if isinstance(found, Attached):
            return found
        reasons.append(found)
    if named is None or named.startswith("/dev/ublk"):
        found = _by_ublk(uri, named)
        if isinstance(found, Attached):
            return found
        reasons.append(found)
    if named is not None:
        raise ServeError(f"--attach {named}: {'; '.join(reasons) or 'devices are /dev/nbd… and /dev/ublkb…'}")
    return "; ".join(reasons)


def _by_nbd(socket: str, named: str | None) -> Attached | str:
    if os.geteuid() != 0:
        return "nbd needs root"
    client = program("nbd-client")
    if client is None:
        return "nbd-client is not installed"
    if not (SYS / "block/nbd0").exists():
        modprobe = program("modprobe")
        if modprobe is not None:
            subprocess.run([modprobe, "nbd"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                           stderr=subprocess.DEVNULL, check=False)  # fmt: skip
    free = [named] if named else [str(DEV / name) for name in _free()]
    if not free:
        return "the kernel has no nbd" if not (SYS / "block/nbd0").exists() else "all of /dev/nbd… are taken"
    done = subprocess.run([client, "-unix", socket, free[0], "-b", "512"], stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, check=False)  # fmt: skip
    if done.returncode != 0:
        said = (done.stderr or done.stdout).strip().splitlines()
        return f"nbd-client: {said[-1] if said else f'status {done.returncode}'}"
    return Attached(free[0], holder=_holder(free[0]))


def _holder(device: str) -> str | None:
    try:
        return (SYS / "block" / os.path.basename(device) / "pid").read_text().strip()
    except OSError:
        return None


def detach_stale(device: str | None, holder: str | None) -> None:
    """Take away a device of nbd that a killed process had attached, if nobody has attached it since."""
    if device is not None and holder is not None and _holder(device) == holder:
        Attached(device).detach()


def _free() -> Iterator[str]:
    """Devices of nbd that no process serves, by number."""
    names = [one.name for one in (SYS / "block").glob("nbd*") if re.fullmatch(r"nbd[0-9]+", one.name)]
    for name in sorted(names, key=lambda name: int(name[3:])):
        if not (SYS / "block" / name / "pid").exists():
            yield name


def _by_ublk(uri: str, named: str | None) -> Attached | str:
    tool = program("nbdublk")
    if not (DEV / "ublk-control").exists():
        return "the kernel has no ublk"
    if tool is None:
        return "nbdublk is not installed"
    if os.geteuid() != 0:
        return "ublk needs root"
    device = named or next(path for k in range(1 << 16) if not os.path.exists(path := str(DEV / f"ublkb{k}")))
    helper = subprocess.Popen([tool, device, uri], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    end = time.monotonic() + PATIENCE_S
    while not os.path.exists(device):
        if helper.poll() is not None or time.monotonic() > end:
            helper.kill()
            helper.wait()
            return f"nbdublk made no {device}"
        time.sleep(0.02)
    return Attached(device, helper)


def in_use(device: str) -> str | None:
    """Where a device, or a partition of it, is mounted, or what lies on it; None where nobody uses it."""
    own = os.path.basename(device)
    folder = SYS / "class/block" / own
    numbers = {}
    for place in [folder, *(folder.glob(f"{own}*") if folder.is_dir() else ())]:
        try:
            numbers[(place / "dev").read_text().strip()] = place.name
        except OSError:
            continue
        holders = sorted(one.name for one in (place / "holders").glob("*"))
        if holders:
            return f"/dev/{holders[0]} lies on it"
    for line in Path("/proc/self/mountinfo").read_text(encoding="utf-8", errors="replace").splitlines():
        before, _, after = line.partition(" - ")  # proc_pid_mountinfo(5)
        mounted, source = before.split(), after.split()[1]
        if mounted[2] in numbers or (source.startswith("/dev/") and os.path.basename(source) in numbers.values()):
            where = re.sub(r"\\([0-7]{3})", lambda found: chr(int(found[1], 8)), mounted[4])
            return f"it is mounted at {where}"
    return None


def how(uri: str, socket: str) -> list[str]:
    """Ways for people to use a disk that is no device."""
    address, path = shlex.quote(uri), shlex.quote(socket)
    return [
        f"mkdir -p mnt && nbdfuse mnt/disk {address} &   # the file mnt/disk, without root (libnbd)",
        f"nbd-client -unix {path} /dev/nbd0   # a block device, by root, where the kernel has nbd",
        f"qemu-img info {address}   # and as a drive of a virtual machine",
    ]
