"""Jobs over a part of a tree that run over and over beside a mix."""

from collections.abc import Sequence
from pathlib import Path

from tools.capture.programs import program

# Tar that writes to /dev/null reads nothing, so another program takes its bytes; files may go meanwhile.
BACKUP = """trap 'trap - TERM; kill 0' TERM
while :; do "$0" --ignore-failed-read -C "$@" 2>/dev/null | cat >/dev/null & wait; done"""


def backup_command(root: Path, names: Sequence[str]) -> list[str]:
    """The command line that reads folders through tar, in order, again and again.

    Args:
        root: folder that holds them.
        names: the folders.
    """
    return ["/bin/sh", "-c", BACKUP, program("tar"), str(root), "-cf", "-", *names]
