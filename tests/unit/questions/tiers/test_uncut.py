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
BLOCK = 64 * KIB
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
    assert ours.span_s == pytest.approx(exact.span_s, rel=0.02)
    assert (ours.requests, ours.disk_ios) == (exact.requests, exact.disk_ios)


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


@pytest.mark.parametrize("page", [0, 15])
def test_runs_that_are_kept_count_for_the_requests_of_their_length(page):
    rate, size, rng = 0.3, 12, np.random.default_rng(3)
    kept = rng.random((100_000, size + (page > 0))) < rate  # those that begin with the last page of a block end in one
    runs = kept[:, 0].sum() + (kept[:, 1:] & ~kept[:, :-1]).sum()
    own = [
        {"op": 0, "offset": (2 * size * at) * BLOCK + page * 4 * KIB, "size": size * BLOCK, "volume": "a"}
        for at in range(500)
    ]
    sample = sampled(trace_of([{"time_us": at, **one} for at, one in enumerate(own)]), Plan(rate, near=True))
    found = Bench.of_trace("t", sample, DEVICE, BUILT_IN).uncut
    assert found.weight == pytest.approx(np.full(len(sample.trace), rate * len(kept) / runs), rel=0.01)


@pytest.mark.parametrize("waiting", [1, 3])
def test_what_is_of_requests_counts_each_once_however_many_parts_are_kept(waiting):
    trace = streams(waiting)
    whole = Bench.of_trace("t", trace, DEVICE, BUILT_IN)
    exact, off = [whole.score(point) for point in POINTS], []
    for seed in range(3):
        bench = Bench.of_trace("t", sampled(trace, Plan(0.3, None, seed, near=True)), DEVICE, BUILT_IN)
        assert bench.usual.disk == pytest.approx(whole.usual.disk, rel=0.05)
        found = [bench.score(point) for point in POINTS]
        off.append([_of_requests(ours) / _of_requests(theirs) - 1 for ours, theirs in zip(found, exact, strict=True)])
    assert (np.abs(np.mean(off, axis=0)) < 0.07).all()


def _of_requests(found):
    own = found.tiered
    busy_s = own.disk_busy * own.span_s
    return np.array([own.iops, own.requests, own.disk_ios, own.write_us, busy_s, own.span_s, found.usd_per_io])


def test_the_slowest_requests_are_as_slow_as_those_of_the_trace():
    rng = np.random.default_rng(7)
    sizes, places = np.where(rng.random(4_000) < 0.85, 4, 1024) * KIB, rng.integers(0, 4_000, 4_000) * (1024 * KIB)
    trace = trace_of(
        [
            {"time_us": at, "op": 0, "offset": int(place), "size": int(size), "volume": "a"}
            for at, (place, size) in enumerate(zip(places, sizes, strict=True))
        ]
    )
    exact = Bench.of_trace("t", trace, DEVICE, BUILT_IN).tiered(NOTHING)
    assert exact.p99_us > 1.5 * exact.p50_us
    ours = Bench.of_trace("t", sampled(trace, Plan(0.3, near=True)), DEVICE, BUILT_IN).tiered(NOTHING)
    for name in ("p50_us", "p95_us", "p99_us"):
        assert getattr(ours, name) == pytest.approx(getattr(exact, name), rel=0.05)


def test_a_disk_with_a_buffer_is_replayed_on_the_sample_itself():
    buffered = DEVICE.model_copy(update={"hdd": DEVICE.hdd.model_copy(update={"write_buffer_bytes": 1 << 20})})
    trace = streams(1)
    near, far = (
        Bench.of_trace("t", sampled(trace, Plan(0.3, near=near)), buffered, BUILT_IN) for near in (True, False)
    )
    assert near.uncut is None and near.tiered(POINTS[1]) == far.tiered(POINTS[1])
