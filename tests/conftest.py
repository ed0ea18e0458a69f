"""Capabilities of the machine: a test skips, with its reason, without one; CZ_REQUIRE makes the run fail instead."""

import fcntl
import os
import shutil
from pathlib import Path

import pytest

# As for stages: where another process wants the cores too, threads that spin while they wait slow everything down.
os.environ.setdefault("OMP_WAIT_POLICY", "passive")


def memory_cgroups() -> bool:
    """Whether the memory controller is there, in version 2's hierarchy or version 1's."""
    root = Path("/sys/fs/cgroup")
    offered = root / "cgroup.controllers"
    return (root / "memory").is_dir() or (offered.exists() and "memory" in offered.read_text().split())


CAPTURE_PROGRAMS = "pgbench mariadbd sysbench nginx lighttpd wrk postmark dbench mkfs.ext4".split()
CHECKS = {
    "root": lambda: os.geteuid() == 0,
    "tracefs": lambda: os.path.isdir("/sys/kernel/tracing"),
    "loop": lambda: os.path.exists("/dev/loop-control"),
    "cgroup": memory_cgroups,
    "capture": lambda: all(shutil.which(name) for name in CAPTURE_PROGRAMS),
    "gcc": lambda: shutil.which("gcc") is not None,
    "git": lambda: shutil.which("git") is not None,
    "fio": lambda: shutil.which("fio") is not None,
    "nbdkit": lambda: shutil.which("nbdkit") is not None and os.path.exists("/usr/include/nbdkit-plugin.h"),
    "chromium": lambda: shutil.which("chromium") is not None,
    "public_traces": lambda: os.path.isdir(os.environ.get("CACHEZOO_PUBLIC_TRACES", "")),
}


def pytest_sessionstart(session):
    required = [name.strip() for name in os.environ.get("CZ_REQUIRE", "").split(",") if name.strip()]
    for name in required:
        if name not in CHECKS:
            pytest.exit(f"CZ_REQUIRE names {name}, which is none of {', '.join(CHECKS)}", returncode=2)
        if not CHECKS[name]():
            pytest.exit(f"CZ_REQUIRE names {name}, and this machine lacks it", returncode=2)


SYSTEM = {"loop", "cgroup", "tracefs", "capture", "nbdkit"}


@pytest.fixture(scope="module", autouse=True)
def alone(request, tmp_path_factory):
    """Of two test processes one at a time makes loop devices and the like: they look for what others left behind."""
    mine = [item for item in request.session.items if item.path == request.path]
    if not SYSTEM & {name for item in mine for mark in item.iter_markers("needs") for name in mark.args}:
        yield
        return
    with (tmp_path_factory.getbasetemp().parent / "system.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def pytest_runtest_setup(item):
    for marker in item.iter_markers("needs"):
        for name in marker.args:
            if not CHECKS[name]():
                pytest.skip(f"needs {name}, which this machine lacks")
