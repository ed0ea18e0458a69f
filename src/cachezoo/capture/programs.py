"""Where the programs are and which versions they are."""

import shutil
import subprocess
from pathlib import Path

from cachezoo.errors import CaptureError


def find_program(name: str) -> str | None:
    """Where a program is; Debian keeps PostgreSQL's servers and some tools out of the path."""
    found = shutil.which(name) or shutil.which(name, path="/usr/sbin:/sbin")
    if found:
        return found
    servers = sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{name}"), key=lambda path: int(path.parts[4]))
    return str(servers[-1]) if servers else None


def program(name: str) -> str:
    """Path of a program; every program is run by it, since a user's PATH may lack the folders of the system's.

    Raises:
        CaptureError: it is not installed.
    """
    found = find_program(name)
    if found is None:
        message = f"{name} is not installed; install the Debian package that brings it"
        raise CaptureError(message)
    return found


def version_line(*command: str) -> str:
    """First line of what a program says about its version, on either stream and with any status."""
    done = subprocess.run([program(command[0]), *command[1:]], capture_output=True, text=True, timeout=30, check=False)
    lines = (done.stdout + done.stderr).strip().splitlines()
    return lines[0].strip() if lines else "unknown"
