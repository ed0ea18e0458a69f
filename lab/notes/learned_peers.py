"""LRB-like and 3L-Cache-like next to their authors' releases, on public traces of pages.

    CACHEZOO_PUBLIC_TRACES=FOLDER learned_peers.py [--policy threelcache] > lab/results/learned_peers.md

learned_peers.yaml has the releases' misses, and how they were got. `alike` is ours with the releases' numbers: rows of
a training and when the first comes, how often pages are marked, depth, bins and learning rate of the trees, LRB's
features, and when 3L-Cache reviews its window. What else differs is in the tables of the modules
`cachezoo.kernels.evict.lrb` and `threelcache`. Miss ratios in percent of all accesses from an empty cache: mean and
standard deviation over as many seeds as the release was run with. `apart` is alike less the release, in points, with
the standard error of the difference. `ours` has its defaults and one seed. A quarter of an hour on a quiet core.
"""

import argparse
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from math import hypot, sqrt
from pathlib import Path
from statistics import fmean, stdev

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "benchmarks"))

from peers import Ids, traces

from cachezoo.kernels.evict import threelcache
from cachezoo.kernels.learning import TREES, WRITTEN, Learner
from cachezoo.kernels.outcome import HIT
from cachezoo.policies.admissions import ACCEPT_ALL
from cachezoo.policies.components import Composition, Eviction, Values
from cachezoo.policies.engine import hits_only
from cachezoo.policies.evictions import learned
from cachezoo.yaml_file import parsed

DATA = Path(__file__).with_suffix(".yaml")
OWN = {eviction.id: eviction for eviction in learned.EVICTIONS}
VALUES: dict[str, Values] = {
    "threelcache": {"rows": 65_536, "sample_every": 1, "learning_rate": 0.1},
    "lrb": {"rows": 131_072, "sample_every": 1, "learning_rate": 0.1, "trees": 32, "deltas": 31, "counters": 10,
            "patience": 0, "window": 8},
}  # fmt: skip
KEPT = 4  # 3L-Cache uses one in so many marked pages once it has a forest
REVIEWED = 10**6  # accesses between reviews of its window
LEARN_EVERY = 1024  # a release may train at any access
REST = """What is left of 3L-Cache is the spread of its trainings over seeds. The release of LRB ran once or twice for
each cell, which says little of its spread; where it ran twice, what is left is more than the spread of two runs."""


def thin(learner: Learner, seen: int) -> None:
    """Keep one in `KEPT` of the rows written since there were `seen`, as if the others had not been written."""
    rows, numbers = learner.rows, learner.numbers
    kept = np.arange(seen, int(numbers[WRITTEN]), KEPT)
    rows[(seen + np.arange(len(kept))) % len(rows)] = rows[kept % len(rows)]
    numbers[WRITTEN] = seen + len(kept)


@dataclass
class Lessons:
    """3L-Cache's lessons with a part of the rows once there is a forest."""

    seen: int = 0  # rows before the stretch of accesses that a lesson ends

    def __call__(self, state: threelcache.State, served: int) -> None:
        """As `learned.learn_threelcache`."""
        if state.learner.numbers[TREES] > 0:
            thin(state.learner, self.seen)
        learned.learn_threelcache(state, served)
        self.seen = int(state.learner.numbers[WRITTEN])


@contextmanager
def as_released(capacity: int) -> Iterator[None]:
    """What is no parameter of ours is as in the releases."""
    before = {name: getattr(learned, name) for name in ("FIRST_ROWS", "DEPTH", "BINS", "REVIEW")}
    learned.FIRST_ROWS, learned.DEPTH, learned.BINS = 1, -1, 255
    learned.REVIEW = max(1, REVIEWED // capacity)
    try:
        yield
    finally:
        for name, value in before.items():
            setattr(learned, name, value)


def misses(eviction: Eviction, values: Values, trace: Ids, capacity: int) -> float:
    """Miss ratio in percent."""
    outcome = hits_only(Composition(eviction, ACCEPT_ALL, values), trace.page_ids, trace.n_pages, capacity)
    return 100 * float((outcome != HIT).mean())


def alike(policy_id: str, trace: Ids, capacity: int, seed: int) -> float:
    """Miss ratio in percent of ours with the releases' numbers."""
    learn = Lessons() if policy_id == "threelcache" else OWN[policy_id].learn
    eviction = replace(OWN[policy_id], learn=learn, learn_every=LEARN_EVERY)
    with as_released(capacity):
        return misses(eviction, {**VALUES[policy_id], "seed": seed}, trace, capacity)


def row(policy_id: str, trace: Ids, capacity: int, released: Sequence[int]) -> str:
    """A line of the table."""
    theirs = [100 * count / len(trace.page_ids) for count in released]
    own = [alike(policy_id, trace, capacity, seed) for seed in range(1, len(theirs) + 1)]
    default = misses(OWN[policy_id], {}, trace, capacity)
    apart = fmean(own) - fmean(theirs)
    error = f" ± {hypot(stdev(own), stdev(theirs)) / sqrt(len(theirs)):.2f}" if len(theirs) > 1 else ""
    cells = [trace.name, f"{capacity:,}", policy_id, str(len(theirs)), _shown(theirs), _shown(own),
             f"{apart:+.2f}{error}", f"{default:.2f}"]  # fmt: skip
    return f"| {' | '.join(cells)} |"


def _shown(values: Sequence[float]) -> str:
    """Mean, and standard deviation where there is one."""
    return f"{fmean(values):.2f}" + (f" ± {stdev(values):.2f}" if len(values) > 1 else "")


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--policy", action="append", choices=list(VALUES))
    given = parser.parse_args()
    releases = parsed(DATA.read_text(encoding="utf-8"), str(DATA))
    print("# LRB-like and 3L-Cache-like next to the releases of their authors\n")
    print("Written by `lab/notes/learned_peers.py`, which says what the columns are. Miss ratios in percent.\n")
    print("| trace | pages | policy | seeds | release | alike | apart | ours |")
    print("|---|---:|---|---:|---:|---:|---:|---:|")
    for policy_id in given.policy or VALUES:
        counted = releases[policy_id]["misses"]
        with traces(*counted) as found:
            for trace in found:
                for capacity, released in counted[trace.name].items():
                    print(row(policy_id, trace, capacity, released), flush=True)
    print(f"\n{REST}")
    for policy_id in given.policy or VALUES:
        print(f"\n`{policy_id}`: {releases[policy_id]['release']}.")


if __name__ == "__main__":
    main()
