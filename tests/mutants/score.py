"""How many of all one-operator changes of libcachezoo the golden sets catch.

    python -m tests.mutants.score [--kind reuse] [--every 4 | --write] [--keep FOLDER]

A change counts for each kind whose decisions it may touch. It is caught where the golden rows of a tiny bundle, real or
synthetic, are not reproduced, or where it crashes or does not end. One that is not caught is wrong where it decides
otherwise on a captured trace; else it is equivalent, as far as those show. The score is the share of the caught among
the caught and the wrong.
"""

import argparse
import re
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

from tests.c_library import LIBRARY
from tests.mutants.kept import Score, counts, keep_figures, keep_survivors, table
from tests.mutants.mutants import Mutant
from tests.mutants.operators import DECIDING, all_changes
from tests.mutants.running import bundles, failed, program
from tests.mutants.switched import switched

ERROR = re.compile(r"^(\d+):\d+:(?:\d+:)? (?:fatal )?error:", re.MULTILINE)


def that_compile(mutants: Sequence[Mutant], folder: Path) -> list[Mutant]:
    """Those of the mutants that are C."""
    left: list[Mutant] = []
    for name in dict.fromkeys(mutant.source for mutant in mutants):
        own = dict(enumerate((mutant for mutant in mutants if mutant.source == name), 1))
        source = (LIBRARY / "src" / name).read_text(encoding="utf-8")
        path = folder / f"checked_{name}.c"
        for _ in range(10):
            text = switched(source, own.items())
            path.write_text(text if name.endswith(".c") else f'#include "internal.h"\n{text}', encoding="utf-8")
            checked = subprocess.run(
                ["gcc", "-std=c11", "-D_GNU_SOURCE", "-w", "-fsyntax-only", "-fmax-errors=0", f"-I{LIBRARY}/include",
                 f"-I{LIBRARY}/src", str(path)],
                capture_output=True, text=True, timeout=600, check=False,
            )  # fmt: skip
            bad = {int(number) for number in ERROR.findall(checked.stderr)}
            assert checked.returncode == 0 or bad, checked.stderr[:2000]
            if not bad:
                break
            own = {number: mutant for number, mutant in own.items() if number not in bad}
        left += own.values()
    return left


def scores(kinds: Sequence[str], folder: Path, every_nth: int = 1) -> dict[str, Score]:
    """The score of each kind."""
    every = that_compile(all_changes(tuple(kinds))[::every_nth], folder)
    whole = program(every, folder / "whole", "-O0")
    bundles("sets", folder / "sets", kinds)
    own = {kind: [k for k, one in enumerate(every, 1) if one.source in DECIDING[kind]] for kind in kinds}
    caught = {kind: failed([str(whole), "-r", "-1", str(folder / "sets" / kind)], (0, *own[kind])) for kind in kinds}
    assert not any(0 in by_number for by_number in caught.values())
    left = {kind: [every[k - 1] for k in own[kind] if k not in caught[kind]] for kind in kinds}
    some = list(dict.fromkeys(one for survivors in left.values() for one in survivors))
    fast = program(some, folder / "fast", "-O2")
    bundles("traces", folder / "traces", kinds)
    number = {one: k for k, one in enumerate(some, 1)}
    found = {}
    for kind in kinds:
        numbers = [number[one] for one in left[kind]]
        told = failed([str(fast), "-t", "-1", str(folder / "traces" / kind)], (0, *numbers))
        assert 0 not in told
        found[kind] = Score(
            frozenset(every[k - 1] for k in caught[kind]),
            frozenset(one for one in left[kind] if number[one] not in told),
            {one: told[number[one]] for one in left[kind] if number[one] in told},
        )
    return found


def main() -> None:
    """Print the figures, and what is not caught."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kind", action="append", choices=tuple(DECIDING))
    parser.add_argument("--every", type=int, default=1, metavar="N", help="each N-th change alone, for a quick look")
    parser.add_argument("--write", action="store_true", help="keep the figures, the survivors and the document's table")
    parser.add_argument("--keep", type=Path, help="an empty folder for what is built")
    given = parser.parse_args()
    if given.write and given.every > 1:
        parser.error("--write keeps what is found of all changes; leave --every out")
    with tempfile.TemporaryDirectory() as folder:
        if given.keep:
            given.keep.mkdir()
        found = scores(given.kind or tuple(DECIDING), given.keep or Path(folder), given.every)
    print(table({kind: counts(own) for kind, own in found.items()}))  # noqa: T201
    for kind, own in found.items():
        for mutant, traces in sorted(own.wrong.items(), key=lambda pair: (pair[0].source, pair[0].place)):
            print(f"{kind}: {mutant.name}: {', '.join(traces)}")  # noqa: T201
    if given.write:
        keep_figures(found)
        keep_survivors(found)


if __name__ == "__main__":
    main()
