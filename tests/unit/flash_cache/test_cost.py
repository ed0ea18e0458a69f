"""The cost of a year, against sums made by hand and what must hold of any."""

import math
from dataclasses import replace

import numpy as np
import pytest

from cachezoo.flash_cache.cost import yearly
from cachezoo.flash_cache.problem import flash_problem
from cachezoo.questions.flash.bench import Bench
from cachezoo.questions.tiers.prices import FOLDER, read_prices
from cachezoo.settings.prices import BUILT_IN
from tests.baleen_data import FLASH, LABEL, make_trace


def test_the_sums_by_hand() -> None:
    found = yearly(BUILT_IN, 6.3, 1e12, 2e12 / 86_400)  # 2 drive writes a day of a TB
    power = 365.25 * 24 / 1000 * 1.5 * 0.0806
    assert found.disks == 9
    assert found.disks_usd == pytest.approx(9 * (20_000 * 0.014 / 5 + 20_000 * 0.00047 * power))
    ways = {"client": 150 * 2 / 0.3285 / 5, "read-intensive": 180 * 2 / 5, "mixed": 225 / 5, "write-intensive": 450 / 5}
    assert found.endurance == min(ways, key=lambda name: ways[name]) == "mixed"
    assert found.flash_usd == pytest.approx(ways["mixed"] + 1000 * 0.00275 * power)
    assert found.usd == found.disks_usd + found.flash_usd


def test_a_flash_that_nobody_writes_is_replaced_by_age_alone() -> None:
    found = yearly(BUILT_IN, 0.0, 1e12, 0.0)
    assert (found.disks, found.disks_usd, found.endurance) == (0, 0.0, "client")
    assert found.flash_usd == pytest.approx(150 / 5 + 2.75 * 365.25 * 24 / 1000 * 1.5 * 0.0806)
    assert yearly(BUILT_IN, 3.0, 0, 0.0).flash_usd == 0.0


def test_more_writes_and_busier_disks_never_cost_less() -> None:
    rng = np.random.default_rng(4)
    for _ in range(200):
        busy, size, wrote = rng.uniform(0, 50), 10 ** rng.uniform(6, 13), 10 ** rng.uniform(0, 10)
        one = yearly(BUILT_IN, busy, size, wrote)
        assert yearly(BUILT_IN, busy * 1.5, size, wrote).usd >= one.usd
        assert yearly(BUILT_IN, busy, size, 2 * wrote).flash_usd >= one.flash_usd
        assert yearly(BUILT_IN, busy, size, wrote, most_busy=0.35).disks >= one.disks == math.ceil(busy / 0.7)


def test_prices_name_the_disk_that_they_are_of() -> None:
    assert read_prices(FOLDER / "retail2022.yaml").hdd.drive_gb == BUILT_IN.hdd.drive_gb == 20_000
    assert yearly(read_prices(FOLDER / "hca2012.yaml"), 0.7, 0, 0.0).disks_usd == pytest.approx(
        500 * 0.39 / 5 + 8 * 365.25 * 24 / 1000 * 1.8 * 0.0667
    )


def test_a_row_takes_its_peak_with_writes_and_the_rate_of_the_whole_trace() -> None:
    trace = make_trace(3000, 5)
    problem = flash_problem(trace, LABEL, FLASH)
    bench = Bench(trace, problem, FLASH, 3)
    row = bench.row(bench.plain("rejectx", "none").run(problem).tuned, "none")
    seconds = (trace.time_us[-1] - trace.time_us[0]) / 1e6
    wrote = row.segment_writes * 4096 / seconds
    assert row.year == yearly(BUILT_IN, row.total_dt.peak, problem.capacity * 4096, wrote)
    without = bench.year_without()
    assert without.flash_usd == 0 and without.disks >= row.year.disks
    timeless = replace(trace, time_us=np.arange(len(trace)))
    assert Bench(timeless, flash_problem(timeless, LABEL, FLASH), FLASH, 3).year_without() is None
