"""The sets of a search: few, small, and together they catch what all candidates do."""

from tests.mutants.search import CANDIDATES, chosen
from tests.mutants.sets import KINDS


def test_the_cheapest_catch_comes_first_and_nothing_is_caught_twice():
    catches = {"large": {1, 2, 3, 4}, "small": {1, 2, 3}, "same": {2, 3}, "none": set()}
    costs = {"large": 8, "small": 2, "same": 2, "none": 1}
    assert list(chosen(catches, costs)) == [("small", {1, 2, 3}), ("large", {4})]
    assert list(chosen({"none": set()}, {"none": 1})) == []


def test_candidates_have_names_of_their_own_and_are_of_a_kind_with_sets():
    assert set(CANDIDATES) <= set(KINDS)
    for candidates in CANDIDATES.values():
        names = [one.name for one in candidates()]
        assert len(set(names)) == len(names) <= 64  # a bundle has no more
