"""A copy of the report in one file, to send: plots inside, and what the page itself must not hold.

The page is a stage's output, so the same inputs give the same bytes on any commit and machine: it names neither. A copy
is made by hand, and says which clone it was made in.
"""

import base64
import platform
import re
import subprocess
from html import escape
from pathlib import Path
from urllib.parse import unquote

from cachezoo.errors import CachezooError
from cachezoo.io import atomic_file

PLACE = "in a copy: cachezoo models report -o FILE.html"
IMAGE = re.compile(r'src="([^":/]+\.png)"')
CPUS = Path("/proc/cpuinfo")
GIT_S = 30


def write_copy(root: Path, page: Path, to: Path) -> None:
    """Write the report and its plots into one HTML file.

    Args:
        root: the project's.
        page: its report.
        to: the file; replaced if it is there.

    Raises:
        CachezooError: a plot is missing, the page is an old one, or the file cannot be written.
    """
    text = page.read_text(encoding="utf-8")
    if PLACE not in text:
        raise CachezooError(f"{page}: is of an older cachezoo; run `.venv/bin/dvc repro report`, then copy it")
    if not to.parent.is_dir():
        raise CachezooError(f"{to}: its folder does not exist; make {to.parent}, or name another file")
    text = text.replace(PLACE, escape(f"{commit_of(root)}; {machine()}"))
    with atomic_file(to) as temporary:
        temporary.write_text(IMAGE.sub(lambda found: _inside(page.parent, found[1]), text), encoding="utf-8")


def _inside(folder: Path, name: str) -> str:
    file = folder / unquote(name)
    if not file.is_file():
        raise CachezooError(f"{file}: the report's plot is missing; run `.venv/bin/dvc repro report`")
    return f'src="data:image/png;base64,{base64.b64encode(file.read_bytes()).decode("ascii")}"'


def commit_of(root: Path) -> str:
    """The clone's commit, and whether files that Git keeps have changed since; what is known without Git."""
    try:
        done = subprocess.run(
            ["git", "-C", str(root), "describe", "--always", "--dirty=, with changes"],
            capture_output=True, text=True, timeout=GIT_S, check=True,
        )  # fmt: skip
    except (OSError, subprocess.SubprocessError):
        return "not in a Git clone"
    return f"commit {done.stdout.strip()}"


def machine() -> str:
    """The type of CPU that the copy is made on."""
    lines = CPUS.read_text(encoding="utf-8").splitlines() if CPUS.is_file() else []
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return f"copied on {names[0] if names else platform.machine()}"
