"""Jobs over a part of a tree: a backup with tar, a search with grep, rewriting with sed."""

import subprocess
from collections.abc import Sequence
from pathlib import Path

from tools.capture.disk import MIB
from tools.capture.installed import program
from tools.capture.sandbox import Sandbox, stop_process

READ_BYTES = 1 << 16
WORD = "no text has this"
# Status 1 of tar: a file changed or went while it was read. Of grep: nothing found; 2: a file went. Of sed: 2 and 4, a
# file went.
TAR_STATUSES = (0, 1)
GREP_STATUSES = (0, 1, 2)
SED_STATUSES = (0, 2, 4)
END_S = 60.0
# Tar that writes to /dev/null reads nothing, so another program takes its bytes; files may go meanwhile.
BACKUP = """trap 'trap - TERM; kill 0' TERM
while :; do "$0" --ignore-failed-read -C "$@" 2>/dev/null | cat >/dev/null & wait; done"""


def endless_backup(root: Path, names: Sequence[str]) -> list[str]:
    """The command line that reads folders through tar, in order, again and again.

    Args:
        root: folder that holds them.
        names: the folders.
    """
    return ["/bin/sh", "-c", BACKUP, program("tar"), str(root), "-cf", "-", *names]


def back_up(box: Sandbox, root: Path, names: Sequence[str], mib_s: float, log: Path) -> None:
    """Read folders through tar, in order.

    Args:
        box: whose memory group tar runs in.
        root: folder that holds them.
        names: the folders.
        mib_s: pace, MiB a second at most.
        log: file for what tar says.

    Raises:
        CaptureError: tar fails.
    """
    command = [program("tar"), "-C", str(root), "--ignore-failed-read", "-cf", "-", *names]
    process = box.spawn(command, log, stdout=subprocess.PIPE)
    pause = READ_BYTES / (mib_s * MIB)
    if process.stdout is not None:
        while process.stdout.read(READ_BYTES) and not box.closing.wait(pause):
            pass
    if box.closing.is_set():
        stop_process(process)
    box.finish(process, "tar", log, END_S, accepted=TAR_STATUSES)


def search(box: Sandbox, folders: Sequence[tuple[Path, float]], mib_s: float, log: Path) -> None:
    """Look for a word in all files of folders, one grep after the other, in order.

    Args:
        box: whose memory group grep runs in.
        folders: where to look, each with all below it, and about how many bytes that is.
        mib_s: pace, MiB a second on average.
        log: file for what grep says.

    Raises:
        CaptureError: grep fails.
    """
    command = [program("grep"), "-r", "-s", "-q", "-F", "-e", WORD, "--"]
    _each(box, command, folders, mib_s, log, GREP_STATUSES)


def compact(box: Sandbox, folders: Sequence[tuple[Path, float]], mib_s: float, log: Path) -> None:
    """Write all files of folders anew, each to new blocks and then in its old one's place.

    Args:
        box: whose memory group sed runs in.
        folders: whose files, not those of folders below, and about how many bytes that is.
        mib_s: pace, MiB a second on average.
        log: file for what sed says.

    Raises:
        CaptureError: sed fails.
    """
    script = f'for file in "$0"/*; do set -- "$@" "$file"; done; exec sed -s -i "s/{WORD}//" "$@"'
    _each(box, ["/bin/sh", "-c", script], folders, mib_s, log, SED_STATUSES)


def _each(
    box: Sandbox,
    command: list[str],
    folders: Sequence[tuple[Path, float]],
    mib_s: float,
    log: Path,
    accepted: tuple[int, ...],
) -> None:
    for folder, size in folders:
        box.finish(box.spawn([*command, str(folder)], log), command[0], log, END_S, accepted)
        if box.closing.wait(size / (mib_s * MIB)):
            return
