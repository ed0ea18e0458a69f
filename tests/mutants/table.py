"""Which synthetic golden sets catch which wrong runtime.

    python -m tests.mutants.table

writes caught.md anew. A set catches a runtime that does not give its features, outputs and decisions, or does not end.
"""

import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from cachezoo.bundles.protocol import MANIFEST
from tests.mutants.mutants import MUTANTS
from tests.mutants.running import bundles, failed, program

TABLES = Path(__file__).with_name("caught.md")
HEAD = """# Wrong runtimes, and the synthetic golden sets that catch them

`python -m tests.mutants.table` writes this file.
"""
SHOWN = 4


def caught(folder: Path) -> dict[str, dict[str, list[str]]]:
    """By kind and mutant, the sets that catch it; by "" those that the right runtime does not reproduce."""
    mutants = list(dict.fromkeys(mutant for own in MUTANTS.values() for mutant in own))
    made, sets = program(mutants, folder / "library", "-O0"), folder / "sets"
    bundles("sets", sets, tuple(MUTANTS))
    found = {}
    for kind, own in MUTANTS.items():
        numbers = {0: "", **{mutants.index(mutant) + 1: mutant.name for mutant in own}}
        by_number = _failed(made, sets / kind, numbers)
        found[kind] = {name: by_number[number] for number, name in numbers.items()}
    return found


def _failed(made: Path, folder: Path, numbers: Iterable[int]) -> dict[int, list[str]]:
    """By number of a runtime, the sets of a kind's bundles that it fails; of several bundles with their names."""
    found: dict[int, list[str]] = {number: [] for number in numbers}
    several = not (folder / MANIFEST).is_file()
    for bundle in sorted(folder.iterdir()) if several else [folder]:
        for number, names in failed([str(made), str(bundle)], found).items():
            found[number] += [f"{bundle.name} {name}" if several else name for name in names]
    return found


def _cell(sets: Sequence[str]) -> str:
    more = f" and {len(sets) - SHOWN} more" if len(sets) > SHOWN else ""
    return ", ".join(f"`{one}`" for one in sets[:SHOWN]) + more


def document(found: Mapping[str, Mapping[str, Sequence[str]]]) -> str:
    """The tables of all kinds."""
    text = HEAD
    for kind, own in found.items():
        rows = [f"| {name} | {_cell(sets)} |" for name, sets in own.items() if name]
        text += "\n".join([f"\n## {kind}\n", "| wrong runtime | caught by |", "|---|---|", *rows, ""])
    return text


def main() -> None:
    """Write the tables of all kinds."""
    with tempfile.TemporaryDirectory() as folder:
        TABLES.write_text(document(caught(Path(folder))), encoding="utf-8")


if __name__ == "__main__":
    main()
