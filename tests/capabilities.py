"""What tests need of a machine: how it is found, and which Debian packages bring it."""

import importlib.util
import os
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Capability:
    """Something that a machine has or lacks.

    Attributes:
        there: whether this machine has it.
        packages: Debian packages that bring it.
        otherwise: what to do where no package brings it.
    """

    there: Callable[[], bool]
    packages: tuple[str, ...] = ()
    otherwise: str = ""


def programs(*names: str) -> Callable[[], bool]:
    """A check that looks for all of some programs."""
    return lambda: all(shutil.which(name) for name in names)


def memory_cgroups() -> bool:
    """Whether the memory controller is there, in version 2's hierarchy or version 1's."""
    root = Path("/sys/fs/cgroup")
    offered = root / "cgroup.controllers"
    return (root / "memory").is_dir() or (offered.exists() and "memory" in offered.read_text().split())


def loop_devices() -> bool:
    """Whether files can be used as disks, with partitions and a filesystem on them."""
    return os.path.exists("/dev/loop-control") and programs(*LOOP)()


def captured_programs() -> dict[str, str]:
    """Every program that a capture runs, with the package that has it, as its programs name them."""
    from tools.capture.programs import COMMON_PACKAGES, PROGRAMS

    return COMMON_PACKAGES | {name: package for one in PROGRAMS.values() for name, package in one.packages.items()}


def workloads() -> bool:
    """Whether every workload's programs are there, looked for where a capture looks."""
    from tools.capture.installed import find_program

    return all(find_program(name) for name in captured_programs())


def mounts_apart() -> bool:
    """Whether a program can be run with mounts of its own."""
    return programs("unshare")() and subprocess.run(["unshare", "--mount", "true"], check=False).returncode == 0


def nbdkit() -> bool:
    """Whether nbdkit is there with what its plugins are built from."""
    return programs("nbdkit")() and os.path.exists("/usr/include/nbdkit-plugin.h")


def nbdfuse() -> bool:
    """Whether a network block device can be a file."""
    return programs("nbdfuse", "fusermount3")() and os.path.exists("/dev/fuse")


def debian_packages() -> bool:
    """Whether packages of Debian can be built, and installed below a folder."""
    return os.geteuid() == 0 and programs("dpkg", "dpkg-deb")()


def modules(*names: str) -> Callable[[], bool]:
    """A check that looks for all of some Python modules."""
    return lambda: all(importlib.util.find_spec(name) for name in names)


TRACES = "CACHEZOO_PUBLIC_TRACES"
LOOP = ("addpart", "losetup", "mkfs.ext4", "mount", "umount")
# Debian has no system without these.
ESSENTIAL = {"coreutils", "grep", "sed", "tar", "util-linux"}
LIBSODIUM = "*/libsodium.so.2[36]"
WORKLOADS = (
    "apache2-bin", "caddy", "dbench", "dovecot-imapd", "e2fsprogs", "gcc", "git", "lighttpd", "make", "mariadb-server",
    "mount", "nginx-light", "notmuch", "postgresql", "postmark", "rocksdb-tools", "rsync", "sysbench", "wrk",
)  # fmt: skip
CAPABILITIES = {
    "root": Capability(lambda: os.geteuid() == 0, otherwise="run as root"),
    "tracefs": Capability(lambda: os.path.isdir("/sys/kernel/tracing"), otherwise="a kernel with tracefs"),
    "loop": Capability(loop_devices, ("e2fsprogs", "mount"), "a kernel with loop devices"),
    "zram": Capability(lambda: os.path.isdir("/sys/class/zram-control"), otherwise="a kernel with zram"),
    "cgroup": Capability(memory_cgroups, otherwise="a kernel with memory cgroups"),
    "capture": Capability(workloads, WORKLOADS),
    "gcc": Capability(programs("gcc"), ("gcc",)),
    "git": Capability(programs("git"), ("git",)),
    "libsodium": Capability(lambda: any(Path("/usr/lib").glob(LIBSODIUM)), ("libsodium23",)),
    "unshare": Capability(mounts_apart, otherwise="run as root, where mounts are allowed"),
    "dpkg": Capability(debian_packages, otherwise="run as root, on a system of Debian packages"),
    "fio": Capability(programs("fio"), ("fio",)),
    "nbdkit": Capability(nbdkit, ("nbdkit", "nbdkit-plugin-dev")),
    "nbdfuse": Capability(nbdfuse, ("libnbd-bin", "fuse3"), "a kernel with FUSE"),
    "chromium": Capability(programs("chromium"), ("chromium", "fonts-dejavu-core")),
    # Not in the lock: its boto3 is newer than what dvc-s3 takes.
    "s3": Capability(modules("dvc_s3", "moto"), otherwise="pip install dvc-s3 'moto[s3]'"),
    "public_traces": Capability(lambda: os.path.isdir(os.environ.get(TRACES, "")), otherwise=f"set {TRACES}"),
}


def there(name: str) -> bool:
    """Whether this machine has a capability."""
    return CAPABILITIES[name].there()


def advice(lacking: set[str]) -> str:
    """One line: what is missing, and the commands that bring it."""
    names = sorted(lacking)
    packages = sorted({package for name in names for package in CAPABILITIES[name].packages})
    ways = [f"apt-get install {' '.join(packages)}"] if packages else []
    ways += [CAPABILITIES[name].otherwise for name in names if CAPABILITIES[name].otherwise]
    return f"tests were skipped for want of {', '.join(names)}: {'; '.join(ways)}"
