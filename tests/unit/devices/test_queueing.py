import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cachezoo.coded import Coded
from cachezoo.devices.analytic import NONE, t_hdd_us, t_ssd_us
from cachezoo.devices.queueing import (
    MOST_LOAD,
    Asked,
    arrivals_us,
    captured_depth,
    closed_arrivals,
    hdd_times,
    response,
    ssd_load,
    ssd_times,
)
from cachezoo.errors import DeviceError
from cachezoo.settings.device import AnalyticDevice, Hdd, Ssd
from cachezoo.traces.table import Trace, TraceMeta
from tests.oracles import device_queue as oracle

DISK = Hdd(capacity_bytes=1 << 30, rotation_us=8000.0, seek_base_us=500.0, seek_root_us=9000.0, seek_linear_us=700.0,
           write_settle_us=300.0, outer_mb_s=120.0, inner_mb_s=60.0, read_us=20.0, write_us=30.0,
           interface_mb_s=100.0)  # fmt: skip
FLASH = Ssd(read_us=90.0, write_us=25.0, read_mb_s=500.0, write_mb_s=400.0, channels=3, waf=1.5, program_mb_s=300.0)
ROOM = 3 << 30
META = TraceMeta("queue.csv", "test", "csv", "0" * 64)


def make(offset, size, write, time=None, latency=None):
    n = len(offset)
    time = range(n) if time is None else time
    columns = (np.array(list(column), np.int64) for column in (time, offset, size))
    times, offsets, sizes = columns
    known = None if latency is None else np.array(latency, np.int64)
    return Trace(times, np.array(write, np.uint8), offsets, sizes, Coded.constant("0", n), META, latency_us=known)


def seeded(n, seed=1, gap_us=9000.0, latency=False):
    rng = np.random.default_rng(seed)
    time = np.cumsum(rng.exponential(gap_us, n)).astype(np.int64)
    known = rng.integers(100, 40000, n) if latency else None
    return make(rng.integers(0, ROOM, n), rng.integers(512, 1 << 18, n), rng.random(n) < 0.4, time, known)


def requests_of(trace):
    rows = zip(trace.offset.tolist(), trace.size.tolist(), trace.op.tolist(), strict=True)
    return [oracle.Request(offset, size, bool(op)) for offset, size, op in rows]


ROWS = st.lists(
    st.tuples(st.one_of(st.integers(0, ROOM), st.integers(0, 9).map(lambda k: k << 20)), st.integers(1, 1 << 20),
              st.booleans(), st.integers(0, 30000)),
    min_size=1, max_size=40,
)  # fmt: skip


def drawn(rows):
    offset, size, write, gap = zip(*rows, strict=True)
    return make(offset, size, write, np.cumsum(gap))


@given(rows=ROWS, depth=st.integers(1, 9), scheduler=st.sampled_from(["fcfs", "sstf"]))
def test_a_closed_loop_on_the_disk_equals_the_oracle(rows, depth, scheduler):
    trace = drawn(rows)
    naive = oracle.closed_disk(requests_of(trace), DISK, depth, scheduler == "sstf")
    np.testing.assert_allclose(hdd_times(trace, DISK, NONE, depth, scheduler), naive, rtol=1e-9)


@given(rows=ROWS, window=st.integers(1, 9), scheduler=st.sampled_from(["fcfs", "sstf"]))
def test_an_open_loop_on_the_disk_equals_the_oracle(rows, window, scheduler):
    trace = drawn(rows)
    arrive = trace.time_us.astype(np.float64)
    naive = oracle.open_disk(requests_of(trace), arrive.tolist(), DISK, window, scheduler == "sstf")
    np.testing.assert_allclose(hdd_times(trace, DISK, arrive, window, scheduler), naive, rtol=1e-9, atol=1e-6)


@given(rows=ROWS, depth=st.integers(1, 9), channels=st.integers(1, 5))
def test_both_loops_on_the_ssd_equal_the_oracle(rows, depth, channels):
    trace, ssd = drawn(rows), FLASH.model_copy(update={"channels": channels})
    arrive = trace.time_us.astype(np.float64) / 50
    naive = oracle.closed_ssd(requests_of(trace), ssd, depth)
    np.testing.assert_allclose(ssd_times(trace, ssd, NONE, depth), naive, rtol=1e-9, atol=1e-6)
    naive = oracle.open_ssd(requests_of(trace), arrive.tolist(), ssd)
    np.testing.assert_allclose(ssd_times(trace, ssd, arrive, 1), naive, rtol=1e-9, atol=1e-6)


