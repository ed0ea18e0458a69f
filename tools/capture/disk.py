"""A loop device with ext4, whose every undo is registered before the thing is done and harmless without it."""

import shutil
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from cachezoo.errors import CaptureError
from tools.capture.installed import program

MIB = 1 << 20
COMMAND_S = 300.0
UUIDS = "63616368-657a-6f6f-8000-{:012x}"


def call(command: Sequence[str], timeout_s: float = COMMAND_S) -> str:
    """Run a command to its end and return its standard output.

    Raises:
        CaptureError: it is not installed, fails or takes too long.
    """
    try:
        done = subprocess.run(
            [program(command[0]), *command[1:]],
            capture_output=True,
            text=True,
            errors="replace",
            timeout=timeout_s,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise CaptureError(f"{command[0]} did not end within {timeout_s:.0f} s") from error
    if done.returncode:
        said = last_line(done.stderr or done.stdout)
        raise CaptureError(f"{' '.join(command[:4])} failed with status {done.returncode}: {said}")
    return done.stdout


def last_line(text: str) -> str:
    """The last line of a program's output that says something."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1] if lines else "no output"


class Disk:
    """An image file, its loop device and the filesystem on it.

    Attributes:
        name: of the volume in the trace.
        image: the file.
        mount: where the filesystem is mounted.
        device: the loop device, e.g. /dev/loop0.
    """

    def __init__(self, name: str, image: Path, mount: Path) -> None:
        """Describe the disk; nothing happens yet."""
        self.name = name
        self.image = image
        self.mount = mount
        self.device = ""
        self._readahead_kib = 0

    def open(self, stack: ExitStack, size_mib: int, readahead_kib: int, number: int) -> None:
        """Make the image, the device and the filesystem, and mount it.

        Args:
            stack: takes the undoing.
            size_mib: of the image, which is sparse.
            readahead_kib: of the device.
            number: of the disk among a sandbox's; its filesystem's identity follows from it.

        Raises:
            CaptureError: the kernel or mkfs refuses.
        """
        self.mount.mkdir(parents=True, exist_ok=True)
        stack.callback(detach_loops, self.image)
        with self.image.open("wb") as file:
            file.truncate(size_mib * MIB)
        self._readahead_kib = readahead_kib
        self._attach(stack)
        uuid = UUIDS.format(number + 1)
        options = f"lazy_itable_init=0,lazy_journal_init=0,nodiscard,hash_seed={uuid}"
        call(["mkfs.ext4", "-q", "-F", "-U", uuid, "-E", options, self.device])
        stack.callback(unmount, self.mount)
        self.mount_it()

    def _attach(self, stack: ExitStack) -> None:
        command = ["losetup", "--find", "--show", str(self.image)]
        # A file on e.g. overlayfs may refuse direct I/O; the metadata say which it was.
        try:
            self.device = call([*command[:3], "--direct-io=on", str(self.image)]).strip()
        except CaptureError:
            self.device = call(command).strip()
        # The device's number outlives it, so its next user gets the old value back.
        setting = self.sysfs / "queue" / "read_ahead_kb"
        stack.callback(setting.write_text, setting.read_text())
        setting.write_text(str(self._readahead_kib))

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

    def mount_it(self) -> None:
        """Mount the filesystem."""
        call(["mount", "-t", "ext4", "-o", "noatime", self.device, str(self.mount)])

    def remount(self) -> None:
        """Unmount and mount again, which empties the page cache of this filesystem and of nothing else."""
        unmount(self.mount)
        self.mount_it()

    def close(self) -> None:
        """Unmount the filesystem and detach the device; harmless where it is not open."""
        unmount(self.mount)
        detach_loops(self.image)

    @contextmanager
    def served_from(self, file: Path) -> Iterator[None]:
        """Have the same filesystem from another file, such as one that a server shows; afterwards the disk is closed.

        Args:
            file: with what the image holds.

        Raises:
            CaptureError: the kernel refuses.
        """
        self.close()
        own = self.image
        with ExitStack() as stack:
            stack.callback(setattr, self, "image", own)
            stack.callback(self.close)
            self.image = file
            self._attach(stack)
            self.mount_it()
            yield


def unmount(path: Path) -> None:
    """Unmount; harmless when nothing is mounted. A program that still ends gets five seconds."""
    for _ in range(50):
        if not path.is_mount():
            return
        if subprocess.run([program("umount"), str(path)], capture_output=True, check=False).returncode:
            time.sleep(0.1)
    subprocess.run([program("umount"), "--lazy", str(path)], capture_output=True, check=False)


def remove_folder(path: Path) -> None:
    """Remove a folder; harmless when there is none. What is still busy in it gets five seconds."""
    for _ in range(50):
        shutil.rmtree(path, ignore_errors=True)
        if not path.exists():
            return
        time.sleep(0.1)


def detach_loops(image: Path) -> None:
    """Detach every loop device of an image; harmless when there is none."""
    losetup = program("losetup")
    listed = subprocess.run(
        [losetup, "-n", "-O", "NAME", "-j", str(image)], capture_output=True, text=True, check=False
    )
    for device in listed.stdout.split():
        subprocess.run([losetup, "-d", device], capture_output=True, check=False)
