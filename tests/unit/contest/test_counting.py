"""From where on a trace counts, as it is typed."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cachezoo.contest.blocks import block_means, blocks_in, halves
from cachezoo.contest.counting import Count, counted_words, first_access, first_accesses
from cachezoo.errors import ConfigError
from cachezoo.traces.pages import PageAccesses


def accesses(sizes: list[int], pages: int = 50) -> PageAccesses:
    """Requests of so many pages; page ids rise and begin again."""
    start = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    ids = (np.arange(start[-1]) % pages).astype(np.int32)
    return PageAccesses(start, ids, int(ids.max(initial=-1)) + 1)


@given(st.lists(st.integers(1, 9), min_size=1, max_size=60), st.sampled_from(["half", "all", "auto", "25%", "99.9%"]))
def test_what_counts_begins_with_a_request_at_the_place_or_before_it(sizes, text):
    pages = accesses(sizes)
    total = len(pages.page_ids)
    first = first_access(pages, Count(text), 10)
    assert first in pages.request_start[:-1]
    filled = next((k + 1 for k, page in enumerate(pages.page_ids) if page >= 9), total + 1)
    place = {
        "half": total // 2, "all": 0, "25%": int(0.25 * total), "99.9%": int(0.999 * total),
        "auto": int(min(max(filled, 0.1 * total), total / 3)),
    }[text]  # fmt: skip
    own = max(start for start in pages.request_start[:-1].tolist() if start <= place)
    assert first == own


def test_the_second_half_is_the_default_and_the_same_at_every_size():
    pages = accesses([4] * 100)
    assert first_access(pages) == 200
    assert first_accesses(pages, Count(), [1, 10, 400]).tolist() == [200] * 3
    rising = first_accesses(pages, Count("auto"), [1, 45, 50]).tolist()
    assert rising == sorted(rising)


def test_times_and_numbers_are_places_too():
    pages, time_us = accesses([2] * 10), np.arange(10) * 1_000_000 + 7
    assert first_access(pages, Count("3s"), time_us=time_us) == 6
    assert first_access(pages, Count("0.05m"), time_us=time_us) == 6
    assert first_access(pages, Count("3s").on(pages, time_us)) == 6
    assert first_access(pages, Count("7")) == 6
    assert Count("half").on(pages, time_us) == Count("half")
    with pytest.raises(ConfigError, match="there is no clock; give a share such as 25%"):
        first_access(pages, Count("3s"), time_us=np.zeros(10, np.int64))


@pytest.mark.parametrize("text", ["", "third", "100%", "-1", "1.5", "1_000", "²", "5x", "9" * 30, "half "])
def test_what_is_no_rule_is_refused_with_what_is(text):
    with pytest.raises(ConfigError, match="give half, auto, all, a share such as 25%, a time such as 60s"):
        Count(text)


@pytest.mark.parametrize("text", ["20", "10s", "1d"])
def test_a_place_behind_the_end_is_refused(text):
    with pytest.raises(ConfigError, match="the trace ends before"):
        first_access(accesses([2] * 10), Count(text), time_us=np.arange(10) * 1_000_000)


def test_words():
    assert counted_words([5, 5], [9, 9]) == "counted after 5 of 9 page accesses"
    assert "5 to 6 of 9 page accesses" in counted_words([5, 6], [9, 9])
    assert "50 to 60 % of its page accesses" in counted_words([5, 12], [10, 20])


@given(st.lists(st.integers(0, 1), min_size=200, max_size=1500))
def test_blocks_are_consecutive_equal_and_by_turns(values):
    own = np.array(values)
    means = block_means(own)
    assert len(means) == blocks_in(len(own)) == min(20, len(own) // 50)
    lengths = [len(part) for part in np.array_split(own, len(means))]
    assert float((means * lengths).sum()) == pytest.approx(own.sum(), abs=len(means))
    choosing, judging = halves(np.arange(len(own)))
    assert sorted([*choosing, *judging]) == list(range(len(own)))
    assert choosing[0] == 0 and judging[-1] == len(own) - 1
    assert len(block_means(own[:199])) == 0
