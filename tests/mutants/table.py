"""Which golden sets catch which wrong runtime, as docs/bundles-golden.md shows it.

    python -m tests.mutants.table

writes the tables anew. A set catches a runtime that does not give its features, outputs and decisions, or does not end.
"""

import re
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.mutants.mutants import MUTANTS
from tests.mutants.running import ROOT, bundles, failed, program

DOCUMENT = ROOT / "docs" / "bundles-golden.md"
SHOWN = 4


def caught(folder: Path) -> dict[str, dict[str, list[str]]]:
    """By kind and mutant, the sets that catch it; by "" those that the right runtime does not reproduce."""
    mutants = list(dict.fromkeys(mutant for own in MUTANTS.values() for mutant in own))
    made, sets = program(mutants, folder / "library", "-O0"), folder / "sets"
    bundles("sets", sets, tuple(MUTANTS))
    found = {}
    for kind, own in MUTANTS.items():
        numbers = {0: "", **{mutants.index(mutant) + 1: mutant.name for mutant in own}}
        by_number = failed([str(made), str(sets / kind)], numbers)
        found[kind] = {name: list(by_number.get(number, ())) for number, name in numbers.items()}
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
