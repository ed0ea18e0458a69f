from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cachezoo.errors import ConfigError, TraceError
from cachezoo.kernels.admit import bloom
from cachezoo.kernels.flash import (
    BLOOM_BITS,
    BLOOM_LEAST,
    DiskHead,
    FlashRun,
    Prefetch,
    coin_flips,
    simulate_flash,
    simulate_rejectx,
)
from cachezoo.kernels.flash_queue import EVICTIONS, Eviction
from cachezoo.kernels.segments import Geometry, SegmentAccesses, expand_segments
from tests.baleen_data import make_trace, small_requests
from tests.oracles.flash import NaiveRun, Ranges, addresses, naive_flash, naive_queue, naive_rejectx

Requests = tuple[list[int], list[int], list[int], list[int]]
evictions = st.sampled_from(EVICTIONS)
TINY = Geometry(64, 16)


def expand(requests: Requests) -> tuple[SegmentAccesses, np.ndarray, list[tuple[int, list[int]]]]:
    volume, op, offset, size = requests
    accesses = expand_segments(np.array(volume, np.int32), np.array(offset), np.array(size), TINY)
    lists = [accesses.segment[a:b].tolist() for a, b in zip(accesses.start, accesses.start[1:], strict=False)]
    return accesses, np.array(op) == 0, list(zip(op, lists, strict=True))


def check(run: FlashRun, expected: NaiveRun) -> None:
    assert run.io_segments.tolist() == expected.ios
    assert run.io_first.tolist() == expected.firsts
    assert run.hits.tolist() == expected.hits
    assert run.written.tolist() == expected.writes
    assert run.prefetched.tolist() == expected.prefetched
    assert run.prefetched_used == expected.used
    assert (run.evictions, run.filled_at) == (len(expected.ages), expected.filled)
    assert run.mean_eviction_age == (sum(expected.ages) / len(expected.ages) if expected.ages else 0.0)
    assert run.segment_writes == sum(expected.writes)
    assert run.slots.tolist() == expected.slots


@settings(deadline=None)
@given(small_requests(), st.integers(1, 20), evictions, st.integers(0, 2**60 - 1))
def test_decisions_match_the_naive_loop(requests: Requests, capacity: int, eviction: Eviction, bits: int) -> None:
    accesses, read, naive = expand(requests)
    admit = np.array([bool(bits >> row & 1) for row in range(len(read))])
    run = simulate_flash(accesses, read, admit, capacity, eviction=eviction, note_slots=True)
    check(run, naive_flash(naive, lambda row, _: bool(admit[row]), capacity, eviction))


@settings(deadline=None)
@given(small_requests(), st.integers(1, 20), evictions, st.integers(0, 40))
def test_rejectx_matches_the_naive_loop(requests: Requests, capacity: int, eviction: Eviction, window: int) -> None:
    accesses, read, naive = expand(requests)
    run = simulate_rejectx(accesses, read, window, capacity, eviction=eviction, note_slots=True)
    check(run, naive_flash(naive, naive_rejectx(window), capacity, eviction))


