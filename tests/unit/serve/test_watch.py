"""What is measured: the hits after the first half of the accesses, of a day."""

import random

from hypothesis import given
from hypothesis import strategies as st

from cachezoo.serve.watch import DAY_S, MOST, Measured, Watch


def test_the_first_half_fills_the_cache():
    watch = Watch()
    assert watch.measured(0.0) == Measured(None, 0, 0.0)
    for k in range(101):
        watch.note(float(k), 10 * k, 0 if k <= 50 else 8 * (k - 50))
    found = watch.measured(100.0)
    assert (found.accesses, found.seconds) == (500, 50.0)
    assert found.hits == 0.8


def test_counters_that_begin_again_begin_again_here():
    watch = Watch()
    watch.note(0.0, 100, 100)
    watch.note(1.0, 10, 0)
    assert watch.measured(1.0).hits == 0.0


def test_another_policy_is_measured_from_its_begin_on():
    watch = Watch()
    watch.note(0.0, 1000, 900)
    watch.begin(1.0, 2000, 1800)
    assert watch.measured(1.0).hits is None
    watch.note(2.0, 3000, 1900)
    assert (watch.measured(2.0).hits, watch.measured(2.0).accesses) == (0.1, 1000)


def test_a_promise_is_missed_by_more_than_a_point_of_enough_accesses():
    assert Measured(0.48, 5000, 1.0).missed(0.5)
    assert not Measured(0.495, 5000, 1.0).missed(0.5)
    assert not Measured(0.1, 10, 1.0).missed(0.5)
    assert not Measured(None, 5000, 1.0).missed(0.5)
    assert not Measured(0.1, 5000, 1.0).missed(None)


@given(st.integers(0, 2**32))
def test_few_notes_say_nearly_what_all_would(seed):
    """However many there are: the half of a long run is found to a few steps, and notes are bounded."""
    draw, watch, seen = random.Random(seed), Watch(), []
    now = accesses = hits = 0
    for _ in range(draw.choice([30, 3000])):
        step = draw.randrange(1, 50)
        now, accesses, hits = now + draw.random(), accesses + step, hits + draw.randrange(step + 1)
        watch.note(now, accesses, hits)
        seen.append((now, accesses, hits))
    found = watch.measured(now)
    assert len(watch._notes) <= MOST + 1
    half = min(seen[:-1], key=lambda one: abs(one[1] - accesses / 2))
    assert abs(found.accesses - (accesses - half[1])) <= max(200, 0.02 * accesses)
    begin = next((one for one in seen if accesses - one[1] == found.accesses), (0, 0, 0))
    assert found.hits == (hits - begin[2]) / found.accesses


def test_what_is_older_than_a_day_does_not_count():
    watch = Watch()
    for hour in range(72):
        watch.note(3600.0 * hour, 100 * (hour + 1), 100 * min(hour + 1, 24))
    assert watch.measured(71 * 3600.0).hits == 0.0
    assert watch.measured(71 * 3600.0).seconds <= DAY_S
