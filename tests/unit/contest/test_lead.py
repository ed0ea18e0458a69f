"""Coverage of the stated 90 % intervals, by simulated loads whose truth is known."""

import numpy as np
import pytest

from cachezoo.measures.serial import half_width, mean_interval, ratio_interval, saving_interval

SERIES = 1500
# Lowest and highest coverage of a stated 90 % interval that passes as one.
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


def loads(windows: int, correlation: float, spread: float, seed: int) -> np.ndarray:
    """float64[SERIES, windows]: log-normal loads of true mean 1, logarithms autoregressive; 0 is normal noise."""
    rng = np.random.default_rng(seed)
    noise = rng.normal(size=(SERIES, windows))
    state = np.empty_like(noise)
    state[:, 0] = noise[:, 0]
    for at in range(1, windows):
        state[:, at] = correlation * state[:, at - 1] + np.sqrt(1 - correlation**2) * noise[:, at]
    return np.exp(spread * state - spread**2 / 2) if spread else 1.0 + state


def covered(found: list[tuple[float, float]], truth: float) -> float:
    return float(np.mean([low <= truth <= high for low, high in found]))


@pytest.mark.parametrize(("windows", "correlation", "spread"), LIKE_OURS)
def test_the_interval_of_a_mean_covers_the_truth(windows: int, correlation: float, spread: float) -> None:
    found = [mean_interval(series) for series in loads(windows, correlation, spread, 1)]
    assert LEAST <= covered(found, 1.0) <= MOST


@pytest.mark.parametrize(("windows", "correlation", "spread"), [case for case in LIKE_OURS if case[2]])
def test_the_interval_of_a_saving_covers_the_truth(windows: int, correlation: float, spread: float) -> None:
    """5 % are saved: in proportion to the load over a day that has a noon, and by chance that hangs together itself."""
    noon = 1.0 + 0.6 * np.sin(np.pi * np.arange(windows) / windows)
    load, luck = noon * loads(windows, correlation, spread, 3), loads(windows, correlation, 0.0, 4) - 1.0
    found = [
        saving_interval(theirs - 0.05 * theirs - 0.05 * own, theirs) for theirs, own in zip(load, luck, strict=True)
    ]
    assert LEAST <= covered(found, 0.05) <= MOST


@pytest.mark.parametrize(("windows", "correlation"), [(20, 0.35), (41, 0.65), (72, 0.65)])
def test_the_interval_of_a_share_of_a_gap_covers_the_truth(windows: int, correlation: float) -> None:
    """A model closes 40 % of the gap on average, in proportion to the load and with luck of its own."""
    room, luck = 0.25 * loads(windows, correlation, 0.5, 3), loads(windows, correlation, 0.0, 4) - 1.0
    found = [ratio_interval(0.4 * r + 0.1 * own, r) for r, own in zip(room, luck, strict=True)]
    assert LEAST <= covered(found, 0.4) <= MOST


def test_what_both_owe_to_the_load_drops_out() -> None:
    load = loads(41, 0.65, 0.5, 5)[0]
    luck = loads(41, 0.0, 0.0, 6)[0] - 1.0
    low, high = saving_interval(0.9 * load - 0.01 * luck, load)
    assert low < 0.1 < high
    alone = 2 * half_width(0.1 * load + 0.01 * luck) / load.mean()
    assert high - low < 0.5 * alone
    assert saving_interval(load, load) == (0.0, 0.0) == saving_interval(0 * load, 0 * load)
    assert mean_interval(np.full(20, 3.0)) == pytest.approx((3.0, 3.0))


@pytest.mark.parametrize("windows", [20, 41])
def test_resampling_windows_would_not_cover(windows: int) -> None:
    """Why it is not done: neither the mean's interval by windows drawn one by one covers the truth, nor a peak's."""
    rng = np.random.default_rng(7)
    draws = rng.integers(0, windows, (300, windows))
    series = loads(windows, 0.65, 0.5, 8)[:400]
    peak = float(np.median(loads(windows, 0.65, 0.5, 9).max(axis=1)))
    means = [np.quantile(own[draws].mean(axis=1), [0.05, 0.95]) for own in series]
    peaks = [np.quantile(own[draws].max(axis=1), [0.05, 0.95]) for own in series]
    assert covered([tuple(ends) for ends in means], 1.0) < 0.65
    assert covered([tuple(ends) for ends in peaks], peak) < 0.65
