"""Calibration: scores on the half that the fit has not seen, groups, what a trace tells of service times."""

import json
import math
from dataclasses import replace

import numpy as np
import pytest
import yaml

from cachezoo.coded import Coded
from cachezoo.devices.calibration import (
    calibrate,
    fit_baseline,
    of_trace,
    residuals,
    sidecar,
    times_of,
    tune_baseline,
    write_calibration,
)
from cachezoo.devices.fit_hdd import demerit
from cachezoo.devices.microbench import design
from cachezoo.devices.profile import read_device
from cachezoo.devices.profile_plot import draw
from cachezoo.devices.samples import Samples
from cachezoo.errors import DeviceError
from cachezoo.settings.device import AnalyticDevice, Hdd, ReadBuffer, Ssd
from cachezoo.traces.table import Trace, TraceMeta
from tests.oracles.hdd import seek_us

TB = 10**12
START = Hdd(capacity_bytes=TB, rotation_us=6000, seek_base_us=2000, seek_root_us=5000, outer_mb_s=100, inner_mb_s=50)
DISK = Hdd(
    capacity_bytes=TB,
    rotation_us=8333.3,
    rotation="position",
    seek_base_us=900.0,
    seek_root_us=12000.0,
    seek_linear_us=3000.0,
    outer_mb_s=180.0,
    inner_mb_s=90.0,
    read_us=150.0,
    write_us=150.0,
    interface_mb_s=400.0,
)
DRIVE = Ssd(read_us=80, write_us=20, read_mb_s=520, write_mb_s=480)
CACHE = ReadBuffer(segments=8, segment_bytes=512 << 10, track_bytes=0)


def samples_of(truth: Hdd | Ssd, count: int = 3000, writes: bool = False) -> Samples:
    """Designed requests with the model's times, which have some noise."""
    kind = "hdd" if isinstance(truth, Hdd) else "ssd"
    asked = design(kind, TB, count, writes)
    bare = Samples(asked.offset, asked.size, asked.write, np.ones(count), np.full(count, 20.0))
    random = np.random.default_rng(1)
    times = times_of(bare, truth) * random.normal(1, 0.01, count) + random.exponential(20, count)
    return replace(bare, time_us=times)


@pytest.mark.parametrize(
    ("update", "writes", "bound"),
    [
        ({}, False, 0.05),
        ({}, True, 0.06),
        ({"read_buffer": CACHE}, False, 0.06),
        ({"read_buffer": CACHE}, True, 0.06),
        ({"rotation_us": 4000.0}, False, 0.05),
        ({"write_settle_us": 700.0}, True, 0.06),
    ],
)
def test_a_disk_is_found_again_in_a_microbenchmark(update, writes, bound):
    truth = DISK.model_copy(update=update)
    found = calibrate(samples_of(truth, writes=writes), START)
    assert found.test.demerit < bound < found.test.baseline_demerit
    after = found.after
    assert after.rotation_us == pytest.approx(truth.rotation_us, rel=0.04)
    assert after.outer_mb_s == pytest.approx(truth.outer_mb_s, rel=0.12)
    assert after.inner_mb_s == pytest.approx(truth.inner_mb_s, rel=0.12)
    for distance in (0.03, 0.3, 0.9):
        # Fixed time and the seek's own are told apart by reads that do not move the arm, where there are some.
        assert after.read_us + seek_us(after, distance) == pytest.approx(
            truth.read_us + seek_us(truth, distance), rel=0.1
        )
    assert (after.read_buffer.segments > 0) == (truth.read_buffer.segments > 0)


def test_writes_that_fill_the_disk_s_buffer_are_still_nearer_than_two_constants():
    truth = DISK.model_copy(update={"read_buffer": CACHE, "write_buffer_bytes": 8 << 20})
    found = calibrate(samples_of(truth, writes=True), START)
    assert found.after.write_buffer_bytes == pytest.approx(8 << 20, rel=0.5)
    assert found.test.demerit < 0.3 < found.test.baseline_demerit


def test_reads_alone_leave_a_disk_s_writes_as_they_were():
    start = START.model_copy(update={"write_us": 77.0, "write_settle_us": 5.0, "write_buffer_bytes": 1 << 20})
    after = calibrate(samples_of(DISK, 1000), start).after
    assert (after.write_us, after.write_settle_us, after.write_buffer_bytes) == (77.0, 5.0, 1 << 20)


