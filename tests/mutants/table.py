"""Which golden sets catch which wrong runtime, as docs/bundles-golden.md shows it.

    python -m tests.mutants.table

writes the tables anew. A set catches a runtime that does not give its features, outputs and decisions, or does not end.
"""

import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.c_library import build, make_in
from tests.mutants.mutants import MUTANTS, Mutant
from tests.mutants.switched import copy_switched

ROOT = Path(__file__).parents[2]
DOCUMENT = ROOT / "docs" / "bundles-golden.md"
SHOWN = 4
LONGEST_S = 900


def _run(command: Sequence[str], **environment: str) -> str:
    done = subprocess.run(
        command,
        cwd=ROOT,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=LONGEST_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


def _program(mutants: Sequence[Mutant], folder: Path) -> Path:
    """The library with all mutants compiled in, and around it what runs the golden sets.

    It is not optimised: it would take longer to compile than to run. A changed text may leave unused what others use.
    """
    library = copy_switched(mutants, folder)
    made = folder / "build"
    make_in(made, "libcachezoo.a", library=library, OPTIMISE="-O0", WARNINGS="-w")
    sources = [str(Path(__file__).with_name("golden_sets.c")), str(made / "libcachezoo.a")]
    return build(folder / "golden_sets", sources, (), library)


def caught(folder: Path) -> dict[str, dict[str, list[str]]]:
    """By kind and mutant, the sets that catch it; by "" those that the right runtime does not reproduce."""
    mutants = list(dict.fromkeys(mutant for own in MUTANTS.values() for mutant in own))
    program = _program(mutants, folder)
    path = os.pathsep.join((str(ROOT / "src"), str(ROOT)))
    sets = folder / "sets"
    _run([sys.executable, "-m", "tests.mutants.sets", str(sets)], PYTHONPATH=path, NUMBA_DISABLE_JIT="1")
    found = {}
    for kind, own in MUTANTS.items():
        numbers = {0: "", **{mutants.index(mutant) + 1: mutant.name for mutant in own}}
        found[kind] = {name: [] for name in numbers.values()}
        for line in _run([str(program), str(sets / kind), *map(str, numbers)]).splitlines():
            number, _, name = line.partition(" ")
            found[kind][numbers[int(number)]].append(name)
    return found


def _cell(sets: Sequence[str]) -> str:
    more = f" and {len(sets) - SHOWN} more" if len(sets) > SHOWN else ""
    return ", ".join(f"`{one}`" for one in sets[:SHOWN]) + more


def section(kind: str, found: Mapping[str, Sequence[str]]) -> str:
    """The table of a kind."""
    rows = [f"| {name} | {_cell(sets)} |" for name, sets in found.items() if name]
    return "\n".join(
        [f"<!-- mutants of {kind} -->", "| wrong runtime | caught by |", "|---|---|", *rows, "<!-- end -->"]
    )


def main() -> None:
    """Write the tables of all kinds."""
    text = DOCUMENT.read_text(encoding="utf-8")
    with tempfile.TemporaryDirectory() as folder:
        for kind, found in caught(Path(folder)).items():
            table = section(kind, found)
            text = re.sub(
                rf"<!-- mutants of {kind} -->.*?<!-- end -->", lambda _, own=table: own, text, flags=re.DOTALL
            )
    DOCUMENT.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
