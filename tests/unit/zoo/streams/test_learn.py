"""Dictionaries that fit into so many bytes: against brute force, chunk by chunk."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cachezoo.zoo.streams.dictionary import CHUNK_BYTES, RANGE_BYTES, Dictionary
from cachezoo.zoo.streams.learn import LEAST_RANGES, Evidence, compact, most_ranges, nearest
from tests.oracles.ranges import naive_least

K = 4


@st.composite
def learned(draw, zero=False):
    """A dictionary, and what it was learned from; gaps are unknown, or go with the nearest chunk.

    Args:
        zero: some chunk has stream 0, so that it is known how long what is unknown lives.
    """
    chunks = np.array(sorted(draw(st.sets(st.integers(0, 14), min_size=1, max_size=12))), np.int64)
    streams = np.array([draw(st.integers(0, K - 1)) for _ in chunks], np.uint8)
    if zero:
        streams[draw(st.integers(0, len(chunks) - 1))] = 0
    pages = np.array([draw(st.integers(1, 9)) for _ in chunks], np.int64)
    # Streams far from each other: none has the mean of another, however its chunks differ.
    life = 20.0 - 4 * streams + np.array([draw(st.integers(0, 3)) for _ in chunks])
    make = draw(st.sampled_from([Dictionary.of, nearest]))
    return make(chunks, streams, K), Evidence(chunks, pages, life)


def cost_of(sid: Dictionary, found: Dictionary, evidence: Evidence) -> tuple[float, np.ndarray]:
    """Pages that changed their stream x how far the two lifetimes are apart, and that distance between streams."""
    before, after = sid.look_up(evidence.chunks), found.look_up(evidence.chunks)
    mean = [
        np.average(evidence.life[before == k], weights=evidence.pages[before == k])
        if (before == k).any()
        else evidence.life.max()
        for k in range(K)
    ]
    distance = np.abs(np.subtract.outer(mean, mean))
    return float((evidence.pages * distance[before, after]).sum()), distance


@given(learned(), st.integers(LEAST_RANGES, 20))
def test_no_dictionary_of_as_few_ranges_is_less_wrong(made, most):
    sid, evidence = made
    found = compact(sid, evidence, most)
    assert len(found) <= most
    line = np.arange(evidence.chunks[-1] + 1)
    pages = np.zeros(len(line))
    pages[evidence.chunks] = evidence.pages
    cost, distance = cost_of(sid, found, evidence)
    # Only streams that the dictionary has can be given.
    used, own = np.unique(sid.look_up(np.append(line, line[-1] + 1)), return_inverse=True)
    near = distance[np.ix_(used, used)]
    least = naive_least(own[:-1].tolist(), pages.tolist(), near.tolist(), int(own[-1]))
    assert cost == pytest.approx(min(one for ranges, one in least.items() if ranges <= len(found)), abs=1e-9)


@given(learned(), st.integers(LEAST_RANGES, 20))
def test_what_lies_behind_stays_and_neighbours_of_one_stream_are_one_range(made, most):
    sid, evidence = made
    found = compact(sid, evidence, most)
    behind = evidence.chunks[-1] + 1 + np.array([0, 1, 1000])
    assert found.look_up(behind).tolist() == sid.look_up(behind).tolist()
    assert found.starts[0] == 0
    assert (np.diff(found.streams.astype(int)) != 0).all()
    assert Dictionary.from_bytes(found.to_bytes()).starts.tolist() == found.starts.tolist()
    assert set(found.streams) <= set(sid.streams)


@given(learned(zero=True))
def test_gaps_are_given_up_before_any_chunk_that_was_learned(made):
    """As many ranges as the learned chunks make when nothing lies between them: all keep their stream."""
    sid, evidence = made
    streams = sid.look_up(np.append(evidence.chunks, evidence.chunks[-1] + 1))
    needed = max(LEAST_RANGES, 1 + int((np.diff(streams.astype(int)) != 0).sum()))
    found = compact(sid, evidence, needed)
    assert len(found) <= needed
    assert found.look_up(evidence.chunks).tolist() == sid.look_up(evidence.chunks).tolist()


@given(learned())
def test_a_dictionary_that_fits_is_left_alone(made):
    sid, evidence = made
    assert compact(sid, evidence, len(sid)) is sid


def test_the_chunk_that_few_pages_are_written_to_goes_first():
    streams = np.array([0, 1, 0, 2, 0, 1])
    sid = Dictionary.of(np.arange(6), streams, 3)
    evidence = Evidence(np.arange(6), np.array([50, 9, 50, 2, 50, 9]), 10.0 - streams)
    found = compact(sid, evidence, 5)
    assert found.look_up(np.arange(7)).tolist() == [0, 1, 0, 0, 0, 1, 0]


def test_bytes_for_a_tb_become_ranges_of_the_volume():
    chunks = round(1e12) // CHUNK_BYTES
    assert most_ranges(chunks, 8e6) == pytest.approx(8e6 / RANGE_BYTES, abs=1)
    assert most_ranges(chunks, 8e6) * RANGE_BYTES <= 8e6
    assert most_ranges(1, 8e6) == LEAST_RANGES
