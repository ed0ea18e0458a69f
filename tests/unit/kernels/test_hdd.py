import math

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from cachezoo.devices.analytic import disk_at_rest
from cachezoo.kernels.hdd import hdd_service_us
from cachezoo.settings.device import Hdd, ReadBuffer
from tests.oracles import hdd as oracle

KIB, MIB = 1 << 10, 1 << 20
PLAIN = {
    "capacity_bytes": 64 * MIB,
    "rotation_us": 8000.0,
    "seek_base_us": 900.0,
    "seek_root_us": 6000.0,
    "seek_linear_us": 2000.0,
    "outer_mb_s": 150.0,
    "inner_mb_s": 70.0,
}
buffers = st.one_of(
    st.builds(
        ReadBuffer,
        segments=st.integers(1, 4),
        segment_bytes=st.sampled_from([64 * KIB, 256 * KIB, MIB]),
        track_bytes=st.sampled_from([0, 0, 64 * KIB]),
    ),
    st.just(ReadBuffer(segments=0, segment_bytes=0, track_bytes=0)),
)
disks = st.fixed_dictionaries(
    {
        "rotation": st.sampled_from(["mean", "position"]),
        "zones": st.sampled_from([0, 1, 2, 7]),
        "inner_mb_s": st.sampled_from([70.0, 150.0]),
        "cylinder_bytes": st.sampled_from([0, MIB]),
        "switch_us": st.sampled_from([0.0, 700.0]),
        "write_settle_us": st.sampled_from([0.0, 500.0]),
        "read_us": st.sampled_from([0.0, 120.0]),
        "write_us": st.sampled_from([0.0, 80.0]),
        "interface_mb_s": st.sampled_from([5.0, 600.0]),
        "overlap": st.booleans(),
        "read_buffer": buffers,
        "write_buffer_bytes": st.sampled_from([0, 64 * KIB, 512 * KIB]),
    }
).map(lambda chosen: Hdd(**{**PLAIN, **chosen}))
# Near each other as often as far apart, so that buffers and tracks matter; past the end, which is folded, too.
requests = st.lists(
    st.tuples(
        st.one_of(st.integers(0, 600), st.integers(0, 17000)).map(lambda at: at * 4096),
        st.integers(1, 40).map(lambda pages: pages * 4096),
        st.booleans(),
        st.sampled_from([0.0, 0.0, 700.0, 20_000.0]),
    ),
    min_size=1,
    max_size=60,
)


def service(hdd, rows):
    offset, size, write, think = (np.array(column) for column in zip(*rows, strict=True))
    return hdd_service_us(disk_at_rest(hdd), offset, size, write.astype(np.uint8), think.astype(np.float64))


TWO_SEGMENTS = ReadBuffer(segments=2, segment_bytes=64 * KIB, track_bytes=0)
HELD_TWICE = [(page * 4096, 4096, False, 0.0) for page in (0, 0, 0, 0, 2, 1, 0, 1, 0)]


@example(hdd=Hdd(**{**PLAIN, "interface_mb_s": 5.0, "overlap": False, "read_buffer": TWO_SEGMENTS}), rows=HELD_TWICE)
@given(hdd=disks, rows=requests)
def test_the_kernel_is_the_disk_that_the_schema_describes(hdd, rows):
    times = service(hdd, rows)
    np.testing.assert_allclose(times, oracle.service_us(hdd, *zip(*rows, strict=True)), rtol=1e-9, atol=1e-3)
    assert (times >= 0).all()


def test_a_wait_for_the_rotation_is_even_over_a_revolution():
    hdd = Hdd(**PLAIN, rotation="position")
    rng = np.random.default_rng(1)
    addresses, thinks = rng.integers(0, 16000, 20_000) * 4096, rng.random(20_000) * 1e5
    rows = [(int(at), 4096, False, think) for at, think in zip(addresses, thinks, strict=True)]
    times = service(hdd, rows)
    start = np.array([row[0] for row in rows])
    distance = np.abs(np.diff(start, prepend=-4096) - 4096) / hdd.capacity_bytes
    rate = hdd.outer_mb_s + (hdd.inner_mb_s - hdd.outer_mb_s) * start / hdd.capacity_bytes
    wait = times - np.where(distance > 0, [oracle.seek_us(hdd, d) for d in distance], 0) - 4096 / rate
    assert np.quantile(wait[1:], [0.05, 0.25, 0.5, 0.75, 0.95]) == pytest.approx([400, 2000, 4000, 6000, 7600], abs=150)


