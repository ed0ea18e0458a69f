"""The one estimator: coverage of the stated 90 % intervals on series whose truth is known, and what enters them."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cachezoo.contest.lead import (
    Mean,
    ahead,
    average,
    mean_of,
    over_seeds,
    over_trainings,
    ratio_of,
    saving,
)
from cachezoo.contest.verdict import Verdict, verdict
from cachezoo.errors import TraceError
from tests.oracles.lead import half_width

SERIES = 1500
# Lowest and highest coverage of a stated 90 % interval that passes as one, where loads are as uneven as those of disks.
LEAST, MOST = 0.80, 0.95
# Windows, correlation of the logarithms of neighbours, spread (standard deviation) of these: the flash cache's loads on
# validation have 20 to 72 windows, correlations up to 0.75, spreads of 0.35 (with 20 windows) to 0.7.
LIKE_OURS = [
    *((20, correlation, spread) for correlation in (0.0, 0.35, 0.65) for spread in (0.0, 0.35)),
    *(
        (windows, correlation, spread)
        for windows in (32, 41, 72)
        for correlation in (0.0, 0.65)
        for spread in (0.0, 0.7)
    ),
    (41, 0.75, 0.35),
    (72, 0.75, 0.7),
]


def loads(windows: int, correlation: float, spread: float, seed: int, series: int = SERIES) -> np.ndarray:
    """float64[series, windows]: log-normal loads of true mean 1, logarithms autoregressive; 0 is normal noise."""
    rng = np.random.default_rng(seed)
    noise = rng.normal(size=(series, windows))
    state = np.empty_like(noise)
    state[:, 0] = noise[:, 0]
    for at in range(1, windows):
        state[:, at] = correlation * state[:, at - 1] + np.sqrt(1 - correlation**2) * noise[:, at]
    return np.exp(spread * state - spread**2 / 2) if spread else 1.0 + state


def covered(found: list[Mean], truth: float) -> float:
    return float(np.mean([one.ends[0] <= truth <= one.ends[1] for one in found]))


@pytest.mark.parametrize("correlation", [0.0, 0.3, 0.6])
def test_twenty_blocks_cover_the_truth_however_neighbours_correlate(correlation: float) -> None:
    found = [mean_of(series) for series in loads(20, correlation, 0.0, 11, 8000)]
    assert 0.85 <= covered(found, 1.0) <= 0.95


@pytest.mark.parametrize("correlation", [0.0, 0.3, 0.6])
def test_so_do_five_trainings_whose_seeds_differ(correlation: float) -> None:
    """A training's own mean differs by as much as time does, and each block of it by noise of its own."""
    time = loads(20, correlation, 0.0, 12, 4000)
    rng = np.random.default_rng(13)
    seeds, noise = 0.3 * rng.normal(size=(4000, 5, 1)), 0.3 * rng.normal(size=(4000, 5, 20))
    found = [over_seeds(list(series)) for series in time[:, None] + seeds + noise]
    assert 0.85 <= covered(found, 1.0) <= 0.96


def test_without_the_seeds_their_interval_would_be_too_narrow() -> None:
    time, rng = 0.1 * (loads(20, 0.0, 0.0, 14) - 1), np.random.default_rng(15)
    series = time[:, None] + rng.normal(size=(SERIES, 5, 1))
    assert covered([mean_of(own.mean(axis=0)) for own in series], 0.0) < 0.5
    assert covered([over_seeds(list(own)) for own in series], 0.0) > 0.85


@pytest.mark.parametrize("correlation", [0.0, 0.6])
def test_the_mean_of_traces_covers_the_truth(correlation: float) -> None:
    parts = [loads(20, correlation, 0.0, seed) * (seed - 20) for seed in (21, 22, 23)]
    found = [average([mean_of(one) for one in own]) for own in zip(*parts, strict=True)]
    assert 0.84 <= covered(found, 2.0) <= 0.96


@pytest.mark.parametrize(("windows", "correlation", "spread"), LIKE_OURS)
def test_the_interval_of_a_mean_covers_the_truth(windows: int, correlation: float, spread: float) -> None:
    found = [mean_of(series) for series in loads(windows, correlation, spread, 1)]
    assert LEAST <= covered(found, 1.0) <= MOST


@pytest.mark.parametrize(("windows", "correlation", "spread"), [case for case in LIKE_OURS if case[2]])
def test_the_interval_of_a_saving_covers_the_truth(windows: int, correlation: float, spread: float) -> None:
    """5 % are saved: in proportion to the load over a day that has a noon, and by chance that hangs together itself."""
    noon = 1.0 + 0.6 * np.sin(np.pi * np.arange(windows) / windows)
    load, luck = noon * loads(windows, correlation, spread, 3), loads(windows, correlation, 0.0, 4) - 1.0
    found = [saving(theirs - 0.05 * theirs - 0.05 * own, theirs) for theirs, own in zip(load, luck, strict=True)]
    assert LEAST <= covered(found, 0.05) <= MOST


