"""What a disk takes for requests of which a sample has parts, against the whole trace."""

from dataclasses import replace

import numpy as np
import pytest

from cachezoo.questions.tiers.bench import NOTHING, Bench
from cachezoo.questions.tiers.budget import Point
from cachezoo.questions.tiers.hierarchy import parse_hierarchy
from cachezoo.settings.prices import BUILT_IN
from cachezoo.traces.sampling import Plan, sampled
from tests.request_data import trace_of
from tests.tiers_data import DEVICE

KIB = 1024
POINTS = [NOTHING, Point(parse_hierarchy("lru"), 3_000, 0)]


def streams(waiting):
    """Requests of 4 to 256 KiB; three of four follow the one before, some of them after a page that it read too."""
    rng = np.random.default_rng(5)
    requests, place = [], 0
    for number in range(6_000):
        size = 4 * KIB * int(rng.choice([1, 4, 64]))
        if rng.random() < 0.25:
            place = int(rng.integers(0, 30_000)) * 4 * KIB
        elif rng.random() < 0.5:
            place = max(0, place - 4 * KIB)
        volume, write = ("a", "b")[int(rng.random() < 0.2)], int(rng.random() < 0.1)
        requests.append({"time_us": 1_000 * number, "op": write, "offset": place, "size": size, "volume": volume})
        place += size
    return replace(trace_of(requests), latency_us=np.full(len(requests), 1_000 * waiting, np.int64))


@pytest.mark.parametrize("waiting", [1, 3, 9])
def test_with_all_blocks_the_disk_alone_takes_what_it_takes_the_trace(waiting):
    trace = streams(waiting)
    whole = Bench.of_trace("t", trace, DEVICE, BUILT_IN)
    found = Bench.of_trace("t", sampled(trace, Plan(1.0, near=True)), DEVICE, BUILT_IN)
    ours, exact = found.tiered(NOTHING), whole.tiered(NOTHING)
    assert found.depth == whole.depth == waiting
    assert ours.amat_us == pytest.approx(exact.amat_us, rel=0.02 if waiting < 9 else 0.05)
    assert ours.alone_us == pytest.approx(exact.alone_us, rel=1e-3)


@pytest.mark.parametrize("waiting", [1, 3])
def test_cut_requests_take_what_whole_ones_take(waiting):
    trace = streams(waiting)
    whole = Bench.of_trace("t", trace, DEVICE, BUILT_IN)
    off = {near: [] for near in (False, True)}
    for near, seed in ((near, seed) for near in off for seed in range(3)):
        bench = Bench.of_trace("t", sampled(trace, Plan(0.3, None, seed, near=near)), DEVICE, BUILT_IN)
        off[near].append([bench.tiered(point).amat_us / whole.tiered(point).amat_us - 1 for point in POINTS])
    cut, uncut = (np.abs(np.mean(own, axis=0)) for own in off.values())
    assert (uncut < 0.07).all() and cut.max() > 2 * uncut.max()


def test_a_disk_with_a_buffer_is_replayed_on_the_sample_itself():
    buffered = DEVICE.model_copy(update={"hdd": DEVICE.hdd.model_copy(update={"write_buffer_bytes": 1 << 20})})
    trace = streams(1)
    near, far = (
        Bench.of_trace("t", sampled(trace, Plan(0.3, near=near)), buffered, BUILT_IN) for near in (True, False)
    )
    assert near.uncut is None and near.tiered(POINTS[1]) == far.tiered(POINTS[1])
