"""Synthetic golden sets of placement by lifetime: memories are small, so that few writes reach each edge."""

from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import Any

import numpy as np

from cachezoo.arrays import F32, I32, Bool
from cachezoo.kernels.deaths import AGE, HEAT, LIFE, MAX_VALUE, MEAN, MOST_ALIGNED, NAMES, ONE_HEAT, PER_LEVEL
from cachezoo.serving.kind import Recomputed
from cachezoo.serving.requests import RequestBatch
from cachezoo.serving.synthetic import READ, WRITE, Script, SyntheticSet, changed, draws_of
from cachezoo.traces.table import OP_WRITE
from cachezoo.zoo.streams.serve import LEAST_KEPT, PAGE_BYTES, LifetimeServing

Serve = Callable[[Mapping[str, Any]], LifetimeServing]
SECTOR = 512
MEMORY, CUTS, STARTS = "policy.memory", "policy.life_cuts", "policy.part_starts"
SMALL = {"pages": LEAST_KEPT, "half_life": 8}
FAR = (0, 1 << 31, 1 << 32, (1 << 40) - PAGE_BYTES, 1 << 47, 1 << 53, (1 << 62) - (1 << 20))  # bytes
DRAWN = 300
BRANCHES = (
    *("read", "learned", "stream_0", "unaligned", "several_pages", "several_streams", "page_new", "page_again"),
    *("version_died", "chunk_died", "region_died", "heat_halved", "heat_gone", "forgotten", "region_forgotten"),
    *("before_fresh", "after_fresh", "run", "run_overlaps", "first_gap", "no_gap", "longest_gap", "aligned", "far"),
    *("at_cut", "at_part_start", "below_part_start"),
)


def _batch(script: Script, gaps: tuple[int, ...] = ()) -> RequestBatch:
    """The requests, at times of their own where gaps are given, which come in turns."""
    batch = script.batch()
    if not gaps:
        return batch
    times = np.cumsum([0, *(gaps[k % len(gaps)] for k in range(len(batch) - 1))]).astype(np.int64)
    return RequestBatch(times, batch.op, batch.offset, batch.size, batch.volume)


def _rewrites() -> RequestBatch:
    """A few pages again and again, in part, in runs and across chunks, with reads between them."""
    script = Script(("sda",))
    for turn in range(40):
        script.add(WRITE, (turn % 5) * PAGE_BYTES, PAGE_BYTES)
        script.add(WRITE, 3 * PAGE_BYTES + SECTOR, (1, PAGE_BYTES, 3 * PAGE_BYTES + SECTOR)[turn % 3])
        script.add(READ, turn * PAGE_BYTES, 2 * PAGE_BYTES)
        script.add(WRITE, (8 + turn) * PAGE_BYTES, PAGE_BYTES)
        script.add(WRITE, (9 + turn) * PAGE_BYTES, 2 * PAGE_BYTES)
        script.add(WRITE, (10 + turn) * PAGE_BYTES, PAGE_BYTES)
        if turn % 7 == 0:
            script.add(WRITE, 0, 6 * PAGE_BYTES)
    return _batch(script, (100, 0, 2500, 1, MAX_VALUE - 1, MAX_VALUE, MAX_VALUE + 1, 40))


def _many() -> RequestBatch:
    """More pages, chunks and regions than are remembered: strides that share sets, then drawn ones; some come again."""
    script, draws = Script(("sda",)), draws_of("lifetime_many")
    for stride in (1, 4, 16, 128, 512, 2048):
        for turn in (*range(12), *range(12)):
            script.add(WRITE, turn * stride * PAGE_BYTES, PAGE_BYTES)
    for number, pages in zip(draws.integers(0, 400, DRAWN), draws.integers(1, 5, DRAWN), strict=True):
        script.add(WRITE, int(number) * PAGE_BYTES, int(pages) * PAGE_BYTES)
    script.add(WRITE, 0, 150 * PAGE_BYTES)  # in one request, more than all that is remembered
    script.add(WRITE, 100 * PAGE_BYTES, PAGE_BYTES)
    return script.batch()


def _places() -> RequestBatch:
    """Offset 0, and far ones that come out small in a runtime whose numbers are too short; each a second time."""
    script = Script(("sda",))
    for offset in (*FAR, *FAR):
        for away in (0, PAGE_BYTES, 64 * PAGE_BYTES):
            script.add(WRITE, offset + away, PAGE_BYTES)
    return script.batch()


SCRIPTS: Mapping[str, tuple[Callable[[], RequestBatch], Mapping[str, int]]] = {
    "rewrites": (_rewrites, SMALL),
    "many": (_many, SMALL),
    "drawn": (_many, {"pages": 8 * LEAST_KEPT, "half_life": 100}),
    "places": (_places, SMALL),
}


