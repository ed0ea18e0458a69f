"""The closed loop of two devices against its oracle, and against the loops of one device."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cachezoo.devices.analytic import disk_at_rest, drive_at_rest
from cachezoo.kernels.hdd import hdd_response_us, hdd_service_us
from cachezoo.kernels.tier_loop import Ios, closed_loop
from cachezoo.settings.device import Hdd, Ssd
from tests.oracles import tier_loop as oracle

HDD = Hdd(capacity_bytes=1 << 24, rotation_us=4000.0, seek_base_us=500.0, seek_root_us=3000.0, outer_mb_s=100.0,
          inner_mb_s=50.0, write_settle_us=100.0)  # fmt: skip
SSD = Ssd(read_us=40.0, write_us=15.0, read_mb_s=500.0, write_mb_s=400.0, channels=3, waf=1.5, program_mb_s=300.0)
LEAST = 0.1
NONE = np.empty(0)
io = st.tuples(st.integers(0, 14), st.integers(0, 900), st.integers(1, 8), st.booleans(), st.booleans())
drawn = st.lists(io, max_size=40).map(lambda ios: [(r, 4096 * at, 4096 * n, *own) for r, at, n, *own in sorted(ios)])


def ios_of(rows):
    request, offset, size, write, waits = ([row[k] for row in rows] for k in range(5))
    whole = (np.array(column, np.int64) for column in (request, offset, size))
    return Ios(*whole, np.array(write, np.uint8), np.array(waits, np.bool_))


def ran(disk, ssd, requests, depth):
    return closed_loop(disk_at_rest(HDD), ios_of(disk), *drive_at_rest(SSD), ios_of(ssd), requests, depth, LEAST)


@settings(deadline=None)
@given(drawn, drawn, st.integers(1, 6))
def test_times_are_the_oracles(disk, ssd, depth):
    disk_us, ssd_us, last = ran(disk, ssd, 15, depth)
    told = oracle.closed_loop(HDD, disk, SSD, ssd, 15, depth, LEAST)
    assert disk_us == pytest.approx(told[0])
    assert ssd_us == pytest.approx(told[1])
    assert last == pytest.approx(told[2])


@pytest.mark.parametrize("depth", [1, 2, 8])
def test_a_disk_alone_is_the_closed_loop_of_a_disk(depth):
    rng = np.random.default_rng(3)
    rows = [(r, int(at) * 4096, 4096, bool(w), True) for r, at, w in zip(range(300), rng.integers(0, 4000, 300),
                                                                   rng.random(300) < 0.3, strict=True)]  # fmt: skip
    own = ios_of(rows)
    found, _, last = ran(rows, [], 300, depth)
    told = hdd_response_us(disk_at_rest(HDD), own.offset, own.size, own.write, NONE, depth, False)
    assert found == pytest.approx(told)
    assert last == pytest.approx(hdd_service_us(disk_at_rest(HDD), own.offset, own.size, own.write, NONE).sum())


def test_nobody_waits_for_what_is_flushed_but_who_comes_after_it():
    flush = [(0, 0, 1 << 20, True, False)]
    alone, _, last = ran([], flush, 1, 1)
    assert last == LEAST
    _, times, _ = ran([], [*flush, (1, 0, 4096, False, True)], 2, 1)
    _, without, _ = ran([], [(1, 0, 4096, False, True)], 2, 1)
    assert times[1] > 1000 > without[0]
    assert alone.size == 0


def test_who_waits_for_a_write_to_the_ssd_ends_with_it():
    write = (0, 0, 1 << 20, True)
    _, (time,), last = ran([], [(*write, True)], 1, 1)
    assert last == time > 1000


def test_nobody_waits_for_what_is_written_back_but_who_comes_to_the_disk_after_it():
    back = (0, 0, 1 << 20, True, False)
    (_, after), _, _ = ran([back, (1, 0, 4096, False, True)], [], 2, 1)
    (without,), _, _ = ran([(0, 0, 4096, False, True)], [], 1, 1)
    assert after > 1000 + without
