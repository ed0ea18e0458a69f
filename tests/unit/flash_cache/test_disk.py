"""Disk-head time by a model of the disk, against I/Os that are served one by one."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cachezoo.devices.analytic import t_hdd_us
from cachezoo.devices.built_in import WDREDPRO2TB
from cachezoo.devices.profile import load_models
from cachezoo.flash_cache.load import load_windows, measure
from cachezoo.flash_cache.problem import DISKS, FlashProblem, flash_problem_at
from cachezoo.kernels.episodes import find_episodes, range_costs
from cachezoo.kernels.flash import DiskHead, Prefetch
from cachezoo.kernels.segments import Geometry
from cachezoo.labels.episodes import NO_PREFETCH, OPT_RANGE, dt_saved, score_episodes
from cachezoo.settings.device import Hdd
from cachezoo.traces.table import Trace
from tests.baleen_data import FLASH, make_trace, small_requests
from tests.oracles.flash import addresses, naive_flash, naive_ios
from tests.oracles.hdd import ios_us

Requests = tuple[list[int], list[int], list[int], list[int]]
TINY = Geometry(64, 16)
# Small enough for requests of some bytes to lie far apart.
SMALL = WDREDPRO2TB.model_copy(update={"capacity_bytes": 600, "outer_mb_s": 0.02, "inner_mb_s": 0.01})


def trace_of(requests: Requests) -> Trace:
    volume, op, offset, size = requests
    made = make_trace(len(op), 1)
    names = replace(made.volume, codes=np.array(volume, np.int32), names=["a", "b"])
    return replace(made, volume=names, op=np.array(op, np.uint8), offset=np.array(offset), size=np.array(size))


def problem_of(trace: Trace, geometry: Geometry, capacity: int, disk: Hdd | None = SMALL) -> FlashProblem:
    op = trace.op.copy()
    trace.op[0] = 0  # a trace of writes alone has no cache
    found = flash_problem_at(trace, geometry, lambda _: capacity, DiskHead(), tolerance=0.1, disk=disk)
    return replace(found, read=op == 0)


@settings(deadline=None)
@given(small_requests(), st.integers(1, 20), st.integers(0, 2**32), st.booleans())
def test_a_run_costs_what_its_ios_cost_one_after_the_other(
    requests: Requests, capacity: int, seed: int, fetches: bool
) -> None:
    rng, n = np.random.default_rng(seed), len(requests[0])
    low, high = np.sort(rng.integers(0, 5, (2, n)), axis=0).astype(np.int32)
    admit, problem = rng.random(n) < 0.6, problem_of(trace_of(requests), TINY, capacity)
    run = problem.run(admit, Prefetch(low, high) if fetches else None)
    naive = addresses(requests, TINY)
    starts = [segments[0] // 4 * 4 for _, segments in naive]
    ranges = [(start + int(a), start + int(b)) for start, a, b in zip(starts, low, high, strict=True)]
    ranges = ranges if fetches else None
    want = naive_flash(naive, lambda row, _: bool(admit[row]), capacity, "lru", ranges, per_block=TINY.per_block)
    ios = naive_ios(requests, want, TINY)
    seconds, transfer = problem.disk_times(run)
    np.testing.assert_allclose(seconds * 1e6, ios_us(SMALL, ios), rtol=1e-9)
    alone = [0.0 if io is None else io[1] / (0.02 - 0.01 * (io[0] % 600) / 600) for io in ios]
    np.testing.assert_allclose(transfer * 1e6, alone, rtol=1e-9)
    assert (problem.dt_seconds(run)[~problem.read] == 0).all() and (transfer <= seconds * (1 + 1e-9)).all()


@settings(deadline=None)
@given(small_requests(), st.integers(1, 20))
def test_nothing_cached_costs_what_the_device_takes_for_the_trace(requests: Requests, capacity: int) -> None:
    problem = problem_of(trace_of(requests), TINY, capacity)
    seconds, _ = problem.disk_times(problem.run(np.zeros(len(problem), np.bool_)))
    np.testing.assert_array_equal(seconds, t_hdd_us(trace_of(requests), SMALL) / 1e6)


def test_what_goes_on_where_the_head_is_costs_its_transfer_alone() -> None:
    # Segment 1, on from there, back to 0: twice a seek, and between them none. All is admitted; the last read hits.
    requests: Requests = ([0] * 4, [0, 0, 0, 0], [16, 32, 0, 16], [16] * 4)
    problem = problem_of(trace_of(requests), TINY, 8)
    run = problem.run(np.ones(4, np.bool_))
    seconds, transfer = problem.disk_times(run)
    seek = seconds - transfer
    assert (run.io_first.tolist(), (seek > 1e-9).tolist()) == ([0, 0, 0, 0], [True, False, True, False])
    assert seconds[3] == 0


def test_baleens_disk_as_a_model_costs_its_constants_where_nothing_goes_on() -> None:
    disk = load_models("hdd4tb_flash400gb").hdd
    trace = make_trace(3000, 4)
    trace = replace(trace, offset=trace.offset // 4096 * 4096, size=-(-trace.size // 4096) * 4096)
    problem = problem_of(trace, Geometry(), 100, disk)
    for run in (problem.run(np.zeros(len(trace), np.bool_)), problem.accept_all):
        model, constants = problem.disk_times(run)[0], problem.constant_seconds(run)
        near = np.isclose(model, constants, rtol=1e-9)
        goes_on = constants - model
        np.testing.assert_allclose(goes_on[~near], 0.0115, rtol=1e-6)
        assert near.mean() > 0.8 and ((model == 0) == (constants == 0)).all()
        assert replace(problem, disk=None).disk_times(run)[0].tolist() == constants.tolist()


@settings(deadline=None)
@given(small_requests(), st.integers(1, 30))
def test_with_the_constants_an_episode_saves_the_ios_and_segments_that_it_does_without(
    requests: Requests, age: int
) -> None:
    problem = problem_of(trace_of(requests), TINY, 5, None)
    episodes = find_episodes(problem.accesses, problem.read, age)
    for costs in (episodes, range_costs(problem.accesses, episodes)):
        ios, segments = [0] * len(episodes), [0] * len(episodes)
        for row, e in enumerate(episodes.episode.tolist()):
            if e >= 0:
                ios[e] += costs.fetched[row] == 0
                segments[e] += int(problem.accesses.sizes[row]) - int(costs.fetched[row])
        want = [count * (11.5 / 1e3) + moved * 16 / (143.0 * 2**20) for count, moved in zip(ios, segments, strict=True)]
        assert dt_saved(problem, episodes, costs).tolist() == want
        spared = np.bincount(episodes.episode[problem.read], problem.spared_seconds(costs.fetched)[problem.read])
        np.testing.assert_allclose(spared, want, atol=1e-12)


@settings(deadline=None)
@given(small_requests(), st.integers(1, 30))
def test_with_a_model_an_episode_saves_what_its_reads_cost_uncached(requests: Requests, age: int) -> None:
    problem = problem_of(trace_of(requests), TINY, 5)
    episodes = find_episodes(problem.accesses, problem.read, age)
    alone = ios_us(SMALL, [(offset, size, op == 1) for _, op, offset, size in zip(*requests, strict=True)])
    for mode, costs in ((NO_PREFETCH, episodes), (OPT_RANGE, range_costs(problem.accesses, episodes))):
        want = [0.0] * len(episodes)
        for row, e in enumerate(episodes.episode.tolist()):
            if e < 0:
                continue
            rate, fetched = 0.02 - 0.01 * (requests[2][row] % 600) / 600, int(costs.fetched[row])
            want[e] += alone[row] if fetched == 0 else (requests[3][row] - 16 * fetched) / rate
        scores = score_episodes(problem, episodes, mode)
        np.testing.assert_allclose(scores.score * scores.written * 1e6, want, rtol=1e-9, atol=1e-6)


def test_both_figures_are_columns() -> None:
    trace = make_trace(6000, 3)
    problem = flash_problem_at(trace, Geometry(), lambda n: n // 10, DiskHead(), tolerance=0.1, disk=WDREDPRO2TB)
    windows = load_windows(trace.time_us, problem, FLASH)
    load = measure(problem, problem.accept_all, windows)
    constants = measure(replace(problem, disk=None), problem.accept_all, windows)
    assert load.read_dt_constants == constants.read_dt == constants.read_dt_constants
    assert load.read_dt.mean < 0.7 * load.read_dt_constants.mean
    assert 0 < constants.transfer_share < load.transfer_share < 1
    assert load.total_dt_s == pytest.approx(float(problem.disk_times(problem.accept_all)[0][windows.first :].sum()))


def test_the_disk_that_needs_no_profile_is_the_profile_s() -> None:
    assert DISKS["wdredpro2tb"] == load_models("wdredpro2tb_850pro").hdd
    assert DISKS["baleen"] is None
