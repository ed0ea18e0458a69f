import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cachezoo.kernels.reuse import own
from tests.oracles import reuse as oracle


def rows_and_targets(seed: int, m: int, inputs: int = 5) -> tuple[np.ndarray, np.ndarray]:
    """Two inputs that say something about the target, one constant, one of few values, the others noise."""
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(m, inputs)).astype(np.float32)
    rows[:, 2], rows[:, 3] = 1.0, rng.integers(0, 3, m)
    target = np.where(rows[:, 0] > 0.3, 4.0, rows[:, 3] - rows[:, 1]) + 0.1 * rng.normal(size=m)
    return rows, target.astype(np.float32)


def foresee(
    rows: np.ndarray, target: np.ndarray, delay: int, capacity: int, trees: int, sample: int, pace: int = 0
) -> np.ndarray:  # fmt: skip
    return own.foresee(rows, target, delay, capacity, own.blank(trees), sample, 11, pace)


@pytest.mark.parametrize(
    ("m", "delay", "capacity", "sample", "pace"),
    [(260, 60, 30, 90, 0), (260, 60, 30, 90, 40), (300, 4, 1, 500, 25), (300, 4, 1, 500, 1), (200, 90, 60, 64, 10**6)],
)
def test_scores_are_the_naive_ones(m: int, delay: int, capacity: int, sample: int, pace: int) -> None:
    rows, target = rows_and_targets(m, m)
    naive = oracle.Own(rows, target, 3, sample).scores(delay, capacity, 11, pace)
    found = foresee(rows, target, delay, capacity, 3, sample, pace)
    np.testing.assert_array_equal(np.isnan(found), np.isnan(naive))
    assert np.isnan(found).any()
    assert not np.isnan(found).all()
    np.testing.assert_allclose(found, naive, rtol=1e-5, atol=1e-5)


def test_it_learns_what_the_past_shows() -> None:
    rows, target = rows_and_targets(1, 6000)
    found = foresee(rows, target, 400, 100, 24, 2000)
    late = slice(3000, None)
    assert np.mean((found[late] - target[late]) ** 2) < 0.2 * target[late].var()


def test_every_access_has_the_same_chance_to_be_kept() -> None:
    counts = np.zeros(400)
    for seed in range(300):
        reservoir, kept = np.empty(40, np.int64), 0
        for settled in (25, 130, 131, 400):
            own.keep(reservoir, kept, settled, seed)
            kept = settled
        assert len(set(reservoir)) == 40
        counts[reservoir] += 1
    assert counts.sum() == 300 * 40
    for part in np.split(counts, 10):
        assert abs(part.sum() - 1200) < 4 * np.sqrt(1200)


@given(
    settled=st.integers(40, 10**9), sample=st.integers(1, 10**6), trees=st.integers(0, 1000),
    pace=st.one_of(st.integers(0, 1000), st.integers(0, 10**9)),
)  # fmt: skip
def test_a_forest_is_grown_before_the_next_one_is_due(settled: int, sample: int, trees: int, pace: int) -> None:
    rows, due = min(sample, settled), own.further(settled)
    taken = own.accesses_of(settled, rows, trees, pace)
    assert 1 <= taken <= (due - settled) // 2
    assert pace > 0 or taken == 1
    assert taken * pace >= rows * trees or pace == 0 or taken == (due - settled) // 2


@given(seed=st.integers(0, 50), cut=st.integers(150, 390), pace=st.sampled_from([0, 15, 60]))
def test_nothing_of_the_next_accesses_shows(seed: int, cut: int, pace: int) -> None:
    rows, target = rows_and_targets(seed, 400)
    other_rows, other = rows_and_targets(seed + 1000, 400)
    delay = 60
    changed = np.concatenate([target[: cut - delay], other[cut - delay :]])
    changed_rows = np.concatenate([rows[: cut + 1], other_rows[cut + 1 :]])
    before = foresee(rows, target, delay, 20, 4, 100, pace)
    after = foresee(changed_rows, changed, delay, 20, 4, 100, pace)
    np.testing.assert_array_equal(before[: cut + 1], after[: cut + 1])
    scores = np.zeros(400, np.float32)
    np.testing.assert_array_equal(
        own.believe(scores, before, target, delay, 20)[: cut + 1],
        own.believe(scores, after, changed, delay, 20)[: cut + 1],
    )


def test_a_trace_too_short_or_a_forest_without_trees_changes_nothing() -> None:
    rows, target = rows_and_targets(3, 100)
    scores = rows[:, 1].copy()
    none = foresee(rows, target, 80, 40, 4, 50)
    assert np.isnan(none).all()
    np.testing.assert_array_equal(own.believe(scores, none, target, 80, 40), scores)
    assert np.isnan(foresee(rows, target, 10, 4, 0, 50)).all()
    assert len(foresee(rows[:0], target[:0], 80, 40, 4, 50)) == 0


@pytest.mark.parametrize("capacity", [3, 40, 500])
def test_the_share_is_the_naive_one(capacity: int) -> None:
    rng = np.random.default_rng(capacity)
    scores, target = (rng.normal(size=600).astype(np.float32) * 3 for _ in range(2))
    near = (target + rng.normal(size=600)).astype(np.float32)
    near[:150] = np.nan
    found = own.believe(scores, near, target, 90, capacity)
    naive = oracle.believed(scores, near, target, 90, capacity)
    np.testing.assert_allclose(found, naive, rtol=1e-5, atol=1e-5)
    assert (found[400:] != scores[400:]).all()


def test_the_better_forest_is_believed() -> None:
    rng = np.random.default_rng(5)
    target = rng.normal(size=20_000).astype(np.float32) * 3
    good, bad = target + 0.1, (-target).astype(np.float32)
    for given_scores, other, share in ((bad, good, 1.0), (good, bad, 0.0)):
        found = own.believe(given_scores, other.astype(np.float32), target, 400, 2000)
        wanted = given_scores + share * (other - given_scores)
        assert np.abs(found[15_000:] - wanted[15_000:]).max() < 1.0


@given(seed=st.integers(0, 10**6), n=st.integers(40, 400), scale=st.sampled_from([1e-9, 1e-3, 1.0, 1e6]))
def test_packed_sums_split_as_those_in_the_order_of_the_rows_do(seed: int, n: int, scale: float) -> None:
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(n, 6)).astype(np.float32)
    rows[:, 1], rows[:, 2], rows[:, 3] = rng.integers(0, 3, n), -rows[:, 0], 2 * rows[:, 4]  # the last two split alike
    rest = scale * np.where(rng.random() < 0.5, rows[:, 4] > 0, rng.normal(size=n)).astype(np.float64)
    bins, some = own._binned(rows), np.arange(n, dtype=np.int32)
    packed, piles = np.empty(n, np.int64), np.empty(len(bins.columns) * own.BINS, np.int64)
    room, sums = np.empty((len(piles), 2)), np.empty((len(piles), 2))
    packing = own._pack(rest, packed)
    own._pile(bins.cells, packed, some, piles)
    own._gather(bins.cells, rest, some, sums)
    bits, one, wrong = packing
    np.testing.assert_array_equal(piles & ((1 << bits) - 1), sums[:, 1])
    assert np.abs((piles >> bits) / one - sums[:, 0]).max() <= wrong
    assert own._split(bins.cells, rest, some, piles, packing, room) == own._best(sums)[:2]
