"""Where the programs are and which versions they are."""

import subprocess
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


def version_line(*command: str) -> str:
    """First line of what a program says about its version, on either stream and with any status."""
    done = subprocess.run([program(command[0]), *command[1:]], capture_output=True, text=True, timeout=30, check=False)
    lines = (done.stdout + done.stderr).strip().splitlines()
    return lines[0].strip() if lines else "unknown"
