"""Steps side by side: the same order, the same errors, and no thread left."""

import threading

import pytest

from cachezoo.aside import aside


def test_a_step_does_all_in_order_and_no_more_than_one_thing_waits():
    done, before = [], threading.active_count()
    with aside(lambda one, two: done.append((one, two))) as give:
        for k in range(50):
            give(k, -k)
            assert len(done) >= k
    assert done == [(k, -k) for k in range(50)]
    assert threading.active_count() == before


def refuse(said):
    raise OSError(said)


@pytest.mark.parametrize("given", [1, 2, 3])
def test_an_error_of_a_step_is_raised_as_it_is(given):
    before = threading.active_count()
    with pytest.raises(OSError, match=r"^0$"), aside(lambda k: refuse(str(k))) as give:
        for k in range(given):
            give(k)
    assert threading.active_count() == before


def test_an_error_in_what_was_given_before_comes_first():
    with pytest.raises(OSError, match="of the step"), aside(refuse) as give:
        give("of the step")
        raise ValueError("of the caller, later")
    with pytest.raises(OSError, match="of the second"), aside(lambda: refuse("of the second")) as second:

        def first():
            second()
            raise ValueError("of the first, later")

        with aside(first) as give:
            give()


def test_who_interrupts_waits_for_what_is_under_way_and_no_error_of_it_comes_instead():
    before, held = threading.active_count(), threading.Event()

    def work():
        held.wait()
        refuse("late")

    with pytest.raises(KeyboardInterrupt), aside(work) as give:
        give()
        threading.Timer(0.05, held.set).start()
        raise KeyboardInterrupt
    assert held.is_set()
    assert threading.active_count() == before
