"""The place a workload runs in: loop devices with ext4, a memory group, processes; all undone on any exit.

Every undo is registered before the thing is done and is harmless without it, so no signal can fall in between.
"""

import os
import shutil
import signal
import subprocess
import threading
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

from cachezoo.capture import tracefs
from cachezoo.capture.tracefs import PREFIX, dead
from cachezoo.errors import CaptureError
from tools.capture.cgroup import ROOT, MemoryGroup
from tools.capture.disk import COMMAND_S, MIB, Disk, call, detach_loops, last_line, remove_folder, unmount

WORK_ROOT = Path("/var/tmp")
STOP_S = 10.0
MEMORY_FILESYSTEMS = ("tmpfs", "ramfs")
ONE_DISK = ("loop",)


class Sandbox:
    """Loop devices with a filesystem each, a memory group, and the processes in it. Use as a context manager.

    Attributes:
        work: folder on the host's disk for the images, logs and generated files.
        mount: where the filesystem is mounted; of several disks, the folder of their mounts, which are called as they.
        disks: name of the volume to its disk.
        closing: set when the load is over, so that a job which is cut off is no failure.
    """

    def __init__(
        self,
        disk_mib: int,
        memory_mib: int,
        readahead_kib: int,
        work_root: Path = WORK_ROOT,
        volumes: Sequence[str] = ONE_DISK,
    ) -> None:
        """Describe the sandbox; nothing happens yet.

        Args:
            disk_mib: size of each disk.
            memory_mib: limit of the memory group.
            readahead_kib: of the loop devices.
            work_root: where the images go.
            volumes: names of the disks.
        """
        self._disk_mib = disk_mib
        self._readahead_kib = readahead_kib
        self._work_root = work_root
        self.name = f"{PREFIX}{os.getpid()}"
        self.work = work_root / self.name
        self.mount = self.work / "mnt"
        several = len(volumes) > 1
        self.disks = {
            name: Disk(name, self.work / f"{name}.img", self.mount / name if several else self.mount)
            for name in volumes
        }
        self.group = MemoryGroup(self.name, memory_mib * MIB)
        self.closing = threading.Event()
        self._stack = ExitStack()
        self._processes: list[subprocess.Popen[bytes]] = []

    def __enter__(self) -> "Sandbox":
        sweep(self._work_root)
        try:
            self._open()
        except BaseException:
            self._stack.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def _open(self) -> None:
        self._stack.callback(remove_folder, self.work)
        self.mount.mkdir(parents=True)
        self._check_room()
        for number, disk in enumerate(self.disks.values()):
            disk.open(self._stack, self._disk_mib, self._readahead_kib, number)
        self._stack.callback(self.group.remove)
        self.group.create()
        self._stack.callback(self.stop_all)

    def _check_room(self) -> None:
        kind = self.backing_filesystem
        if kind in MEMORY_FILESYSTEMS:
            raise CaptureError(f"{self._work_root}: {kind} is memory, not a disk; name a folder on a disk")
        free = shutil.disk_usage(self.work).free // MIB
        if free < self._disk_mib * len(self.disks):
            times = f" for each of {len(self.disks)} disks" if len(self.disks) > 1 else ""
            message = f"{self._work_root}: {free} MiB free, the recipe's disk_mib is {self._disk_mib}{times}; make room"
            raise CaptureError(message)

    @property
    def backing_filesystem(self) -> str:
        """Type of the host's filesystem under the image."""
        return call(["stat", "-f", "-c", "%T", str(self.work)]).strip()

    @property
    def direct_io(self) -> bool:
        """Whether the loop devices go around the host's page cache."""
        return all(disk.direct_io for disk in self.disks.values())

    @property
    def volume_names(self) -> dict[int, str]:
        """Device (major << 20 | minor) to the name of its volume."""
        numbers = {name: disk.device_number for name, disk in self.disks.items()}
        return {major << 20 | minor: name for name, (major, minor) in numbers.items()}

    def remount(self) -> None:
        """Unmount and mount again, which empties the page cache of these filesystems and of nothing else."""
        for disk in self.disks.values():
            disk.remount()

    def command(self, command: Sequence[str], limited: bool, user: str | None) -> list[str]:
        """The command line that joins the memory group, takes the user's rights, and dies with this process."""
        rights = ["setpriv", "--pdeathsig", "KILL"]
        if user is not None:
            rights += ["--reuid", user, "--regid", user, "--init-groups"]
        wrapped = [*rights, "--", *command]
        if not limited:
            return wrapped
        return ["/bin/sh", "-c", 'echo $$ > "$0" && exec "$@"', str(self.group.procs), *wrapped]

    def spawn(
        self,
        command: Sequence[str],
        log: Path,
        limited: bool = True,
        user: str | None = None,
        stdout: int | None = None,
    ) -> "subprocess.Popen[bytes]":
        """Start a program that the sandbox ends at the latest.

        Args:
            command: program and arguments.
            log: file for its output, appended.
            limited: in the memory group.
            user: whose rights it takes; root's without.
            stdout: e.g. a pipe instead of the log.
        """
        with log.open("ab") as file:
            process = subprocess.Popen(
                self.command(command, limited, user),
                stdin=subprocess.DEVNULL,
                stdout=file if stdout is None else stdout,
                stderr=file,
                cwd=self.work,
                start_new_session=True,
            )
        self._processes.append(process)
        return process

    def run(
        self,
        command: Sequence[str],
        log: Path,
        limited: bool = True,
        user: str | None = None,
        timeout_s: float = COMMAND_S,
    ) -> None:
        """Run a program to its end.

        Raises:
            CaptureError: it fails or takes too long, unless the load is over.
        """
        self.finish(self.spawn(command, log, limited, user), command[0], log, timeout_s)

    def finish(
        self,
        process: "subprocess.Popen[bytes]",
        name: str,
        log: Path,
        timeout_s: float,
        accepted: tuple[int, ...] = (0,),
    ) -> None:
        """Wait for a program.

        Args:
            process: the program.
            name: to call it in an error.
            log: where its output went.
            timeout_s: how long to wait.
            accepted: exit statuses that are no failure.

        Raises:
            CaptureError: it fails or takes too long, unless the load is over.
        """
        try:
            status = process.wait(timeout_s)
        except subprocess.TimeoutExpired as error:
            stop_process(process)
            raise CaptureError(f"{name} did not end within {timeout_s:.0f} s") from error
        finally:
            if process.poll() is not None and process in self._processes:
                self._processes.remove(process)
        if status not in accepted and not self.closing.is_set():
            raise CaptureError(f"{name} failed with status {status}: {last_line(log.read_text(errors='replace'))}")

    def stop_all(self) -> None:
        """End every program that was started, the latest first."""
        self.closing.set()
        while self._processes:
            stop_process(self._processes.pop())


def stop_process(process: "subprocess.Popen[bytes]", first: int = signal.SIGTERM) -> None:
    """Ask a program to end, then make its whole session end. A program that is stopped hears it too."""
    if process.poll() is None:
        process.send_signal(first)
        process.send_signal(signal.SIGCONT)
        try:
            process.wait(STOP_S)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait(STOP_S)
    if process.stdout is not None:
        process.stdout.close()


def sweep(work_root: Path = WORK_ROOT) -> None:
    """Undo what captures left behind that were killed outright (SIGKILL, a crash of the machine)."""
    folders = (work_root, ROOT, ROOT / "memory")
    for name in dead({path.name for folder in folders for path in folder.glob(f"{PREFIX}*")}):
        group = next((path for path in (ROOT / "memory" / name, ROOT / name) if path.is_dir()), None)
        if group is not None:
            MemoryGroup(name, 0).remove()
        mount = work_root / name / "mnt"
        for path in (*(mount.iterdir() if mount.is_dir() else ()), mount):
            unmount(path)
        for image in (work_root / name).glob("*.img"):
            detach_loops(image)
        remove_folder(work_root / name)
    tracefs.sweep()
