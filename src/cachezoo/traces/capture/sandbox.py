"""The place a workload runs in: a loop device with ext4, a memory group, processes; all undone on any exit.

Every undo is registered before the thing is done and is harmless without it, so no signal can fall in between.
"""

import os
import re
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

from cachezoo.errors import CaptureError
from cachezoo.traces.capture.cgroup import ROOT, MemoryGroup
from cachezoo.traces.capture.tracefs import MOUNT_POINT, tracefs_sources

MIB = 1 << 20
WORK_ROOT = Path("/var/tmp")
PREFIX = "cachezoo-capture-"
STOP_S = 10.0
COMMAND_S = 300.0
MEMORY_FILESYSTEMS = ("tmpfs", "ramfs")
_UUID = "63616368-657a-6f6f-8000-000000000001"


def call(command: Sequence[str], timeout_s: float = COMMAND_S) -> str:
    """Run a command to its end and return its standard output.

    Raises:
        CaptureError: it fails or takes too long.
    """
    try:
        done = subprocess.run(
            list(command), capture_output=True, text=True, errors="replace", timeout=timeout_s, check=False
        )
    except subprocess.TimeoutExpired as error:
        message = f"{command[0]} did not end within {timeout_s:.0f} s"
        raise CaptureError(message) from error
    if done.returncode:
        said = last_line(done.stderr or done.stdout)
        message = f"{' '.join(command[:4])} failed with status {done.returncode}: {said}"
        raise CaptureError(message)
    return done.stdout


def last_line(text: str) -> str:
    """The last line of a program's output that says something."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1] if lines else "no output"


class Sandbox:
    """A loop device with a filesystem, a memory group, and the processes in it. Use as a context manager.

    Attributes:
        work: folder on the host's disk for the image, logs and generated files.
        mount: where the filesystem is mounted.
        device: the loop device, e.g. /dev/loop0.
        closing: set when the load is over, so that a job which is cut off is no failure.
    """

    def __init__(self, disk_mib: int, memory_mib: int, readahead_kib: int, work_root: Path = WORK_ROOT) -> None:
        """Describe the sandbox; nothing happens yet."""
        self._disk_mib = disk_mib
        self._readahead_kib = readahead_kib
        self._work_root = work_root
        self.name = f"{PREFIX}{os.getpid()}"
        self.work = work_root / self.name
        self.mount = self.work / "mnt"
        self.image = self.work / "disk.img"
        self.device = ""
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
        self._stack.callback(shutil.rmtree, self.work, ignore_errors=True)
        self.mount.mkdir(parents=True)
        self._check_room()
        self._stack.callback(detach_loops, self.image)
        self._make_disk()
        self._stack.callback(unmount, self.mount)
        self.mount_disk()
        self._stack.callback(self.group.remove)
        self.group.create()
        self._stack.callback(self.stop_all)

    def _check_room(self) -> None:
        kind = self.backing_filesystem
        if kind in MEMORY_FILESYSTEMS:
            message = f"{self._work_root}: {kind} is memory, not a disk; name a folder on a disk"
            raise CaptureError(message)
        free = shutil.disk_usage(self.work).free // MIB
        if free < self._disk_mib:
            message = f"{self._work_root}: {free} MiB free, the recipe's disk_mib is {self._disk_mib}; make room"
            raise CaptureError(message)

    @property
    def backing_filesystem(self) -> str:
        """Type of the host's filesystem under the image."""
        return call(["stat", "-f", "-c", "%T", str(self.work)]).strip()

    def _make_disk(self) -> None:
        with self.image.open("wb") as file:
            file.truncate(self._disk_mib * MIB)
        command = ["losetup", "--find", "--show", str(self.image)]
        # A file on e.g. overlayfs may refuse direct I/O; the metadata say which it was.
        try:
            self.device = call([*command[:3], "--direct-io=on", str(self.image)]).strip()
        except CaptureError:
            self.device = call(command).strip()
        queue = self.sysfs / "queue" / "read_ahead_kb"
        self._stack.callback(queue.write_text, queue.read_text())
        queue.write_text(str(self._readahead_kib))
        options = f"lazy_itable_init=0,lazy_journal_init=0,nodiscard,hash_seed={_UUID}"
        call(["mkfs.ext4", "-q", "-F", "-U", _UUID, "-E", options, self.device])

    @property
    def sysfs(self) -> Path:
        """The device's folder in sysfs."""
        return Path("/sys/block") / Path(self.device).name

    @property
    def direct_io(self) -> bool:
        """Whether the loop device goes around the host's page cache."""
        return (self.sysfs / "loop" / "dio").read_text().strip() == "1"

    @property
    def device_number(self) -> tuple[int, int]:
        """(major, minor) of the loop device."""
        major, minor = (self.sysfs / "dev").read_text().split(":")
        return int(major), int(minor)

    def mount_disk(self) -> None:
        """Mount the filesystem."""
        call(["mount", "-t", "ext4", "-o", "noatime", self.device, str(self.mount)])

    def remount(self) -> None:
        """Unmount and mount again, which empties the page cache of this filesystem and of nothing else."""
        unmount(self.mount)
        self.mount_disk()

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
            message = f"{name} did not end within {timeout_s:.0f} s"
            raise CaptureError(message) from error
        finally:
            if process.poll() is not None and process in self._processes:
                self._processes.remove(process)
        if status not in accepted and not self.closing.is_set():
            message = f"{name} failed with status {status}: {last_line(log.read_text(errors='replace'))}"
            raise CaptureError(message)

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


def unmount(path: Path) -> None:
    """Unmount; harmless when nothing is mounted. A program that still ends gets five seconds."""
    for _ in range(50):
        if not os.path.ismount(path):
            return
        if subprocess.run(["umount", str(path)], capture_output=True, check=False).returncode:
            time.sleep(0.1)
    subprocess.run(["umount", "--lazy", str(path)], capture_output=True, check=False)


def detach_loops(image: Path) -> None:
    """Detach every loop device of an image; harmless when there is none."""
    listed = subprocess.run(
        ["losetup", "-n", "-O", "NAME", "-j", str(image)], capture_output=True, text=True, check=False
    )
    for device in listed.stdout.split():
        subprocess.run(["losetup", "-d", device], capture_output=True, check=False)


def sweep(work_root: Path = WORK_ROOT) -> None:
    """Undo what captures left behind that were killed outright (SIGKILL, a crash of the machine)."""
    names = {path.name for path in work_root.glob(f"{PREFIX}*")} | set(tracefs_sources())
    for folder in (ROOT, ROOT / "memory", MOUNT_POINT / "instances"):
        names |= {path.name for path in folder.glob(f"{PREFIX}*")}
    owners = {name: found[1] for name in sorted(names) if (found := re.fullmatch(re.escape(PREFIX) + r"(\d+)", name))}
    dead = [name for name, process in owners.items() if not Path("/proc", process).exists()]
    for name in dead:
        group = next((path for path in (ROOT / "memory" / name, ROOT / name) if path.is_dir()), None)
        if group is not None:
            MemoryGroup(name, 0).remove()
        unmount(work_root / name / "mnt")
        detach_loops(work_root / name / "disk.img")
        instance = MOUNT_POINT / "instances" / name
        if instance.is_dir():
            instance.rmdir()
        shutil.rmtree(work_root / name, ignore_errors=True)
    # A capture that runs may use the tracefs that a dead one mounted.
    if len(dead) == len(owners) and set(dead) & set(tracefs_sources()):
        subprocess.run(["umount", str(MOUNT_POINT)], capture_output=True, check=False)
