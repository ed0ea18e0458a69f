import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cachezoo.errors import ConfigError
from cachezoo.kernels.flash import FlashRun, WriteRate, simulate_controlled, simulate_flash
from cachezoo.kernels.segments import Geometry, SegmentAccesses, expand_segments
from cachezoo.kernels.write_budget import MOST_DEBT, THRESHOLD, Controller, fresh_state, missed
from cachezoo.traces.table import Trace
from tests.baleen_data import make_trace, rewritten_after
from tests.oracles.write_budget import NaiveBudget

SMALL = Controller(
    low=-2.0, width=0.5, bins=8, step_misses=3, window_misses=12, recent_misses=6, hold_misses=6, credit_horizons=3.0
)
QUICK = Controller(step_misses=16, window_misses=1024, recent_misses=128, hold_misses=64)
READS = st.lists(
    st.tuples(st.integers(0, 60), st.floats(-4, 4), st.integers(1, 5), st.integers(0, 3)), min_size=1, max_size=60
)


@settings(deadline=None)
@given(READS, st.floats(0.001, 3), st.floats(1, 400), st.booleans(), st.sampled_from([0, 2, 6]))
def test_thresholds_are_those_of_sums_made_anew(
    reads: list[tuple[int, float, int, int]], rate: float, horizon: float, follows: bool, hold: int
) -> None:
    own = replace(SMALL, follows_load=follows, hold_misses=hold)
    rules, state, mass, time = own.rules(rate, horizon), fresh_state(0.25), np.zeros(own.bins), 0
    naive = NaiveBudget(own, rate, horizon, 0.25)
    for gap, score, missing, more in reads:
        time += gap
        written = missing + more if score >= state[THRESHOLD] else 0
        missed(rules, state, mass, time, score, missing, written)
        naive.missed(time, score, missing, written)
        if not naive.near:
            assert state[THRESHOLD] == pytest.approx(naive.threshold, abs=1e-6)
        naive.threshold = float(state[THRESHOLD])


def problem(trace: Trace) -> tuple[SegmentAccesses, np.ndarray, np.ndarray]:
    accesses = expand_segments(trace.volume.codes, trace.offset, trace.size, Geometry())
    # The hot blocks that are read again have the better scores, and not by much.
    rng = np.random.default_rng(5)
    return accesses, trace.op == 0, rng.normal(size=len(trace)) + (trace.offset < 1000 * 131072)


def rate_of(trace: Trace, accept_all: FlashRun, share: float) -> WriteRate:
    span = float(trace.time_us[-1] - trace.time_us[0])
    return WriteRate(accept_all.segment_writes * share / span, span / 100, trace.time_us)


@pytest.mark.parametrize("share", [0.05, 0.1, 0.25, 0.5])
@pytest.mark.parametrize("threshold", [-9.0, 1.0, 9.0])
def test_a_rate_is_kept_wherever_the_threshold_begins(share: float, threshold: float) -> None:
    trace = make_trace(40_000, 31)
    accesses, read, scores = problem(trace)
    whole = simulate_flash(accesses, read, np.ones(len(read), bool), 2000)
    rate = rate_of(trace, whole, share)
    run = simulate_controlled(accesses, read, scores, threshold, QUICK, rate, 2000)
    assert run.segment_writes == pytest.approx(share * whole.segment_writes, rel=0.025)
    since = rate.segments * (trace.time_us - trace.time_us[0])
    missing = np.flatnonzero(run.io_segments)
    by_miss = np.concatenate([[0], np.cumsum(run.written[missing])])
    step = int((by_miss[QUICK.step_misses :] - by_miss[: -QUICK.step_misses]).max())
    held = int(by_miss[QUICK.hold_misses])
    most = MOST_DEBT * rate.segments * rate.horizon + step + held
    assert (np.cumsum(run.written) - since).max() <= most


def test_decisions_are_those_of_the_thresholds_in_force() -> None:
    trace = make_trace(6000, 32)
    accesses, read, scores = problem(trace)
    rate = rate_of(trace, simulate_flash(accesses, read, np.ones(len(read), bool), 900), 0.2)
    run = simulate_controlled(accesses, read, scores, 0.0, QUICK, rate, 900)
    again = simulate_flash(accesses, read, scores >= run.thresholds, 900)
    for name in ("io_segments", "hits", "written"):
        np.testing.assert_array_equal(getattr(run, name), getattr(again, name))
    assert len(np.unique(run.thresholds)) > 100 and not again.thresholds.size


@pytest.mark.parametrize("cut", [2000, 4500])
def test_no_later_row_changes_an_earlier_decision(cut: int) -> None:
    trace = make_trace(6000, 33)
    rate = WriteRate(0.001, 5e5, trace.time_us)
    other = rewritten_after(trace, cut)
    accesses, read, scores = problem(trace)
    changed, other_read, _ = problem(other)
    other_scores = np.where(np.arange(len(scores)) < cut, scores, -scores)
    run = simulate_controlled(accesses, read, scores, 0.0, QUICK, rate, 900)
    again = simulate_controlled(changed, other_read, other_scores, 0.0, QUICK, replace(rate, time=other.time_us), 900)
    np.testing.assert_array_equal(run.thresholds[:cut], again.thresholds[:cut])
    np.testing.assert_array_equal(run.written[:cut], again.written[:cut])
    assert (run.thresholds[cut + 200 :] != again.thresholds[cut + 200 :]).any()


def test_a_busy_disk_gets_more_of_the_budget() -> None:
    """The same reads, the second half twenty times as fast: more is written where load counts."""
    trace = make_trace(30_000, 34)
    quick = np.arange(len(trace)) >= len(trace) // 2
    times = np.cumsum(np.where(quick, 100, 2000)).astype(np.int64)
    accesses, read, scores = problem(trace)
    rate = WriteRate(20_000 / float(times[-1]), float(times[-1]) / 20, times)
    shares = []
    for follows in (True, False):
        run = simulate_controlled(accesses, read, scores, 0.0, replace(QUICK, follows_load=follows), rate, 900)
        shares.append(run.written[quick][:3000].sum() / run.segment_writes)
    assert shares[0] > 1.2 * shares[1]


def test_rules() -> None:
    trace = make_trace(50, 35)
    accesses, read, scores = problem(trace)
    rate = WriteRate(0.1, 10.0, trace.time_us)
    for wrong in (replace(rate, segments=0.0), replace(rate, horizon=0.0), replace(rate, time=rate.time[1:])):
        with pytest.raises(ConfigError):
            simulate_controlled(accesses, read, scores, 0.0, QUICK, wrong, 900)
    for name, value in (("step_misses", 0), ("bins", 0), ("width", 0.0), ("horizon_s", math.inf), ("step_misses", 999)):
        with pytest.raises(ConfigError, match="controller"):
            replace(QUICK, **{name: value})
