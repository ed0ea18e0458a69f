import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from cachezoo.kernels.pairing import NONE, put, take


@given(nodes=st.integers(1, 12), heaps=st.integers(1, 3), seed=st.integers(0, 1 << 32), steps=st.integers(0, 200))
def test_the_least_key_is_on_top_of_each_heap(nodes, heaps, seed, steps):
    rng = np.random.default_rng(seed)
    keys = rng.permutation(nodes).astype(np.int64)
    child, before, after = (np.full(nodes + 2, NONE, np.int32) for _ in range(3))
    links, roots, where = (keys, child, before, after), [NONE] * heaps, {}
    for _ in range(steps):
        node = int(rng.integers(nodes))
        if node in where:
            heap = where.pop(node)
            roots[heap] = take(*links, roots[heap], node)
        else:
            heap = where[node] = int(rng.integers(heaps))
            roots[heap] = put(*links, roots[heap], node)
        for heap, root in enumerate(roots):
            there = [one for one, own in where.items() if own == heap]
            assert root == min(there, key=lambda one: keys[one], default=NONE)
            assert root == NONE or before[root] == after[root] == NONE


def test_of_equal_keys_the_first_stays_on_top():
    keys, child, before, after = np.zeros(2, np.int64), *(np.full(2, NONE, np.int32) for _ in range(3))
    root = put(keys, child, before, after, put(keys, child, before, after, NONE, 1), 0)
    assert root == 1 and take(keys, child, before, after, root, 1) == 0
