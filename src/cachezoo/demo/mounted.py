"""The nbdkit filter between files, as `cachezoo serve` finds it."""

import os
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from cachezoo.demo.replay import Counted, Disk
from cachezoo.devices.nbd.client import Client, connected
from cachezoo.errors import ConfigError, DeviceError
from cachezoo.policies.stream import Writes
from cachezoo.serve import control, found
from cachezoo.serve.metrics import accesses
from cachezoo.serve.options import Settings
from cachezoo.serve.state import LONGEST_SOCKET
from cachezoo.serve.words import ServeError
from cachezoo.sizes import PAGE_BYTES

READY_S, STEP_S = 30.0, 0.01
NBDKIT_SAYS = "nbdkit: "
DELAY = "--filter=delay"


@contextmanager
def serving(folder: Path, words: list[str]) -> Iterator[Path]:
    """The socket of an nbdkit that serves for as long as the block runs, and no longer than this process.

    Args:
        folder: of the socket; it must be there.
        words: of the command line, from the first filter on.

    Raises:
        DeviceError: nbdkit does not start; what it said.
    """
    socket, ready, said = folder / "nbd.sock", folder / "nbdkit.pid", folder / "said"
    command = [found.nbdkit(), "-f", "--exit-with-parent", "-U", str(socket), "-P", str(ready), *words]
    with said.open("wb") as file:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=file, stderr=file, cwd=folder)
    try:
        end = time.monotonic() + READY_S
        while not (ready.exists() and ready.read_text()):
            if process.poll() is not None or time.monotonic() > end:
                lines = said.read_text(errors="replace").splitlines() or ["it said nothing"]
                raise DeviceError(f"nbdkit did not start: {lines[0].removeprefix(NBDKIT_SAYS)}")
            time.sleep(STEP_S)
        yield socket
    finally:
        process.terminate()
        try:
            process.wait(READY_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        for old in (socket, ready, said):
            old.unlink(missing_ok=True)


class Mounted:
    """A disk behind nbdkit; it is a `cachezoo.demo.replay.Disk`."""

    def __init__(self, client: Client, counters: Path | None) -> None:
        self._counters = counters
        self.read, self.write = client.read, client.write

    @property
    def counted(self) -> Counted:
        """Accesses so far, as the filter counts them, of those that count in the mode."""
        if self._counters is None:
            return Counted(0, 0)
        asked, hits = accesses(control.ask(self._counters, "status"))
        return Counted(hits, asked)


@contextmanager
def mounted(policy: str | None, pages: int, writes: Writes, disk: Path, ssd: Path, wait_s: float) -> Iterator[Disk]:
    """A disk behind the filter, or without a policy behind nothing; see `cachezoo.demo.in_process.cached`."""
    slow = f"delay-read={round(wait_s * 1000)}ms"
    folder, words, counters = ssd.parent, [DELAY, "file", f"file={disk}", slow], None
    if policy is not None:
        counters = folder / "control.sock"
        if len(os.fsencode(counters)) > LONGEST_SOCKET:
            raise ConfigError(f"{folder}: too long for a socket; set TMPDIR to a folder with a shorter name")
        label = str(folder / "label") if writes == found.BACK else None
        wanted = Settings(str(disk), str(ssd), pages * PAGE_BYTES, disk.name, policy, writes, label=label)
        line = found.command(wanted, "", str(counters), "")
        own, *plugin = line[line.index("-P") + 2 :]  # what comes before is of `serving`
        words = [own, DELAY, *plugin, slow]
    with serving(folder, words) as socket, connected(socket) as client:
        yield Mounted(client, counters)
    for old in (ssd, folder / "label"):
        old.unlink(missing_ok=True)


def possible() -> bool:
    """Whether nbdkit and the filter are there."""
    try:
        return os.access(found.nbdkit(), os.X_OK) and bool(found.filter_file(None))
    except ServeError:
        return False
