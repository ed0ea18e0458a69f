import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cachezoo.errors import ConfigError
from cachezoo.kernels.flash import DiskHead, FlashRun, coin_flips, simulate_flash, simulate_rejectx
from cachezoo.kernels.segments import Geometry, SegmentAccesses, expand_segments
from tests.baleen_data import make_trace, small_requests
from tests.oracles.flash import naive_flash, naive_rejectx

Requests = tuple[list[int], list[int], list[int], list[int]]
TINY = Geometry(64, 16)


def expand(requests: Requests) -> tuple[SegmentAccesses, np.ndarray, list[tuple[int, list[int]]]]:
    volume, op, offset, size = requests
    accesses = expand_segments(np.array(volume, np.int32), np.array(offset), np.array(size), TINY)
    lists = [accesses.segment[a:b].tolist() for a, b in zip(accesses.start, accesses.start[1:], strict=False)]
    return accesses, np.array(op) == 0, list(zip(op, lists, strict=True))


def check(run: FlashRun, expected: tuple[list[int], list[int], list[int], list[int], int]) -> None:
    ios, hits, writes, ages, filled = expected
    assert run.io_segments.tolist() == ios
    assert run.hits.tolist() == hits
    assert run.written.tolist() == writes
    assert (run.evictions, run.filled_at) == (len(ages), filled)
    assert run.mean_eviction_age == (sum(ages) / len(ages) if ages else 0.0)
    assert run.segment_writes == sum(writes)


@settings(deadline=None)
@given(small_requests(), st.integers(1, 20), st.booleans(), st.integers(0, 2**60 - 1))
def test_decisions_match_the_naive_loop(requests: Requests, capacity: int, lru: bool, bits: int) -> None:
    accesses, read, naive = expand(requests)
    admit = np.array([bool(bits >> row & 1) for row in range(len(read))])
    run = simulate_flash(accesses, read, admit, capacity, lru=lru)
    check(run, naive_flash(naive, lambda row, _: bool(admit[row]), capacity, lru))


@settings(deadline=None)
@given(small_requests(), st.integers(1, 20), st.booleans(), st.integers(0, 40))
def test_rejectx_matches_the_naive_loop(requests: Requests, capacity: int, lru: bool, window: int) -> None:
    accesses, read, naive = expand(requests)
    run = simulate_rejectx(accesses, read, window, capacity, lru=lru)
    check(run, naive_flash(naive, naive_rejectx(window), capacity, lru))


def test_longer_trace() -> None:
    trace = make_trace(4000, 11)
    accesses = expand_segments(trace.volume.codes, trace.offset, trace.size, Geometry())
    lists = [accesses.segment[a:b].tolist() for a, b in zip(accesses.start, accesses.start[1:], strict=False)]
    naive = list(zip(trace.op.tolist(), lists, strict=True))
    check(simulate_rejectx(accesses, trace.op == 0, 900, 700), naive_flash(naive, naive_rejectx(900), 700))
    everything = np.ones(len(trace), bool)
    run = simulate_flash(accesses, trace.op == 0, everything, 700)
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
    with pytest.raises(ConfigError, match="admit"):
        simulate_flash(accesses, read, np.ones(2, bool), 1)
