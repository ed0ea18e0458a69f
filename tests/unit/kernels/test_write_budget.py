import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cachezoo.errors import ConfigError
from cachezoo.kernels.admit.draws import draw
from cachezoo.kernels.flash import (
    FlashRun,
    WriteRate,
    coin_flips,
    simulate_controlled,
    simulate_controlled_rejectx,
    simulate_flash,
    simulate_rejectx,
)
from cachezoo.kernels.flash_queue import EVICTIONS, Eviction
from cachezoo.kernels.segments import Geometry, SegmentAccesses, expand_segments
from cachezoo.kernels.write_budget import (
    AGES,
    MOST_DEBT,
    THRESHOLD,
    Controller,
    fresh_state,
    missed,
    score_of_age,
    score_of_share,
)
from cachezoo.traces.table import Trace
from tests.baleen_data import make_trace, rewritten_after, small_requests
from tests.oracles.flash import naive_flash
from tests.oracles.write_budget import NaiveBudget

SMALL = Controller(
    low=-2.0, width=0.5, bins=8, step_misses=3, window_misses=12, recent_misses=6, hold_misses=6, credit_horizons=3.0
)
QUICK = Controller(step_misses=16, window_misses=1024, recent_misses=128, hold_misses=64)
Scored = tuple[Callable[[int, int], float | None], Callable[[int, int, bool], None]]
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
        naive.missed(time, [(score, missing)], written)
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


def age_score(rules: Controller, age: int) -> float:
    octave = int(math.log2(age))
    return rules.low + rules.width * rules.bins * (1 - (octave + age / 2**octave - 1) / AGES)


def by_age(rules: Controller) -> Scored:
    """The score of a segment that misses in a row, None at its first miss, and what is noted of it."""
    seen: dict[int, int] = {}

    def score(row: int, segment: int) -> float | None:
        before = seen.get(segment)
        return None if before is None else age_score(rules, row - before)

    def note(row: int, segment: int, admitted: bool) -> None:
        seen[segment] = row

    return score, note


def by_generation(rules: Controller, generations: int, entries: int) -> Scored:
    """The same with sets in place of filters, which let no strangers pass."""
    held: list[set[int]] = [set()]  # the youngest first

    def age(segment: int) -> int | None:
        return next((back for back, own in enumerate(held[:generations]) if segment in own), None)

    def score(row: int, segment: int) -> float | None:
        back = age(segment)
        share = None if back is None else (back + draw(row, segment) / 2**32) / generations
        return None if share is None else rules.low + rules.width * rules.bins * (1 - share)

    def note(row: int, segment: int, admitted: bool) -> None:
        if admitted or age(segment) == 0:
            return
        if len(held[0]) == entries:
            held.insert(0, set())
        held[0].add(segment)

    return score, note


@settings(deadline=None)
@given(
    small_requests(), st.integers(1, 20), st.sampled_from(EVICTIONS), st.floats(0.01, 3), st.floats(1, 400),
    st.one_of(st.none(), st.tuples(st.integers(1, 4), st.integers(1, 6))),
)  # fmt: skip
def test_rejectx_under_a_controller_is_the_naive_loop(
    requests: tuple[list[int], list[int], list[int], list[int]], capacity: int, eviction: Eviction, rate: float,
    horizon: float, filters: tuple[int, int] | None,
) -> None:  # fmt: skip
    """Decisions are those of the thresholds in force, and these the naive controller's of what was missed."""
    volume, op, offset, size = requests
    geometry, time = Geometry(64, 16), np.cumsum(np.arange(len(op)) % 7)
    accesses = expand_segments(np.array(volume, np.int32), np.array(offset), np.array(size), geometry)
    kept = WriteRate(rate, horizon, time)
    run = simulate_controlled_rejectx(
        accesses, np.array(op) == 0, SMALL, kept, capacity, filters=filters, eviction=eviction
    )
    score, note = by_age(SMALL) if filters is None else by_generation(SMALL, *filters)
    missed_in: dict[int, list[tuple[float, int]]] = {}

    def accept(row: int, segment: int) -> bool:
        own = score(row, segment)
        missed_in.setdefault(row, [])
        if own is not None:
            missed_in[row].append((own, 1))
        admitted = own is not None and own >= run.thresholds[row]
        note(row, segment, admitted)
        return admitted

    lists = [accesses.segment[a:b].tolist() for a, b in zip(accesses.start, accesses.start[1:], strict=False)]
    expected = naive_flash(list(zip(op, lists, strict=True)), accept, capacity, eviction)
    assert run.written.tolist() == expected.writes and run.hits.tolist() == expected.hits
    naive, last = NaiveBudget(SMALL, rate, horizon, SMALL.middle), SMALL.middle
    for row in range(len(op)):
        if not naive.near:
            assert run.thresholds[row] == pytest.approx(last, abs=1e-6)
        naive.threshold = float(run.thresholds[row])
        if row in missed_in:
            naive.missed(int(time[row]), missed_in[row], int(run.written[row]))
        last = naive.threshold


