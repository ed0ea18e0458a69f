"""A memory group of our own, version 1 or 2: programs in it share a bounded page cache."""

import os
import signal
import time
from contextlib import suppress
from pathlib import Path

from cachezoo.errors import CaptureError

ROOT = Path("/sys/fs/cgroup")
REMOVE_TRIES = 50
REMOVE_WAIT_S = 0.1


class MemoryGroup:
    """Limits the memory, page cache included, of the processes written to `procs`."""

    def __init__(self, name: str, limit_bytes: int, root: Path = ROOT) -> None:
        """Find the hierarchy; nothing is made yet.

        Args:
            name: of the group.
            limit_bytes: memory and page cache together.
            root: where cgroups are mounted.

        Raises:
            CaptureError: there is no memory controller.
        """
        controllers = root / "cgroup.controllers"
        if (root / "memory" / "cgroup.procs").is_file():
            self.version, self._parent = 1, root / "memory"
        elif controllers.is_file() and "memory" in controllers.read_text().split():
            self.version, self._parent = 2, root
        else:
            message = f"{root}: no memory cgroup (version 1 or 2); mount one, the page cache is limited with it"
            raise CaptureError(message)
        self.path = self._parent / name
        self.limit_bytes = limit_bytes
        self._enabled = False

    @property
    def procs(self) -> Path:
        """The file that takes process ids."""
        return self.path / "cgroup.procs"

    def create(self) -> None:
        """Make the group.

        Raises:
            CaptureError: the kernel refuses.
        """
        try:
            if self.version == 2:
                self._enable()
            self.path.mkdir()
            limit = "memory.limit_in_bytes" if self.version == 1 else "memory.max"
            (self.path / limit).write_text(str(self.limit_bytes))
        except OSError as error:
            message = f"{self.path}: {error.strerror}; a capture needs to make memory cgroups (root, not a sandbox)"
            raise CaptureError(message) from error

    def _enable(self) -> None:
        control = self._parent / "cgroup.subtree_control"
        if "memory" not in control.read_text().split():
            control.write_text("+memory")
            self._enabled = True

    def remove(self) -> None:
        """End what still runs in the group and remove it; harmless when there is none."""
        for _ in range(REMOVE_TRIES):
            if not self.path.is_dir():
                break
            for pid in self.procs.read_text().split() if self.procs.is_file() else ():
                with suppress(ProcessLookupError):
                    os.kill(int(pid), signal.SIGKILL)
            with suppress(OSError):
                self.path.rmdir()
                break
            time.sleep(REMOVE_WAIT_S)
        if self._enabled:
            with suppress(OSError):
                (self._parent / "cgroup.subtree_control").write_text("-memory")
            self._enabled = False
