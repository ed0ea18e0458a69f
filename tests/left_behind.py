"""What tests leave of the machine's own as it was: the nodes of /dev, with nothing of theirs mounted or attached."""

import os
import stat
from dataclasses import dataclass
from pathlib import Path

MOUNT_POINT = 4  # place among the fields of a line of mountinfo


@dataclass(frozen=True)
class Machine:
    """Where the kernel shows these; a test has folders of its own.

    Attributes:
        devices: /dev.
        mounts: /proc/self/mountinfo.
        blocks: /sys/block.
    """

    devices: Path = Path("/dev")
    mounts: Path = Path("/proc/self/mountinfo")
    blocks: Path = Path("/sys/block")

    def nodes(self) -> dict[str, tuple[int, int, str]]:
        """What each entry of /dev is: its kind, its device, and where a link leads."""
        found = {}
        for entry in os.scandir(self.devices):
            try:
                state = entry.stat(follow_symlinks=False)
                link = os.readlink(entry.path) if stat.S_ISLNK(state.st_mode) else ""
            except FileNotFoundError:  # of a device that has gone meanwhile
                continue
            found[entry.name] = (stat.S_IFMT(state.st_mode), state.st_rdev, link)
        return found

    def taken(self, folder: Path) -> list[str]:
        """What is mounted on something below a folder, or attached as a loop device."""
        points = [line.split()[MOUNT_POINT] for line in self.mounts.read_text().splitlines()]
        mounted = [f"mounted: {point}" for point in points if _is_below(point, folder)]
        backing = [(path.parent.parent.name, path) for path in self.blocks.glob("loop*/loop/backing_file")]
        attached = [f"attached: {name}: {said}" for name, path in backing if _is_below(said := _text(path), folder)]
        return sorted(mounted + attached)

    def changed(self, before: dict[str, tuple[int, int, str]]) -> list[str]:
        """What is another thing in /dev than it was, or no device; devices come and go with what the machine has."""
        now = self.nodes()
        other = [name for name, was in before.items() if now.get(name, was) != was]
        files = [name for name, (kind, *_) in now.items() if kind == stat.S_IFREG and name not in before]
        return sorted(f"changed: {self.devices / name}" for name in {*other, *files})


def _text(path: Path) -> str:
    try:
        return path.read_text().strip()
    except OSError:  # detached meanwhile
        return ""


def _is_below(name: str, folder: Path) -> bool:
    """Of a name as the kernel writes it, with blanks escaped."""
    return Path(name.replace("\\040", " ")).is_relative_to(folder)
