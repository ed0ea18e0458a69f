import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cachezoo.errors import ConfigError
from cachezoo.flash_cache.modes import is_mode, plain_modes, plain_prefetch
from cachezoo.kernels.flash import simulate_flash, simulate_rejectx
from cachezoo.kernels.flash_queue import EVICTIONS, Eviction
from cachezoo.kernels.segments import Geometry, expand_segments
from tests.baleen_data import partial_scans, small_requests
from tests.oracles.flash import addresses, naive_flash, naive_next, naive_rejectx

Requests = tuple[list[int], list[int], list[int], list[int]]
TINY = Geometry(64, 16)


def test_modes_without_a_model() -> None:
    assert plain_modes(4) == ("none", "all_on_miss", "all_on_partial", "next(1)", "next(2)", "next(4)")
    assert plain_modes(6)[3:] == ("next(1)", "next(2)", "next(4)", "next(6)")
    assert plain_modes(1)[3:] == ("next(1)",)
    assert all(is_mode(mode) for mode in plain_modes(64))
    for text in ("ml_range", "next(0)", "next(-1)", "next(x)", "next(1) ", "next", "sometimes", ""):
        assert not is_mode(text)


def test_what_they_fetch() -> None:
    last = np.array([0, 61, 63, 70])
    none, miss, partial = (plain_prefetch(mode, last, 64) for mode in ("none", "all_on_miss", "all_on_partial"))
    assert not (none.low < none.high).any()
    assert miss.low.tolist() == [0] * 4 and miss.high.tolist() == [64] * 4 and not miss.on_partial
    assert partial.high.tolist() == [64] * 4 and partial.on_partial
    ahead = plain_prefetch("next(8)", last, 64)
    assert ahead.low.tolist() == [1, 62, 64, 64] and ahead.high.tolist() == [9, 64, 64, 64] and not ahead.on_partial
    for mode in ("ml_range", "next(0)"):
        with pytest.raises(ConfigError, match=r"there are none, all_on_miss, all_on_partial or next\(n\)"):
            plain_prefetch(mode, last, 64)


@given(
    small_requests(), st.integers(1, 30), st.sampled_from(EVICTIONS), st.integers(1, 5), st.integers(-1, 40),
    st.integers(0, 99),
)  # fmt: skip
def test_read_ahead_matches_the_naive_loop(
    requests: Requests, capacity: int, eviction: Eviction, count: int, window: int, seed: int
) -> None:
    volume, op, offset, size = requests
    accesses = expand_segments(np.array(volume, np.int32), np.array(offset), np.array(size), TINY)
    read, admit = np.array(op) == 0, np.random.default_rng(seed).random(len(op)) < 0.7
    ahead = plain_prefetch(f"next({count})", accesses.first + accesses.sizes - 1, accesses.per_block)
    naive = addresses(requests, TINY)
    ranges = naive_next(naive, count, TINY.per_block)
    if window < 0:
        run = simulate_flash(accesses, read, admit, capacity, eviction=eviction, prefetch=ahead)
        want = naive_flash(naive, lambda row, _: bool(admit[row]), capacity, eviction, ranges)
    else:
        run = simulate_rejectx(accesses, read, window, capacity, eviction=eviction, prefetch=ahead)
        want = naive_flash(naive, naive_rejectx(window), capacity, eviction, ranges)
    assert run.io_segments.tolist() == want.ios and run.hits.tolist() == want.hits
    assert run.written.tolist() == want.writes and run.prefetched.tolist() == want.prefetched
    assert run.prefetched_used == want.used


def test_a_scan_asks_the_disk_once_for_each_stretch_read_ahead() -> None:
    trace = partial_scans(1800, 1)
    accesses = expand_segments(trace.volume.codes, trace.offset, trace.size, Geometry())
    everything = np.ones(len(trace), bool)
    for count in (1, 3, 9):
        ahead = plain_prefetch(f"next({count})", accesses.first + accesses.sizes - 1, accesses.per_block)
        run = simulate_flash(accesses, everything, everything, accesses.n_places, prefetch=ahead)
        first = np.unique(accesses.segment, return_index=True)[1]
        assert np.count_nonzero(run.io_segments) == len(first) / (count + 1)
