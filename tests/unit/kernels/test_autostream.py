import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from cachezoo.kernels.autostream import sfr
from tests.oracles import autostream as oracle


@st.composite
def cases(draw):
    n_chunks = draw(st.integers(1, 4))
    n = draw(st.integers(0, 120))
    chunks = np.array(draw(st.lists(st.integers(0, n_chunks - 1), min_size=n, max_size=n)), np.int64)
    gaps = draw(st.lists(st.integers(1, 9), min_size=n, max_size=n))
    follows = np.array(draw(st.lists(st.booleans(), min_size=n, max_size=n)), np.bool_)
    follows[:1] = False
    # Irrational, so that no sum of weights is a power of two but that of a chunk's first write.
    decay = draw(st.sampled_from([0.7, 3.1, 25.3, 1000.9])) * np.pi
    return chunks, np.cumsum(gaps, dtype=np.int64), follows, n_chunks, decay, draw(st.integers(1, 8))


@given(case=cases())
def test_the_kernel_is_the_algorithm_as_defined(case):
    chunks, at, follows, _, decay, streams = case
    assert sfr(*case).tolist() == oracle.sfr(chunks.tolist(), at.tolist(), follows.tolist(), decay, streams)


def test_a_chunk_written_often_rises_and_cools_down_again():
    at = np.array([*range(8), 5000, 5001], np.int64)
    found = sfr(np.zeros(10, np.int64), at, np.zeros(10, np.bool_), 1, 100.0, 16)
    assert found.tolist() == [0, 0, 1, 1, 2, 2, 2, 2, 0, 0]


def test_what_follows_goes_along_and_is_not_counted():
    follows = np.array([False, True, True, False])
    found = sfr(np.zeros(4, np.int64), np.arange(4), follows, 1, 1e9, 16)
    assert found.tolist() == [0, 0, 0, 0]
    assert sfr(np.zeros(4, np.int64), np.arange(4), np.zeros(4, np.bool_), 1, 1e9, 16).tolist() == [0, 0, 1, 1]