@pytest.mark.parametrize(("windows", "correlation"), [(20, 0.35), (41, 0.65), (72, 0.65)])
def test_the_interval_of_a_share_of_a_gap_covers_the_truth(windows: int, correlation: float) -> None:
    """A model closes 40 % of the gap on average, in proportion to the load and with luck of its own."""
    room, luck = 0.25 * loads(windows, correlation, 0.5, 3), loads(windows, correlation, 0.0, 4) - 1.0
    found = [ratio_of(0.4 * r + 0.1 * own, r) for r, own in zip(room, luck, strict=True)]
    assert LEAST <= covered(found, 0.4) <= MOST


def test_what_both_owe_to_the_load_drops_out() -> None:
    load = loads(41, 0.65, 0.5, 5)[0]
    luck = loads(41, 0.0, 0.0, 6)[0] - 1.0
    low, high = saving(0.9 * load - 0.01 * luck, load).ends
    assert low < 0.1 < high
    alone = 2 * half_width((0.1 * load + 0.01 * luck).tolist()) / load.mean()
    assert high - low < 0.5 * alone
    assert saving(load, load).ends == (0.0, 0.0) == saving(0 * load, 0 * load).ends
    assert mean_of(np.full(20, 3.0)).ends == pytest.approx((3.0, 3.0))


@pytest.mark.parametrize("windows", [20, 41])
def test_resampling_windows_would_not_cover(windows: int) -> None:
    """Why it is not done: neither the mean's interval by windows drawn one by one covers the truth, nor a peak's."""
    rng = np.random.default_rng(7)
    draws = rng.integers(0, windows, (300, windows))
    series = loads(windows, 0.65, 0.5, 8)[:400]
    peak = float(np.median(loads(windows, 0.65, 0.5, 9).max(axis=1)))
    means = np.array([np.quantile(own[draws].mean(axis=1), [0.05, 0.95]) for own in series])
    peaks = np.array([np.quantile(own[draws].max(axis=1), [0.05, 0.95]) for own in series])
    for ends, truth in ((means, 1.0), (peaks, peak)):
        assert np.mean((ends[:, 0] <= truth) & (truth <= ends[:, 1])) < 0.65


@given(st.lists(st.floats(-1e3, 1e3), min_size=4, max_size=40))
def test_the_interval_is_the_naive_one(values: list[float]) -> None:
    found = mean_of(np.array(values))
    half = half_width(values)
    assert found.ends == pytest.approx((found.value - half, found.value + half), abs=1e-6)


@given(
    st.lists(st.lists(st.floats(0, 1), min_size=8, max_size=8), min_size=1, max_size=3),
    st.lists(st.floats(0, 1), min_size=8, max_size=8),
)
def test_one_training_is_a_lead_of_itself_and_traces_are_averaged_block_by_block(
    traces: list[list[float]], theirs: list[float]
) -> None:
    rival = np.array(theirs)
    own = [np.array(trace) for trace in traces]
    mean = np.mean(own, axis=0)
    assert over_trainings([own], [rival] * len(own)).value == pytest.approx(ahead(mean, rival).value)
    twice = over_trainings([own, own], [rival] * len(own))
    assert twice.variance == pytest.approx(ahead(mean, rival).variance, abs=1e-12)


def test_too_few_blocks_have_no_interval_and_no_verdict_but_that() -> None:
    short = ahead(np.array([1.0, 0.9, 0.8]), np.zeros(3), 0.5)
    assert short.interval is None and (short.value, short.won, short.blocks) == (0.5, 3, 3)
    assert not short.told_apart and not short.worth(0.0)
    assert verdict(short, 0.0) == Verdict.SHORT
    with pytest.raises(TraceError, match="give longer traces"):
        _ = short.ends
    assert average([short, ahead(np.ones(20), np.zeros(20))]).interval is None


@pytest.mark.parametrize(
    ("value", "spread", "found"),
    [
        (0.02, 0.001, Verdict.BETTER),
        (0.004, 0.0001, Verdict.TRIFLE),
        (0.02, 0.2, Verdict.EVEN),
        (-0.02, 0.001, Verdict.WORSE),
        (0.0, 0.0, Verdict.EVEN),
    ],
)
def test_a_verdict_wants_an_effect_above_chance_and_worth_having(value: float, spread: float, found: Verdict) -> None:
    # A slow wave: what the estimator takes for the spread of the mean.
    own = value + spread * np.cos(np.pi * (np.arange(20) + 0.5) / 20)
    lead = ahead(own, np.zeros(20))
    assert verdict(lead, 0.005) == found
    assert lead.worth(0.005) == (found == Verdict.BETTER)
    assert math.isclose(lead.value, value, abs_tol=1e-12)
