import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from cachezoo.kernels import autostream
from tests.oracles import autostream as oracle


def sfr(chunks, *args):
    found = np.zeros(len(chunks), np.uint8)
    autostream.sfr(chunks, *args, found)
    return found


def multiq(chunks, *args):
    found = np.zeros(len(chunks), np.uint8)
    autostream.multiq(chunks, *args, found)
    return found


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


@given(case=cases())
def test_the_queues_are_those_that_are_defined(case):
    chunks, at, _, n_chunks, _, streams = case
    assert multiq(chunks, at, n_chunks, streams).tolist() == oracle.multiq(chunks.tolist(), at.tolist(), streams)


def test_the_queues_are_so_of_many_chunks():
    rng = np.random.default_rng(5)
    chunks = np.minimum(rng.zipf(1.2, 4000) - 1, 59).astype(np.int64)
    at = np.cumsum(rng.integers(1, 5, 4000))
    found = multiq(chunks, at, 60, 6).tolist()
    assert found == oracle.multiq(chunks.tolist(), at.tolist(), 6)
    assert set(found) == set(range(6))


def test_a_chunk_that_is_written_no_more_goes_down_a_queue_at_a_time():
    # Chunk 0 is written every time unit, then chunk 1 is: it is as often, so that its interval is the lifetime.
    chunks = np.array([0] * 8 + [1] * 40 + [0], np.int64)
    found = multiq(chunks, np.arange(49), 2, 4)
    assert found[7] == 2
    assert found[48] == 0
