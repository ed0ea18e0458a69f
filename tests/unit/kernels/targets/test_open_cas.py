"""Open CAS against its naive version, and its rules one by one."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cachezoo.kernels.targets import open_cas as kernel
from cachezoo.questions.targets.open_cas import CLEANING, CUTOFF, MODES, lines_of, requests_of
from cachezoo.questions.tiers.stream import tier_stream
from tests.oracles.targets import open_cas as oracle
from tests.tiers_data import byte_trace

PAGE = 4096
ALRU = (1000, 500, 2000)  # wakes, idle, stale, µs
R, W = 0, 1


def ran(rows, lines, line_pages=1, mode="wt", cutoff=("never", 1 << 20), nhit=0, trigger=80, cleaning="nop", buffers=2,
        count=3, size=0):  # fmt: skip
    """Rows of (op, first page, pages, µs since the one before): the kernel's run and its oracle's."""
    op, first, pages, gap = (np.array(column, np.int64) for column in zip(*rows, strict=True))
    ts = tier_stream(byte_trace(first * PAGE, pages * PAGE, op, np.cumsum(gap)))
    wake, idle, stale = ALRU if cleaning != "acp" else (100, 0, 0)
    when = CUTOFF[cutoff[0]], cutoff[1], count, size
    knobs = kernel.Knobs(MODES[mode], *when, nhit, trigger, CLEANING[cleaning], wake, idle, stale, buffers)
    found, log, dirty = kernel.open_cas(requests_of(ts), lines_of(ts, line_pages), lines, knobs)
    ios = [(int(log.code[k]), int(log.request[k]), int(log.place[k]), int(log.pages[k])) for k in range(log.used[0])]
    naive = oracle.OpenCas(
        lines, line_pages, mode, oracle.Cutoff(*cutoff, count, size), nhit, trigger, cleaning, buffers
    )
    told_found, told_dirty = [], []
    for k, (write, at, many, now) in enumerate(zip(op, first, pages, np.cumsum(gap), strict=True)):
        own = int(at * PAGE), int(many * PAGE)
        told_found += naive.request_(k, int(at), int(many), bool(write), int(now), *own, (wake, idle, stale))
        told_dirty.append(naive.dirty_pages)
    assert found.tolist() == told_found
    assert dirty.tolist() == told_dirty
    assert ios == joined(naive.ios)
    return found, ios, dirty


def joined(ios):
    """I/Os that go on where the one before ended are one."""
    found = []
    for code, request, place, pages in ios:
        if found and found[-1][:2] == (code, request) and found[-1][2] + found[-1][3] == place:
            found[-1] = (code, request, found[-1][2], found[-1][3] + pages)
        else:
            found.append((code, request, place, pages))
    return found


page = st.tuples(st.sampled_from([0, 0, 0, 25590, 25600, 51200]), st.integers(0, 24)).map(sum)
row = st.tuples(st.sampled_from([R, W]), page, st.integers(1, 6), st.sampled_from([0, 30, 700, 5000]))
rows = st.lists(row, min_size=1, max_size=60)
modes = st.sampled_from(["wt", "wb", "wa", "wo", "pt"])


@given(rows, st.integers(1, 12), st.sampled_from([1, 2, 4, 16]), modes)
def test_lists_and_modes_are_the_oracles(own, lines, line_pages, mode):
    ran(own, lines, line_pages, mode)


@given(rows, st.integers(1, 6), st.sampled_from([1, 4]), modes, st.sampled_from([2, 3]), st.sampled_from([0, 50, 80]))
def test_promotion_is_the_oracles(own, lines, line_pages, mode, nhit, trigger):
    ran(own, lines, line_pages, mode, nhit=nhit, trigger=trigger)


@given(rows, modes, st.sampled_from(["full", "always"]), st.sampled_from([2, 5]), st.sampled_from([0, 3]))
def test_the_cutoff_is_the_oracles(own, mode, policy, pages, size):
    ran(own, 8, 2, mode, (policy, pages * PAGE), size=size * PAGE)


@given(rows, st.sampled_from(["wb", "wo"]), st.sampled_from(["alru", "acp"]), st.sampled_from([1, 4]))
def test_cleaning_is_the_oracles(own, mode, cleaning, line_pages):
    ran(own, 8, line_pages, mode, cleaning=cleaning)


@pytest.mark.parametrize("mode", ["wt", "wb", "wa"])
def test_a_read_again_is_a_hit(mode):
    found, ios, _ = ran([(R, 5, 2, 0), (R, 5, 2, 0)], 4, mode=mode)
    assert found.tolist() == [oracle.DISK] * 2 + [oracle.SSD] * 2
    assert [code for code, *_ in ios] == [0, 7, 2]  # the disk is read, the SSD filled later, then read


def test_write_back_writes_the_ssd_alone_and_says_what_is_at_risk():
    _, ios, dirty = ran([(W, 0, 3, 0), (W, 1, 1, 0)], 4, mode="wb")
    assert [code for code, *_ in ios] == [3, 3]
    assert dirty.tolist() == [3, 3]


def test_dirty_lines_are_never_evicted_but_let_the_next_request_pass():
    found, ios, dirty = ran([(W, 0, 2, 0), (R, 10, 1, 0), (R, 10, 1, 0), (R, 10, 1, 0)], 2, mode="wb")
    assert dirty.tolist() == [2, 0, 0, 0]
    assert found.tolist()[2:] == [oracle.DISK, oracle.DISK, oracle.SSD]
    assert [code for code, request, *_ in ios if request == 1][-1] == 0  # read past the cache


def test_nhit_lets_a_line_in_at_the_third_request():
    rows = [(R, 0, 1, 0)] + [(R, 5, 1, 0)] * 4
    found, _, _ = ran(rows, 1, nhit=3, trigger=80)
    assert found.tolist() == [oracle.DISK] * 4 + [oracle.SSD]


def test_a_stream_passes_the_cache_from_the_threshold_on():
    rows = [(R, k, 1, 0) for k in range(6)] * 2
    found, _, _ = ran(rows, 20, cutoff=("always", 4 * PAGE))
    assert found.tolist()[6:] == [oracle.SSD] * 3 + [oracle.DISK] * 3


def test_a_large_line_holds_what_was_asked_for_alone():
    found, ios, _ = ran([(R, 0, 1, 0), (R, 1, 1, 0), (R, 0, 2, 0)], 2, 16)
    assert found.tolist() == [oracle.DISK, oracle.DISK, oracle.SSD, oracle.SSD]
    assert sum(pages for code, _, _, pages in ios if code == 7) == 2


def test_alru_waits_until_nobody_asks():
    busy = [(W, 0, 1, 0)] + [(R, 9, 1, 400)] * 10
    _, _, dirty = ran(busy, 4, mode="wb", cleaning="alru")
    assert dirty[-1] == 1
    _, _, dirty = ran([*busy, (R, 9, 1, 10_000)], 4, mode="wb", cleaning="alru")
    assert dirty[-1] == 0
