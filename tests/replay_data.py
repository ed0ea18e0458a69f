"""Small traces, loop devices, emulated disks and false fios for tests of replays."""

import os
import shutil
import signal
import stat
import subprocess
import time
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from cachezoo.coded import Coded
from cachezoo.devices.fio.command import LATENCY_LOG
from cachezoo.devices.fio.program import find_fio
from cachezoo.traces.table import Trace, TraceMeta

MIB = 1 << 20


def make_trace(op, offset, size, time_us=None):
    """A trace of columns; times go by 100 µs where none are given."""
    n = len(op)
    times = np.arange(n) * 100 if time_us is None else time_us
    op, offset, size, times = np.array(op, np.uint8), *(np.array(one, np.int64) for one in (offset, size, times))
    return Trace(times, op, offset, size, Coded.constant("v", n), TraceMeta("t", "web", "csv", "0" * 64))


def random_trace(n, seed, data_bytes, writes=0.0):
    """n requests of mixed sizes within `data_bytes`."""
    g = np.random.default_rng(seed)
    size = g.choice([512, 700, 4096, 65536], n)
    op = (g.random(n) < writes).astype(np.uint8)
    return make_trace(op, g.integers(0, data_bytes - 2 * 65536, n), size)


def full_file(path, size, seed=1):
    """A file without holes."""
    path.write_bytes(np.random.default_rng(seed).bytes(size))
    with path.open("rb") as file:
        os.fsync(file.fileno())
    return path


@contextmanager
def loop_device(image: Path, *options: str):
    """A loop device on a file, gone at the end with everything mounted from it."""
    done = subprocess.run(
        ["losetup", "--find", "--show", *options, str(image)], check=True, capture_output=True, text=True, timeout=30
    )
    device = done.stdout.strip()
    try:
        yield device
    finally:
        for line in reversed(Path("/proc/self/mountinfo").read_text().splitlines()):
            if f" {device}" in line.partition(" - ")[2]:
                place = line.split()[4].replace("\\040", " ")
                subprocess.run(["umount", place], check=True, timeout=30)
        subprocess.run(["losetup", "--detach", device], check=True, timeout=30)
        settle(lambda: not Path(f"/sys/block/{Path(device).name}/loop").exists())


def settle(done, seconds=60.0):
    """Wait until something is so, and say whether it became so."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if done():
            return True
        time.sleep(0.02)
    return bool(done())


def false_fio(folder: Path, body: str) -> Path:
    """A shell script called fio, which says that it is 3.33 and then does what `body` says; returns its folder."""
    folder.mkdir(exist_ok=True)
    script = folder / "fio"
    script.write_text(f'#!/bin/sh\n[ "$1" = --version ] && {{ echo fio-3.33; exit 0; }}\n{body}\n')
    script.chmod(script.stat().st_mode | stat.S_IXUSR)
    return folder


def retold_fio(folder: Path, change: str, *before: Path) -> Path:
    """The installed fio, whose latency log awk then changes: a busy machine's times are none to test by.

    Args:
        folder: for it.
        change: awk's program.
        before: files that awk reads before the log.

    Returns:
        The folder. It calls itself new enough for the trace's own times; an older one's latencies are wrong there, but
        its logs and their order are not.
    """
    run = f'{find_fio().path} "$@" || exit; [ -e {LATENCY_LOG} ] || exit 0'
    files = " ".join(map(str, before))
    awk = f"awk -F ', *' -v 'OFS=, ' '{change}' {files} {LATENCY_LOG} > told && mv told {LATENCY_LOG}"
    script = false_fio(folder, f"{run}\n{awk}") / "fio"
    script.write_text(script.read_text().replace("fio-3.33", "fio-3.36"))
    return folder


def processes_with(text: str) -> list[int]:
    """Ids of the living processes whose command line holds a text."""
    found = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                line = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
                state = (folder / "stat").read_text().rpartition(") ")[2][:1]
            except OSError:
                continue
            if text in line and state != "Z" and int(folder.name) != os.getpid():
                found.append(int(folder.name))
    return found


@dataclass(frozen=True)
class SocketTarget:
    """A disk behind a Unix socket; what `ReplayTarget` asks for."""

    socket: Path
    data_bytes: int
    writable: bool = False
    data_offset: int = 0
    engine: str = "nbd"
    label: str = "a test's disk"

    def fio_options(self):
        return [f"--uri=nbd+unix:///?socket={self.socket}"]

    def held(self, writes):
        return nullcontext(self)

    def check_again(self, writes):
        pass

    def plain(self, text):
        return text

    def describe(self):
        return {"name": "test", "kind": "emulated"}


@contextmanager
def eval_disk(folder: Path, pread: str, size=16 * MIB):
    """An nbdkit whose reads run a shell: $3 is the length, $4 the offset. Serves in parallel."""
    socket = folder / "disk.sock"
    command = [shutil.which("nbdkit"), "--foreground", "--exit-with-parent", "--threads=8", "-U", str(socket), "eval"]
    command += [f"get_size=echo {size}", "thread_model=echo parallel", "can_write=exit 3"]
    command += [f"pread={pread}; head -c $3 /dev/zero"]
    server = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, start_new_session=True)
    try:
        assert settle(socket.exists)
        yield SocketTarget(socket, size)
    finally:
        # The group: shells of reads that never end are in it.
        os.killpg(server.pid, signal.SIGKILL)
        server.wait(10)
