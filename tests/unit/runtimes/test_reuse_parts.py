"""Parts of libcachezoo's kind reuse beside the kernels: the same random accesses, the same of everything."""

import math
import subprocess
from pathlib import Path

import numpy as np
import pytest

from cachezoo.kernels.evict import worth
from cachezoo.kernels.outcome import METADATA, REQUEST, UNIT
from cachezoo.kernels.reuse import hazards, own
from cachezoo.kernels.reuse.past import WIDTH
from cachezoo.labels.reuse import HORIZON, next_use
from cachezoo.policies.admissions import ACCEPT_ALL
from cachezoo.policies.components import Composition, Eviction
from cachezoo.policies.engine import simulate
from cachezoo.policies.registry import policy
from cachezoo.policies.stream import Stream
from cachezoo.seeds import derive_seed
from cachezoo.traces.pages import PageAccesses
from cachezoo.traces.table import PAGE_BYTES

PROGRAM = "drive_reuse_parts"
CLASSICS = ("azor", "lfu", "lirs", "lru", "s3fifo", "wtinylfu")


def run(program: Path, asked: bytes, *values: object) -> bytes:
    done = subprocess.run([program, *map(str, values)], input=asked, capture_output=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout


def accesses(rng: np.random.Generator, m: int, pages: int) -> np.ndarray:
    """int32[m] ids by first appearance: a hot set, a loop and pages seen once."""
    kind = rng.choice(3, m, p=[0.5, 0.3, 0.2])
    found = np.where(kind == 0, rng.zipf(1.3, m) % pages, np.arange(m) % (pages // 2) + pages)
    found = np.where(kind == 2, 10 * pages + np.arange(m), found)
    _, first, place = np.unique(found, return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first))[place].astype(np.int32)


def stream_of(ids: np.ndarray, metadata: np.ndarray) -> Stream:
    flags = np.where(metadata, REQUEST | UNIT | METADATA, REQUEST | UNIT).astype(np.uint8)
    return Stream(ids, flags, np.full(len(ids), PAGE_BYTES, np.int32), int(ids.max()) + 1)


def check(made: bytes, expected) -> None:
    told = np.frombuffer(made, np.int32).reshape(-1, 2)
    np.testing.assert_array_equal(told[:, 0], expected.outcome)
    np.testing.assert_array_equal(told[:, 1], expected.victim)


@pytest.mark.parametrize("capacity", [1, 2, 7, 25, 160, 5000])
@pytest.mark.parametrize("name", CLASSICS)
def test_a_classic_does_in_c_what_it_does_in_the_simulator(program, name, capacity):
    rng = np.random.default_rng(derive_seed(0, f"{name} in C", capacity))
    ids = accesses(rng, 12000, 200)
    metadata = rng.random(int(ids.max()) + 1)[ids] < 0.05
    expected = policy(name).simulate(stream_of(ids, metadata), capacity)
    asked = np.stack([ids, metadata.astype(np.int32)], axis=1).astype(np.int32)
    check(run(program, asked.tobytes(), name, capacity), expected)
    assert (expected.victim >= 0).any() == (capacity < 5000)


@pytest.mark.parametrize(("capacity", "candidates"), [(1, 64), (9, 4), (30, 64), (40, 7), (300, 100)])
def test_the_forests_cache_does_in_c_what_it_does_in_the_simulator(program, capacity, candidates):
    rng = np.random.default_rng(derive_seed(0, "worth in C", capacity))
    ids = accesses(rng, 15000, 300)
    classes = (rng.integers(0, 3, int(ids.max()) + 1)[ids] * 4 + rng.integers(0, 4, len(ids))).astype(np.uint8)
    risks = rng.integers(0, 400, (12, hazards.BINS)).astype(np.float64)
    events = np.round(risks * rng.random(risks.shape), 3)
    seed = int(rng.integers(0, 2**31))

    def make_cache(stream, size, _):
        counts = hazards.make(classes, stream.n_pages, size, (events, risks))
        return worth.make(counts, size, candidates, seed)

    cache = Composition(Eviction("worth", "", make_cache, worth.has, worth.touch, worth.insert), ACCEPT_ALL)
    expected = simulate(cache, stream_of(ids, np.zeros(len(ids), np.bool_)), capacity)
    asked = np.stack([ids, classes.astype(np.int32)], axis=1).astype(np.int32)
    made = run(program, events.tobytes() + risks.tobytes() + asked.tobytes(), "worth", capacity, candidates, seed, 12)
    check(made, expected)
    assert (expected.victim >= 0).any()
    assert (expected.outcome == 0).any() == (capacity < 100)


@pytest.mark.parametrize(
    ("capacity", "trees", "sample", "pace"),
    [
        (1, 3, 90, 0), (20, 5, 64, 0), (60, 24, 400, 0), (60, 0, 50, 7), (150, 8, 20000, 0),
        (1, 3, 90, 10), (1, 1, 40, 1), (20, 5, 64, 50), (60, 24, 400, 300), (150, 8, 20000, 1), (150, 8, 900, 10**9),
    ],
)  # fmt: skip
def test_the_forest_of_the_own_past_is_believed_in_c_as_in_the_simulator(program, capacity, trees, sample, pace):
    rng = np.random.default_rng(derive_seed(0, "own in C", capacity))
    ids = accesses(rng, 4000, 200)
    pages = PageAccesses(np.arange(len(ids) + 1), ids, int(ids.max()) + 1)
    target, delay, seed = next_use(pages, capacity).target, HORIZON * capacity, 77
    rows = rng.normal(size=(len(ids), WIDTH)).astype(np.float32)
    rows[:, 0] += target
    rows[:, 1], rows[:, 2], rows[:, 3] = 1.0, rng.integers(0, 3, len(ids)), ids % 7
    scores = (0.3 * target + rng.normal(size=len(ids))).astype(np.float32)
    found = own.foresee(rows, target, delay, capacity, own.blank(trees), sample, seed, pace)
    expected = own.believe(scores, found, target, delay, capacity)
    asked = np.zeros(len(ids), [("page", "i4"), ("score", "f4"), ("row", "f4", WIDTH)])
    asked["page"], asked["score"], asked["row"] = ids, scores, rows
    made = run(program, asked.tobytes(), "own", capacity, trees, sample, pace, seed)
    told = np.frombuffer(made, [("used", "f4"), ("units", "i4")])
    np.testing.assert_array_equal(told["used"], expected)
    assert (expected != scores).any() == (trees > 0)
    if trees:
        check_units(told["units"], capacity, trees, sample, pace)


def check_units(units: np.ndarray, capacity: int, trees: int, sample: int, pace: int) -> None:
    """Each access does its share of the forest that is being grown, and others do nothing."""
    settled, delay, idle = max(40, math.ceil(1.5 * capacity)), HORIZON * capacity, np.ones(len(units), np.bool_)
    while settled + delay < len(units):
        taken = own.accesses_of(settled, min(settled, sample), trees, pace)
        part = units[settled + delay : settled + delay + taken]
        if len(part) == taken:
            assert part.max() <= -(-int(part.sum()) // taken)
        idle[settled + delay : settled + delay + taken] = False
        settled = own.further(settled)
    assert not units[idle].any()
