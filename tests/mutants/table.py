"""Which golden sets catch which wrong runtime, as docs/bundles-golden.md shows it.

    PYTHONPATH=src:. .venv/bin/python -m tests.mutants.table [kind ...]

writes the tables of these kinds, or of all, anew.
"""

import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal

from tests.mutants.mutants import MUTANTS

ROOT = Path(__file__).parents[2]
STORED = ROOT / "tests" / "golden" / "protocol2"
DOCUMENT = ROOT / "docs" / "bundles-golden.md"
LONGEST_S = 1500
SHOWN = 4


def caught_of(kind: str, folder: Path, how: Literal["all", "first"] = "all") -> dict[str, list[str]]:
    """By mutant, the sets that catch it, or the first of them; by "" those that the reference does not reproduce."""
    (bundle,) = STORED.glob(f"{kind}.*")
    out = folder / f"{kind}.json"
    command = [sys.executable, "-m", "tests.mutants.worker", kind, str(bundle), str(out), how]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join((str(ROOT / "src"), str(ROOT)))}
    done = subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=LONGEST_S, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]
    found: dict[str, list[str]] = json.loads(out.read_text(encoding="utf-8"))
    return found


def _cell(sets: Sequence[str]) -> str:
    names = [f"`{one.partition(':')[0]}`" for one in sets]
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return ", ".join(names[:SHOWN]) + more


def section(kind: str, caught: Mapping[str, Sequence[str]]) -> str:
    """The table of a kind."""
    rows = [f"| {name} | {_cell(sets)} |" for name, sets in caught.items() if name]
    return "\n".join(
        [f"<!-- mutants of {kind} -->", "| wrong runtime | caught by |", "|---|---|", *rows, "<!-- end -->"]
    )


def main(kinds: Sequence[str]) -> None:
    """Write the tables of kinds."""
    text = DOCUMENT.read_text(encoding="utf-8")
    with tempfile.TemporaryDirectory() as folder:
        for kind in kinds or list(MUTANTS):
            table = section(kind, caught_of(kind, Path(folder)))
            text = re.sub(
                rf"<!-- mutants of {kind} -->.*?<!-- end -->", lambda _, own=table: own, text, flags=re.DOTALL
            )
    DOCUMENT.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
