"""Where the programs are and which versions they are."""

import subprocess
from collections.abc import Mapping
from pathlib import Path

from cachezoo.capture import tracefs


def _folders() -> str:
    """Where Debian keeps PostgreSQL's servers, the newest first, and some of the system's tools."""
    servers = sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda path: int(path.parts[4]), reverse=True)
    return ":".join([tracefs.SYSTEM, *map(str, servers)])


def find_program(name: str) -> str | None:
    """Where a program is."""
    return tracefs.find_program(name, _folders())


def program(name: str) -> str:
    """Path of a program; every program is run by it, since a user's PATH may lack the folders of the system's.

    Raises:
        CaptureError: it is not installed.
    """
    return tracefs.program(name, _folders())


def missing_packages(wanted: Mapping[str, str]) -> set[str]:
    """Of programs and the Debian packages that have them, the packages of the programs that are not installed."""
    return {package for program, package in wanted.items() if find_program(program) is None}


def package_version(package: str) -> str | None:
    """The version of an installed Debian package; None where it is not installed.

    Raises:
        CaptureError: the system is not Debian's.
    """
    command = [program("dpkg-query"), "-W", "-f", "${db:Status-Status} ${Version}", package]
    done = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)
    status, _, version = done.stdout.partition(" ")
    return version if status == "installed" else None


def version_line(*command: str) -> str:
    """First line of what a program says about its version, on either stream and with any status."""
    done = subprocess.run([program(command[0]), *command[1:]], capture_output=True, text=True, timeout=30, check=False)
    lines = (done.stdout + done.stderr).strip().splitlines()
    return lines[0].strip() if lines else "unknown"
