"""Serve an emulated disk on a socket, for as long as somebody needs it."""

import hashlib
import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from cachezoo.devices.fio.scratch import scratch_folder
from cachezoo.errors import DeviceError
from cachezoo.private import cache_root, private_folder
from cachezoo.settings.device import Hdd, Ssd

PREFIX = "cachezoo-disk-"
READY_S = 20.0
POLL_S = 0.005
SOCKET_PATH_BYTES = 107  # the kernel's limit
HDD_KEYS = (
    "capacity_bytes rotation_us rotation seek_base_us seek_root_us seek_linear_us cylinder_bytes switch_us "
    "write_settle_us outer_mb_s inner_mb_s zones read_us write_us interface_mb_s overlap"
).split()


@dataclass(frozen=True)
class SlowRange:
    """Addresses that are slower than the model: requests that begin in [start, end) take `extra_us` more."""

    start: int
    end: int
    extra_us: float


@dataclass(frozen=True)
class NbdTarget:
    """The emulated disk as a replay sees it."""

    socket: Path  # where it listens
    data_bytes: int  # its size
    process: int  # id of the server
    kind: str  # `hdd` or `ssd`
    version: str  # of nbdkit
    engine: str = "nbd"
    data_offset: int = 0
    writable: bool = True  # it keeps nothing

    @property
    def label(self) -> str:
        """What an error calls it."""
        return f"emulated {self.kind}"

    @property
    def uri(self) -> str:
        """Its address."""
        return f"nbd+unix:///?socket={quote(str(self.socket))}"

    def fio_options(self) -> list[str]:
        """What points fio at it."""
        return [f"--uri={self.uri}"]

    def held(self, writes: bool) -> "AbstractContextManager[NbdTarget]":
        """Itself: nobody else knows it."""
        return nullcontext(self)

    def check_again(self, writes: bool) -> None:
        """It keeps nothing that a write could destroy."""

    def plain(self, text: str) -> str:
        """As it is."""
        return text

    def describe(self) -> dict[str, str]:
        """For the provenance."""
        return {
            "name": self.label,
            "kind": "emulated",
            "rotational": str(int(self.kind == "hdd")),
            "server": self.version,
        }


def _refuse(key: str, value: object, what: str, off: str) -> None:
    message = f"device.{key}: {value}: the emulated disk has no {what}; set it to {off}, or use source: analytic"
    raise DeviceError(message)


def check_model(model: Hdd | Ssd) -> None:
    """Refuse what the emulated disk does not know.

    Raises:
        DeviceError: it names the key.
    """
    if isinstance(model, Ssd):
        if model.write_buffer_bytes > 0:
            _refuse("ssd.write_buffer_bytes", model.write_buffer_bytes, "write buffer", "0")
        return
    if model.read_buffer.segments > 0:
        _refuse("hdd.read_buffer.segments", model.read_buffer.segments, "read buffer", "0")
    if model.write_buffer_bytes > 0:
        _refuse("hdd.write_buffer_bytes", model.write_buffer_bytes, "write buffer", "0")
    if model.scheduler != "fcfs":
        _refuse("hdd.scheduler", model.scheduler, "scheduler", "fcfs")


def plugin_parameters(model: Hdd | Ssd) -> dict[str, str]:
    """The model as the plugin's parameters.

    An SSD's channels do not matter to one request at a time, and garbage collection only lowers the rate of writes.
    """
    if isinstance(model, Hdd):
        return {"mode": "hdd", **{key: str(getattr(model, key)) for key in HDD_KEYS}}
    write_mb_s = 1 / (1 / model.write_mb_s + (model.waf - 1) / model.program_mb_s)
    numbers = {"read_us": model.read_us, "write_us": model.write_us, "read_mb_s": model.read_mb_s}
    return {"mode": "ssd", **{key: str(value) for key, value in numbers.items()}, "write_mb_s": str(write_mb_s)}


@contextmanager
def _scratch() -> Iterator[Path]:
    with scratch_folder(PREFIX) as folder:
        if len(os.fsencode(folder / "socket")) > SOCKET_PATH_BYTES:
            raise DeviceError(f"{folder}: too long for a socket's path; set TMPDIR to a folder with a shorter one")
        yield folder


def _said(messages: Path) -> str:
    """What the server said last."""
    lines = messages.read_text(errors="replace").strip().splitlines()
    return lines[-1].strip() if lines else "it said nothing"


def _ended(process: "subprocess.Popen[bytes]", messages: Path) -> DeviceError:
    return DeviceError(f"the emulated disk's nbdkit ended with status {process.returncode}: {_said(messages)}")


def _await_ready(process: "subprocess.Popen[bytes]", ready: Path, messages: Path) -> None:
    """Wait until nbdkit has written its process id, which it does when clients can connect."""
    limit = time.monotonic() + READY_S
    while not ready.exists():
        if process.poll() is not None:
            raise _ended(process, messages)
        if time.monotonic() > limit:
            message = f"the emulated disk's nbdkit was not ready within {READY_S:.0f} s; run it on an idle machine"
            raise DeviceError(message)
        time.sleep(POLL_S)


