"""Summary, footprint, sizes and arrivals, on traces with known answers."""

import numpy as np
import pytest

from cachezoo.characteristics.arrivals import arrivals, counts_of, hurst
from cachezoo.characteristics.describe import characterise
from cachezoo.characteristics.pages import footprint, uses
from cachezoo.characteristics.requests import sizes, summary
from cachezoo.characteristics.values import json_values, quantiles
from cachezoo.coded import Coded
from cachezoo.contest.series import autocorrelation
from cachezoo.traces.clock import has_clock
from cachezoo.traces.pages import expand_pages
from tests.characteristics_data import PAGE, fractional_noise, made

HOUR = 3_600_000_000


def poisson(n: int, seed: int) -> np.ndarray:
    return np.cumsum(np.random.default_rng(seed).exponential(1000, n)).astype(np.int64)


def test_a_summary_counts():
    op = np.array([0, 0, 0, 1], np.uint8)
    trace = made(4, op=op, size=np.array([4096, 8192, 512, 1024]), time_us=np.array([0, 1, 5, 2_000_000]))
    found = summary(trace, expand_pages(trace))
    assert (found.requests, found.reads, found.writes, found.read_share) == (4, 3, 1, 0.75)
    assert (found.read_bytes, found.written_bytes, found.page_accesses) == (12_800, 1024, 5)
    assert (found.clock, found.span_s, found.requests_per_s) == (True, 2.0, 2.0)
    assert found.read_mib_per_s == 12_800 / 2**20 / 2


@pytest.mark.parametrize("times", [[0], [0, 0, 0], [5, 5], [0, 1, 2], list(range(100))])
def test_equal_times_and_row_numbers_are_no_clock(times):
    trace = made(len(times), time_us=np.array(times, np.int64))
    found = summary(trace, expand_pages(trace))
    assert not has_clock(trace)
    assert (found.span_s, found.requests_per_s, found.read_mib_per_s) == (None, None, None)


@pytest.mark.parametrize("times", [[0, 1], [0, 1, 3], [0, 0, 1], [0, 2, 4]])
def test_other_times_are(times):
    assert has_clock(made(len(times), time_us=np.array(times, np.int64)))


