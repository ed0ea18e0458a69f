"""Baleen's admission of objects: episodes, labels and inputs by their oracles, and what it learns."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cachezoo.coded import Coded
from cachezoo.kernels.flash import DiskHead
from cachezoo.kernels.outcome import ADMITTED, HIT
from cachezoo.kernels.sized.episodes import GAPS
from cachezoo.sized import baleen
from cachezoo.sized.baleen import Flash, Labels, ObjectEpisodes, codes_of, decided, eviction_age, inputs
from cachezoo.sized.simulate import simulate
from tests.oracles.sized import episodes as naive
from tests.sized_data import requests, skewed

COST = DiskHead(10.0, 100.0)


def seconds(size):
    return float(COST.seconds(np.ones(1), np.array([size]))[0])


@given(asked=requests(), age=st.integers(1, 40), capacity=st.integers(1, 60), around=st.booleans())
def test_episodes_are_their_oracles(asked, age, capacity, around):
    found = ObjectEpisodes.of(asked, Flash(capacity, COST, around), age)
    of, place, own = naive.episodes(asked, age, capacity, around, seconds)
    assert found.episode.tolist() == of and found.place.tolist() == place
    assert found.figures.tolist() == [row[:4] for row in own]
    assert found.saved == pytest.approx([row[4] for row in own])
    useful = [k for k, row in enumerate(own) if row[4] > 0]
    worth = [own[k][4] / own[k][3] for k in found.order]
    assert sorted(found.order.tolist()) == useful and worth == pytest.approx(sorted(worth, reverse=True))


@given(asked=requests(), around=st.booleans())
def test_without_evictions_an_episode_is_a_stay_in_the_cache(asked, around):
    room = 10**6
    found = ObjectEpisodes.of(asked, Flash(room, COST, around), len(asked))
    run = simulate(asked, "lru", room, around=around)
    assert found.figures[:, 0].tolist() == np.flatnonzero(run.outcome == ADMITTED).tolist()
    assert int(found.figures[:, 3].sum()) == run.bytes_written
    assert ((found.episode >= 0) & (found.place > 0)).tolist() == (run.outcome == HIT).tolist()


@given(asked=requests(), age=st.integers(1, 40))
def test_inputs_are_their_oracles(asked, age):
    none = np.full(len(asked), -1, np.float32)
    found, names = inputs(asked, [none, none], age)
    width = max(1, round(age * baleen.BUCKET_OF_AGE))
    assert len(names) == found.shape[1] and found.dtype == np.float32
    assert np.delete(found, [2, 3], axis=1).tolist() == naive.inputs(asked, width, baleen.WINDOWS, GAPS)


@given(asked=requests(most=60), cut=st.integers(1, 60), age=st.integers(1, 20))
def test_inputs_do_not_depend_on_what_comes_later(asked, cut, age):
    part = asked.first(cut)
    whole, own = (inputs(one, [np.zeros(len(one), np.float32)] * 2, age)[0] for one in (asked, part))
    assert (own == whole[: len(part)]).all()


def test_codes_are_by_first_appearance():
    column = Coded(np.array([2, 0, 2, 1], np.int32), ("a", "b", "c"))
    assert codes_of(column, None, 4).tolist() == [0, 1, 0, 2]
    assert codes_of(column, np.array([3, 3, 0]), 3).tolist() == [0, 0, 1]
    assert codes_of(None, None, 2).tolist() == [-1, -1]
    many = Coded(np.arange(70, dtype=np.int32), tuple(map(str, range(70))))
    assert codes_of(many, None, 70).tolist() == [*range(64), *[-1] * 6]


def labelled(asked, capacity, share):
    def writes(decisions):
        return simulate(asked, decided(decisions), capacity).bytes_written

    budget = share * simulate(asked, "lru", capacity).bytes_written
    return Labels.of(asked, Flash(capacity, COST, False), budget, writes, 0.025), writes, budget


def test_opt_admits_the_best_episodes_within_the_budget():
    asked = skewed(8000, 900)
    capacity = asked.footprint_bytes // 10
    found, writes, budget = labelled(asked, capacity, 0.25)
    assert writes(found.opt) <= budget * 1.025
    episodes = found.episodes
    chosen = np.unique(episodes.episode[found.opt])
    worth = episodes.saved / episodes.figures[:, 3]
    out = np.setdiff1d(np.arange(len(worth)), chosen)
    assert len(chosen) and worth[chosen].min() >= worth[out].max()
    everything = simulate(asked, "lru", capacity)
    opt = simulate(asked, decided(found.opt), capacity)
    assert opt.hits > everything.hits / 2 and opt.bytes_written < everything.bytes_written / 3
    late = episodes.figures[:, 0] >= len(asked) - min(found.age, len(asked) // 4)
    assert found.settled.tolist() == [own >= 0 and not late[own] for own in episodes.episode.tolist()]


@pytest.mark.parametrize("share", [0.02, 0.1, 0.4])
def test_a_cache_that_admits_everything_evicts_at_about_the_age_of_littles_law(share):
    asked = skewed(20_000, 4000)
    capacity = int(share * asked.footprint_bytes)
    age = eviction_age(asked, Flash(capacity, COST, False), np.inf)
    held = ObjectEpisodes.of(asked, Flash(capacity, COST, False), age)
    again = held.figures[held.order]
    residence = (again[:, 2] * (again[:, 1] - again[:, 0] + age)).sum() / len(asked)
    assert residence == pytest.approx(capacity, rel=0.1)


def test_objects_that_all_fit_never_leave():
    asked = skewed(2000, 100)
    assert eviction_age(asked, Flash(100 * asked.footprint_bytes, COST, False), np.inf) == len(asked)
