"""LRB-like and 3L-Cache-like with the numbers of their authors' releases."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cachezoo.kernels import learning
from cachezoo.kernels.learning import WRITTEN, Training
from cachezoo.policies.evictions import learned
from cachezoo.yaml_file import parsed
from lab.notes.learned_peers import DATA, KEPT, OWN, VALUES, as_released, thin

ROOM = 64


@given(st.integers(0, 200), st.integers(0, ROOM))
def test_of_the_new_rows_every_fourth_is_kept(seen, new):
    learner = learning.make(1, 1, 0, 1, Training(ROOM, 1, 2, 1, 1, 0.1))
    for row in range(seen + new):
        learner.rows[row % ROOM] = row
    learner.numbers[WRITTEN] = seen + new
    thin(learner, seen)
    kept = list(range(seen, seen + new, KEPT))
    assert learner.numbers[WRITTEN] == seen + len(kept)
    assert [learner.rows[place % ROOM, 0] for place in range(seen, seen + len(kept))] == kept
    untouched = range(max(0, seen + new - ROOM), seen)
    assert [learner.rows[row % ROOM, 0] for row in untouched] == list(untouched)


def test_what_is_as_in_the_releases_is_so_within_the_block_alone():
    before = (learned.FIRST_ROWS, learned.DEPTH, learned.BINS, learned.REVIEW)
    with pytest.raises(ValueError), as_released(3000):
        assert (learned.FIRST_ROWS, learned.DEPTH, learned.REVIEW) == (1, -1, 333)
        raise ValueError
    assert (learned.FIRST_ROWS, learned.DEPTH, learned.BINS, learned.REVIEW) == before


def test_the_releases_are_of_policies_that_there_are_with_values_that_they_take():
    releases = parsed(DATA.read_text(encoding="utf-8"), str(DATA))
    assert list(releases) == list(VALUES)
    for policy_id, release in releases.items():
        assert VALUES[policy_id].keys() <= {parameter.name for parameter in OWN[policy_id].parameters}
        for capacities in release["misses"].values():
            means = [np.mean(misses) for misses in capacities.values()]
            assert means == sorted(means, reverse=True), "a larger cache misses less"
