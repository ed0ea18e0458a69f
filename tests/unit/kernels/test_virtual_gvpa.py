"""The global allocator beside one that has lists and sets in place of positions."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cachezoo.kernels.virtual.gvpa import share
from cachezoo.kernels.virtual.queues import QUEUES, Moves, moves
from cachezoo.kernels.virtual.vrm import Settings, memory, simulate
from tests.oracles import sharing as oracle
from tests.oracles.virtual import allocate


def moves_of(queue, app, ids, count, n):
    """Moves of every application, in the order of all."""
    found = [np.empty(len(app), np.int32) for _ in range(3)]
    for a in range(count):
        own = np.unique(ids[app == a], return_inverse=True)[1].astype(np.int32)
        for column, values in zip(found, moves(queue, own, max(1, int(own.max(initial=0)) + 1), n), strict=True):
            column[app == a] = values
    return Moves(*found)


def both(seed, count, length, queue, n, total, chosen, step=1, reach=1, fill=0.0):
    rng = np.random.default_rng(seed)
    app = rng.integers(0, count, length).astype(np.int32)
    loop = np.cumsum(rng.random(length) < 0.7) % 11
    ids = (np.where(app % 2 == 0, loop, rng.zipf(1.4, length) % 17) + 100 * app).astype(np.int32)
    made = moves_of(queue, app, ids, count, n)
    found = share(app, made, count, total, n, chosen, step, reach, fill)
    each = [chosen] * count if isinstance(chosen, Settings) else chosen
    plain = oracle.share(app, ids, made, count, total, [n] * count, each, step, reach, fill, allocate)
    return found, plain


@given(
    seed=st.integers(0, 2**32), count=st.integers(2, 4), length=st.integers(1, 160), queue=st.sampled_from(QUEUES),
    fragment=st.integers(1, 3), f=st.integers(1, 3), alpha=st.sampled_from([0.0, 0.5, 0.95, 1.0]),
    q=st.integers(1, 12), cost=st.sampled_from([0.0, 0.3, 1.0]), step=st.integers(1, 2), reach=st.integers(1, 3),
    more=st.integers(0, 5), fill=st.sampled_from([0.0, 0.25, 1.0]),
)  # fmt: skip
def test_it_does_what_lists_and_sets_do(
    seed, count, length, queue, fragment, f, alpha, q, cost, step, reach, more, fill
):  # fmt: skip
    total = count * f + more
    found, (hits, moved, splits) = both(
        seed, count, length, queue, total * fragment + seed % 5, total, Settings(fragment, f, alpha, q, cost), step,
        reach, fill,
    )  # fmt: skip
    assert found.hit.tolist() == hits
    assert found.moved.tolist() == moved
    assert found.splits.tolist() == splits


def test_every_application_keeps_as_many_fragments_as_it_may_have_runs():
    found, _ = both(3, 3, 600, "lru", 40, 9, Settings(2, 2, 0.9, 10, 0.0), reach=4)
    assert (found.splits.sum(axis=1) == 9).all() and found.splits.min() == 2
    assert len(np.unique(found.splits, axis=0)) > 2


def test_what_new_mappings_read_is_said_of_each_application():
    found, _ = both(4, 3, 600, "lru", 40, 9, Settings(2, 2, 0.9, 10, 0.0), reach=2)
    assert found.allocation.sum() > 0 and not found.allocation[0].any()
    last = np.arange(1, len(found.splits)) * 30 - 1
    assert (found.moved[last] >= found.allocation[1:].sum(axis=1)).all()


def test_applications_that_get_nothing_from_each_other_are_caches_of_their_own():
    rng = np.random.default_rng(9)
    ids = (rng.zipf(1.2, 500) % 40).astype(np.int32)
    one = moves("lru", ids, 40, 40)
    twice = Moves(*(np.repeat(column, 2) for column in one))
    settings = Settings(4, 2, 0.9, 25, 0.0)
    found = share(np.tile(np.array([0, 1], np.int32), 500), twice, 2, 6, 40, settings)
    alone = simulate(one, 12, 40, settings)
    assert (found.splits == 3).all()
    assert (found.hit.reshape(-1, 2) == alone.hit[:, None]).all()
    assert found.moved.sum() == 2 * (alone.allocation + alone.fragmentation)


def test_a_profile_makes_the_first_mapping():
    ids = (np.arange(400) % 10).astype(np.int32)  # each page lies at position 9 when it is asked again
    both_moves = Moves(*(np.repeat(column, 2) for column in moves("lru", ids, 10, 12)))
    app, settings = np.tile(np.array([0, 1], np.int32), 400), Settings(1, 2, 0.95, 100, 0.0)
    profile = np.zeros((2, 12))
    profile[:, 9] = 1.0
    warm, cold = (share(app, both_moves, 2, 4, 12, settings, profiles=given) for given in (profile, None))
    assert not cold.hit[:200].any()
    assert warm.hit[20:200].all()
    assert memory(settings) == pytest.approx(2000)


@pytest.mark.parametrize("seed", range(6))
def test_every_application_may_have_settings_and_a_queue_of_its_own(seed):
    """As in libcachezoo a quantum is as many references of all as the applications' quanta are together."""
    rng = np.random.default_rng(seed)
    count, length = 3, 500
    app = rng.integers(0, count, length).astype(np.int32)
    ids = (rng.zipf(1.3, length) % 40 + 100 * app).astype(np.int32)
    queues, n = ("lru", "lfu", "arc"), [24, 30, 18]
    found = [np.empty(length, np.int32) for _ in range(3)]
    for a in range(count):
        own = np.unique(ids[app == a], return_inverse=True)[1].astype(np.int32)
        for column, values in zip(found, moves(queues[a], own, int(own.max()) + 1, n[a]), strict=True):
            column[app == a] = values
    each = [Settings(2, 1, 0.5, 7, 0.0), Settings(2, 3, 1.0, 20, 0.3), Settings(2, 2, 0.9, 11, 1.0)]
    made = Moves(*found)
    own = share(app, made, count, 15, n, each, 1, 3, 0.1)
    hits, moved, splits = oracle.share(app, ids, made, count, 15, n, each, 1, 3, 0.1, allocate)
    assert (own.hit.tolist(), own.moved.tolist(), own.splits.tolist()) == (hits, moved, splits)