@pytest.mark.parametrize("scheduler", ["fcfs", "sstf"])
def test_at_depth_1_a_closed_loop_has_the_service_times(scheduler):
    trace = seeded(2000)
    np.testing.assert_allclose(hdd_times(trace, DISK, NONE, 1, scheduler), t_hdd_us(trace, DISK), rtol=1e-9)
    np.testing.assert_allclose(ssd_times(trace, FLASH, NONE, 1), t_ssd_us(trace, FLASH), rtol=1e-9)


def constant_service(n, load, seed):
    """A disk whose service times are all the same, and Poisson arrivals."""
    service = 10_000.0
    hdd = Hdd(capacity_bytes=1 << 40, rotation_us=8000.0, seek_base_us=6000.0 - 4.096, seek_root_us=0.0,
              outer_mb_s=1000.0, inner_mb_s=1000.0,
              interface_mb_s=1000.0)  # fmt: skip
    rng = np.random.default_rng(seed)
    arrive = np.cumsum(rng.exponential(service / load, n))
    offset = np.where(np.arange(n) % 2, 1 << 30, 1 << 20)
    return make(offset, np.full(n, 4096), np.zeros(n)), hdd, arrive, service


@pytest.mark.parametrize(("load", "allowed"), [(0.3, 0.02), (0.6, 0.02), (0.85, 0.05)])
def test_poisson_arrivals_wait_as_pollaczek_and_khinchine_say(load, allowed):
    trace, hdd, arrive, service = constant_service(200_000, load, 5)
    times = hdd_times(trace, hdd, arrive, 32, "fcfs")
    waits = load * service / (2 * (1 - load))
    assert times.min() == pytest.approx(service)
    assert times.mean() - service == pytest.approx(waits, rel=allowed)


def test_so_do_those_before_an_ssd_of_one_channel():
    load, rng, n = 0.7, np.random.default_rng(6), 200_000
    ssd = Ssd(read_us=100.0, write_us=100.0, read_mb_s=1e9, write_mb_s=1e9)
    arrive = np.cumsum(rng.exponential(100.0 / load, n))
    times = ssd_times(make(np.zeros(n), np.full(n, 512), np.zeros(n)), ssd, arrive, 1)
    assert times.mean() - 100 == pytest.approx(load * 100 / (2 * (1 - load)), rel=0.03)


@pytest.mark.parametrize("scheduler", ["fcfs", "sstf"])
def test_littles_law_holds_in_a_closed_loop(scheduler):
    trace = seeded(4000)
    found = response(trace, AnalyticDevice(source="analytic", hdd=DISK, ssd=FLASH), Asked("closed", 8, scheduler))
    for own in found["devices"].values():
        assert own["iops"] * own["mean_us"] / 1e6 == pytest.approx(8, rel=0.01)
        assert own["utilisation"] == pytest.approx(1)


def test_the_shortest_seek_first_serves_more_and_lets_some_wait_longer():
    trace = seeded(4000)
    device = AnalyticDevice(source="analytic", hdd=DISK, ssd=FLASH)
    first, shortest = (
        response(trace, device, Asked("closed", 16, name))["devices"]["hdd"] for name in ("fcfs", "sstf")
    )
    assert shortest["iops"] > 1.2 * first["iops"]
    assert shortest["max_us"] > first["max_us"]


def test_issue_times_of_a_closed_loop_follow_from_its_response_times():
    trace, depth = seeded(300), 4
    times = hdd_times(trace, DISK, NONE, depth, "sstf")
    issued = closed_arrivals(times, depth)
    assert issued[:depth].tolist() == [0] * depth
    ends = np.sort(issued + times)
    np.testing.assert_allclose(issued[depth:], ends[: len(trace) - depth])
    assert np.all(np.diff(issued) >= 0)


@given(rows=st.lists(st.tuples(st.integers(0, 12), st.integers(-1, 15)), min_size=1, max_size=12))
def test_the_captured_depth_is_the_mean_number_outstanding_while_any_is(rows):
    gap, latency = zip(*rows, strict=True)
    trace = make([0] * len(rows), [512] * len(rows), [0] * len(rows), np.cumsum(gap), latency)
    known = [(int(time), lasts) for time, lasts in zip(trace.time_us, latency, strict=True) if lasts >= 0]
    if not known:
        with pytest.raises(DeviceError, match=r"queue\.csv: the trace has no latencies .* give --depth"):
            captured_depth(trace)
        return
    assert captured_depth(trace) == pytest.approx(oracle.outstanding_while_busy(*zip(*known, strict=True)))