def test_scores_are_of_the_half_they_name():
    samples = samples_of(DRIVE, 1000)
    spoilt = replace(samples, time_us=np.where(np.arange(1000) < 500, samples.time_us, 3 * samples.time_us))
    plain, other = calibrate(samples, DRIVE), calibrate(spoilt, DRIVE)
    assert other.after == plain.after
    assert other.fit == plain.fit
    assert other.test.mean_error == pytest.approx((1 + plain.test.mean_error) / 3 - 1)
    assert plain.test.rms_us == pytest.approx(
        math.sqrt(sum((a - b) ** 2 for a, b in zip(plain.shown_us, plain.shown.time_us, strict=True)) / 500)
    )
    assert len(plain.shown) == plain.test.requests == 500


def test_refitting_takes_all_requests_if_that_lies_nearer():
    samples = samples_of(DRIVE, 1000)
    once, again = calibrate(samples, START_SSD), calibrate(samples, START_SSD, refit=True)
    assert (once.fit, once.test) == (again.fit, again.test)
    assert again.refitted == (again.after != once.after)
    assert not once.refitted


START_SSD = Ssd(read_us=30, write_us=60, read_mb_s=2000, write_mb_s=200)


def test_groups_by_hand():
    hdd = START.model_copy(update={"capacity_bytes": 100_000_000})
    size = np.array([4096, 4096, 8192, 4096, 4096])
    offset = np.array([0, 4096, 8192, 50_000_000, 50_004_096])
    samples = Samples(offset, size, np.array([0, 0, 0, 1, 1], np.uint8), np.array([1.0, 2, 4, 8, 16]), np.zeros(5))
    found = {
        (group.op, group.distance, group.size): group
        for group in residuals(samples, np.array([2.0, 2, 3, 10, 12]), hdd)
    }
    counts = {key: group.requests for key, group in found.items()}
    assert counts == {
        ("read", "sequential", "to 4 KiB"): 2,
        ("read", "sequential", "to 16 KiB"): 1,
        ("write", "further", "to 4 KiB"): 1,
        ("write", "sequential", "to 4 KiB"): 1,
    }
    first = found["read", "sequential", "to 4 KiB"]
    assert (first.measured_us, first.model_us, first.difference_us) == (1.5, 2.0, 0.5)
    assert first.p90_difference_us == pytest.approx(2.0 - 1.9)
    tail = residuals(samples, samples.time_us, hdd, since=3)
    assert [(group.op, group.distance) for group in tail] == [("write", "sequential"), ("write", "further")]


def test_the_baseline_has_two_constants_and_neither_is_negative():
    size = np.array([4096, 8192, 65536, 1 << 20])
    zero = np.zeros(4)
    straight = fit_baseline(Samples(zero, size, zero, 100 + 0.01 * size, zero))
    assert (straight.fixed_us, straight.us_per_byte) == pytest.approx((100, 0.01))
    falling = fit_baseline(Samples(zero, size, zero, np.array([4.0, 3, 2, 1]), zero))
    assert (falling.fixed_us, falling.us_per_byte) == pytest.approx((2.5, 0.0))
    steep = fit_baseline(Samples(zero, size, zero, size.astype(float) ** 2, zero))
    assert steep.fixed_us == 0


def test_two_constants_fitted_for_demerit_have_the_least_there_is():
    samples = samples_of(DISK, 1000)
    tuned = tune_baseline(samples)
    least = demerit(tuned.times(samples), samples.time_us)
    assert least < demerit(fit_baseline(samples).times(samples), samples.time_us)
    for fixed in np.linspace(0.5, 1.5, 11):
        for rate in np.linspace(0.5, 1.5, 11):
            other = replace(tuned, fixed_us=tuned.fixed_us * fixed, us_per_byte=tuned.us_per_byte * rate)
            assert least <= demerit(other.times(samples), samples.time_us) + 1e-12


@pytest.mark.parametrize("truth", [DISK, DRIVE])
def test_a_profile_comes_back_as_written_with_its_residuals(tmp_path, truth):
    base = AnalyticDevice(source="analytic", hdd=START, ssd=START_SSD)
    found = calibrate(samples_of(truth, 1000, writes=True), base.hdd if truth is DISK else base.ssd)
    out = tmp_path / "new.yaml"
    write_calibration(found, base, "base", {"from": "a\ntrace: #1"}, out)
    device = read_device(out)
    assert device == base.model_copy(update={"hdd" if truth is DISK else "ssd": found.after})
    text = out.read_text()
    assert text.startswith("# @package device\n# ")
    assert "# from: a trace: #1\n" in text
    assert yaml.safe_load(text)["source"] == "analytic"
    beside = json.loads(sidecar(out).read_text())
    assert beside["test"]["demerit"] == found.test.demerit
    assert len(beside["residuals"]) == len(found.residuals)