def test_back_to_back_writes_without_a_buffer_lose_a_revolution_each():
    hdd = Hdd(**PLAIN, rotation="position", write_us=200.0)
    times = service(hdd, [(i * 4096, 4096, True, 0.0) for i in range(200)])
    assert times[1:] == pytest.approx(8000.0 + 4096 / 150, rel=0.01)


def test_a_stream_through_the_read_buffer_runs_at_the_media_rate():
    buffer = ReadBuffer(segments=1, segment_bytes=MIB, track_bytes=0)
    hdd = Hdd(**PLAIN, rotation="position", read_us=20.0, read_buffer=buffer)
    times = service(hdd, [(i * 64 * KIB, 64 * KIB, False, 0.0) for i in range(500)])
    assert 500 * 64 * KIB / times.sum() == pytest.approx(127, rel=0.02)  # half way in of half the disk: 150 … 110


def test_a_full_write_buffer_lets_writes_in_as_fast_as_the_arm_lets_them_out():
    hdd = Hdd(**PLAIN, write_buffer_bytes=MIB)
    rng = np.random.default_rng(2)
    rows = [(int(at) * 4096, 4096, True, 0.0) for at in rng.integers(0, 16000, 3000)]
    buffered, direct = service(hdd, rows), service(Hdd(**PLAIN), rows)
    assert buffered[:250].max() < 100
    assert buffered[-1000:].mean() == pytest.approx(direct.mean(), rel=0.05)


def test_what_is_idle_meanwhile_is_written_back():
    hdd = Hdd(**PLAIN, write_buffer_bytes=MIB)
    times = service(hdd, [(i * MIB % (60 * MIB), 64 * KIB, True, 50_000.0) for i in range(400)])
    assert times.max() < 150


def test_the_largest_write_goes_around_the_buffer_after_those_in_it():
    hdd = Hdd(**PLAIN, write_buffer_bytes=64 * KIB)
    times = service(hdd, [(32 * MIB, 4096, True, 0.0), (0, 128 * KIB, True, 0.0)])
    assert times[0] < 100
    assert times[1] > oracle.seek_us(hdd, 0.5) + hdd.rotation_us


def test_a_read_that_comes_when_the_disk_is_just_free_goes_before_what_is_to_be_written_back():
    hdd = Hdd(**{**PLAIN, "inner_mb_s": 150.0}, rotation="position", write_buffer_bytes=512 * KIB)
    rows = [(59400192, 163840, True, 0.0), (0, 4096, True, 0.0), (0, 4096, True, 0.0), (0, 8192, False, 0.0)]
    times = service(hdd, [*rows, *[(0, 4096, False, 0.0)] * 20])
    assert times[4] == pytest.approx(8000 - 8192 / 150 + 4096 / 150)
    assert times[5:] == pytest.approx(8000, rel=1e-6)


def test_times_do_not_lose_digits_as_the_clock_grows():
    hdd = Hdd(**PLAIN)
    rows = [(at * MIB, 4096, False, 0.0) for at in (1, 60, 2)]
    late = [(0, 4096, False, 1e13), *rows]
    assert service(hdd, late)[2:].tolist() == service(hdd, rows)[1:].tolist()


@pytest.mark.parametrize("linear", [-9000.0, -60000.0])
def test_a_seek_curve_that_falls_below_nothing_is_refused(linear):
    with pytest.raises(ValueError, match="seek curve falls to"):
        Hdd(**{**PLAIN, "seek_base_us": 0.0, "seek_linear_us": linear})


def test_average_seek_of_random_requests_is_that_of_the_curve():
    hdd = Hdd(**PLAIN)
    rng = np.random.default_rng(3)
    rows = [(int(at) * 512, 512, False, 0.0) for at in rng.integers(0, hdd.capacity_bytes // 512, 50_000)]
    expected = 900 + 6000 * 8 / 15 + 2000 / 3 + 4000
    assert service(hdd, rows).mean() == pytest.approx(expected, rel=0.01)
    assert math.isclose(oracle.seek_us(hdd, 0.25), 900 + 3000 + 500)


def test_the_last_address_of_a_large_disk_lies_in_its_last_zone():
    hdd = Hdd(**{**PLAIN, "capacity_bytes": 1 << 60}, rotation="position", zones=1000)
    times = service(hdd, [((1 << 60) - 1, 4096, False, 0.0)])
    assert 0 < times[0] < oracle.seek_us(hdd, 1.0) + hdd.rotation_us + 4096 / 70
