"""The best setting under a limit on writes."""

from types import SimpleNamespace

import pytest

from cachezoo.flash.policies import Tuned
from cachezoo.questions.flash.limit import Limits, Within


def limits(cost, asked, most=1e9):
    """A policy that writes what it is set to, up to `most`, and costs the disks what `cost` says of that."""
    tried = []

    def set_to(target):
        tried.append(target)
        writes = int(min(target, most))
        run = SimpleNamespace(segment_writes=writes)
        return Within("none", Tuned(run, target, True), cost(writes))

    return Limits(set_to, asked), tried


def test_where_more_writes_are_worse_fewer_are_taken():
    own, tried = limits(lambda writes: abs(writes - 1000) + 1, [4000, 2000, 500])
    for limit, writes, more_helps in ((4000, 1000, False), (2000, 1000, False), (500, 500, True)):
        found = own.best(limit)
        assert (found.writes, found.reached, found.more_helps) == (writes, writes == limit, more_helps)
    assert len(tried) == len(set(tried))


def test_where_more_writes_help_the_limit_is_used_and_one_half_is_tried():
    own, tried = limits(lambda writes: 1 / writes, [4000])
    found = own.best(4000)
    assert (found.writes, found.reached, found.more_helps, tried) == (4000, True, True, [4000, 2000])


def test_a_policy_that_cannot_write_more_is_not_said_to_be_helped_by_less():
    own, _ = limits(lambda writes: 1 / writes, [4000], most=300)
    found = own.best(4000)
    assert (found.writes, found.reached, found.more_helps) == (300, False, True)


def test_a_policy_that_always_writes_more_than_the_limit_is_taken_where_it_exceeds_it_least():
    def set_to(target):
        writes = int(target) + 500
        return Within("none", Tuned(SimpleNamespace(segment_writes=writes), target, True), 1 / writes)

    assert Limits(set_to, [400, 100]).best(100).writes == 550


@pytest.mark.parametrize("limit", [1.0, 1.5, 3.0])
def test_the_least_limits_end(limit):
    own, tried = limits(lambda writes: writes, [limit])
    assert own.best(limit).writes <= limit and len(tried) <= 3
