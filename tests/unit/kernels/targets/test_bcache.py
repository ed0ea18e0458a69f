"""bcache: against a naive one, and as its source behaves."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cachezoo.kernels.targets.bcache import (
    AROUND,
    BACK,
    FIFO,
    LRU,
    RANDOM,
    THROUGH,
    Request,
    Setup,
    bcache,
)
from cachezoo.kernels.targets.log import LATER, ON_SSD, WRITE
from cachezoo.kernels.tiers import DISK, SSD
from tests.oracles.targets.bcache import bcache as naive

SECOND = 1_000_000
MIB = 1 << 20


def served(requests, setup):
    """Found, I/Os of one page each, and dirty pages, of requests (first page, pages, write, µs, sync, around, task)."""
    first, pages, write, time_us, sync, around, task = (np.array(column) for column in zip(*requests, strict=True))
    address = np.unique(np.concatenate([np.arange(a, a + n) for a, n in zip(first, pages, strict=True)]))
    request = Request(
        np.searchsorted(address, first).astype(np.int32), pages.astype(np.int32), write.astype(bool),
        time_us.astype(np.int64), first * 4096, (first + pages) * 4096, sync, around, task.astype(np.int32),
    )  # fmt: skip
    found, log, dirty = bcache(request, address, setup)
    used = log.used[0]
    ios = [
        (int(code), int(r), int(place) + k)
        for code, r, place, n in zip(*(column[:used] for column in log[:4]), strict=True)
        for k in range(n)
    ]
    return found.tolist(), ios, dirty.tolist()


def read(page, at, pages=1, around=False, task=-1):
    return (page, pages, False, at, False, around, task)


def written(page, at, pages=1, sync=False, task=-1):
    return (page, pages, True, at, sync, False, task)


waits = st.sampled_from([0, 1000, 300_000, 6_000_000, 40_000_000])
request = st.tuples(
    st.integers(0, 300), st.integers(1, 20), st.booleans(), waits, st.booleans(), st.booleans(), st.integers(-1, 3)
)
setups = st.builds(
    Setup, st.integers(1, 40), st.sampled_from([1, 4, 32]), st.sampled_from([THROUGH, BACK, AROUND]),
    st.sampled_from([LRU, FIFO, RANDOM]), st.sampled_from([0, 60_000, 4 * MIB]), st.sampled_from([0, 10, 40]),
    st.sampled_from([0, 30 * SECOND]), st.sampled_from([(1, 1), (8000, 27)]), st.integers(0, 2**31),
)  # fmt: skip


@given(st.lists(request, min_size=1, max_size=120), setups)
def test_it_is_the_naive_one(requests, setup):
    times = np.cumsum([one[3] for one in requests]).tolist()
    timed = [(*one[:3], at, *one[4:]) for one, at in zip(requests, times, strict=True)]
    assert served(timed, setup) == naive(timed, setup)


@pytest.mark.parametrize("seed", range(6))
def test_it_is_the_naive_one_over_many_requests(seed):
    rng = np.random.default_rng(seed)
    n = 1500
    first = np.minimum(rng.zipf(1.3, n) * 7, 4000) + rng.integers(0, 9, n)
    requests = list(
        zip(
            first.tolist(), rng.integers(1, 30, n).tolist(), (rng.random(n) < 0.5).tolist(),
            np.cumsum(rng.exponential(30_000, n).astype(int)).tolist(),
            (rng.random(n) < 0.5).tolist(),
            (rng.random(n) < 0.1).tolist(),
            rng.integers(-1, 4, n).tolist(), strict=True,
        )
    )  # fmt: skip
    setup = Setup(
        64, 16, (THROUGH, BACK, BACK)[seed % 3], (LRU, FIFO, RANDOM)[seed % 3], MIB, 10, 30 * SECOND, (8000, 27), 7
    )
    assert served(requests, setup) == naive(requests, setup)


DEFAULT = Setup(1024, 128, THROUGH, LRU, 4 * MIB, 10, 30 * SECOND, (8000, 27), 1)


def test_a_stream_bypasses_from_the_cutoff_on_and_short_ones_do_not():
    requests = [read(64 * k, 1000 * k, 64) for k in range(20)]
    found, ios, _ = served(requests, DEFAULT)
    filled = {r for code, r, _ in ios if code & LATER}
    assert filled == set(range(15))  # the 16th request makes it 4 MiB
    apart = [read(64 * k, 6 * SECOND * k, 64) for k in range(20)]
    assert {r for code, r, _ in served(apart, DEFAULT)[1] if code & LATER} == set(range(20))
    assert set(found) == {DISK}
    assert {r for code, r, _ in served(requests, DEFAULT._replace(cutoff=0))[1] if code & LATER} == set(range(20))


def test_more_than_128_streams_are_not_followed():
    for streams, bypassed in ((128, True), (129, False)):
        requests = [read(100_000 * s + 256 * k, 100 * (k * streams + s), 256) for k in range(5) for s in range(streams)]
        last = {r for code, r, _ in served(requests, DEFAULT._replace(buckets=8192))[1] if code & LATER}
        assert (len(requests) - 1 not in last) == bypassed


def test_modes_write_where_they_say():
    requests = [read(0, 0), written(0, 1), read(0, 2)]
    codes = {
        THROUGH: [(WRITE, 1), (WRITE | ON_SSD, 1), (ON_SSD, 2)],
        BACK: [(WRITE | ON_SSD, 1), (ON_SSD, 2)],
        AROUND: [(WRITE, 1), (0, 2), (WRITE | ON_SSD | LATER, 2)],
    }
    for mode, told in codes.items():
        _, ios, dirty = served(requests, DEFAULT._replace(mode=mode))
        assert [
            (code, r) for code, r, _ in ios if r and not code == ON_SSD | LATER and not code == WRITE | LATER
        ] == told
        assert dirty[1] == (mode == BACK)


def test_only_the_first_gap_of_a_read_is_filled():
    requests = [read(2, 0), read(0, 1, 5), read(0, 2, 5)]
    found, _, _ = served(requests, DEFAULT)
    assert found == [DISK, DISK, DISK, SSD, DISK, DISK, SSD, SSD, SSD, DISK, DISK]


def test_buckets_are_filled_in_order_and_given_up_whole():
    setup = DEFAULT._replace(buckets=16, pages=4, replacement=FIFO, cutoff=0)
    requests = [read(k, k) for k in range(64)] + [read(k, 100 + k) for k in range(64)]
    found, ios, _ = served(requests, setup)
    slots = [place for code, _, place in ios if code == WRITE | ON_SSD | LATER]
    assert slots[:64] == list(range(64))
    assert SSD not in found[64:]  # FIFO and a loop longer than what may be filled
    kept = served([*requests[:64], read(63, 65), read(60, 66), read(44, 67)], setup)[0][64:]
    assert kept == [SSD, SSD, SSD]


def test_lru_keeps_the_bucket_that_is_read():
    hot = [one for k in range(200) for one in (read(1000 + k, 2 * k), read(0, 2 * k + 1))]
    setup = DEFAULT._replace(buckets=32, pages=32, cutoff=0)
    assert DISK not in served([read(0, 0), *hot], setup)[0][2::2]


def test_dirty_pages_are_written_back_soon_and_stay_to_be_read():
    requests = [written(0, 0, 8), read(0, 20 * SECOND, 8), read(0, 60 * SECOND, 8)]
    found, ios, dirty = served(requests, DEFAULT._replace(mode=BACK))
    assert dirty == [8, 0, 0]
    assert [(code, r) for code, r, _ in ios if code & LATER] == [(ON_SSD | LATER, 1)] * 8 + [(WRITE | LATER, 1)] * 8
    assert found[8:] == [SSD] * 16


def test_the_writer_rests_for_half_a_minute_and_a_write_in_it_waits():
    requests = [written(0, 0), written(10, SECOND), read(50, 29 * SECOND), read(50, 32 * SECOND)]
    _, _, dirty = served(requests, DEFAULT._replace(mode=BACK))
    assert dirty == [1, 1, 1, 0]


def test_up_to_ten_percent_dirty_pages_leave_at_the_least_rate():
    """At 8 sectors a second a page leaves each second, of pages that do not follow each other."""
    requests = [written(2 * k, 0) for k in range(3000)] + [read(9000 + k % 50, k * SECOND) for k in range(1, 200)]
    _, _, dirty = served(requests, DEFAULT._replace(mode=BACK))
    steps = -np.diff(dirty[3100:])
    assert set(steps.tolist()) == {1}


def test_half_a_minute_without_a_request_writes_back_at_full_speed():
    requests = [written(2 * k, 0) for k in range(3000)]
    _, _, dirty = served([*requests, read(9000, 70 * SECOND)], DEFAULT._replace(mode=BACK))
    assert dirty[-1] == 0


def test_without_a_percentage_dirty_pages_leave_at_once():
    requests = [written(2 * k, 0) for k in range(1000)]
    _, _, dirty = served([*requests, read(9000, 10 * SECOND)], DEFAULT._replace(mode=BACK, percent=0))
    assert dirty[-1] == 0


def test_a_write_is_written_through_once_too_many_buckets_are_in_use():
    setup = Setup(100, 4, BACK, LRU, 0, 40, 30 * SECOND, (10**9, 0), 1)
    for sync, share in ((False, 0.40), (True, 0.70)):
        _, ios, dirty = served([written(k, k, sync=sync) for k in range(400)], setup)
        assert share * 400 - 32 < max(dirty) < share * 400  # buckets that are ready or open count as in use
        assert any(code == WRITE for code, _, _ in ios)


def test_a_synchronous_write_back_is_never_taken_for_a_stream():
    for sync, written_through in ((False, True), (True, False)):
        requests = [written(256 * k, k, 256, sync=sync) for k in range(8)]
        _, ios, _ = served(requests, DEFAULT._replace(mode=BACK))
        assert any(code == WRITE for code, _, _ in ios) == written_through


def test_what_goes_around_is_read_from_the_ssd_and_fills_nothing():
    requests = [read(0, 0), read(0, 1, 2, around=True), read(1, 2, around=True)]
    found, ios, _ = served(requests, DEFAULT)
    assert found == [DISK, SSD, DISK, DISK]
    assert {r for code, r, _ in ios if code & LATER} == {0}


def test_a_task_of_long_streams_bypasses_with_its_short_requests_too():
    long = [read(100_000 * s + 256 * k, 1000 * (5 * s + k), 256, task=0) for s in range(30) for k in range(5)]
    short = [read(9_000_000 + 10 * k, 10 * SECOND + k, task=task) for k, task in enumerate((0, 1))]
    _, ios, _ = served([*long, *short], DEFAULT)
    assert {r for code, r, _ in ios if code & LATER and r >= len(long)} == {len(long) + 1}


def test_tasks_fill_buckets_of_their_own():
    requests = [read(1000 * k, k, task=k % 2) for k in range(8)]
    _, ios, _ = served(requests, DEFAULT)
    slots = [place for code, _, place in ios if code == WRITE | ON_SSD | LATER]
    assert slots == [0, 128, 1, 129, 2, 130, 3, 131]
