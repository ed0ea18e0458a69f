"""Bounds of a trace: no policy is outside them, in pages, bytes or time saved."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from cachezoo.contest.counting import Count, first_access
from cachezoo.devices.profile import load_models
from cachezoo.policies.bounds import weighted_bounds
from cachezoo.policies.registry import classics, policy
from cachezoo.policies.simulate import Simulator
from cachezoo.questions.page.bench import Bench
from cachezoo.questions.page.sweep import bounds_row
from cachezoo.sizes import Size
from cachezoo.traces.pages import expand_pages
from tests.page_data import seeded_trace

ROOT = Path(__file__).resolve().parents[4]
TRACE = seeded_trace(700, 120, 3)
PAGES = expand_pages(TRACE)
DEVICE = load_models(str(ROOT / "conf/device/wdredpro2tb_850pro.yaml"))


@pytest.mark.parametrize("writes", ["back", "around"])
@pytest.mark.parametrize("capacity", ["3%", "20%"])
def test_no_policy_is_above_its_bound(writes, capacity):
    bench = Bench.of(Simulator(TRACE, PAGES, writes), DEVICE, Count("auto"))
    row = bounds_row(bench, Size.parse(capacity))
    assert 0 <= row["byte_hit_ratio_lower"] <= row["byte_hit_ratio_upper"] <= 1
    assert 0 <= row["time_saved_lower"] <= row["time_saved_upper"] <= 1
    counts = np.diff(PAGES.request_start)
    saved = np.repeat(np.maximum(bench.times.hdd_us - bench.times.ssd_us, 0) / counts, counts)
    first = first_access(PAGES, Count("auto"), row["capacity"])
    for policy_id in (*classics(), "belady_bypass"):
        found = bench.simulator.run(policy_id, row["capacity"], first)
        assert found.hit_ratio <= row["optimum"] + 1e-12
        assert found.byte_hit_ratio <= row["byte_hit_ratio_upper"] + 1e-12
        hits = found.outcome[first:] == 2
        assert saved[first:][hits].sum() <= row["time_saved_upper"] * saved[first:].sum() * (1 + 1e-12)


def test_without_a_device_no_time_is_saved_and_whole_pages_weigh_alike():
    pages = replace(TRACE, offset=TRACE.offset // 4096 * 4096, size=np.full(len(TRACE), 4096, np.int64))
    row = bounds_row(Bench.of(Simulator(pages, expand_pages(pages)), count=Count("all")), Size.parse("10%"))
    assert row["time_saved_lower"] is row["time_saved_upper"] is None
    assert row["byte_hit_ratio_lower"] == pytest.approx(row["optimum"], abs=1e-12)
    assert row["optimum"] <= row["byte_hit_ratio_upper"] + 1e-12


def test_the_lower_bound_is_the_optimum_s_where_taking_the_shortest_interval_first_is_worse():
    # Of A, B and C, used twice each, a cache of one page can keep A and then C, or B alone: the shortest.
    ids = np.array([0, 3, 4, 5, 1, 0, 2, 1, 6, 7, 8, 2], np.int64)
    n = len(ids)
    trace = replace(
        seeded_trace(n, 20, 0), offset=ids * 4096, size=np.full(n, 4096, np.int64), op=np.zeros(n, np.uint8)
    )
    bench = Bench.of(Simulator(trace, expand_pages(trace)), count=Count("all"))
    stream = bench.simulator.stream(policy("belady_bypass"))
    assert weighted_bounds(stream, np.ones(n), 1).lower == 1
    row = bounds_row(bench, Size.parse("1p"))
    assert row["optimum"] == row["byte_hit_ratio_lower"] == pytest.approx(2 / n)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("capacity", ["2%", "10%", "40%"])
def test_the_lower_bound_is_at_least_what_a_registered_policy_attains(seed, capacity):
    trace = seeded_trace(500, 150, seed)
    pages = expand_pages(trace)
    bench = Bench.of(Simulator(trace, pages, "back"), DEVICE, Count("auto"))
    row = bounds_row(bench, Size.parse(capacity))
    first, counts = row["warmup"], np.diff(pages.request_start)
    saved = np.repeat(np.maximum(bench.times.hdd_us - bench.times.ssd_us, 0) / counts, counts)[first:]
    for policy_id in (*classics(), "belady_bypass"):
        found = bench.simulator.run(policy_id, row["capacity"], first)
        assert found.byte_hit_ratio <= row["byte_hit_ratio_lower"] + 1e-12, policy_id
        hits = found.outcome[first:] == 2
        assert saved[hits].sum() <= row["time_saved_lower"] * saved.sum() * (1 + 1e-12), policy_id
