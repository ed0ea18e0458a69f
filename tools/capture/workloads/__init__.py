"""The workloads: one file each, registered here."""

from collections.abc import Mapping
from types import MappingProxyType

from cachezoo.errors import CaptureError, ConfigError
from tools.capture.programs import find_program
from tools.capture.workloads.base import Workload
from tools.capture.workloads.blob import BlobWorkload
from tools.capture.workloads.database import DatabaseWorkload
from tools.capture.workloads.fileserver import FileserverWorkload
from tools.capture.workloads.mail import MailWorkload
from tools.capture.workloads.mariadb import MariadbWorkload
from tools.capture.workloads.spool import SpoolWorkload
from tools.capture.workloads.web import LighttpdWorkload, WebWorkload

COMMON_PACKAGES = {
    "losetup": "mount",
    "mkfs.ext4": "e2fsprogs",
    "mount": "mount",
    "setpriv": "util-linux",
    "umount": "mount",
}


def _registry(*workloads: type[Workload]) -> Mapping[str, type[Workload]]:
    known: dict[str, type[Workload]] = {}
    for workload in workloads:
        if workload.id in known:
            message = f"workload {workload.id} is registered twice"
            raise ValueError(message)
        known[workload.id] = workload
    return MappingProxyType(known)


WORKLOADS = _registry(
    BlobWorkload,
    DatabaseWorkload,
    FileserverWorkload,
    LighttpdWorkload,
    MailWorkload,
    MariadbWorkload,
    SpoolWorkload,
    WebWorkload,
)


def workload_class(name: str) -> type[Workload]:
    """The workload of this id.

    Raises:
        ConfigError: unknown.
    """
    if name not in WORKLOADS:
        message = f"unknown workload {name!r}; there are {', '.join(sorted(WORKLOADS))}"
        raise ConfigError(message)
    return WORKLOADS[name]


def check_programs(workload: type[Workload]) -> None:
    """See that everything the workload runs is installed.

    Raises:
        CaptureError: names the missing Debian packages.
    """
    check_packages(workload.id, workload.packages)


def check_packages(name: str, packages: Mapping[str, str]) -> None:
    """See that programs are installed, and those that every capture needs.

    Args:
        name: who needs them.
        packages: program to the Debian package that has it.

    Raises:
        CaptureError: names the missing Debian packages.
    """
    wanted = {**COMMON_PACKAGES, **packages}
    missing = sorted({package for program, package in wanted.items() if find_program(program) is None})
    if missing:
        message = f"{name} needs Debian packages that are missing: apt-get install {' '.join(missing)}"
        raise CaptureError(message)