def test_the_captured_depth_is_the_default_of_a_closed_loop():
    latency = [250] * 40
    trace = make(range(40), [512] * 40, [0] * 40, [100 * k for k in range(40)], latency)
    device = AnalyticDevice(source="analytic", hdd=DISK, ssd=FLASH)
    found = response(trace, device, Asked())
    assert found["captured_depth"] == pytest.approx(10_000 / 4_150)
    assert found["depth"] == 2
    assert response(replace(trace, latency_us=None), device, Asked(depth=3))["depth"] == 3
    with pytest.raises(DeviceError, match="no latencies"):
        response(replace(trace, latency_us=None), device, Asked())


def test_an_overloaded_open_loop_is_stretched_to_nine_tenths_and_says_so():
    device = AnalyticDevice(source="analytic", hdd=DISK, ssd=FLASH)
    trace = seeded(3000, gap_us=1000.0)
    found = response(trace, device, Asked("open"))["devices"]
    span = float(trace.time_us[-1] - trace.time_us[0])
    work = t_hdd_us(trace, DISK).sum()
    assert work > span
    assert found["hdd"]["stretched"] == pytest.approx(work / (MOST_LOAD * span))
    assert found["hdd"]["load"] == pytest.approx(MOST_LOAD)
    assert found["ssd"]["stretched"] == 1
    assert found["ssd"]["load"] == pytest.approx(ssd_load(trace, FLASH) / span)
    assert found["ssd"]["load"] < MOST_LOAD
    easy = response(seeded(3000, gap_us=40_000.0), device, Asked("open"))["devices"]["hdd"]
    assert easy["stretched"] == 1
    assert easy["utilisation"] == pytest.approx(easy["load"], rel=0.01)


def test_the_load_of_an_ssd_is_that_of_its_busiest_part():
    trace = make([0, 4096, 8192, 0], [4096] * 4, [0, 0, 0, 1])
    own = Ssd(read_us=100.0, write_us=40.0, read_mb_s=1000.0, write_mb_s=1000.0, channels=2, stripe_bytes=4096)
    assert ssd_load(trace, own) == pytest.approx(240)
    assert ssd_load(trace, own.model_copy(update={"waf": 2.0})) == pytest.approx(240 + 4.096)
    assert ssd_load(trace, own.model_copy(update={"read_mb_s": 10.0})) == pytest.approx(3 * 409.6 + 4.096)
    buffered = own.model_copy(update={"write_buffer_bytes": 1 << 20, "program_mb_s": 1.0, "waf": 3.0})
    assert ssd_load(trace, buffered) == pytest.approx(3 * 4096)


def test_a_write_buffer_hides_no_load():
    trace = make([k << 20 for k in (5, 900, 30, 700)], [4096] * 4, [1] * 4, [0, 10, 20, 30_000])
    device = AnalyticDevice(source="analytic", hdd=DISK.model_copy(update={"write_buffer_bytes": 1 << 20}), ssd=FLASH)
    found = response(trace, device, Asked("open"))["devices"]["hdd"]
    assert found["stretched"] == pytest.approx(t_hdd_us(trace, DISK).sum() / (MOST_LOAD * 30_000))
    assert found["max_us"] < 1000


def test_what_a_run_says_of_itself():
    trace = make([0, 0, 0], [1000, 1000, 2000], [0] * 3, [0, 50, 1000])
    ssd = Ssd(read_us=100.0, write_us=1.0, read_mb_s=1e9, write_mb_s=1e9)
    own = response(trace, AnalyticDevice(source="analytic", hdd=DISK, ssd=ssd), Asked("open"))["devices"]["ssd"]
    assert own["mean_us"] == pytest.approx((100 + 150 + 100) / 3)
    assert (own["p50_us"], own["max_us"]) == (pytest.approx(100), pytest.approx(150))
    assert own["duration_s"] == pytest.approx(1100e-6)
    assert own["utilisation"] == pytest.approx(300 / 1100)
    assert own["iops"] == pytest.approx(3 / 1100e-6)
    assert own["mb_s"] == pytest.approx(4000 / 1100)


def test_what_cannot_be_queued_is_refused():
    device = AnalyticDevice(source="analytic", hdd=DISK, ssd=FLASH)
    with pytest.raises(DeviceError, match=r"queue\.csv: all requests have the same time"):
        response(make([0, 0], [512, 512], [0, 0], [7, 7]), device, Asked("open"))
    with pytest.raises(DeviceError, match=r"queue\.csv: the trace has no requests"):
        response(make([], [], []), device, Asked("closed", 1))


def test_arrivals_are_never_pressed_together():
    trace = make([0, 0, 0], [512] * 3, [0] * 3, [5, 6, 105])
    arrive, factor = arrivals_us(trace, 10.0)
    assert (arrive.tolist(), factor) == ([0, 1, 100], 1)
    arrive, factor = arrivals_us(trace, 180.0)
    assert math.isclose(factor, 2)
    assert arrive.tolist() == pytest.approx([0, 2, 200])