def sets(manifest: Mapping[str, Any], serve: Serve) -> list[SyntheticSet]:
    """The sets of a manifest's forest; see `Kind.synthetic`.

    Classes are cut at predictions of the set itself, so that a page lies on a cut and others on both sides; parts begin
    at pages that the set writes.
    """
    found = []
    for name, (make, memory) in SCRIPTS.items():
        batch = make()
        serving = serve(changed(manifest, {MEMORY: dict(memory)}))
        scores = np.unique(serving.scores(serving.features(batch)))
        pages = np.unique(serving.addresses(batch))
        room = max(1, int(manifest["arch"]["streams"]) - 1)
        cuts = np.unique(scores[[len(scores) // 3, len(scores) // 2]])[:room]
        starts = pages[[len(pages) // 4, len(pages) // 2]][: room - len(cuts)]
        changes = {MEMORY: dict(memory), CUTS: cuts.tolist(), STARTS: np.unique(starts).tolist()}
        found.append(SyntheticSet(name, batch, changes))
    return found


Counting = Callable[[F32, I32], dict[str, int]]
"""Branches that features and decisions pass."""


def recomputed(serving: LifetimeServing, batch: RequestBatch, branches: Counting) -> Recomputed:
    """What a fresh serving object makes of requests, in calls of different length, as a cache would make them."""
    ends = [*range(0, len(batch), 7), len(batch)]
    parts = [serving.features(batch.part(low, high)) for low, high in pairwise(ends)]
    rows = np.concatenate(parts)
    decided = serving.decide(batch, rows)
    outputs = serving.scores(rows).astype(np.float32)[:, None]
    return Recomputed(rows, outputs, decided[:, None], branches(rows, decided))


def real_branches(batch: RequestBatch) -> Counting:
    """How often golden rows pass the branches that every form of the kind has."""

    def count(rows: F32, decided: I32) -> dict[str, int]:
        return {
            "learned": int((decided > 0).sum()),
            "stream_0": int((decided == 0).sum()),
            "read": int((batch.op != OP_WRITE).sum()),
        }

    return count


def branches(serving: LifetimeServing, batch: RequestBatch) -> Counting:
    """How often a set's page writes lie on each sort of edge."""

    def count(rows: F32, decided: I32) -> dict[str, int]:
        value = dict(zip(NAMES, rows.T, strict=True))
        page, chunk, region = (rows[:, k * len(PER_LEVEL) : (k + 1) * len(PER_LEVEL)].T for k in range(3))
        address, write = serving.addresses(batch), batch.op == OP_WRITE
        again = np.ones(len(address), np.bool_)
        again[np.unique(address, return_index=True)[1]] = False
        regions = np.ones(len(address), np.bool_)
        regions[np.unique(value["place"], return_index=True)[1]] = False
        one = value["position"] > 0
        scores, cuts, starts = serving.scores(rows), serving.cuts, serving.starts
        passed = {
            "unaligned": batch.offset[write] % PAGE_BYTES != 0,
            "several_pages": one,
            "several_streams": one[1:] & (decided[1:] != decided[:-1]),
            "page_new": page[AGE] < 0,
            "page_again": page[AGE] > 0,
            "version_died": page[LIFE] > 0,
            "chunk_died": chunk[LIFE] > 0,
            "region_died": region[MEAN] > 0,
            "heat_halved": page[HEAT] % ONE_HEAT > 0,
            "heat_gone": (page[AGE] > 0) & (page[HEAT] == 0),
            "forgotten": again & (page[AGE] < 0),
            "region_forgotten": regions & (region[AGE] < 0),
            "before_fresh": value["before"] > 0,
            "after_fresh": value["after"] > 0,
            "run": value["run"] > 1,
            "run_overlaps": _overlaps(batch),
            "first_gap": value["gap_us"] < 0,
            "no_gap": value["gap_us"] == 0,
            "longest_gap": value["gap_us"] == MAX_VALUE,
            "aligned": value["alignment"] == MOST_ALIGNED,
            "far": address >= 1 << 47,
            "at_cut": np.isin(scores, cuts),
            "at_part_start": np.isin(address, starts),
            "below_part_start": np.isin(address + PAGE_BYTES, starts),
        }
        return real_branches(batch)(rows, decided) | {name: int(where.sum()) for name, where in passed.items()}

    return count


def _overlaps(batch: RequestBatch) -> Bool:
    """bool[writes - 1] whether a write begins in the page that the write before ended in."""
    write = batch.op == OP_WRITE
    first = batch.offset[write] // PAGE_BYTES
    last = (batch.offset[write] + batch.size[write] - 1) // PAGE_BYTES
    found: Bool = first[1:] == last[:-1]
    return found
