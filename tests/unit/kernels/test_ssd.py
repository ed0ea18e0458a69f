import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cachezoo.devices.analytic import drive_at_rest
from cachezoo.kernels.ssd import ssd_response_us, ssd_service_us
from cachezoo.settings.device import Ssd
from tests.oracles import ssd as oracle

MIB = 1 << 20
PLAIN = {"read_us": 80.0, "write_us": 20.0, "read_mb_s": 500.0, "write_mb_s": 400.0}
drives = st.fixed_dictionaries(
    {
        "channels": st.sampled_from([1, 4, 7]),
        "stripe_bytes": st.sampled_from([4096, 65536]),
        "write_buffer_bytes": st.sampled_from([0, 65536, MIB]),
        "program_mb_s": st.sampled_from([50.0, 300.0]),
        "waf": st.sampled_from([1.0, 3.5]),
    }
).map(lambda chosen: Ssd(**PLAIN, **chosen))
requests = st.lists(
    st.tuples(
        st.integers(0, 600).map(lambda at: at * 4096),
        st.integers(1, 80).map(lambda pages: pages * 4096),
        st.booleans(),
        st.sampled_from([0.0, 0.0, 30.0, 20_000.0]),
    ),
    min_size=1,
    max_size=60,
)


def columns(rows):
    offset, size, write, think = (np.array(column) for column in zip(*rows, strict=True))
    return offset, size, write.astype(np.uint8), think.astype(np.float64)


@given(ssd=drives, rows=requests)
def test_the_kernel_is_the_drive_that_the_schema_describes(ssd, rows):
    times = ssd_service_us(*drive_at_rest(ssd), *columns(rows))
    np.testing.assert_allclose(times, oracle.service_us(ssd, *zip(*rows, strict=True)), rtol=1e-9, atol=1e-6)


@given(ssd=drives, rows=requests)
def test_with_a_queue_a_request_waits_for_its_channel_the_buffer_and_the_interface(ssd, rows):
    offset, size, write, think = columns(rows)
    arrive = np.cumsum(think)
    naive = oracle.response_us(ssd, offset, size, write, arrive)
    times = ssd_response_us(*drive_at_rest(ssd), offset, size, write, arrive, 1)
    np.testing.assert_allclose(times, naive, rtol=1e-9, atol=1e-6)


def test_at_depth_1_a_closed_loop_is_the_service_time():
    rng = np.random.default_rng(0)
    rows = (rng.integers(0, 1000, 500) * 4096, rng.integers(1, 9, 500) * 4096, rng.integers(0, 2, 500).astype(np.uint8))
    ssd = Ssd(**PLAIN, channels=4, write_buffer_bytes=MIB, program_mb_s=50.0)
    closed = ssd_response_us(*drive_at_rest(ssd), *rows, np.empty(0), 1)
    assert closed == pytest.approx(ssd_service_us(*drive_at_rest(ssd), *rows, np.empty(0)))


def test_channels_multiply_small_reads_until_the_interface_is_full():
    rng = np.random.default_rng(0)
    offset, size, write = rng.integers(0, 100_000, 20_000) * 4096, np.full(20_000, 4096), np.zeros(20_000, np.uint8)
    rates = []
    for channels in (1, 8, 64):
        ssd = Ssd(**PLAIN, channels=channels)
        times = ssd_response_us(*drive_at_rest(ssd), offset, size, write, np.empty(0), 256)
        rates.append(256 / times[1000:].mean() * 1e6)  # Little's law
    assert rates[0] == pytest.approx(1e6 / 80.0, rel=0.02)
    assert rates[1] == pytest.approx(8e6 / 80.0, rel=0.05)
    assert rates[2] == pytest.approx(500e6 / 4096, rel=0.02)


def test_garbage_collection_slows_writes_once_the_buffer_is_full():
    count = 4000
    rows = (np.arange(count) * 65536, np.full(count, 65536), np.ones(count, np.uint8), np.empty(0))
    seconds = {}
    for waf in (1.0, 3.0):
        ssd = Ssd(**PLAIN, write_buffer_bytes=16 * MIB, program_mb_s=150.0, waf=waf)
        times = ssd_service_us(*drive_at_rest(ssd), *rows)
        assert times[:200].max() < 200
        seconds[waf] = times[-1000:].sum() / 1e6
    assert 1000 * 65536 / seconds[1.0] == pytest.approx(150e6, rel=0.02)
    assert 1000 * 65536 / seconds[3.0] == pytest.approx(50e6, rel=0.02)


def test_a_request_on_a_free_channel_overtakes_those_that_wait_for_theirs():
    ssd = Ssd(**PLAIN, channels=2, stripe_bytes=4096)
    rows = (np.array([0, 0, 4096]), np.full(3, 4096), np.zeros(3, np.uint8))
    times = ssd_response_us(*drive_at_rest(ssd), *rows, np.zeros(3), 1)
    assert times[2] < times[1]
