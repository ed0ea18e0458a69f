"""An SSD's parameters found again in times that the model made of designed requests."""

from dataclasses import replace

import numpy as np
import pytest

from cachezoo.devices.fit_ssd import bursts, filled, fit_ssd, model_us
from cachezoo.devices.microbench import design
from cachezoo.devices.samples import Samples
from cachezoo.errors import DeviceError
from cachezoo.settings.device import Ssd

START = Ssd(read_us=30, write_us=60, read_mb_s=2000, write_mb_s=200, channels=8, waf=1.5)
PLAIN = Ssd(read_us=80, write_us=20, read_mb_s=520, write_mb_s=480, channels=8)
BUFFERED = PLAIN.model_copy(update={"write_buffer_bytes": 64 << 20, "program_mb_s": 300.0, "waf": 1.5})


def samples_of(truth: Ssd, count: int = 2000, writes: bool = True, noise: float = 0.05) -> Samples:
    """Times of the model with noise, and outliers of twentyfold."""
    requests = design("ssd", 256 << 30, count, writes)
    bare = Samples(requests.offset, requests.size, requests.write, np.ones(count), np.full(count, 12.0))
    random = np.random.default_rng(3)
    times = model_us(bare, truth) * random.lognormal(0, noise, count)
    times[random.random(count) < 0.01] *= 20
    return replace(bare, time_us=times)


def assert_near(fitted: Ssd, truth: Ssd, names: str, part: float) -> None:
    for name in names.split():
        assert getattr(fitted, name) == pytest.approx(getattr(truth, name), rel=part), name


def test_fixed_costs_and_rates_without_a_buffer():
    fitted = fit_ssd(samples_of(PLAIN), START.model_copy(update={"waf": 1.0}))
    assert_near(fitted, PLAIN, "read_us write_us read_mb_s write_mb_s", 0.03)
    assert fitted.write_buffer_bytes == 0


def test_a_burst_shows_the_buffer_and_how_it_drains():
    fitted = fit_ssd(samples_of(BUFFERED), START)
    assert_near(fitted, BUFFERED, "read_us write_us read_mb_s write_mb_s", 0.03)
    assert_near(fitted, BUFFERED, "write_buffer_bytes program_mb_s", 0.05)
    assert fitted.channels == START.channels


def test_garbage_collection_without_a_buffer_is_told_from_the_rate():
    truth = PLAIN.model_copy(update={"waf": 2.0, "program_mb_s": 800.0})
    fitted = fit_ssd(samples_of(truth), START.model_copy(update={"waf": 2.0, "program_mb_s": 800.0}))
    assert_near(fitted, truth, "write_us write_mb_s", 0.03)


def test_reads_alone_leave_writes_as_they_were():
    fitted = fit_ssd(samples_of(BUFFERED, writes=False), START)
    assert_near(fitted, BUFFERED, "read_us read_mb_s", 0.03)
    assert fitted.model_copy(update={"read_us": START.read_us, "read_mb_s": START.read_mb_s}) == START


def test_a_buffer_larger_than_the_burst_stays_as_it_was():
    large = BUFFERED.model_copy(update={"write_buffer_bytes": 64 << 30})
    fitted = fit_ssd(samples_of(large), START.model_copy(update={"write_buffer_bytes": 32 << 30}))
    assert fitted.write_buffer_bytes == 32 << 30
    assert_near(fitted, large, "write_us write_mb_s", 0.03)


def test_no_buffer_shows_none_however_noisy():
    for noise in (0.0, 0.05, 0.3):
        assert filled(samples_of(PLAIN, noise=noise)) is None


def test_a_burst_is_of_timed_writes_of_one_size():
    size = np.repeat([4096, 8192, 4096, 4096, 8192], [30, 10, 30, 24, 23]).astype(np.int64)
    write = np.repeat([1, 1, 0, 1, 1], [30, 10, 30, 24, 23]).astype(np.uint8)
    ones = np.ones(size.size)
    samples = Samples(np.arange(size.size), size, write, ones, ones)
    assert bursts(samples) == [(0, 30), (70, 94)]
    assert bursts(replace(samples, timed=np.arange(size.size) != 80)) == [(0, 30)]


@pytest.mark.parametrize("truth", [PLAIN, BUFFERED])
def test_times_that_are_not_known_change_nothing(truth):
    samples = samples_of(truth)
    timed = np.arange(len(samples)) % 400 > 100
    spoilt = replace(samples, time_us=np.where(timed, samples.time_us, -1.0), timed=timed)
    fitted = fit_ssd(spoilt, START.model_copy(update={"waf": truth.waf}))
    assert_near(fitted, truth, "read_us write_us read_mb_s write_mb_s", 0.03)
    assert fitted.write_buffer_bytes == pytest.approx(truth.write_buffer_bytes, rel=0.1)


@pytest.mark.parametrize(
    ("update", "said"),
    [
        ({"write": np.ones(200, np.uint8)}, "0 reads"),
        ({"size": np.full(200, 4096)}, "all reads are of 4096 bytes"),
        ({"write": (np.arange(200) < 3).astype(np.uint8)}, "3 writes"),
        ({"size": np.where(np.arange(200) % 2, 4096, 4096 * (1 + np.arange(200) % 8))}, "all writes are of 4096 bytes"),
    ],
)
def test_what_does_not_tell_cost_from_rate_is_refused(update, said):
    count = 200
    write = (np.arange(count) % 2).astype(np.uint8)
    size = np.where(np.arange(count) % 4 < 2, 4096, 65536)
    samples = Samples(np.arange(count) * 65536, size, write, size / 100.0, np.zeros(count))
    with pytest.raises(DeviceError, match=said):
        fit_ssd(replace(samples, **update), START)
