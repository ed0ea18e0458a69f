import os
from pathlib import Path

import numpy as np
import pytest

from cachezoo.devices.fit_hdd import demerit, fit_hdd, modelled
from cachezoo.devices.samples import Samples, read_disk_trace
from cachezoo.errors import DeviceError
from cachezoo.settings.device import Hdd, ReadBuffer
from tests.oracles.hdd import seek_us

KIB, GB = 1 << 10, 10**9
DISK = Hdd(
    capacity_bytes=20 * GB,
    rotation_us=6000.0,
    rotation="position",
    seek_base_us=1500.0,
    seek_root_us=6000.0,
    seek_linear_us=2500.0,
    cylinder_bytes=512 * KIB,
    switch_us=500.0,
    outer_mb_s=30.0,
    inner_mb_s=20.0,
    zones=0,
    read_us=300.0,
    write_us=250.0,
    interface_mb_s=40.0,
    read_buffer=ReadBuffer(segments=2, segment_bytes=128 * KIB, track_bytes=0),
    write_buffer_bytes=1 << 20,
)
# What a fit starts from: of another disk altogether.
START = Hdd(
    capacity_bytes=GB, rotation_us=8333.0, seek_base_us=800.0, seek_root_us=13000.0, outer_mb_s=160.0, inner_mb_s=80.0
)


def trace(disk, count=10_000, writes=0.3):
    """A third goes on where the request before ended, a third is near it, a third anywhere."""
    rng = np.random.default_rng(5)
    offset, size = np.empty(count, np.int64), rng.integers(1, 64, count) * 2048
    end = 0
    for i in range(count):
        kind = rng.integers(3)
        at = end if kind == 0 else end + int(rng.integers(-60, 60)) * 2048
        if kind == 2 or not 0 <= at < disk.capacity_bytes - 200_000:
            at = int(rng.integers(0, (disk.capacity_bytes - 200_000) // 2048)) * 2048
        offset[i], end = at, at + int(size[i])
    think = rng.exponential(40_000, count)
    samples = Samples(offset, size, (rng.random(count) < writes).astype(np.uint8), np.ones(count), think)
    return Samples(offset, size, samples.write, modelled(disk, samples), think)


def test_a_disk_is_found_again_from_its_service_times():
    fit, test = trace(DISK).halves()
    found = fit_hdd(fit, START)
    assert demerit(modelled(found, test), test.time_us) < 0.03
    for name, apart in {"rotation_us": 0.05, "read_us": 0.05, "write_us": 0.05, "interface_mb_s": 0.02}.items():
        assert getattr(found, name) == pytest.approx(getattr(DISK, name), rel=apart), name
    for distance in (0.05, 0.3, 1.0):
        assert seek_us(found, distance) == pytest.approx(seek_us(DISK, distance), rel=0.1)
    assert found.write_buffer_bytes > 0
    assert found.read_buffer.segment_bytes == DISK.read_buffer.segment_bytes


def test_writes_that_wait_for_the_arm_are_told_from_those_that_do_not():
    disk = DISK.model_copy(update={"write_buffer_bytes": 0, "write_us": 300.0, "write_settle_us": 1000.0})
    fit, test = trace(disk).halves()
    found = fit_hdd(fit, START)
    assert found.write_buffer_bytes == 0
    assert found.write_settle_us == pytest.approx(1000.0, rel=0.35)
    assert demerit(modelled(found, test), test.time_us) < 0.03


def test_demerit_is_the_distance_of_distributions_not_of_rows():
    rng = np.random.default_rng(0)
    times = rng.exponential(5000, 20_000)
    assert demerit(rng.permutation(times), times) == 0
    assert demerit(times + 100, times) == pytest.approx(100 / times.mean(), rel=1e-6)
    assert demerit(np.full(5, times.mean()), times) == pytest.approx(times.std() / times.mean(), rel=0.05)


def test_reads_that_never_move_the_arm_give_no_seek_curve():
    count = 500
    samples = Samples(
        np.arange(count) * 4096, np.full(count, 4096), np.zeros(count, np.uint8), np.full(count, 50.0), np.zeros(count)
    )
    with pytest.raises(DeviceError, match="too few reads move the arm"):
        fit_hdd(samples, START)


# What was measured, a little wider; benchmarks/devices.py prints the figures.
BOUNDS = {"atlas10k": 0.06, "barracuda": 0.05, "cheetah9LP": 0.05, "hp_c3323a": 0.06, "ibm18es": 0.04}


@pytest.mark.needs("public_traces")
@pytest.mark.parametrize("name", BOUNDS)
def test_real_disks_are_modelled_as_well_as_disksim_does(name):
    samples = read_disk_trace(Path(os.environ["CACHEZOO_PUBLIC_TRACES"]) / f"hdd/{name}.trace.gz")
    fit, test = samples.halves()
    assert demerit(modelled(fit_hdd(fit, START), test), test.time_us) < BOUNDS[name]


def test_times_that_do_not_spread_are_fitted_all_the_same():
    disk = DISK.model_copy(update={"rotation": "mean", "write_buffer_bytes": 0})
    fit, test = trace(disk, 4000).halves()
    found = fit_hdd(fit, START)
    assert found.rotation_us < 500
    assert demerit(modelled(found, test), test.time_us) < 0.2  # half a revolution of those that move goes into the seek
