"""Runs nbdkit with the filter `cachezoo` for tests."""

import json
import os
import signal
import socket
import subprocess
import time
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from cachezoo.devices.nbd.client import connected
from cachezoo.serve.control import listens

LIBRARY = Path(__file__).parents[1] / "runtimes/c"


def build_filter(folder: Path, *more: str) -> Path:
    """The filter, built in a folder; `more` are variables of make."""
    command = ["make", "-s", "-C", str(LIBRARY), "filter", f"BUILD={folder}", *more]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr
    return folder / "nbdkit-cachezoo-filter.so"


def build_plugin(plugin: Path) -> Path:
    """`slow_plugin.c`, compiled."""
    flags = ["-std=gnu11", "-D_GNU_SOURCE", "-O2", "-fPIC", "-shared", "-Wall", "-Wextra", "-Werror"]
    command = ["gcc", *flags, "-o", str(plugin), str(LIBRARY / "tests/slow_plugin.c")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    return plugin


def build_preload(name: str, target: Path) -> Path:
    """`<name>_preload.c`, compiled."""
    flags = ["-std=gnu11", "-D_GNU_SOURCE", "-O2", "-fPIC", "-shared", "-Wall", "-Wextra", "-Werror"]
    command = ["gcc", *flags, "-o", str(target), str(LIBRARY / f"tests/{name}_preload.c"), "-ldl", "-lpthread"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    return target


@dataclass
class Server:
    """A running nbdkit.

    Attributes:
        process: of nbdkit.
        path: the socket's.
        said: file with what nbdkit wrote to stderr.
    """

    process: subprocess.Popen
    path: Path
    said: Path

    @contextmanager
    def disk(self, export=""):
        """A connection to the export of that name."""
        with connected(self.path, export, 60) as disk:
            yield disk

    def wait_until_alone(self):
        """Until all that were connected have been closed: what serves them are threads beside two of its own."""
        end = time.monotonic() + 60
        while len(os.listdir(f"/proc/{self.process.pid}/task")) > 2:
            assert time.monotonic() < end, "nbdkit did not close its connections within 60 s"
            time.sleep(0.005)

    def stop(self):
        """As an administrator does."""
        self.process.terminate()
        assert self.process.wait(30) == 0, self.said.read_text()

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait(30)


def wait_for(server: Server, ready: Path, commands: Path | None) -> None:
    """Until nbdkit has written its process id, and its filter takes commands, which it does a moment later."""
    end = time.monotonic() + 60
    while not (ready.exists() and ready.read_text() and (commands is None or listens(commands))):
        assert server.process.poll() is None, server.said.read_text()
        assert time.monotonic() < end, "nbdkit was not ready within 60 s"
        time.sleep(0.005)


def sanitizing(name: str) -> dict[str, str]:
    """Variables of a process that loads what `asan` or `tsan` was built into, which end it with 66 at a fault."""
    if not name:
        return {}
    done = subprocess.run(["gcc", f"-print-file-name=lib{name}.so"], capture_output=True, text=True, check=True)
    options = "exitcode=66:abort_on_error=0:halt_on_error=1"
    return {
        "LD_PRELOAD": done.stdout.strip(),
        "ASAN_OPTIONS": f"{options}:detect_leaks=0",  # of nbdkit's own
        "TSAN_OPTIONS": options,
        "UBSAN_OPTIONS": "print_stacktrace=1",
    }


def wait_for_path(path: Path, process: subprocess.Popen) -> None:
    """Until a process has made a file."""
    end = time.monotonic() + 60
    while not path.exists():
        assert process.poll() is None
        assert time.monotonic() < end, f"{path} was not there within 60 s"
        time.sleep(0.005)


@contextmanager
def serve(filter_file: Path | None, folder: Path, options: list[str], plugin: list[str] | None = None, variables=None):
    """nbdkit with the filter, if one is given, over `folder/disk` or a plugin; it is gone afterwards."""
    path, said, ready = folder / "nbd.sock", folder / "said.txt", folder / "nbd.pid"
    for old in (path, ready):
        old.unlink(missing_ok=True)
    command = ["nbdkit", "-f", "-U", str(path), "-P", str(ready), *([f"--filter={filter_file}"] if filter_file else [])]
    command += [*(plugin or ["file", str(folder / "disk")]), *options]
    with said.open("wb") as file:
        process = subprocess.Popen(command, stderr=file, cwd=folder, env=os.environ | (variables or {}))
    server = Server(process, path, said)
    named = dict(option.split("=", 1) for option in options if "=" in option)
    commands = Path(named["cz-control"]) if "cz-control" in named else None
    try:
        wait_for(server, ready, commands)
        yield server
    finally:
        if process.poll() is None:
            process.kill()
            process.wait(30)


def refused(filter_file: Path, folder: Path, options: list[str]) -> str:
    """What nbdkit says where it does not start."""
    command = ["nbdkit", "-f", "-U", str(folder / "no.sock"), f"--filter={filter_file}", "file"]
    command += [str(folder / "disk"), *options]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 1, (done.returncode, done.stderr)
    return done.stderr


def control(path: Path, command: str, *lines: str) -> dict:
    """The answer of the filter's control socket to a command."""
    with socket.socket(socket.AF_UNIX) as wire:
        wire.settimeout(120)
        wire.connect(str(path))
        wire.sendall("\n".join([command, *lines, "", ""]).encode())
        parts = []
        while part := wire.recv(1 << 16):
            parts.append(part)
    return json.loads(b"".join(parts))
