"""The locks: which packages are installed, and by sha256 which files. `python -m scripts.locks` writes both anew.

requirements.lock holds what the pipeline runs with, requirements-dev.lock what tests need beyond it. They follow from
pyproject.toml and the pins that are there: a pin stays until its lines are removed. Each pin names every wheel that
fits Python 3.11 on Linux, x86_64 and aarch64, and a source archive only where there is no wheel, since to build one
runs its code. uv finds the versions, and asks the index for the hashes.
"""

import os
import re
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from packaging.markers import Marker

from cachezoo.io import atomic_file

RUN, DEV = Path("requirements.lock"), Path("requirements-dev.lock")
TORCH, TORCH_INDEX = "torch", "https://download.pytorch.org/whl/cpu"
INSTALLER = "pip"  # which is there before anything is installed
# The newest glibc whose wheels are taken is Debian 12's; wheels for older ones are named as well.
MACHINES = ("x86_64", "aarch64")
PLATFORM = "{}-manylinux_2_36"
OF_MACHINES = "platform_machine"  # other markers say nothing on Linux and CPython
HEADS = {
    RUN: f"""\
# What the pipeline runs with: Python 3.11, Linux on x86_64 and aarch64. Written by `make lock` from pyproject.toml;
# a pin stays until its lines are removed. Versions have no local suffix, but the files of torch are its CPU build's.
# torch comes from {TORCH_INDEX}
""",
    DEV: f"""\
# What tests and peers need beyond it. Written by `make lock` as well.
-r {RUN}
""",
}
PIN = re.compile(
    r"^(?P<name>[a-z0-9-]+)==(?P<version>[^\s;]+)(?: ; (?P<marker>[^\\\n]+?))?(?P<hashes>(?: \\\n +--hash=\S+)*)$", re.M
)
HASH = re.compile(r"--hash=sha256:([0-9a-f]{64})\b")


@dataclass(frozen=True)
class Pin:
    """A package of a lock.

    Attributes:
        name: of the distribution, normalised.
        version: without a local suffix.
        hashes: sha256 of the files that may be installed, sorted.
        marker: where it is installed at all; everywhere if empty.
    """

    name: str
    version: str
    hashes: tuple[str, ...]
    marker: str = ""

    def lines(self) -> str:
        """The pin as it stands in a lock."""
        head = f"{self.name}=={self.version}" + (f" ; {self.marker}" if self.marker else "")
        return " \\\n    ".join([head, *(f"--hash=sha256:{digest}" for digest in self.hashes)]) + "\n"


def pins(lock: Path) -> list[Pin]:
    """The packages that a lock itself names, without those of a lock that it builds on."""
    found = PIN.finditer(lock.read_text(encoding="utf-8"))
    return [Pin(m["name"], m["version"], tuple(HASH.findall(m["hashes"])), m["marker"] or "") for m in found]


def _resolve(source: str, machine: str, *more: str) -> dict[str, Pin]:
    """What uv chooses for a machine, by name.

    Args:
        source: a file of requirements.
        machine: what `uname -m` says there.
        more: further arguments for uv.
    """
    uv = [sys.executable, "-m", "uv", "pip", "compile", "--quiet", "--format", "pylock.toml", "--no-header"]
    uv += ["--python-version", "3.11", "--python-platform", PLATFORM.format(machine), "--no-emit-package", INSTALLER]
    done = subprocess.run([*uv, *more, source], check=False, stdout=subprocess.PIPE, text=True)
    if done.returncode:
        sys.exit("locks: uv finds no such set, nothing was written; remove the lines of the pins that it names")
    found = {}
    for package in tomllib.loads(done.stdout).get("packages", []):
        files = package.get("wheels") or [package["sdist"]]
        hashes = tuple(sorted(file["hashes"]["sha256"] for file in files))
        marker = package.get("marker", "")
        found[package["name"]] = Pin(
            package["name"], package["version"].partition("+")[0], hashes, marker if OF_MACHINES in marker else ""
        )
    return found


def _asked(path: Path, chosen: Iterable[Pin], suffix: str = "") -> str:
    """Write a file of pins for uv; its name."""
    path.write_text("".join(f"{pin.name}=={pin.version}{suffix}\n" for pin in chosen), encoding="utf-8")
    return str(path)


def _everywhere(chosen: dict[str, Pin], path: Path, *more: str, suffix: str = "") -> dict[str, Pin]:
    """Packages that were chosen for the first machine, with the files that fit the others too.

    Args:
        chosen: by name.
        path: a file to write.
        more: further arguments for uv.
        suffix: local suffix of all versions.
    """
    found = dict(chosen)
    for machine in MACHINES[1:]:
        there = [p for p in chosen.values() if not p.marker or Marker(p.marker).evaluate({OF_MACHINES: machine})]
        for name, pin in _resolve(_asked(path, there, suffix), machine, "--no-deps", *more).items():
            found[name] = replace(found[name], hashes=tuple(sorted({*found[name].hashes, *pin.hashes})))
    return found


def write_locks(torch_files: str) -> None:
    """Write both locks.

    Args:
        torch_files: the page or folder in which uv finds the wheels of torch; where the version of torch stays, its
            hashes stay as well, and what the page lacks is not missed.
    """
    before = {pin.name: pin for lock in (RUN, DEV) for pin in pins(lock)}
    extras, links = {RUN: ["--extra", "pipeline"], DEV: ["--extra", "dev"]}, ["--find-links", torch_files]
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        kept = ["--constraint", _asked(folder / "kept.txt", before.values()), *links]
        run = _resolve("pyproject.toml", MACHINES[0], *extras[RUN], *kept)
        same = ["--constraint", _asked(folder / "run.txt", run.values())]
        both = _resolve("pyproject.toml", MACHINES[0], *extras[RUN], *extras[DEV], *kept, *same)
        torch = {TORCH: both.pop(TORCH)}
        if TORCH in before and before[TORCH].version == torch[TORCH].version:
            torch = {TORCH: before[TORCH]}
        else:
            torch = _everywhere(torch, folder / "torch.txt", *links, suffix="+cpu")
        both = _everywhere(both, folder / "both.txt") | torch
    for lock, own in ((RUN, run.keys()), (DEV, both.keys() - run.keys())):
        with atomic_file(lock) as temporary:
            temporary.write_text(HEADS[lock] + "".join(both[name].lines() for name in sorted(own)), encoding="utf-8")


if __name__ == "__main__":
    write_locks(os.environ.get("PIP_FIND_LINKS") or f"{TORCH_INDEX}/{TORCH}/")
