import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cachezoo.kernels.virtual import ranked
from cachezoo.seeds import derive_seed


def listed(held):
    return [int(ranked.page_at(held, k)) for k in range(held.counts[ranked.LENGTH])]


@given(steps=st.lists(st.tuples(st.booleans(), st.integers(0, 40), st.floats(0, 1)), max_size=200))
@settings(deadline=None)
def test_it_is_a_list(steps):
    held, own = ranked.make(41, 41), []
    for out, page, where in steps:
        if page in own:
            assert ranked.rank(held, page) == own.index(page)
            if out:
                assert ranked.remove(held, page) == own.index(page)
                own.remove(page)
        else:
            position = round(where * len(own))
            ranked.insert(held, page, position)
            own.insert(position, page)
    assert listed(held) == own


WHERE = {
    "head": lambda rng, length: 0,
    "end": lambda rng, length: length,
    "middle": lambda rng, length: length // 2,
    "anywhere": lambda rng, length: int(rng.integers(length + 1)),
}


@pytest.mark.parametrize("where", WHERE)
def test_blocks_fill_split_and_run_out(where):
    """Every page in at one kind of place, then moved there again and again, so that all is packed several times."""
    n = 3000
    rng = np.random.default_rng(derive_seed(1, where))
    held, own = ranked.make(n, n), []
    for page in [*rng.permutation(n).tolist(), *rng.integers(0, n, 9000).tolist()]:
        if page in own:
            assert ranked.remove(held, page) == own.index(page)
            own.remove(page)
        position = WHERE[where](rng, len(own))
        ranked.insert(held, page, position)
        own.insert(position, page)
    assert listed(held) == own
    assert [ranked.rank(held, page) for page in own] == list(range(n))
    assert held.size.max() <= ranked.SIZE


def test_pages_that_come_in_at_the_head_fill_their_blocks():
    held = ranked.make(5000, 5000)
    for page in range(5000):
        ranked.insert(held, page, 0)
    assert held.counts[ranked.USED] == -(-5000 // ranked.SIZE)


def test_memory_is_that_of_the_pages():
    held = ranked.make(10**6, 10**5)
    assert sum(array.nbytes for array in held) < 4 * 10**6 + 20 * 10**5