def ranges_of(naive: list[tuple[int, list[int]]], low: np.ndarray, high: np.ndarray, per_block: int) -> Ranges:
    starts = [segments[0] // per_block * per_block for _, segments in naive]
    return [(start + int(a), start + int(b)) for start, a, b in zip(starts, low, high, strict=True)]


@given(
    small_requests(), st.integers(1, 30), evictions, st.booleans(), st.booleans(), st.integers(-1, 40),
    st.integers(0, 2**32),
)  # fmt: skip
def test_prefetch_matches_the_naive_loop(
    requests: Requests, capacity: int, eviction: Eviction, on_partial: bool, whole: bool, window: int, seed: int
) -> None:
    accesses, read, _ = expand(requests)
    naive, rng = addresses(requests, TINY), np.random.default_rng(seed)
    low, high = np.sort(rng.integers(0, 5, (2, len(read))), axis=0).astype(np.int32)
    admit = rng.random(len(read)) < 0.7
    prefetch, ranges = Prefetch(low, high, on_partial), ranges_of(naive, low, high, 4)
    cache: Any = {"eviction": eviction, "prefetch": prefetch, "whole_block": whole, "note_slots": True}
    if window < 0:
        run, accept = simulate_flash(accesses, read, admit, capacity, **cache), lambda row, _: bool(admit[row])
    else:
        run, accept = simulate_rejectx(accesses, read, window, capacity, **cache), naive_rejectx(window)
    check(run, naive_flash(naive, accept, capacity, eviction, ranges, on_partial, 4 * whole))


@given(small_requests(), st.integers(1, 20), st.integers(0, 40))
def test_filters_match_the_naive_loop(requests: Requests, capacity: int, entries: int) -> None:
    accesses, read, naive = expand(requests)
    run = simulate_rejectx(accesses, read, entries, capacity, memory="filters", note_slots=True)
    filters = bloom.make(BLOOM_LEAST, BLOOM_LEAST, BLOOM_BITS)._replace(entries=min(entries, len(accesses.segment)))

    def accept(row: int, segment: int) -> bool:
        return entries > 0 and bool(bloom.admit(filters, segment, row))

    check(run, naive_flash(naive, accept, capacity))


@given(small_requests(), st.integers(1, 20), st.integers(0, 40))
def test_a_queue_matches_the_naive_loop(requests: Requests, capacity: int, entries: int) -> None:
    accesses, read, naive = expand(requests)
    run = simulate_rejectx(accesses, read, entries, capacity, memory="queue", note_slots=True)
    check(run, naive_flash(naive, naive_queue(entries), capacity))


def test_whole_blocks_without_prefetch() -> None:
    # A cache of three: block 0 has segments 0 and 1, block 1 segment 4. The read of 1 keeps 0 too, where 4 is left.
    accesses, read, _ = expand(([0] * 5, [0] * 5, [0, 64, 16, 16, 32], [16] * 5))
    kept = simulate_flash(accesses, read, np.ones(5, bool), 3, whole_block=True)
    assert (kept.hits.tolist(), kept.evictions) == ([0, 0, 0, 1, 0], 1)
    again = ([0] * 6, [0] * 6, [0, 64, 16, 16, 32, 0], [16] * 6)
    accesses, read, _ = expand(again)
    for whole, hit in ((True, 1), (False, 0)):
        assert simulate_flash(accesses, read, np.ones(6, bool), 3, whole_block=whole).hits[-1] == hit


def test_nothing_to_prefetch_is_no_prefetch() -> None:
    trace = make_trace(3000, 12)
    accesses = expand_segments(trace.volume.codes, trace.offset, trace.size, Geometry())
    none = np.zeros(len(trace), np.int32)
    plain = simulate_rejectx(accesses, trace.op == 0, 900, 700)
    empty = simulate_rejectx(accesses, trace.op == 0, 900, 700, prefetch=Prefetch(none, none))
    for name in ("io_segments", "hits", "written", "prefetched"):
        np.testing.assert_array_equal(getattr(plain, name), getattr(empty, name))
    assert (plain.evictions, plain.mean_eviction_age) == (empty.evictions, empty.mean_eviction_age)


def test_prefetch_on_a_longer_trace() -> None:
    trace = make_trace(4000, 13)
    accesses = expand_segments(trace.volume.codes, trace.offset, trace.size, Geometry())
    columns = (trace.volume.codes, trace.op, trace.offset, trace.size)
    naive = addresses(tuple(column.tolist() for column in columns), Geometry())  # type: ignore[arg-type]
    low, high = np.zeros(len(trace), np.int32), np.full(len(trace), 64, np.int32)
    for on_partial in (False, True):
        beside = Prefetch(low, high, on_partial)
        run = simulate_rejectx(accesses, trace.op == 0, 900, 2000, prefetch=beside, note_slots=True)
        ranges = ranges_of(naive, low, high, 64)
        check(run, naive_flash(naive, naive_rejectx(900), 2000, "lru", ranges, on_partial))
        assert run.prefetched.sum() > run.prefetched_used > 0


def test_prefetch_by_hand() -> None:
    # Block of four: a read of segment 1 brings 0 to 3 in one I/O of four; 0 and 3 are used later, 2 is overwritten.
    accesses, read, _ = expand(([0] * 4, [0, 1, 0, 0], [16, 32, 0, 48], [16, 16, 16, 16]))
    everything = np.ones(4, bool)
    whole = Prefetch(np.zeros(4, np.int32), np.full(4, 4, np.int32))
    run = simulate_flash(accesses, read, everything, 10, prefetch=whole)
    assert run.io_segments.tolist() == [4, 0, 0, 0]
    assert (run.written.tolist(), run.prefetched.tolist(), run.prefetched_used) == ([4, 0, 0, 0], [3, 0, 0, 0], 2)
    partial = simulate_flash(accesses, read, everything, 10, prefetch=Prefetch(whole.low, whole.high, True))
    assert (partial.io_segments.tolist(), partial.prefetched.sum()) == ([1, 0, 1, 1], 0)
    refused = simulate_flash(accesses, read, ~everything, 10, prefetch=whole)
    assert (refused.io_segments.tolist(), refused.segment_writes) == ([1, 0, 1, 1], 0)


def test_what_a_read_missed_is_newer_than_its_prefetch() -> None:
    accesses, read, _ = expand(([0, 0], [0, 0], [16, 16], [16, 16]))
    whole = Prefetch(np.zeros(2, np.int32), np.full(2, 4, np.int32))
    run = simulate_flash(accesses, read, np.ones(2, bool), 1, prefetch=whole)
    assert (run.hits.tolist(), run.written.tolist(), run.evictions) == ([0, 1], [4, 0], 3)


def test_longer_trace() -> None:
    trace = make_trace(4000, 11)
    accesses = expand_segments(trace.volume.codes, trace.offset, trace.size, Geometry())
    lists = [accesses.segment[a:b].tolist() for a, b in zip(accesses.start, accesses.start[1:], strict=False)]
    naive = list(zip(trace.op.tolist(), lists, strict=True))
    run = simulate_rejectx(accesses, trace.op == 0, 900, 700, note_slots=True)
    check(run, naive_flash(naive, naive_rejectx(900), 700))
    everything = np.ones(len(trace), bool)
    run = simulate_flash(accesses, trace.op == 0, everything, 700, note_slots=True)
    check(run, naive_flash(naive, lambda *_: True, 700))
    assert run.evictions > 100


def test_disk_head_time_of_the_source() -> None:
    cost = DiskHead()
    ms = cost.seconds(np.array([1, 1, 0]), np.array([128 << 10, 8 << 20, 0])) * 1e3
    np.testing.assert_allclose(ms, [12.374, 67.444, 0.0], atol=5e-4)


def test_coin_flips_are_nested_and_seeded() -> None:
    draws = coin_flips(1000, 3)
    assert (draws == coin_flips(1000, 3)).all() and (draws != coin_flips(1000, 4)).any()
    assert 150 < (draws < 0.2).sum() < 250


def test_rules() -> None:
    accesses, read, _ = expand(([0], [0], [0], [16]))
    with pytest.raises(ConfigError, match="capacity"):
        simulate_flash(accesses, read, read, 0)
    with pytest.raises(ConfigError, match="window"):
        simulate_rejectx(accesses, read, -1, 1)
    with pytest.raises(ConfigError, match="eviction clock: it is one of lru, fifo, s3fifo"):
        simulate_flash(accesses, read, read, 1, eviction="clock")  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="admit"):
        simulate_flash(accesses, read, np.ones(2, bool), 1)
    for low, high, message in (([0], [5], "a block has 0 to 4"), ([-1], [1], "row 0"), ([0, 0], [1, 1], "2 low")):
        prefetch = Prefetch(np.array(low, np.int32), np.array(high, np.int32))
        with pytest.raises(ConfigError, match=message):
            simulate_flash(accesses, read, read, 1, prefetch=prefetch)
    with pytest.raises(TraceError, match="more than int32 ids"):
        _ = replace(accesses, n_places=2**31).placed