@pytest.mark.parametrize(("truth", "writes"), [(DISK, True), (DRIVE, False)])
def test_the_picture_is_the_same_each_time(tmp_path, truth, writes):
    found = calibrate(samples_of(truth, 600, writes), START if truth is DISK else START_SSD)
    for name in ("a.png", "b.png"):
        draw(found, "a title", tmp_path / name)
    assert (tmp_path / "a.png").read_bytes() == (tmp_path / "b.png").read_bytes()
    assert (tmp_path / "a.png").read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"


def a_trace(time_us, latency_us, volumes=1) -> Trace:
    count = len(time_us)
    codes = Coded((np.arange(count) % volumes).astype(np.int32), tuple(str(k) for k in range(volumes)))
    return Trace(
        np.array(time_us),
        (np.arange(count) % 2).astype(np.uint8),
        np.arange(count) * 4096,
        np.full(count, 4096),
        codes,
        TraceMeta("t", "c", "f", ""),
        None if latency_us is None else np.array(latency_us),
    )


def test_only_requests_that_found_the_device_idle_are_timed():
    head = [1000 * k for k in range(100)]
    # Then: one that finds it idle, one while that is under way, one when both have ended, an unknown, one after it.
    time = [*head, 100_000, 100_050, 100_120, 100_200, 100_300, 100_400]
    latency = [*([10] * 100), 100, 60, 30, -1, 20, 25]
    samples = of_trace(a_trace(time, latency), "t")
    assert samples.timed.tolist() == [*([True] * 100), True, False, True, False, False, True]
    assert samples.time_us[samples.timed].tolist() == [*([10.0] * 100), 100.0, 30.0, 25.0]
    assert samples.think_us.tolist() == [0.0, *([990.0] * 99), 990.0, 0.0, 10.0, 50.0, 100.0, 80.0]
    assert samples.write.tolist() == [0, 1] * 53
    assert samples.offset.tolist() == [4096 * k for k in range(106)]


def test_a_slow_request_hides_all_that_come_while_it_is_under_way():
    time = [1000 * k for k in range(300)]
    latency = [50_500, *([10] * 299)]
    samples = of_trace(a_trace(time, latency), "t")
    assert np.flatnonzero(~samples.timed).tolist() == list(range(1, 51))
    assert samples.think_us[51] == 500


@pytest.mark.parametrize("spoilt", ["overlap", "unknown"])
def test_requests_whose_own_time_is_not_known_still_move_the_head(spoilt):
    disk = DISK.model_copy(update={"cylinder_bytes": 1 << 20})
    asked = samples_of(disk, 6000)
    random = np.random.default_rng(2)
    hurry = random.random(len(asked)) < 0.5
    think = np.where(hurry & (spoilt == "overlap"), 0, 1000 + asked.think_us).astype(np.int64)
    took = np.ceil(times_of(replace(asked, think_us=think.astype(float)), disk)).astype(np.int64)
    begin = np.cumsum(think + took) - took
    issue = np.maximum.accumulate(begin - np.where(think == 0, 500, 0))  # while another is served: it waits for that
    latency = begin + took - issue
    if spoilt == "unknown":
        latency[hurry] = -1
    meta, volume = TraceMeta("t", "c", "f", ""), Coded.constant("0", len(asked))
    samples = of_trace(Trace(issue, asked.write, asked.offset, asked.size, volume, meta, latency), "t")
    assert 0.2 < samples.timed.mean() < 0.6
    found = calibrate(samples, START)
    assert found.test.demerit < 0.06
    assert found.test.requests == samples.known - samples.known // 2
    for distance in (0.001, 0.01, 0.1, 0.9):
        there = disk.read_us + seek_us(disk, distance)
        assert found.after.read_us + seek_us(found.after, distance) == pytest.approx(there, rel=0.12)


@pytest.mark.parametrize(
    ("trace", "said"),
    [
        (a_trace(range(300), None), "has no column latency_us"),
        (a_trace(range(0, 30000, 100), [10] * 300, volumes=2), "several volumes"),
        (a_trace(range(300), [1000] * 300), "t: 1 requests with service times"),
        (a_trace(range(0, 30000, 100), [0] * 300), "t: request 1"),
    ],
)
def test_a_trace_without_service_times_is_refused(trace, said):
    with pytest.raises(DeviceError, match=said):
        of_trace(trace, "t")


@pytest.mark.parametrize("start", [START, START_SSD])
@pytest.mark.parametrize(
    ("update", "said"),
    [({"write": np.ones(1000, np.uint8)}, "are writes"), ({"size": np.full(1000, 4096)}, "are of 4096 bytes")],
)
def test_what_shows_too_little_is_refused(start, update, said):
    with pytest.raises(DeviceError, match=said):
        calibrate(replace(samples_of(DRIVE, 1000), **update), start)
