"""Windows, splits, forecasts and intervals of benchmarks/share_forecast.py beside plain loops."""

import itertools
import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "benchmarks"))

import share_forecast
import share_forecasts
from share_forecasts import EDGES, WAYS, Forest, Recipe, Seen, Way, ahead_of, banded, spread
from share_windows import BLOCKS, FRAGMENT, FRAGMENTS, LEAST, Application, Mix, decayed, in_units, simulate, split

from cachezoo.kernels.stack_distance import stack_distances


def application(name, seed, length=24_000, n_pages=6_000):
    """A loop over some pages between random ones, so that some fragment hits in every window."""
    rng = np.random.default_rng(seed)
    pages = np.where(rng.random(length) < 0.5, np.arange(length) % 700, rng.integers(700, n_pages, length))
    distances = stack_distances(pages.astype(np.int32), n_pages)
    return Application(name, distances, np.sort(rng.integers(0, 10**6, length)), n_pages)


@pytest.fixture(scope="module")
def mixes():
    pair = [application("one", 1), application("two", 2, length=16_000)]
    return [Mix.of(pair, lockstep=lockstep) for lockstep in (True, False)]


def test_windows_count_each_reference_once_where_it_would_hit(mixes):
    for mix in mixes:
        hits, references = mix.windows(2 * LEAST)
        span = 2 * LEAST * 2
        for k, a in itertools.product(range(len(hits)), range(2)):
            own = [d for i, d in enumerate(mix.distances[k * span : (k + 1) * span]) if mix.app[k * span + i] == a]
            assert references[k, a] == len(own)
            for fragment in (0, 2, 5, 20):
                assert hits[k, a, fragment] == sum(d >= 0 and d // FRAGMENT == fragment for d in own)


def test_a_decayed_mean_knows_only_windows_before():
    hits = np.random.default_rng(0).random((7, 2, 3))
    for decay in (0.0, 0.5, 1.0):
        found = decayed(hits, decay)
        assert not found[0].any()
        for k in range(1, 7):
            weights = decay ** np.arange(k - 1, -1, -1.0)
            np.testing.assert_allclose(found[k], np.average(hits[:k], axis=0, weights=weights))


def best_of_all(hits, charge=0.0, before=None):
    """Most hits of all splits, less what growing costs."""
    a, units = hits.shape
    found = []
    for own in itertools.product(range(1, units + 1), repeat=a):
        if sum(own) == units:
            grown = 0 if before is None else sum(max(0, o - b) for o, b in zip(own, before, strict=True))
            found.append(sum(hits[i, :o].sum() for i, o in enumerate(own)) - charge * grown)
    return max(found)


@pytest.mark.parametrize("charge", [0.0, 0.7])
def test_the_split_is_the_best_of_all(charge):
    hits = np.random.default_rng(3).random((6, 3, 9)) ** 4
    splits = split(hits, charge=charge)
    assert (splits.sum(1) == 9).all() and splits.min() >= 1
    for k in range(6):
        before = splits[k - 1] if k else None
        grown = np.maximum(splits[k] - before, 0).sum() if k else 0
        own = sum(hits[k, i, : splits[k, i]].sum() for i in range(3)) - charge * grown
        assert own == pytest.approx(best_of_all(hits[k], charge if k else 0.0, before))


def test_lookahead_sees_past_a_flat_start_and_is_the_best_of_concave_curves():
    flat = np.zeros((1, 2, 8))
    flat[0, 0, 5], flat[0, 1, 1] = 10.0, 1.0
    assert split(flat, lookahead=True).tolist() == [[6, 2]]
    concave = -np.sort(-np.random.default_rng(4).random((5, 3, 9)), axis=2)
    for one, splits in zip(concave, split(concave, lookahead=True), strict=True):
        assert sum(one[i, : splits[i]].sum() for i in range(3)) == pytest.approx(best_of_all(one))


def test_what_is_not_known_is_split_equally():
    for lookahead in (False, True):
        assert split(np.zeros((2, 3, 8)), lookahead=lookahead).tolist() == [[3, 3, 2]] * 2


def test_what_left_does_not_come_back_by_itself(mixes):
    mix = mixes[0]
    splits = np.array([[6, 2], [2, 6], [7, 1], [4, 4]], np.int32)
    window, resident, misses = 4 * LEAST, [0, 0], np.zeros(BLOCKS, int)
    for i, (a, distance) in enumerate(zip(mix.app, mix.distances, strict=True)):
        pages = splits[min(i // (2 * window), 3)] * 2 * FRAGMENT
        resident = [min(have, most) for have, most in zip(resident, pages, strict=True)]
        if not 0 <= distance < resident[a]:
            misses[next(b for b in range(BLOCKS - 1, -1, -1) if i >= b * len(mix.app) // BLOCKS)] += 1
            resident[a] = min(resident[a] + 1, pages[a])
    assert simulate(mix, splits, 2, window).tolist() == misses.tolist()


def test_units_are_sums_of_fragments_and_bands_are_spread_whole(mixes):
    hits, _ = mixes[0].windows(LEAST)
    assert np.array_equal(in_units(hits, (5, 3)), hits[..., :15].reshape(*hits.shape[:2], 5, 3).sum(3))
    bands = banded(hits)
    assert np.array_equal(bands[..., 3], hits[..., EDGES[3] : EDGES[4]].sum(2))
    np.testing.assert_allclose(banded(spread(bands, hits, LEAST)), bands, atol=1e-12)


def test_only_what_is_called_future_sees_what_comes(mixes):
    hits, references = mixes[1].windows(LEAST * 4)
    changed, other = hits.copy(), references.copy()
    changed[5:], other[5:] = 0, 1
    for way in itertools.chain(WAYS["last"], WAYS["decayed"], WAYS["ucp"], WAYS["rate x shape"]):
        assert np.array_equal(way(hits, references)[:6], way(changed, other)[:6])
    future = Way("future", LEAST * 4, ahead=LEAST * 8)
    assert np.array_equal(future(hits, references)[2], (hits[2] + hits[3]) / 2)
    assert np.array_equal(ahead_of(hits, 3)[-1], hits[-1])


class Cut:
    """A mix whose windows from one on are as if nothing had been."""

    def __init__(self, mix, first):
        self._mix, self._first = mix, first

    def windows(self, window):
        hits, references = (one.copy() for one in self._mix.windows(window))
        hits[self._first :], references[self._first :] = 0, 0
        return hits, references


def test_inputs_of_the_forest_see_no_window_to_come(mixes):
    whole, cut = Seen(mixes[1], LEAST * 4), Seen(Cut(mixes[1], 4), LEAST * 4)
    assert np.array_equal(whole.inputs[:5], cut.inputs[:5])
    assert not np.array_equal(whole.inputs[5], cut.inputs[5])
    for kind, base in whole.base.items():
        assert np.array_equal(base[:5], cut.base[kind][:5])


@pytest.mark.parametrize("objective", ["poisson", "l2"])
def test_a_forest_learns_the_same_from_the_same_seed_and_more_than_its_base(mixes, objective, monkeypatch):
    monkeypatch.setattr(share_forecasts, "ROWS", 15_000)
    seen = [Seen(mix, LEAST) for mix in mixes]
    recipe = Recipe(LEAST, LEAST, "decayed", objective, 7, 40)
    found = Forest(recipe, seen, 5)(seen[1])
    assert np.array_equal(found, Forest(recipe, seen, 5)(seen[1]))
    assert not np.array_equal(found, Forest(recipe, seen, 6)(seen[1]))
    assert found.min() >= 0 and not found[0].any()
    true = seen[1].hits * LEAST
    base = seen[1].base["decayed"] * LEAST
    assert ((found - true)[1:] ** 2).sum() < ((base - true)[1:] ** 2).sum()


def test_ways_run_by_their_names(mixes, monkeypatch):
    monkeypatch.setattr(share_forecast, "SHARES", (1 / 4,))
    ways = [WAYS["equal"][0], WAYS["static"][0], WAYS["last"][0], WAYS["ucp"][1], WAYS["future"][1]]
    found = share_forecast.by_ways(mixes[0], ways)
    units, step = mixes[0].cache(1 / 4)
    alike = np.array([[units - units // 2, units // 2]], np.int32)
    np.testing.assert_allclose(found[0, 0] * len(mixes[0].app), simulate(mixes[0], alike, step, 1000))
    hits, _ = mixes[0].windows(1000)
    fixed = [simulate(mixes[0], np.array([[one, units - one]], np.int32), step, 1000).sum() for one in range(1, units)]
    assert found[1, 0].sum() * len(mixes[0].app) <= min(fixed) * 1.02
    assert found[:, 0].sum(1).max() <= 1 and hits.shape[2] == FRAGMENTS


def test_an_interval_is_of_what_is_saved():
    rival = np.random.default_rng(1).random((6, 2, BLOCKS)) + 1
    assert share_forecast.saved(rival, np.stack([rival] * 3), "same") == pytest.approx((0, 0, 0), abs=1e-9)
    assert share_forecast.saved(rival, np.stack([rival * 0.9] * 3), "less") == pytest.approx((10, 10, 10))
    mean, low, high = share_forecast.saved(rival, np.stack([rival * 0.9, rival * 1.1]), "seeds")
    assert low < mean < high and mean == pytest.approx(0, abs=1e-9)
