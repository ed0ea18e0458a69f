"""Compile the emulated disk, once for each source and compiler."""

import hashlib
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from cachezoo.errors import DeviceError
from cachezoo.private import cache_root, private_folder

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