def test_a_footprint_tells_reads_from_writes():
    offset = np.array([0, 1, 1, 2, 3, 3]) * PAGE
    trace = made(6, offset=offset, op=np.array([0, 0, 1, 1, 1, 1], np.uint8))
    found = footprint(trace, uses(trace, expand_pages(trace)))
    pages = {name: value // PAGE for name, value in json_values(found).items()}
    assert pages == {
        "bytes": 4, "read_bytes": 2, "written_bytes": 3, "both_bytes": 1, "read_only_bytes": 1,
        "written_only_bytes": 2, "address_span_bytes": 4,
    }  # fmt: skip


def test_the_address_span_is_of_each_volume():
    volume = Coded.of(["a", "b", "a", "b"])
    trace = made(4, offset=np.array([10, 1000, 40, 1500]) * PAGE, volume=volume)
    span = footprint(trace, uses(trace, expand_pages(trace))).address_span_bytes
    assert span == (31 + 501) * PAGE


def test_volumes_may_be_very_long():
    n = 40
    offset = np.tile([0, 2**61], n // 2)
    volume = Coded((np.arange(n) // 2).astype(np.int32), tuple(f"v{k}" for k in range(n // 2)))
    trace = made(n, offset=offset, volume=volume)
    span = footprint(trace, uses(trace, expand_pages(trace))).address_span_bytes
    assert span == n // 2 * (2**61 + PAGE)


def test_a_volume_without_a_request_has_no_span():
    volume = Coded(np.ones(2, np.int32), ("never", "used", "either"))
    trace = made(2, volume=volume)
    assert footprint(trace, uses(trace, expand_pages(trace))).address_span_bytes == 2 * PAGE
    assert summary(trace, expand_pages(trace)).volumes == 1


def test_sizes_by_type():
    op = np.array([0] * 8 + [1] * 2, np.uint8)
    size = np.array([4096] * 6 + [8192, 511, 1 << 20, 1 << 20])
    found = sizes(made(10, op=op, size=size, offset=np.arange(10) * (1 << 20)))
    reads, writes = found["reads"], found["writes"]
    assert (reads.requests, reads.median_bytes, reads.max_bytes) == (8, 4096, 8192)
    assert reads.mean_bytes == (6 * 4096 + 8192 + 511) / 8
    assert [(own.size_bytes, own.share) for own in reads.common] == [(4096, 0.75), (511, 0.125), (8192, 0.125)]
    assert (reads.aligned_share, writes.aligned_share) == (7 / 8, 1.0)
    assert dict(zip(reads.histogram_from_bytes.tolist(), reads.histogram_requests.tolist(), strict=True)) == {
        256: 1, 512: 0, 1024: 0, 2048: 0, 4096: 6, 8192: 1,
    }  # fmt: skip
    assert (writes.p90_bytes, found["all"].requests) == (1 << 20, 10)
    assert found["all"].cdf_bytes[0] == 511


def test_without_reads_there_are_no_sizes_of_reads():
    assert sizes(made(3, op=np.ones(3, np.uint8)))["reads"] is None


def test_quantiles_are_values_that_occur():
    assert quantiles(np.array([3, 1, 2, 10]), [0, 0.25, 0.5, 0.75, 1]).tolist() == [1, 1, 2, 3, 10]


def test_autocorrelation_of_known_series():
    rng = np.random.default_rng(3)
    noise = rng.normal(size=20_000)
    series = np.zeros(20_000)
    for k in range(1, 20_000):
        series[k] = 0.7 * series[k - 1] + noise[k]
    assert autocorrelation(series, 1) == pytest.approx(0.7, abs=0.02)
    assert autocorrelation(series, 2) == pytest.approx(0.49, abs=0.03)
    assert autocorrelation(noise, 1) == pytest.approx(0, abs=0.02)
    assert autocorrelation(np.tile([1, 5], 50), 1) == pytest.approx(-1, abs=0.02)
    assert autocorrelation(np.ones(100), 1) is None
    assert autocorrelation(np.arange(9), 1) is None


def test_windows_count_whole_windows_alone():
    assert counts_of(np.array([0, 1, 9, 10, 25, 31]), 10).tolist() == [3, 1, 1]


def test_arrivals_by_chance_are_not_bursty():
    found = arrivals(made(200_000, time_us=poisson(200_000, 1)), 50)
    by_width = {scale.window_s: scale for scale in found.scales}
    assert set(by_width) == {0.001, 0.01, 0.1, 1.0}
    for width, scale in by_width.items():
        assert scale.index_of_dispersion == pytest.approx(1, abs=4 * (2 / scale.windows) ** 0.5), width
        assert scale.autocorrelation == pytest.approx(0, abs=0.16)
    assert by_width[0.001].idle_share == pytest.approx(np.exp(-1), abs=0.01)
    assert by_width[0.001].peak_to_mean == pytest.approx(by_width[0.001].peak_per_s / 1000, rel=0.02)
    assert found.gaps.variation == pytest.approx(1, abs=0.02)
    assert found.gaps.median_us == pytest.approx(1000 * np.log(2), rel=0.02)
    assert found.gaps.autocorrelation == pytest.approx(0, abs=0.01)
    assert found.hurst.exponent == pytest.approx(0.5, abs=0.06)
    assert found.daily is None


def test_regular_arrivals_vary_less_than_chance():
    found = arrivals(made(10_000), 50)
    assert found.gaps.variation == 0
    assert found.gaps.autocorrelation is None
    assert all(scale.index_of_dispersion == 0 for scale in found.scales if scale.window_s >= 0.01)


def test_bursts_show():
    rng = np.random.default_rng(5)
    burst = np.repeat(np.arange(200) * 1_000_000, 100) + rng.integers(0, 10_000, 20_000)
    burst[0] = 0  # windows begin with the first request
    found = arrivals(made(20_000, time_us=np.sort(burst)), 50)
    tenth = next(scale for scale in found.scales if scale.window_s == 0.1)
    assert tenth.index_of_dispersion > 50
    assert tenth.peak_to_mean == pytest.approx(10, rel=0.06)
    assert tenth.idle_share == pytest.approx(0.9, abs=0.01)


@pytest.mark.parametrize("exponent", [0.6, 0.75, 0.9])
def test_hursts_exponent_of_fractional_noise(exponent):
    rate = np.maximum(200 + 60 * fractional_noise(1 << 13, exponent, 7), 0)
    counts = np.random.default_rng(7).poisson(rate)
    time_us = np.sort(
        np.repeat(np.arange(1 << 13) * 1000, counts) + np.random.default_rng(8).integers(0, 1000, counts.sum())
    )
    assert hurst(time_us).exponent == pytest.approx(exponent, abs=0.08)


def test_hursts_exponent_needs_enough():
    assert hurst(poisson(8_000, 1)) is None
    assert hurst(np.zeros(9_000, np.int64)) is None


def test_windows_shorter_than_the_clocks_tick_say_nothing():
    """Whole seconds put all requests of a second into one hundredth of it: no burst, only the clock."""
    time_us = np.sort(np.random.default_rng(1).integers(0, 60, 20_000)) * 1_000_000
    found = arrivals(made(20_000, time_us=time_us), 50)
    assert found.tick_us == 1_000_000
    assert [scale.window_s for scale in found.scales] == [1.0]
    assert found.scales[0].index_of_dispersion == pytest.approx(1, abs=0.6)
    assert found.hurst is None
    short = made(900, time_us=time_us[:900] // 2_000_000 * 1_000_000 + np.arange(900) // 300 * 1_000_000)
    whole = characterise(short, expand_pages(short))
    span_s = int(short.time_us[-1] - short.time_us[0]) // 1_000_000
    assert len(whole.arrivals.load.reads_per_s) == len(whole.working_set.bytes) == span_s
    assert whole.working_set.window_s == 1


def test_load_over_time_sums_to_the_trace():
    rng = np.random.default_rng(2)
    trace = made(
        5000, time_us=poisson(5000, 3), op=(rng.random(5000) < 0.4).astype(np.uint8), size=rng.integers(1, 9999, 5000)
    )
    load = arrivals(trace, 40).load
    assert (load.reads_per_s.sum() + load.writes_per_s.sum()) * load.window_s == pytest.approx(5000)
    mib = (load.read_mib_per_s.sum() + load.written_mib_per_s.sum()) * load.window_s
    assert mib == pytest.approx(trace.size.sum() / 2**20)


def test_days_show_in_a_trace_of_days():
    rng = np.random.default_rng(4)
    hours = np.arange(24 * 5)
    counts = rng.poisson(np.where((hours % 24 >= 8) & (hours % 24 < 18), 400, 40))
    time_us = np.sort(np.repeat(hours * HOUR, counts) + rng.integers(0, HOUR, counts.sum()))
    found = arrivals(made(len(time_us), time_us=np.append(time_us[:-1], 24 * 5 * HOUR)), 50).daily
    assert found.days == pytest.approx(5, abs=0.01)
    assert found.busiest_to_quietest == pytest.approx(10, rel=0.5)
    assert found.autocorrelation > 0.7
    assert found.requests_per_s[12] == pytest.approx(400 / 3600, rel=0.1)


def test_two_requests_are_described():
    found = arrivals(made(2), 160)
    assert (found.scales, found.hurst, found.daily) == ((), None, None)
    assert found.gaps.mean_us == 1000


def test_no_number_is_left_that_json_lacks():
    with pytest.raises(ValueError, match="no JSON number"):
        json_values({"a": np.array([1.0, np.nan])})
