"""Looks for golden sets that catch what all others miss: the same set of other draws, or candidates made by rules.

    python -m tests.mutants.score --kind reuse > missed.txt
    python -m tests.mutants.search --kind reuse --set wide --missed missed.txt [--tries 40] [--every 2]

The kind's module `bundle` has a table `DRAWS`: by set, the name that its draws hang on. Here a set is drawn under the
names `wide_0`, `wide_1`, … and every wrong runtime that the score found runs on each. Printed are, best first, the
names that catch what no name before them does, and then what none of them catches. Put the first one into `DRAWS`;
where it leaves too much, change the set's rules, or add a set, and look again.

The file may hold wrong runtimes of `mutants.py`, too: a line `reuse: leaders change on any access: missed` for each.

Without --set the candidates of `candidates.py` are tried, and the best is what catches most for its page accesses.

With --every 2 each second wrong runtime alone decides. The score of the others then says how well the chosen set does
where nobody looked.
"""

import argparse
import re
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from unittest.mock import patch

from cachezoo.bundles.reader import load
from cachezoo.serving.synthetic import SyntheticSet
from cachezoo.zoo.registry import bundling_of
from tests.mutants.candidates import CANDIDATES
from tests.mutants.mutants import MUTANTS, Mutant
from tests.mutants.operators import DECIDING, all_changes
from tests.mutants.running import failed, program
from tests.mutants.sets import completed, stored
from tests.mutants.traces import write_requests

MOST_SETS = 64  # that a bundle may have
OWN_COST = 300  # of a set, in page accesses, besides its own


def missed(kind: str, printed: str) -> list[Mutant]:
    """The wrong runtimes of a kind that lines `KIND: NAME: WHERE` name."""
    by_name = {one.name: one for one in (*MUTANTS[kind], *all_changes((kind,)))}
    names = re.findall(rf"^{kind}: (.*): [^:]*$", printed, re.MULTILINE)
    return [by_name[name] for name in names]


def drawn(kind: str, name: str, tries: int) -> list[SyntheticSet]:
    """A set of a kind under other draws, named by them."""
    path = stored(kind)
    bundle = load(path)
    own = bundling_of(bundle.kind).kind.load()
    manifest, draws = completed(kind, bundle.manifest), import_module(f"cachezoo.zoo.{kind}.bundle").DRAWS
    found = []
    for number in range(tries):
        with patch.dict(draws, {name: f"{name}_{number}"}):
            sets = own.synthetic(manifest, lambda values: own.serve(values, bundle.engine))
        (one,) = (one for one in sets if one.name == name)
        found.append(replace(one, name=f"{name}_{number}"))
    return found


def caught(kind: str, sets: Sequence[SyntheticSet], mutants: Sequence[Mutant], folder: Path) -> dict[str, set[Mutant]]:
    """By set, the wrong runtimes that do not give what the right one gives."""
    made = program(mutants, folder / "library", "-O2")
    found: dict[str, set[Mutant]] = {one.name: set() for one in sets}
    for first in range(0, len(sets), MOST_SETS):
        written = folder / f"sets_{first}"
        write_requests(kind, written, sets[first : first + MOST_SETS])
        for number, names in failed([str(made), "-t", str(written)], range(len(mutants) + 1)).items():
            assert number, f"the right runtime does not repeat itself: {names}"
            for name in names:
                found[name].add(mutants[number - 1])
    return found


def chosen(found: Mapping[str, set[Mutant]], costs: Mapping[str, int]) -> list[tuple[str, int]]:
    """Sets, each the one that catches most for its cost of what those before it miss, and how many that is."""
    left, most = {name: set(own) for name, own in found.items()}, []
    while left and (best := max(left, key=lambda name: len(left[name]) / costs[name])) and left[best]:
        most.append((best, len(left[best])))
        taken = left.pop(best)
        left = {name: own - taken for name, own in left.items()}
    return most


def main() -> None:
    """Print the names of draws, and what none catches."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kind", choices=tuple(DECIDING), required=True)
    parser.add_argument("--set", help="a set of the kind's DRAWS; without, the kind's candidates")
    parser.add_argument("--missed", type=Path, required=True, help="what tests.mutants.score printed")
    parser.add_argument("--tries", type=int, default=40, help="names of draws")
    parser.add_argument("--every", type=int, default=1, metavar="N", help="each N-th wrong runtime alone")
    given = parser.parse_args()
    mutants = missed(given.kind, given.missed.read_text(encoding="utf-8"))[:: given.every]
    with tempfile.TemporaryDirectory() as folder:
        tried = drawn(given.kind, given.set, given.tries) if given.set else list(CANDIDATES[given.kind]())
        found = caught(given.kind, tried, mutants, Path(folder))
    costs = {one.name: OWN_COST + int(one.requests.pages().request_start[-1]) for one in tried}
    for name, more in chosen(found, costs):
        print(f"{name}: {more} more of {len(mutants)}")  # noqa: T201
    for mutant in set(mutants) - set().union(*found.values()):
        print(f"missed by all: {mutant.name}")  # noqa: T201


if __name__ == "__main__":
    main()
