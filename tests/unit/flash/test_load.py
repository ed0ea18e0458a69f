from dataclasses import replace

import pytest

from cachezoo.errors import TraceError
from cachezoo.flash.load import load_curve, load_windows, time_scale
from cachezoo.flash.problem import flash_problem
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
