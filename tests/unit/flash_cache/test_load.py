from dataclasses import replace

import numpy as np
import pytest

from cachezoo.contest.lead import mean_of
from cachezoo.errors import TraceError
from cachezoo.flash_cache.load import load_curve, load_windows, measure
from cachezoo.flash_cache.problem import flash_problem
from cachezoo.kernels.flash import Prefetch
from cachezoo.traces.clock import time_scale
from tests.baleen_data import FLASH, LABEL, make_trace

TEST = make_trace(15_000, 3, "test")


def test_windows() -> None:
    problem = flash_problem(TEST, LABEL, FLASH)
    windows = load_windows(TEST.time_us, problem, FLASH)
    assert windows.first == problem.first and windows.count == FLASH.min_windows
    assert windows.of.min() == 0 and windows.of.max() == windows.count - 1
    dt = problem.dt_seconds(problem.accept_all)
    total = load_curve(dt, windows).sum() * windows.seconds
    assert total == pytest.approx(dt[windows.first :].sum())
    long_flash = FLASH.model_copy(update={"window_min_reads": 50})
    day = replace(TEST, time_us=TEST.time_us * 5000)
    assert load_windows(day.time_us, problem, long_flash).count == 100
    assert load_windows(day.time_us, problem, FLASH.model_copy(update={"window_min_reads": 300})).count in range(20, 40)
    scaled = load_windows(TEST.time_us, problem, long_flash, scale=1e5)
    assert scaled.count == 100
    meta = replace(TEST.meta, extra={"time_scale": "144"})
    assert (time_scale(TEST), time_scale(replace(TEST, meta=meta))) == (1.0, 144.0)
    with pytest.raises(TraceError, match="time_scale"):
        time_scale(replace(TEST, meta=replace(TEST.meta, extra={"time_scale": "a day"})))


def test_measured_by_hand() -> None:
    problem = flash_problem(TEST, LABEL, FLASH)
    windows = load_windows(TEST.time_us, problem, FLASH, scale=1e5)
    n = len(TEST)
    run = problem.run(np.ones(n, bool), Prefetch(np.zeros(n, np.int32), np.full(n, 64, np.int32)))
    row = measure(problem, run, windows, disks=2)
    after = slice(windows.first, None)
    seconds = [0.0, 0.0]
    for op, ios, size in zip(TEST.op[after], run.io_segments[after], problem.accesses.sizes[after], strict=True):
        moved = size if op else ios
        seconds[op] += 0.0115 * (moved > 0) + moved * 4096 / (143 * 2**20)
    assert (row.read_dt_s, row.write_dt_s) == (pytest.approx(seconds[0]), pytest.approx(seconds[1]))
    assert row.total_dt_s == pytest.approx(sum(seconds))
    span = windows.count * windows.seconds
    for name, total in (("read_dt", seconds[0]), ("write_dt", seconds[1]), ("total_dt", sum(seconds))):
        load = getattr(row, name)
        assert load.mean == pytest.approx(total / span)
        assert load.median <= load.p95 <= load.peak
    assert row.read_dt_mean_interval == mean_of(load_curve(problem.dt_seconds(run), windows)).ends
    assert row.utilisation.mean == pytest.approx(sum(seconds) / span / 2)
    assert row.prefetched_segments == run.prefetched.sum() > 0
    assert row.prefetch_accuracy == run.prefetched_used / run.prefetched.sum()
    days = (TEST.time_us[-1] - TEST.time_us[0]) / 1e6 * 1e5 / 86400
    assert row.dwpd == pytest.approx(run.written.sum() / problem.capacity / days)
    short = load_windows(TEST.time_us, problem, FLASH)
    plain = measure(problem, problem.accept_all, short)
    assert plain.dwpd is plain.utilisation is plain.prefetch_accuracy is None
