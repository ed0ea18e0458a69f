"""Finds golden sets: few of many candidates that catch what a kind's sets miss.

    python -m tests.mutants.search virtual [--every 2] [--without many_lfu]

The wrong runtimes are the changes of one operator that decide otherwise on captured traces and that no set catches, but
for the sets that are left out. Each step takes the candidate that catches most of what is left for its page accesses.
"""

import argparse
import tempfile
from collections.abc import Callable, Collection, Iterator, Mapping
from itertools import product
from pathlib import Path

from cachezoo.serving.synthetic import SyntheticSet
from cachezoo.systems.virtual import synthetic as virtual
from tests.mutants.mutants import Mutant
from tests.mutants.operators import all_changes
from tests.mutants.running import bundles, failed, program
from tests.mutants.score import that_compile
from tests.mutants.traces import write_requests

OWN_COST = 300  # of a set, beside its page accesses


def missed(kind: str, every_nth: int, without: Collection[str], folder: Path) -> list[Mutant]:
    """What no set catches but those left out, and decides otherwise on a trace."""
    every = that_compile(all_changes((kind,))[::every_nth], folder)
    numbers = range(1, len(every) + 1)
    bundles("sets", folder / "sets", (kind,))
    caught = failed([str(program(every, folder / "whole", "-O0")), str(folder / "sets" / kind)], numbers)
    left = [every[k - 1] for k in numbers if set(caught.get(k, ())) <= set(without)]
    bundles("traces", folder / "traces", (kind,))
    traces = [str(program(left, folder / "left", "-O2")), "-t", "-1", str(folder / "traces" / kind)]
    return [left[k - 1] for k in failed(traces, range(1, len(left) + 1))]


def chosen(catches: Mapping[str, Collection[int]], costs: Mapping[str, int]) -> Iterator[tuple[str, set[int]]]:
    """Candidates one after the other, and what each catches that those before it do not."""
    left = set().union(*catches.values())
    while left:
        best = max(catches, key=lambda name: len(left & set(catches[name])) / costs[name])
        yield best, left & set(catches[best])
        left -= set(catches[best])


def _virtual() -> Iterator[SyntheticSet]:
    many, few = virtual.MANY, virtual.FEW
    for draw, (accesses, span, new, pages) in product(
        ("many_lfu", "many_lfu_1"), ((2500, 700, 1000, 1024), (2500, 900, 1000, 1024), (4350, 600, 2800, 1860))
    ):
        batch = virtual._many(draw, accesses, span, many, twice=0, new=new, often=6)
        values = {"queue": "lfu", "pages": pages, "fragment": 2, "runs": 3, "decay": 1, "quantum": 290}
        yield virtual._of(f"{draw}_{span}", batch, 900, **values, cost=0.02)
    for k, pages, runs in product(range(3), (256, 320), (4, 16)):
        batch = virtual._many(f"many_arc_{k}", 1250, pages // 2, many, twice=0.4, new=pages + 4, often=0)
        values = {"queue": "arc", "pages": pages, "fragment": 2, "runs": runs, "decay": 0.75, "quantum": 50}
        yield virtual._of(f"many_arc_{k}_{pages}_{runs}", batch, pages // 4 + 3, **values, cost=0.1)
    for k, accesses, cost in product(range(3), (700, 1300), (0.02, 0.1)):
        batch = virtual._many(f"many_lru_{k}", accesses, 250, many, twice=0.3, new=0, often=0)
        values = {"pages": 320, "fragment": 2, "runs": 3, "decay": 1, "quantum": 300, "cost": cost}
        yield virtual._of(f"many_lru_{k}_{accesses}_{int(100 * cost)}", batch, 100, **values)
    for k, (queue, accesses, span, new, pages), decay in product(
        range(8), (("lfu", 330, 60, 66, 64), ("arc", 250, 30, 0, 40)), (0, 0.5)
    ):
        batch = virtual._many(f"few_{queue}_{k}", accesses, span, few, twice=0.5, new=new, often=0)
        values = {"queue": queue, "pages": pages, "decay": decay, "quantum": 11, "cost": 0.25}
        yield virtual._of(f"few_{queue}_{k}_{int(100 * decay)}", batch, {40: 16, 64: 20}[pages], **values)
    batch = virtual._many("few_lru_0", 150, 30, few, twice=0.5, new=0, often=0)
    yield virtual._of("few_lru_0", batch, 40, pages=8192, fragment=16, quantum=11, cost=0.25)


CANDIDATES: Mapping[str, Callable[[], Iterator[SyntheticSet]]] = {"virtual": _virtual}


def main() -> None:
    """Print the sets chosen, what each catches, and what none does."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kind", choices=tuple(CANDIDATES))
    parser.add_argument("--every", type=int, default=1, metavar="N", help="choose on each N-th change alone")
    parser.add_argument("--without", action="append", default=[], metavar="SET", help="a set to find anew")
    given = parser.parse_args()
    candidates = list(CANDIDATES[given.kind]())
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        wrong = missed(given.kind, given.every, given.without, folder)
        write_requests(given.kind, folder / "candidates", candidates)
        made = program(wrong, folder / "wrong", "-O2")
        caught = failed([str(made), "-t", str(folder / "candidates")], range(1, len(wrong) + 1))
    catches = {one.name: {k for k, names in caught.items() if one.name in names} for one in candidates}
    accesses = {one.name: int(one.requests.pages().request_start[-1]) for one in candidates}
    for one, more in chosen(catches, {name: count + OWN_COST for name, count in accesses.items()}):
        print(f"{one}: {accesses[one]} page accesses, {len(catches[one])} caught, {len(more)} by it alone")  # noqa: T201
    for k, mutant in enumerate(wrong, 1):
        if k not in caught:
            print(f"missed: {mutant.name}")  # noqa: T201


if __name__ == "__main__":
    main()
