"""A tracefs instance of our own that records the block events of some devices."""

import os
import re
import shutil
import subprocess
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from cachezoo.errors import CaptureError

MOUNT_POINT = Path("/sys/kernel/tracing")
PREFIX = "cachezoo-capture-"
SYSTEM = "/usr/sbin:/sbin"  # which a user's PATH may lack
EVENTS = ("block_rq_issue", "block_rq_complete", "block_rq_requeue")
POLL_S = 0.05
READ_BYTES = 1 << 16
LOST_COUNTERS = ("overrun", "commit overrun", "dropped events")


def find_program(name: str, folders: str = SYSTEM) -> str | None:
    """Where a program is.

    Args:
        name: of the program.
        folders: where to look, separated by colons, after the folders of PATH.
    """
    return shutil.which(name) or shutil.which(name, path=folders)


def program(name: str, folders: str = SYSTEM) -> str:
    """Path of a program, found as `find_program` does.

    Raises:
        CaptureError: it is not installed.
    """
    found = find_program(name, folders)
    if found is None:
        raise CaptureError(f"{name} is not installed; install the Debian package that brings it")
    return found


@contextmanager
def mounted_tracefs(name: str, mount_point: Path = MOUNT_POINT) -> Iterator[Path]:
    """Tracefs at its usual place; mounted when it is not, and then unmounted at the end.

    Args:
        name: the mount's source, by which a later capture knows whose it was.
        mount_point: the place.

    Raises:
        CaptureError: the kernel has no tracefs or refuses it.
    """
    if (mount_point / "instances").is_dir():
        yield mount_point
        return
    try:
        done = subprocess.run(
            [program("mount"), "-t", "tracefs", name, str(mount_point)], capture_output=True, text=True, check=False
        )
        if done.returncode:
            message = f"{mount_point}: tracefs does not mount ({done.stderr.strip()}); the kernel needs CONFIG_FTRACE"
            raise CaptureError(message)
        yield mount_point
    finally:
        # Refused only while somebody else uses it by now; then it is theirs to unmount.
        subprocess.run([program("umount"), str(mount_point)], capture_output=True, check=False)


def tracefs_sources(mount_point: Path = MOUNT_POINT) -> list[str]:
    """The sources of what is mounted at tracefs's place: its owner's name where a capture mounted it."""
    mounts = [line.split() for line in Path("/proc/self/mounts").read_text().splitlines()]
    return [source for source, target, *_ in mounts if target == str(mount_point)]


def dead(names: Iterable[str]) -> list[str]:
    """Of the names of recordings those whose process has ended."""
    owners = {name: found[1] for name in sorted(names) if (found := re.fullmatch(re.escape(PREFIX) + r"(\d+)", name))}
    return [name for name, process in owners.items() if not Path("/proc", process).exists()]


def sweep() -> None:
    """Undo what recordings left behind that were killed outright (SIGKILL, a crash of the machine)."""
    sources = {name for name in tracefs_sources() if name.startswith(PREFIX)}
    names = sources | {path.name for path in (MOUNT_POINT / "instances").glob(f"{PREFIX}*")}
    over = dead(names)
    for name in over:
        instance = MOUNT_POINT / "instances" / name
        if instance.is_dir():
            instance.rmdir()
    # A recording that runs may use the tracefs that a dead one mounted.
    if sources and len(over) == len(names):
        subprocess.run([program("umount"), str(MOUNT_POINT)], capture_output=True, check=False)