@pytest.mark.parametrize("filters", [None, (8, 2000)])
@pytest.mark.parametrize("share", [0.05, 0.1, 0.25])
def test_rejectx_keeps_a_rate(share: float, filters: tuple[int, int] | None) -> None:
    trace = make_trace(40_000, 31)
    accesses, read, _ = problem(trace)
    whole = simulate_flash(accesses, read, np.ones(len(read), bool), 2000)
    rate = rate_of(trace, whole, share)
    run = simulate_controlled_rejectx(accesses, read, QUICK, rate, 2000, filters=filters)
    assert run.segment_writes == pytest.approx(share * whole.segment_writes, rel=0.025)


@pytest.mark.parametrize("filters", [None, (2, 500_000)])
def test_a_rate_beyond_what_misses_twice_is_rejectx_that_never_forgets(filters: tuple[int, int] | None) -> None:
    trace = make_trace(20_000, 31)
    accesses, read, _ = problem(trace)
    rate = WriteRate(1e9, 1e4, trace.time_us)
    run = simulate_controlled_rejectx(accesses, read, QUICK, rate, 2000, filters=filters)
    begun = int(np.flatnonzero(np.isinf(run.thresholds))[0])
    assert (run.thresholds[begun:] == -math.inf).all()
    ever = simulate_rejectx(accesses, read, len(read), 2000)
    assert run.segment_writes == pytest.approx(ever.segment_writes, rel=0.05)


@pytest.mark.parametrize("share", [0.05, 0.25, 0.5])
def test_coin_flips_keep_a_rate_by_their_draws(share: float) -> None:
    trace = make_trace(40_000, 31)
    accesses, read, _ = problem(trace)
    whole = simulate_flash(accesses, read, np.ones(len(read), bool), 2000)
    rate, draws = rate_of(trace, whole, share), coin_flips(len(trace), 3)
    run = simulate_controlled(accesses, read, QUICK.spread(draws), QUICK.middle, QUICK, rate, 2000)
    assert run.segment_writes == pytest.approx(share * whole.segment_writes, rel=0.025)
    top = QUICK.low + QUICK.width * QUICK.bins
    chance = np.clip((top - run.thresholds) / (QUICK.width * QUICK.bins), 0, 1)
    again = simulate_flash(accesses, read, draws <= chance, 2000)
    np.testing.assert_array_equal(again.written, run.written)


@given(st.integers(1, 2**31 - 2))
def test_later_misses_have_higher_scores(age: int) -> None:
    rules = SMALL.rules(1.0, 1.0)
    one, next_one = (score_of_age(rules, SMALL.bins, value) for value in (age, age + 1))
    assert SMALL.low < next_one < one <= SMALL.low + SMALL.width * SMALL.bins
    assert one == pytest.approx(age_score(SMALL, age), abs=1e-12)
    assert score_of_share(rules, SMALL.bins, 0.25) == SMALL.spread(np.array([0.25]))[0]


@pytest.mark.parametrize("filters", [None, (4, 500)])
def test_no_later_row_changes_what_rejectx_admitted(filters: tuple[int, int] | None) -> None:
    trace = make_trace(6000, 33)
    other = rewritten_after(trace, 3000)
    runs = [
        simulate_controlled_rejectx(
            *problem(each)[:2], QUICK, WriteRate(0.001, 5e5, each.time_us), 900, filters=filters
        )
        for each in (trace, other)
    ]
    np.testing.assert_array_equal(runs[0].thresholds[:3000], runs[1].thresholds[:3000])
    np.testing.assert_array_equal(runs[0].written[:3000], runs[1].written[:3000])


def test_rules() -> None:
    trace = make_trace(50, 35)
    accesses, read, scores = problem(trace)
    rate = WriteRate(0.1, 10.0, trace.time_us)
    for wrong in (replace(rate, segments=0.0), replace(rate, horizon=0.0), replace(rate, time=rate.time[1:])):
        with pytest.raises(ConfigError):
            simulate_controlled(accesses, read, scores, 0.0, QUICK, wrong, 900)
        with pytest.raises(ConfigError):
            simulate_controlled_rejectx(accesses, read, QUICK, wrong, 900)
    with pytest.raises(ConfigError, match="scores have 49"):
        simulate_controlled(accesses, read, scores[1:], 0.0, QUICK, rate, 900)
    with pytest.raises(ConfigError, match="filters"):
        simulate_controlled_rejectx(accesses, read, QUICK, rate, 900, filters=(0, 9))
    for name, value in (("step_misses", 0), ("bins", 0), ("width", 0.0), ("horizon_s", math.inf), ("step_misses", 999)):
        with pytest.raises(ConfigError, match="controller"):
            replace(QUICK, **{name: value})
