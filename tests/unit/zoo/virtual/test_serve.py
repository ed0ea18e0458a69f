"""The cache as a runtime runs it, against one that keeps a real list of pages; its profile; what it refuses."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cachezoo.errors import BundleError, ConfigError
from cachezoo.kernels.virtual.vrm import memory
from cachezoo.traces.pages import PageAccesses
from cachezoo.zoo.virtual import serve as profile
from cachezoo.zoo.virtual.serve import COLD, WARM, VirtualServing
from tests.oracles import virtual as oracle

QUEUES = ("lru", "lfu", "arc")


def accesses(ids: list[int]) -> PageAccesses:
    found = np.array(ids, np.int32)
    return PageAccesses(np.arange(len(ids) + 1, dtype=np.int64), found, int(found.max()) + 1)


def serving(queue="lru", start=COLD, rates=(), **more) -> VirtualServing:
    arch = {"queue": queue, "pages": 12, "fragment": 2, "runs": 2, "decay": 0.5, "quantum": 5, "cost": 0.0, **more}
    return VirtualServing(arch=arch, policy={"start": start}, profile=np.array(rates, np.float64))


@given(data=st.data())
def test_positions_are_those_of_a_list_and_hits_those_of_the_mapping(data):
    ids = data.draw(st.lists(st.integers(0, 20), min_size=1, max_size=80))
    queue = data.draw(st.sampled_from(QUEUES))
    start = data.draw(st.sampled_from([COLD, WARM]))
    own = serving(queue, start, rates=[0.0, 0.1, 0.0, 0.2, 0.2, 0.0])
    ran = own.run(accesses(ids), 5)
    naive = oracle.Cache(queue, 12, 5, own.settings, own.profile if start == WARM else None)
    rows = [naive.ask(page) for page in ids]
    assert ran.moves.position.tolist() == oracle.moves(queue, ids, 12)[0]
    assert [(bool(hit), int(moved)) for hit, moved in zip(ran.hit, ran.moved, strict=True)] == [
        (hit, allocation + fragmentation) for hit, allocation, fragmentation in rows
    ]
    assert int(ran.moved.sum()) == ran.served.allocation + ran.served.fragmentation


def test_a_warm_start_maps_where_the_profile_says_and_a_cold_one_the_head():
    rates = [0.0, 0.0, 0.0, 0.0, 0.5, 0.5]
    warm, cold = (serving("lru", start, rates).run(accesses([0]), 4) for start in (WARM, COLD))
    assert warm.served.mappings[0, 0].tolist() == [8, 12] and cold.served.mappings[0, 0].tolist() == [0, 4]


def test_a_profile_of_another_length_is_cut_or_goes_on_with_nothing():
    assert profile.fitted_to(np.array([0.1, 0.2, 0.3]), 2).tolist() == [0.1, 0.2]
    assert profile.fitted_to(np.array([0.1]), 3).tolist() == [0.1, 0.0, 0.0]


def test_a_profile_counts_hits_per_reference_by_fragment():
    positions = np.array([-1, 0, 3, 3, 7, -1, 8, 1], np.int32)
    assert profile.profile_of(positions, 3, 4).tolist() == [4 / 8, 1 / 8, 1 / 8]
    assert profile.profile_of(np.zeros(0, np.int32), 2, 4).tolist() == [0.0, 0.0]


def test_its_bytes_are_read_as_they_were_written_and_damage_is_refused():
    rates = np.array([0.25, 0.0, 1.0])
    assert profile.from_bytes(profile.to_bytes(rates)).tolist() == rates.tolist()
    for data, said in ((b"1234567", "7 bytes"), (b"", "0 bytes")):
        with pytest.raises(BundleError, match=said):
            profile.from_bytes(data)
    for wrong in (np.nan, -0.1, 1.5, np.inf):
        with pytest.raises(BundleError, match="no rate"):
            profile.from_bytes(profile.to_bytes(np.array([0.1, wrong])))


def test_what_a_value_remembers_is_bounded():
    assert memory(serving(decay=1.0).settings) == 500.0 == memory(serving(decay=0.99999).settings)
    assert memory(serving(decay=0.0).settings) == 5.0


@pytest.mark.parametrize(
    ("capacity", "said"),
    [(13, "n below the cache; the queue has 12 pages"), (3, "a cache smaller than f fragments; f 2 of 2 pages are 4")],
)
def test_a_cache_that_does_not_fit_is_refused_in_a_line(capacity, said):
    with pytest.raises(ConfigError, match=said):
        serving().run(accesses([1, 2]), capacity)


def test_a_queue_is_whole_fragments():
    with pytest.raises(ConfigError, match=r"arch\.pages 13 is no multiple of arch\.fragment 2"):
        serving(pages=13)
