"""The search for golden sets: what it reads, what it tries, and what it chooses."""

import numpy as np
import pytest

from cachezoo.zoo.reuse.bundle import DRAWS, LARGE
from tests.mutants.candidates import CANDIDATES
from tests.mutants.kept import counts, table
from tests.mutants.mutants import MUTANTS
from tests.mutants.operators import all_changes
from tests.mutants.score import Score
from tests.mutants.search import caught, chosen, drawn, missed
from tests.mutants.sets import KINDS


def test_the_wrong_runtimes_are_read_from_what_the_score_prints():
    wrong = [*all_changes(("reuse",))[:2], MUTANTS["reuse"][0]]
    lines = [f"reuse: {one.name}: mail_test, web_test" for one in wrong]
    figures = table({"reuse": counts(Score(frozenset(), frozenset(), dict.fromkeys(wrong, ("mail_test",))))})
    assert missed("reuse", "\n".join([figures, *lines, "virtual: virtual.c:1:1 + -> -: mail_test"])) == wrong


def test_no_two_changes_have_one_name():
    names = [one.name for one in all_changes()]
    assert len(set(names)) == len(names)


def test_each_try_has_draws_of_its_own_and_the_table_stays():
    before = dict(DRAWS)
    one, other = drawn("reuse", LARGE, 2)
    assert (one.name, other.name) == ("large_0", "large_1")
    assert not np.array_equal(one.requests.offset, other.requests.offset)
    assert before == DRAWS


def test_the_best_comes_first_and_what_catches_nothing_more_is_left_out():
    found = {"a": {1, 2}, "b": {2, 3, 4}, "c": {4}, "d": set()}
    alike = dict.fromkeys(found, 1)
    assert chosen(found, alike) == [("b", 3), ("a", 1)]
    assert chosen(found, {**alike, "b": 9}) == [("a", 2), ("c", 1), ("b", 1)]
    assert chosen({"d": set()}, alike) == []


def test_candidates_have_names_of_their_own_and_are_of_a_kind_with_sets():
    assert set(CANDIDATES) <= set(KINDS)
    for candidates in CANDIDATES.values():
        names = [one.name for one in candidates()]
        assert len(set(names)) == len(names) <= 64  # a bundle has no more


@pytest.mark.slow(seconds=25)
def test_a_set_catches_the_runtimes_that_do_not_give_what_the_right_one_gives(tmp_path):
    every = all_changes(("reuse",))
    rates = [one for one in every if one.source == "reuse_past.c" and "PRIOR_RATE" in one.name]
    in_lru = [one for one in every if one.source == "reuse_lru.c" and "(1 + 1)" in one.name]
    unused = in_lru[:1]  # the set has no such cache
    found = caught("reuse", drawn("reuse", LARGE, 1), [*rates, *unused], tmp_path)
    assert found == {"large_0": set(rates)}