def _stop(process: "subprocess.Popen[bytes]") -> None:
    """End the server and whatever it started. It has nothing to save, and a request may keep it for long."""
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _command(folder: Path, parameters: dict[str, str]) -> list[str]:
    # One process, which stays in the foreground; the plugin sees to it that it ends with its parent.
    options = ["--foreground", "--unix", str(folder / "socket"), "--pidfile", str(folder / "ready")]
    given = [f"{key}={value}" for key, value in {**parameters, "parent": str(os.getpid())}.items()]
    return [need("nbdkit"), *options, str(plugin_file()), *given]


def _version() -> str:
    done = subprocess.run([need("nbdkit"), "--version"], capture_output=True, text=True, timeout=60, check=False)
    return done.stdout.strip() or "nbdkit"


@contextmanager
def serving(
    model: Hdd | Ssd, size_bytes: int, slow: SlowRange | None = None, log: Path | None = None
) -> Iterator[NbdTarget]:
    """Run an emulated disk; it ends with the context, or when this process or the thread that called it ends.

    Whoever connects finds the head at address 0. Requests are served one at a time, in the order of their arrival.

    Args:
        model: what it is.
        size_bytes: how much can be addressed; an HDD folds addresses modulo its capacity.
        slow: addresses that are slower than the model.
        log: file that gets a line `ns,offset,size,r or w,µs` for each request: when the disk took it up by the
            monotonic clock, and how long the model wants it to last.

    Raises:
        DeviceError: a program is missing, the model has what the disk does not know, or the server does not start
            or ends before the context does.
    """
    check_model(model)
    parameters = {**plugin_parameters(model), "size": str(size_bytes)}
    if slow is not None:
        parameters["slow"] = f"{slow.start}-{slow.end}:{slow.extra_us}"
    if log is not None:
        parameters["log"] = str(log.absolute())
    with _scratch() as folder:
        messages = folder / "messages"
        with messages.open("wb") as output:
            process = subprocess.Popen(
                _command(folder, parameters),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,
                env={**os.environ, "LC_ALL": "C"},  # numbers have a point
            )
        try:
            _await_ready(process, folder / "ready", messages)
            kind = parameters["mode"]
            yield NbdTarget(folder / "socket", size_bytes, process.pid, kind, _version())
        except DeviceError as error:
            if process.poll() is not None and (folder / "ready").exists():
                raise _ended(process, messages) from error
            raise
        finally:
            _stop(process)


SOURCE = Path(__file__).parent / "disk.c"
FLAGS = ("-std=c11", "-O2", "-shared", "-fPIC")
LIBRARIES = ("-lm",)
COMPILE_S = 120.0
PACKAGES = "gcc, nbdkit and nbdkit-plugin-dev"


def _missing(what: str) -> str:
    return f"{what} is missing; the emulated disk needs the Debian packages {PACKAGES}: install them"


def need(program: str) -> str:
    """Path of a program of the packages.

    Raises:
        DeviceError: it is not installed.
    """
    found = shutil.which(program)
    if found is None:
        raise DeviceError(_missing(program))
    return found


def _run(command: list[str]) -> "subprocess.CompletedProcess[str]":
    environment = {**os.environ, "LC_ALL": "C"}
    try:
        return subprocess.run(command, capture_output=True, text=True, timeout=COMPILE_S, check=False, env=environment)
    except subprocess.TimeoutExpired as error:
        message = f"{SOURCE}: {command[0]} did not end within {COMPILE_S:.0f} s; run it again on an idle machine"
        raise DeviceError(message) from error


def _versions(gcc: str, nbdkit: str) -> str:
    """What the compiled file depends on beside its source."""
    return "\n".join(_run([program, "--version"]).stdout for program in (gcc, nbdkit))


def _compile(gcc: str, target: Path) -> None:
    with tempfile.TemporaryDirectory(dir=target.parent, prefix=f".{target.stem}-") as folder:
        made = Path(folder) / target.name
        done = _run([gcc, *FLAGS, str(SOURCE), "-o", str(made), *LIBRARIES])
        if done.returncode != 0:
            errors = [line for line in done.stderr.splitlines() if "error" in line] or [f"status {done.returncode}"]
            message = f"{SOURCE} does not compile: {errors[0].strip()}; install a gcc that knows C11"
            absent = "nbdkit-plugin.h: No such file" in done.stderr
            raise DeviceError(_missing("nbdkit-plugin.h") if absent else message)
        made.replace(target)


def plugin_file() -> Path:
    """The compiled plugin, from the cache (CACHEZOO_CACHE_DIR, else `.cache` of the project) or made now.

    Raises:
        DeviceError: gcc, nbdkit or nbdkit's header is not installed, or the source does not compile.
        CacheError: others can write to the cache.
    """
    gcc, nbdkit = need("gcc"), need("nbdkit")
    digest = hashlib.sha256(SOURCE.read_bytes())
    digest.update("\n".join((*FLAGS, _versions(gcc, nbdkit))).encode())
    target = private_folder(cache_root() / "nbd") / f"disk-{digest.hexdigest()[:16]}.so"
    if not target.exists():
        _compile(gcc, target)
    return target
