"""Requests a second of the flash cache: policies without a model, and the whole way of a decision with a forest.

    flash.py [--requests 50000000] [--decided 2000000] [--repeats 3]

A synthetic load: single segments of 4 KiB by Zipf's law, a tenth of them writes, in a cache of a tenth of the segments,
by LRU of blocks.
Seconds are of processor time on one core, the least of several runs. `expand` is what every simulation of a trace
shares: numbering its segments and blocks. `forest` reads the requests' features, scores them by a forest as large as
the pipeline's, here trained on random classes, and runs the cache; `--decided 0` leaves it out. Memory is the most that
the process held.
"""

import argparse
import resource

import numpy as np
from rich.table import Table
from timing import compiled, least

from cachezoo.arrays import I64, Bool
from cachezoo.coded import Coded
from cachezoo.console import out
from cachezoo.features.history import AdmissionFeatures, feature_list
from cachezoo.kernels.flash import FlashRun, coin_flips, simulate_flash, simulate_rejectx
from cachezoo.kernels.segments import Geometry, SegmentAccesses, expand_segments
from cachezoo.models.forest import ForestRows, fit_forest
from cachezoo.serving.forest import Forest, read_forest
from cachezoo.serving.requests import RequestBatch
from cachezoo.settings.forest import ForestFit, ForestShape
from cachezoo.zoo.admission.serve import HistoryServing, score_batch

SEED, EXPONENT, WRITES, PER_SEGMENT = 7, 0.9, 0.1, 25
GEOMETRY, WINDOWS = Geometry(), [1, 2, 4, 8, 16, 32]
SHAPE = ForestShape(
    arch="lgbm", num_leaves=63, max_trees=100, learning_rate=0.05, feature_fraction=0.9, bagging_fraction=0.9,
    bagging_freq=5, min_data_in_leaf=50, lambda_l2=1.0,
)  # fmt: skip
LEARNT_FROM = 50_000


def load(requests: int) -> tuple[I64, Bool]:
    """Offsets int64[n], and which requests read."""
    rng = np.random.default_rng(SEED)
    segments = max(1, requests // PER_SEGMENT)
    ladder = np.cumsum(np.arange(1, segments + 1) ** -EXPONENT)
    named = rng.permutation(segments).astype(np.int64)
    offset = np.empty(requests, np.int64)
    for first in range(0, requests, 1 << 20):
        part = offset[first : first + (1 << 20)]
        part[:] = named[np.searchsorted(ladder, rng.random(len(part)) * ladder[-1])] * GEOMETRY.segment_bytes
    return offset, rng.random(requests) >= WRITES


def expanded(offset: I64) -> SegmentAccesses:
    """The segments of the requests."""
    n = len(offset)
    return expand_segments(np.zeros(n, np.int32), offset, np.full(n, GEOMETRY.segment_bytes, np.int64), GEOMETRY)


class Decided:
    """The way of a decision: features, forest, cache."""

    def __init__(self, offset: I64, read: Bool) -> None:
        """Take requests, and train on the first of them."""
        n = len(offset)
        self.batch = RequestBatch(
            np.arange(n), (~read).astype(np.uint8), offset, np.full(n, GEOMETRY.segment_bytes), Coded.constant("a", n)
        )
        self.read = read
        rows = self.features().rows(self.batch.part(0, min(n, LEARNT_FROM)))
        classes, names = np.random.default_rng(SEED).random(len(rows)) < 0.5, [row["name"] for row in self.inputs]
        fit = ForestFit(holdout_every=5, early_stopping=SHAPE.max_trees, threads=1, machines=1)
        data = ForestRows(rows, classes, np.zeros(len(rows), np.bool_), names)
        text = fit_forest(data, SHAPE, fit, SEED).text
        self.forest: Forest = read_forest(text.encode("ascii"), len(names))
        self.forest.scores(rows)  # compiles

    @property
    def inputs(self) -> list[dict[str, str]]:
        """Of the model."""
        return feature_list(WINDOWS)

    def features(self) -> AdmissionFeatures:
        """Of a fresh history."""
        geometry = {"block_bytes": GEOMETRY.block_bytes, "segment_bytes": GEOMETRY.segment_bytes}
        history = {"bucket_requests": max(1, len(self.read) // 100), "windows": WINDOWS}
        return AdmissionFeatures(self.inputs, {}, geometry, history)

    def run(self, accesses: SegmentAccesses) -> FlashRun:
        """Decide on every request, and run the cache."""
        scores = score_batch(HistoryServing(self.features()), self.batch, self.forest.scores)
        return simulate_flash(accesses, self.read, scores >= 0, max(1, accesses.n_segments // 10), whole_block=True)


def main() -> None:
    """Print a row for each policy."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--requests", type=int, default=50_000_000)
    parser.add_argument("--decided", type=int, default=2_000_000, help="of them, for the forest")
    parser.add_argument("--repeats", type=int, default=3, help="runs of each, of which the fastest counts")
    asked = parser.parse_args()
    table = Table("policy", "requests", "million a second", "writes of reads")

    def row(name: str, seconds: float, read: Bool, run: FlashRun | None = None) -> None:
        share = "" if run is None else f"{run.segment_writes / max(1, int(read.sum())):.3f}"
        table.add_row(name, f"{len(read):,}", f"{len(read) / seconds / 1e6:.2f}", share)

    offset, read = load(asked.requests)
    seconds, accesses = compiled(lambda: expanded(offset), 1)
    row("expand", seconds, read)
    capacity, everything = max(1, accesses.n_segments // 10), np.ones(len(read), np.bool_)
    chosen, window = coin_flips(len(read), SEED) < 0.25, len(read) // 100
    runs = {
        "accept_all": lambda: simulate_flash(accesses, read, everything, capacity, whole_block=True),
        "accept_all, LRU of segments": lambda: simulate_flash(accesses, read, everything, capacity),
        "coin_flip": lambda: simulate_flash(accesses, read, chosen, capacity, whole_block=True),
        "rejectx": lambda: simulate_rejectx(accesses, read, window, capacity, whole_block=True),
        "bloom_rejectx": lambda: simulate_rejectx(accesses, read, window, capacity, memory="filters", whole_block=True),
        "accept_all+s3fifo": lambda: simulate_flash(accesses, read, everything, capacity, eviction="s3fifo"),
    }
    for name, run in runs.items():
        row(name, *(found := least(run, asked.repeats))[:1], read, found[1])
    said = "no forest ran"
    if asked.decided:
        decided = Decided(offset[: asked.decided], read[: asked.decided])
        own = accesses if asked.decided >= asked.requests else expanded(decided.batch.offset)
        row("forest", *(found := least(lambda: decided.run(own), asked.repeats))[:1], decided.read, found[1])
        said = f"a decision passes {len(decided.forest.trees.roots)} trees"
    out().print(table)
    held = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    out().print(f"{held:.2f} GiB at most; {said}")


if __name__ == "__main__":
    main()
