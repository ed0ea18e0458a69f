"""Designed requests: how many, where, and that both halves hold the same cells."""

import numpy as np
import pytest

from cachezoo.devices.microbench import BLOCK, BURST_BYTES, LEAST_BYTES, RUN, Design, design
from cachezoo.errors import DeviceError

TERABYTE = 10**12


def ends(requests: Design) -> np.ndarray:
    return requests.offset + requests.size


@pytest.mark.parametrize("kind", ["hdd", "ssd"])
@pytest.mark.parametrize("writes", [False, True])
@pytest.mark.parametrize(("capacity", "count"), [(LEAST_BYTES, 200), (TERABYTE + 777, 3001), (TERABYTE, 4000)])
def test_exactly_so_many_whole_blocks_within_the_capacity(kind, writes, capacity, count):
    requests = design(kind, capacity, count, writes)
    assert len(requests) == count
    assert (requests.offset >= 0).all()
    assert (ends(requests) <= capacity).all()
    assert not (requests.offset % BLOCK).any()
    assert not (requests.size % BLOCK).any()
    assert (requests.size > 0).all()
    assert set(requests.write.tolist()) == ({0, 1} if writes else {0})


def test_the_same_seed_gives_the_same_requests_and_another_gives_others():
    first, again, other = (design("hdd", TERABYTE, 500, seed=seed) for seed in (1, 1, 2))
    assert np.array_equal(first.offset, again.offset)
    assert not np.array_equal(first.offset, other.offset)


@pytest.mark.parametrize("writes", [False, True])
def test_a_disk_is_asked_for_seeks_both_ways_runs_and_sizes_in_three_zones(writes):
    requests = design("hdd", TERABYTE, 6000 if writes else 3000, writes)
    for half in (slice(0, len(requests) // 2), slice(len(requests) // 2, None)):
        offset, size = requests.offset[half], requests.size[half]
        step = offset[1:] - (offset + size)[:-1]
        small = size[1:] == BLOCK
        for low in (1e6, 1e7, 1e8, 1e9, 1e10, 1e11):
            for side in (-1, 1):
                assert np.count_nonzero(small & (side * step >= low) & (side * step < 10 * low)) >= 15
        assert np.count_nonzero(step == 0) >= 3 * (RUN - 1) * 3
        for length in (64 << 10, 1 << 20):
            for zone in (0.0, 0.475, 0.95):
                inside = (size == length) & (offset >= zone * TERABYTE) & (offset < (zone + 0.05) * TERABYTE)
                assert np.count_nonzero(inside) >= 15


def test_each_half_of_a_drive_s_requests_ends_in_a_burst_if_writes_are_allowed():
    requests = design("ssd", TERABYTE, 1000, writes=True)
    burst = 200
    for last in (500, 1000):
        tail = slice(last - burst, last)
        assert (requests.write[tail] == 1).all()
        assert (requests.size[tail] == BURST_BYTES).all()
        assert (np.diff(requests.offset[tail]) == BURST_BYTES).all()


@pytest.mark.parametrize(
    ("capacity", "count", "said"),
    [(TERABYTE, 199, "199 requests"), (LEAST_BYTES - 1, 3000, "too small a target")],
)
def test_too_few_requests_and_too_small_targets_are_refused(capacity, count, said):
    with pytest.raises(DeviceError, match=said):
        design("hdd", capacity, count)