class Recorder:
    """Writes the events of some devices to a file while it runs.

    Nothing global is changed: instance, filter, clock and buffer are the recorder's own. Use as a context manager.
    """

    def __init__(
        self,
        tracefs: Path,
        name: str,
        devices: Iterable[int],
        buffer_kib: int,
        spool: Path,
        events: Sequence[str] = EVENTS,
        within: tuple[int, int] | None = None,
    ) -> None:
        """Name the instance; nothing happens yet.

        Args:
            tracefs: mount point.
            name: of the instance.
            devices: their numbers, major << 20 | minor.
            buffer_kib: buffer of each processor.
            spool: file that receives the text.
            events: of the kernel's group `block`.
            within: sectors of 512 bytes, the first and the one behind the last; events elsewhere are not kept.
        """
        self.instance = tracefs / "instances" / name
        self._devices = sorted(devices)
        self._events = events
        self._within = within
        self._buffer_kib = buffer_kib
        self._spool = spool
        self._stop = threading.Event()
        self._failure: OSError | None = None
        self._thread: threading.Thread | None = None

    def __enter__(self) -> "Recorder":
        try:
            self._set_up()
        except OSError as error:
            self.remove()
            message = f"{self.instance}: {error.strerror}; block events need root and CONFIG_BLK_DEV_IO_TRACE"
            raise CaptureError(message) from error
        except BaseException:
            self.remove()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.remove()

    def _set_up(self) -> None:
        self.instance.mkdir()
        wanted = " || ".join(f"dev == {number}" for number in self._devices)
        if self._within is not None:
            wanted = f"({wanted}) && sector >= {self._within[0]} && sector < {self._within[1]}"
        self._write("tracing_on", "0")
        self._write("trace_clock", "mono")
        self._write("buffer_size_kb", str(self._buffer_kib))
        for event in self._events:
            folder = f"events/block/{event}"
            self._write(f"{folder}/filter", wanted)
            self._write(f"{folder}/enable", "1")

    def _write(self, name: str, value: str) -> None:
        (self.instance / name).write_text(value)

    def start(self) -> None:
        """Keep events from now on."""
        self._thread = threading.Thread(target=self._copy, name="capture-events", daemon=True)
        self._thread.start()
        self._write("tracing_on", "1")

    def _copy(self) -> None:
        try:
            pipe = os.open(self.instance / "trace_pipe", os.O_RDONLY | os.O_NONBLOCK)
            try:
                with self._spool.open("wb") as spool:
                    # One more round after the stop, so that what was recorded before it is read.
                    last = False
                    while not last:
                        last = self._stop.wait(POLL_S)
                        self._drain(pipe, spool.write)
            finally:
                os.close(pipe)
        except OSError as error:
            self._failure = error

    @staticmethod
    def _drain(pipe: int, write: Callable[[bytes], int]) -> None:
        with suppress(BlockingIOError):
            while data := os.read(pipe, READ_BYTES):
                write(data)

    def stop(self) -> None:
        """Keep no more events and check that none was lost.

        Raises:
            CaptureError: events were overrun or dropped, or could not be copied.
        """
        lost = self.halt()
        if lost:
            message = f"the kernel lost {lost} block events (ring buffer overrun); raise buffer_kib in the recipe"
            raise CaptureError(message)

    def halt(self) -> int:
        """Keep no more events; how many of those that were to be kept the kernel has lost.

        Raises:
            CaptureError: events could not be copied.
        """
        self._write("tracing_on", "0")
        self._join()
        self.check()
        return lost_events(self.instance)

    def check(self) -> None:
        """See that the events are copied.

        Raises:
            CaptureError: they could not be, as on a full disk.
        """
        if self._failure is not None:
            raise CaptureError(f"{self._spool}: the events could not be copied ({self._failure})") from self._failure

    def _join(self) -> None:
        self._stop.set()
        if self._thread is not None:
            self._thread.join(timeout=30)
            self._thread = None

    def remove(self) -> None:
        """Remove the instance; harmless when there is none."""
        self._join()
        if self.instance.is_dir():
            with suppress(OSError):
                self._write("events/enable", "0")
            self.instance.rmdir()


def lost_events(instance: Path) -> int:
    """Events that the instance's per-processor statistics call overrun or dropped."""
    lost = 0
    for stats in instance.glob("per_cpu/cpu*/stats"):
        for line in stats.read_text().splitlines():
            name, _, value = line.partition(":")
            if name.strip() in LOST_COUNTERS:
                lost += int(value)
    return lost
