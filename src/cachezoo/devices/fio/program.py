"""The program fio: where it is, its version, and a run of it that leaves nothing behind."""

import os
import re
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from cachezoo.errors import DeviceError

OLDEST = (3, 30)
VERSION_S = 20.0
POLL_S = 0.2
KILL_S = 10.0
TIMEOUT = "device.timeout_s"


@dataclass(frozen=True)
class Program:
    """A fio that can be run."""

    path: str  # the file
    version: tuple[int, int]  # major and minor

    @property
    def text(self) -> str:
        """The version as fio writes it."""
        return "fio-{}.{}".format(*self.version)

    def needs(self, version: tuple[int, int], feature: str) -> None:
        """Refuse what this fio is too old for.

        Args:
            version: the oldest that will do.
            feature: what for.

        Raises:
            DeviceError: it is older.
        """
        if self.version < version:
            wanted = "{}.{}".format(*version)
            message = f"{self.path}: {feature} needs fio {wanted} or later, this is {self.text}; install a newer fio"
            raise DeviceError(message)


def find_fio() -> Program:
    """The fio on PATH.

    Raises:
        DeviceError: there is none, it does not say its version, or it is too old.
    """
    path = shutil.which("fio")
    if path is None:
        message = "fio is not on PATH; install it (Debian: apt-get install fio) or set device to an analytic profile"
        raise DeviceError(message)
    try:
        done = subprocess.run(
            [path, "--version"], capture_output=True, text=True, errors="replace", timeout=VERSION_S, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        message = f"{path}: cannot be run ({error}); install fio again (Debian: apt-get install fio)"
        raise DeviceError(message) from error
    found = re.match(r"fio-(\d+)\.(\d+)", done.stdout.strip())
    if found is None:
        said = (done.stdout + done.stderr).strip().splitlines()
        message = f"{path}: says {said[0] if said else 'nothing'!r}, not its version; install fio (Debian: fio)"
        raise DeviceError(message)
    program = Program(path, (int(found[1]), int(found[2])))
    program.needs(OLDEST, "a replay")
    return program


def run(
    command: Sequence[str],
    folder: Path,
    timeout_s: float,
    label: str,
    watch: Callable[[int, float], None] | None = None,
    limit: str = TIMEOUT,
) -> str:
    """Run fio to its end; it and what it started are dead when this returns, however it returns.

    Args:
        command: what to run.
        folder: its working folder; takes what it says.
        timeout_s: then it is killed.
        label: the target's name in errors.
        watch: is told its process id and the seconds since its start, several times a second.
        limit: what, for an error, sets `timeout_s`.

    Returns:
        What it said on standard output.

    Raises:
        DeviceError: it failed, or did not end in time.
    """
    # Where this process is killed, nobody is left to end fio: the kernel does.
    setpriv = shutil.which("setpriv") or shutil.which("setpriv", path="/usr/bin:/bin")
    guard = [setpriv, "--pdeathsig", "KILL", "--"] if setpriv else []
    said, complaints = folder / "said", folder / "complaints"
    with said.open("wb") as out, complaints.open("wb") as err:
        process = subprocess.Popen(
            [*guard, *command],
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=err,
            start_new_session=True,
        )
        try:
            status = _wait(process, timeout_s, watch)
        finally:
            _end(process, label)
    text = said.read_text(errors="replace")
    if status is None:
        message = (
            f"{label}: fio did not end within {limit} ({timeout_s:g} s) and was killed; the device hangs, or give it "
            "more time"
        )
        raise DeviceError(message)
    if status:
        message = f"{label}: fio ended with status {status}: {_reason(complaints.read_text(errors='replace'), text)}"
        raise DeviceError(message)
    return text


def _wait(
    process: "subprocess.Popen[bytes]", timeout_s: float, watch: Callable[[int, float], None] | None
) -> int | None:
    """The status, or None where the time is up."""
    start = time.monotonic()
    while True:
        spent = time.monotonic() - start
        if spent >= timeout_s:
            return None
        with suppress(subprocess.TimeoutExpired):
            return process.wait(min(POLL_S, timeout_s - spent))
        if watch is not None:
            watch(process.pid, time.monotonic() - start)


def _end(process: "subprocess.Popen[bytes]", label: str) -> None:
    """Kill the group, whose leader may be dead already."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    try:
        process.wait(KILL_S)
    except subprocess.TimeoutExpired as error:
        message = (
            f"{label}: fio (process {process.pid}) waits in the kernel and cannot be killed; see dmesg for the device"
        )
        raise DeviceError(message) from error


def _reason(complaints: str, text: str) -> str:
    """The line that says most: of a request, else of an error, else the last before the result."""
    before = f"{text.partition('{')[0]}\n{complaints}"
    lines = [line.strip() for line in before.splitlines() if line.strip()]
    of_requests = [line for line in lines if "buflen=" in line]
    of_errors = [line for line in lines if "error" in line]
    return (of_requests[:1] or of_errors[-1:] or lines[-1:] or ["it said nothing"])[0]


def moved_bytes(pid: int) -> int:
    """Bytes a process has had read from and written to block devices; 0 where the kernel does not say."""
    try:
        text = Path(f"/proc/{pid}/io").read_text()
    except OSError:
        return 0
    numbers = dict(line.split(": ") for line in text.splitlines())
    return int(numbers["read_bytes"]) + int(numbers["write_bytes"])
