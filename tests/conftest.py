"""Capabilities of the machine: a test skips, with its reason, without one; CZ_REQUIRE makes the run fail instead."""

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


SYSTEM = {"loop", "cgroup", "tracefs", "capture"}


@pytest.hookimpl(tryfirst=True)  # xdist reads the groups in this hook too
def pytest_collection_modifyitems(items):
    """With `-n 2 --dist loadgroup` a file stays in one process, and so do all that make loop devices and the like.

    Those look for what others of their kind may have left behind; the two that damage the tiny workspace share it.
    """
    named = {item.path for item in items if SYSTEM & {n for m in item.iter_markers("needs") for n in m.args}}
    for item in items:
        together = item.path in named or item.path.name == "test_bad_input.py"
        item.add_marker(pytest.mark.xdist_group("system" if together else item.nodeid.split("::")[0]))


def pytest_runtest_setup(item):
    for marker in item.iter_markers("needs"):
        for name in marker.args:
            if not CHECKS[name]():
                pytest.skip(f"needs {name}, which this machine lacks")
