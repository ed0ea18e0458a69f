"""Sampled streams: which pages are drawn, and what of the stream is left."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cachezoo.policies.sampling import drawn, sample
from tests.oracles import follow as naive
from tests.stream_data import reads, streams


@given(stream=streams(), rate=st.sampled_from([0.05, 0.3, 0.5, 0.9, 1.0]), seed=st.integers(0, 50))
def test_equals_its_oracle(stream, rate, seed):
    found = sample(stream, rate, seed)
    chosen = drawn(stream.n_pages, rate, seed)
    rows = naive.sampled(stream, chosen)
    assert found.rows.tolist() == [row for row, _, _ in rows]
    assert found.pages[found.stream.page_ids].tolist() == [page for _, page, _ in rows]
    assert found.stream.flags.tolist() == [flags for _, _, flags in rows]
    assert found.stream.page_bytes.tolist() == stream.page_bytes[found.rows].tolist()
    assert found.stream.n_pages == len(found.pages) == chosen.sum()
    assert found.stream.writes == stream.writes
    assert found.stream.request_pages.tolist() == stream.request_pages[found.rows].tolist()


@given(stream=streams(), seed=st.integers(0, 50))
def test_of_all_pages_it_is_the_stream(stream, seed):
    found = sample(stream, 1.0, seed)
    assert found.stream.page_ids.tolist() == stream.page_ids.tolist()
    assert found.stream.flags.tolist() == stream.flags.tolist()
    assert found.rows.tolist() == list(range(len(stream)))


@pytest.mark.parametrize("seed", [0, 1, 7, 2**31 - 2])
def test_draws_the_part_that_is_asked_for_and_a_lower_rate_a_subset(seed):
    before = np.ones(100_000, np.bool_)
    for rate in (0.5, 0.25, 1 / 16, 1 / 64):
        now = drawn(len(before), rate, seed)
        assert now.mean() == pytest.approx(rate, abs=4 * (rate * (1 - rate) / len(before)) ** 0.5)
        assert not (now & ~before).any()
        before = now


def test_another_seed_draws_other_pages_independently():
    one, other, again = (drawn(100_000, 0.25, seed) for seed in (3, 4, 3))
    assert (one == again).all()
    assert (one & other).mean() == pytest.approx(1 / 16, abs=0.003)


def test_neighbouring_pages_are_drawn_independently():
    one = drawn(100_000, 0.5, 9)
    for distance in (1, 2, 3, 64):
        assert (one[distance:] == one[:-distance]).mean() == pytest.approx(0.5, abs=0.007)


def test_a_sample_of_no_page_is_empty():
    stream = reads([1, 2, 1])
    seed = next(seed for seed in range(1000) if not drawn(2, 0.05, seed).any())
    found = sample(stream, 0.05, seed)
    assert (len(found.stream), found.stream.n_pages, len(found.rows)) == (0, 0, 0)
