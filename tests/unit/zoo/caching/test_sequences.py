from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cachezoo.kernels.oracle_cache import CACHED, CONSULTED, DURATION_SHIFT, FORCED, KEPT, KEPT_SETTLED, SETTLED
from cachezoo.labels.tags import Tags
from cachezoo.zoo.caching.sequences import Lane, cut_lanes, previous_tags, shuffled_order, stream_order, take

SOON, LATE = 1 << DURATION_SHIFT, 3 << DURATION_SHIFT


def lane(bits: list[int]) -> Lane:
    return Lane(np.arange(2 * len(bits), dtype=np.float32).reshape(-1, 2), [Tags(np.array(bits, np.uint8))])


def test_the_present_tag_is_not_among_the_inputs() -> None:
    bits = np.array([CACHED + CONSULTED + SETTLED + LATE, CONSULTED + SETTLED, CACHED + SOON], np.uint8)
    fed = previous_tags(Tags(bits))
    assert fed.tolist() == [[0, 0, 0, 0], [1, 0, 0, 1], [0, 0, 0, 0]]


@given(st.lists(st.integers(0, 127), min_size=2, max_size=40), st.data())
def test_changing_tags_changes_only_later_inputs(bits: list[int], data: st.DataObject) -> None:
    row = data.draw(st.integers(0, len(bits) - 1))
    changed = [*bits[:row], *(b ^ 0b1100001 for b in bits[row:])]
    before, after = (cut_lanes([lane(b)], 5, 0.5, fed_back=True).inputs.reshape(-1, 6) for b in (bits, changed))
    assert (before[: row + 1] == after[: row + 1]).all()


def test_what_is_learned_and_what_is_masked() -> None:
    rows = [
        CONSULTED + SETTLED + CACHED + SOON,
        CONSULTED + SETTLED,
        CONSULTED + SETTLED + CACHED,  # duration unknown
        CONSULTED + CACHED + SOON,  # unsettled
        CONSULTED + SETTLED + CACHED + FORCED + SOON,
        SETTLED + KEPT_SETTLED + CACHED + KEPT,  # a hit that is used again
        SETTLED + KEPT_SETTLED + CACHED,
    ]
    cut = cut_lanes([lane(rows)], 8, 0.25, fed_back=False)
    assert cut.weight[..., 0].tolist() == [[1, 1, 1, 0, 0, 0.25, 0.25, 0]]
    assert cut.cached[0, [0, 1, 2, 5, 6], 0].tolist() == [1, 0, 1, 1, 0]
    assert cut.duration[..., 0].tolist() == [[0, -1, -1, -1, -1, -1, -1, -1]]
    assert cut_lanes([lane(rows)], 8, 0.0, fed_back=False).weight.sum() == 3


def test_hits_teach_the_oracle_s_tags_where_these_are_their_target() -> None:
    rows = [
        CONSULTED + SETTLED + CACHED + SOON,
        SETTLED + CACHED + LATE,  # a hit, whether or not it is used again
        CACHED + KEPT_SETTLED + LATE,  # its tag is not settled
        CONSULTED + SETTLED + CACHED + FORCED + SOON,
    ]
    cut = cut_lanes([lane(rows)], 4, 0.5, fed_back=False, hit_target="cached")
    assert cut.weight.ravel().tolist() == [1, 0.5, 0, 0] and cut.cached.ravel().tolist() == [1] * 4
    assert cut.duration.ravel().tolist() == [0, 2, -1, -1]


def test_sequences_of_which_nothing_is_learned_are_left_out() -> None:
    taught, silent = [SETTLED + CONSULTED] * 4, [CONSULTED] * 4
    cut = cut_lanes([lane([*silent, *taught, *silent, *taught[:2]])], 4, 0.0, fed_back=False)
    own = cut.taught()
    assert len(own) == 2 and own.weight.sum() == cut.weight.sum() == 6
    assert (own.inputs == cut.inputs[[1, 3]]).all() and own.begins.tolist() == [False, False]


def test_requests_that_do_not_count_teach_nothing_but_are_seen() -> None:
    rows = [SETTLED + CONSULTED + CACHED + SOON] * 6
    counts = np.array([True, False, True, True, False, False])
    every, some = (cut_lanes([replace(lane(rows), counts=own)], 6, 0.5, fed_back=False) for own in (None, counts))
    assert (some.inputs == every.inputs).all() and (some.cached == every.cached).all()
    assert every.weight.ravel().tolist() == [1] * 6 and some.weight.ravel().tolist() == [1, 0, 1, 1, 0, 0]
    assert every.duration.ravel().tolist() == [0] * 6 and some.duration.ravel().tolist() == [0, -1, 0, 0, -1, -1]


def test_lanes_begin_anew_and_are_filled_up() -> None:
    cut = cut_lanes([lane([SETTLED + CONSULTED] * 5), lane([SETTLED + CONSULTED] * 2)], 4, 0.0, fed_back=False)
    assert len(cut) == 3
    assert cut.begins.tolist() == [True, False, True]
    assert cut.weight[..., 0].tolist() == [[1] * 4, [1, 0, 0, 0], [1, 1, 0, 0]]
    assert (cut.inputs[1, 1:] == 0).all()


@given(st.integers(1, 60), st.integers(1, 9), st.integers(0, 5))
def test_orders_visit_every_sequence_once(count: int, batch: int, seed: int) -> None:
    for order in (stream_order(count, batch), shuffled_order(count, batch, seed)):
        assert order.shape[1] == batch
        assert sorted(order[order >= 0]) == list(range(count))
    streams = stream_order(count, batch)
    for stream in streams.T:
        kept = stream[stream >= 0]
        assert (np.diff(kept) == 1).all()


@pytest.mark.parametrize("index", [[0, 2], [-1, 1]])
def test_a_missing_sequence_weighs_nothing(index: list[int]) -> None:
    cut = cut_lanes([lane([SETTLED + CONSULTED + CACHED + SOON] * 12)], 4, 0.0, fed_back=False)
    inputs, cached, weight, duration, begins = take(cut, np.array(index))
    for k, place in enumerate(index):
        if place < 0:
            assert not weight[k].any() and (duration[k] == -1).all() and begins[k] and not inputs[k].any()
        else:
            assert (inputs[k] == cut.inputs[place]).all() and (cached[k] == cut.cached[place]).all()
    assert (cut.weight == 1).all(), "take copies"
