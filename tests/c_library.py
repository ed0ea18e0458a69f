"""libcachezoo's sources, compiled for a test; the flags are those of its Makefile, with the sanitizers on."""

import fcntl
import hashlib
import os
import subprocess
from pathlib import Path

import pytest

LIBRARY = Path(__file__).parents[1] / "runtimes/c"
FLAGS = ("-std=c11", "-D_GNU_SOURCE", "-O2", "-ffp-contract=off", "-g", "-Wall", "-Wextra", "-Werror")
SANITIZED = ("-fsanitize=address,undefined", "-fno-sanitize-recover=all")
CHECKED = {"OPTIMISE": "-O1", "EXTRA_CFLAGS": " ".join(("-g", *SANITIZED))}  # variables of the Makefile


def build(program: Path, sources: list[str], more: tuple[str, ...] = SANITIZED, library: Path = LIBRARY) -> Path:
    """Compile sources, named from runtimes/c or a copy of it, to a program."""
    paths = [str(library / source) for source in sources]
    command = ["gcc", *FLAGS, *more, f"-I{library}/include", f"-I{library}/src", "-o", str(program), *paths, "-lm"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    return program


def make_in(folder: Path, *targets: str, library: Path = LIBRARY, **variables: str) -> None:
    """Make targets of the Makefile in a build folder; those with a slash or dot in it are named from that folder."""
    given = [f"{name}={value}" for name, value in sorted(variables.items())]
    named = [str(folder / target) if {"/", "."} & set(target) else target for target in targets]
    command = ["make", "-s", "-j2", "-C", str(library), f"BUILD={folder}", *given, *named]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def make(temporary: pytest.TempPathFactory, *targets: str, **variables: str) -> Path:
    """The Makefile's build folder with some targets made, see `make_in`.

    Tests of a run, in all its processes, share a folder for each set of variables: what one has built is there.
    """
    own = temporary.getbasetemp()
    shared = own.parent if "PYTEST_XDIST_WORKER" in os.environ else own
    given = " ".join(f"{name}={value}" for name, value in sorted(variables.items()))
    folder = shared / f"libcachezoo-{hashlib.sha256(given.encode()).hexdigest()[:8]}"
    with (shared / "libcachezoo.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        make_in(folder, *targets, **variables)
    return folder
