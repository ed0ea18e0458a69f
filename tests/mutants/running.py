"""Compiles libcachezoo with wrong runtimes, and runs each on golden sets."""

import os
import subprocess
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from tests.c_library import build, make_in
from tests.mutants.mutants import Mutant
from tests.mutants.switched import copy_switched

ROOT = Path(__file__).parents[2]
LONGEST_S = 7200


def run(command: Sequence[str], given: str = "", **environment: str) -> str:
    """What a program that has to succeed prints."""
    done = subprocess.run(
        command, cwd=ROOT, env={**os.environ, **environment}, input=given, capture_output=True, text=True,
        timeout=LONGEST_S, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


def program(mutants: Sequence[Mutant], folder: Path, optimise: str) -> Path:
    """The library with mutants compiled in, and around it what runs golden sets.

    A changed text may leave unused what others use.
    """
    folder.mkdir()
    library = copy_switched(mutants, folder)
    made = folder / "build"
    make_in(made, "libcachezoo.a", library=library, OPTIMISE=optimise, WARNINGS="-w")
    sources = [str(Path(__file__).with_name("golden_sets.c")), str(made / "libcachezoo.a")]
    return build(folder / "golden_sets", sources, (), library)


def failed(command: Sequence[str], numbers: Iterable[int]) -> dict[int, tuple[str, ...]]:
    """By number of a runtime, the sets that it does not reproduce."""
    found: dict[int, tuple[str, ...]] = {}
    for line in run(command, "".join(f"{number}\n" for number in numbers)).splitlines():
        number, _, name = line.partition(" ")
        found[int(number)] = (*found.get(int(number), ()), name)
    return found


def bundles(module: str, folder: Path, kinds: Sequence[str]) -> None:
    """Write the bundles of kinds by a module of this package."""
    path = os.pathsep.join((str(ROOT / "src"), str(ROOT)))
    run([sys.executable, "-m", f"tests.mutants.{module}", str(folder), *kinds], PYTHONPATH=path)
