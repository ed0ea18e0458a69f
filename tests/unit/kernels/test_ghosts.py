"""The ghost queue against a list."""

from hypothesis import given
from hypothesis import strategies as st

from cachezoo.kernels import ghosts

PAGES = 9


@given(room=st.integers(0, 12), steps=st.lists(st.tuples(st.booleans(), st.integers(0, PAGES - 1)), max_size=200))
def test_is_a_queue_from_which_any_may_be_taken(room, steps):
    queue = ghosts.make(PAGES, room)
    expected = []
    for take, page in steps:
        if take or page in expected:
            assert ghosts.take(*queue, page) == (page in expected)
            expected = [other for other in expected if other != page]
        else:
            ghosts.put(*queue, page)
            expected = [*expected, page][max(0, len(expected) + 1 - room) :]
    for page in range(PAGES):
        assert ghosts.take(*queue, page) == (page in expected)


def test_an_old_ghost_stays_while_new_ones_come_and_go():
    queue = ghosts.make(1000, 3)
    ghosts.put(*queue, 0)
    for page in range(1, 1000):
        ghosts.put(*queue, page)
        assert ghosts.take(*queue, page)
    assert ghosts.take(*queue, 0)
    assert not ghosts.take(*queue, 0)
