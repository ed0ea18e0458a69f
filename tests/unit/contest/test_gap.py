"""Gaps to the optimum, and what they are off by where they were estimated from a sample."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cachezoo.contest.gap import MIN_GAP, gap, gap_errors
from cachezoo.contest.sampled import GROUPS, half_widths

RATIOS = st.tuples(st.floats(0, 0.5), st.floats(0.1, 0.5), st.floats(0.05, 0.4)).map(
    lambda own: np.array([own[0], own[1], own[1] + own[2]])
)


@given(RATIOS, st.integers(0, 2**32 - 1))
def test_where_groups_differ_little_the_errors_are_those_of_their_own_gaps(whole, seed):
    groups = whole[:, None] + 1e-6 * np.random.default_rng(seed).normal(size=(3, GROUPS))
    each = np.array([gap(*own) for own in groups.T.tolist()])
    assert gap_errors(whole, groups) == pytest.approx(
        tuple(half_widths(np.array(gap(*whole.tolist())), each)), rel=1e-2
    )


@given(RATIOS, st.integers(0, 2**32 - 1))
def test_what_is_a_gap_s_end_has_no_error_and_groups_without_a_gap_give_one(whole, seed):
    groups = np.random.default_rng(seed).random((3, GROUPS))
    ends = [gap_errors(whole[rows], groups[rows]) for rows in ([1, 1, 2], [2, 1, 2])]
    assert ends[0] == (0, 0) and ends[1][0] == pytest.approx(0, abs=1e-9) and ends[1][1] > 0
    groups[2] = groups[1]
    assert all(np.isfinite(off) for off in gap_errors(whole, groups))
    none = np.array([whole[0], whole[1], whole[1] + MIN_GAP / 2])
    assert gap(*none.tolist())[0] is gap_errors(none, groups)[0] is None and gap_errors(none, groups)[1] > 0
