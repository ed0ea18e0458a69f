from functools import cache
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cachezoo.contest.counting import Count, first_accesses
from cachezoo.contest.sampled import GROUPS
from cachezoo.curves.curve import lru_curve, simulated_curve
from cachezoo.curves.measure import curves
from cachezoo.curves.sampling import draw, sampled_curve, sampled_pages
from cachezoo.errors import ConfigError
from cachezoo.kernels.outcome import HIT
from cachezoo.policies.registry import OPTIMUM, policy
from cachezoo.policies.sampling import drawn, page_seed
from cachezoo.traces.pages import PageAccesses, expand_pages
from cachezoo.traces.store import read_trace
from tests.oracles import spatial as naive

CAPTURED = Path(__file__).resolve().parents[3] / "data/raw/captured"
SEEDS = 12


def dense(accesses):
    names = {page: i for i, page in enumerate(dict.fromkeys(accesses))}
    ids = np.array([names[page] for page in accesses], np.int32)
    return PageAccesses(np.arange(len(ids) + 1, dtype=np.int64), ids, len(names))


@cache
def generated():
    """Popular pages, scans, and a working set that moves."""
    rng, m = np.random.default_rng(8), 150_000
    kind, at = rng.random(m), np.arange(m)
    popular, local = rng.zipf(1.1, m) % 20_000, 40_000 + at // 20 + rng.integers(0, 400, m)
    return dense(np.where(kind < 0.5, popular, np.where(kind < 0.7, 20_000 + at // 5 % 9_000, local)).tolist())


@cache
def captured(name):
    return expand_pages(read_trace(CAPTURED / f"{name}.parquet"))


def places(pages):
    """Sizes from a fiftieth of the pages on."""
    return np.geomspace(pages.n_pages / 50, pages.n_pages / 1.5, 8).round().astype(np.int64)


@given(
    accesses=st.lists(st.integers(0, 90), min_size=300, max_size=500),
    capacities=st.lists(st.integers(1, 120), min_size=1, max_size=4, unique=True),
    seed=st.integers(0, 30),
)
def test_lrus_estimate_and_error_are_the_naive_ones(accesses, capacities, seed):
    pages = dense(accesses)
    try:
        sample = draw(pages, 0.8, seed)
    except ConfigError:
        assert set(naive.groups(pages.n_pages, 0.8, GROUPS, page_seed(seed))) < set(range(GROUPS + 1))
        return
    sizes = sorted(capacities)
    found = sampled_curve(sample, policy("lru"), capacities, first_accesses(pages, Count(), sizes))
    group = naive.groups(pages.n_pages, 0.8, GROUPS, page_seed(seed))
    expected = naive.lru_sampled(pages.page_ids.tolist(), group, sizes, first_accesses(pages, Count(), sizes).tolist())
    assert np.allclose(np.stack([found.hit_ratio, found.error_90], 1), expected, atol=1e-7)
    assert found.rate == np.mean(np.array(group) > 0) and found.capacities.tolist() == sizes


@pytest.mark.parametrize("policy_id", ["arc", "rejectx+s3fifo", OPTIMUM])
def test_a_miniature_is_the_policy_on_the_sample_in_that_part_of_the_capacity(policy_id):
    pages = generated()
    sample, entry = draw(pages, 0.2, 3), policy(policy_id)
    found = sampled_curve(sample, entry, [5_000], first_accesses(pages, Count("10000"), [5_000]))
    part = sample.whole
    outcome = entry.hits(part.page_ids, part.n_pages, round(5_000 * part.rate))
    late = part.rows >= 10_000
    misses = int((outcome[late] != HIT).sum())
    assert found.hit_ratio[0] == pytest.approx(1 - misses / part.rate / (len(pages.page_ids) - 10_000))


def test_samples_hold_all_accesses_of_their_pages_and_their_groups_share_none():
    pages = generated()
    sample, part = draw(pages, 0.3, 5), sampled_pages(pages, 0.3, 5)
    chosen = np.flatnonzero(drawn(pages.n_pages, 0.3, 5))
    rows = np.flatnonzero(np.isin(pages.page_ids, chosen))
    assert sample.whole.rows.tolist() == rows.tolist()
    assert chosen[sample.whole.page_ids].tolist() == pages.page_ids[rows].tolist()
    assert (part.page_ids.tolist(), part.n_pages) == (sample.whole.page_ids.tolist(), len(chosen))
    assert part.n_requests == len(part.page_ids) == len(rows)
    assert sorted(row for group in sample.groups for row in group.rows.tolist()) == rows.tolist()
    touched = [set(pages.page_ids[group.rows].tolist()) for group in sample.groups]
    assert sum(map(len, touched)) == len(set().union(*touched)) == len(chosen)
    for group, own in zip(sample.groups, touched, strict=True):
        assert group.n_pages == len(own) == group.page_ids.max() + 1
        assert group.rate == pytest.approx(0.3 / GROUPS, rel=0.15)


@pytest.mark.parametrize("beside", [False, True])
@pytest.mark.parametrize("source", ["generated", "web_test", "mail_test", "database_validation"])
def test_error_bars_cover_the_exact_curve_about_as_often_as_they_say(source, beside):
    pages = generated() if source == "generated" else captured(source)
    sizes = places(pages)
    exact, first = lru_curve(pages, sizes), first_accesses(pages, Count(), sizes)
    entries = [policy(own) for own in (("s3fifo", "arc", OPTIMUM) if beside else ("lru", "s3fifo", "arc", OPTIMUM))]
    truth = {entry.id: simulated_curve(entry, pages, sizes).hit_ratio for entry in entries}
    within = []
    for seed in range(SEEDS):
        sample = draw(pages, 0.2, seed)
        for entry in entries:
            found = sampled_curve(sample, entry, sizes, first, exact if beside else None)
            away = np.abs(found.hit_ratio - truth[entry.id])
            within.append(away <= found.error_90)
            assert away.mean() < 0.02
    assert 0.8 < np.mean(within) < 0.99


def test_beside_lru_the_order_of_policies_holds_and_lru_itself_is_exact():
    pages = generated()
    sizes = places(pages)
    exact, optimum = curves(pages, ["lru", OPTIMUM], sizes, most_accesses=len(pages.page_ids) // 10)
    assert exact.error_90 is None and exact.hit_ratio.tolist() == lru_curve(pages, sizes).hit_ratio.tolist()
    assert (optimum.hit_ratio >= exact.hit_ratio).all() and 0.05 < optimum.rate < 0.2
    again = sampled_curve(draw(pages, 0.1), policy("lru"), sizes, exact.warmup, exact)
    assert again.hit_ratio.tolist() == exact.hit_ratio.tolist() and not again.error_90.any()


def test_a_sample_is_the_same_each_time_and_another_with_another_seed():
    pages = generated()
    found = [curves(pages, ["arc"], [3_000], rate=0.1, seed=seed)[0] for seed in (1, 1, 2)]
    assert found[0].hit_ratio == found[1].hit_ratio != found[2].hit_ratio


def test_what_cannot_be_is_refused():
    pages = generated()
    for rate in (0.0, -0.1, 1.1, float("nan")):
        for run in (draw, sampled_pages):
            with pytest.raises(ConfigError, match="give a part of the pages, above 0 and at most 1"):
                run(pages, rate)
    with pytest.raises(ConfigError, match="too few for an error; use a higher one or exact"):
        draw(pages, 1e-5)
    with pytest.raises(ConfigError, match="draws none"):
        sampled_pages(pages, 1e-12)
