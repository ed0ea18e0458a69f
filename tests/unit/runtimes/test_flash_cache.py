"""libcachezoo's flash cache beside the simulator: the same requests, the same of everything, request for request."""

import subprocess
from pathlib import Path

import numpy as np
import pytest

from cachezoo.flash_cache.modes import plain_prefetch
from cachezoo.kernels.flash import FlashRun, Prefetch, simulate_flash, simulate_rejectx
from cachezoo.kernels.segments import Geometry, SegmentAccesses, expand_segments
from cachezoo.seeds import derive_seed
from cachezoo.traces.store import read_trace

PROGRAM = "flash_run"
CAPTURED = Path(__file__).parents[3] / "data/raw/captured"
BY_VERDICT = -1
MISSES = 1 << 20
COLUMNS = ("hits", "written", "prefetched", "io_segments", "evicted")


class Requests:
    """Requests of a flash cache, as the simulator and as the C program take them."""

    def __init__(self, volume, op, offset, size, geometry):
        self.read = np.asarray(op) == 0
        self.accesses: SegmentAccesses = expand_segments(
            np.asarray(volume, np.int32), np.asarray(offset, np.int64), np.asarray(size, np.int64), geometry
        )
        first = np.asarray(offset, np.int64) // geometry.segment_bytes
        self.rows = np.stack([np.asarray(op), volume, first, self.accesses.sizes], axis=1).astype(np.int64)
        self.geometry = geometry

    def __len__(self):
        return len(self.rows)

    @property
    def last(self):
        """Each request's last segment, counted from its block's start."""
        return self.accesses.first + self.accesses.sizes - 1


def run(program, requests, capacity, *, window=BY_VERDICT, admit=None, prefetch=None, misses=MISSES, whole=False):
    """What the C cache does, int32[n, 5]; `COLUMNS`."""
    n, none = len(requests), np.zeros(len(requests), np.int64)
    fetched = prefetch or Prefetch(none, none)
    partial = np.full(n, fetched.on_partial)
    verdicts = [none if admit is None else admit, fetched.low, fetched.high, partial]
    rows = np.concatenate([requests.rows, np.stack(verdicts, axis=1).astype(np.int64)], axis=1)
    geometry, most = requests.geometry, requests.accesses.sizes.max()
    header = np.array([capacity, geometry.per_block, most, window, misses, whole], np.int64)
    done = subprocess.run([program], input=header.tobytes() + rows.tobytes(), capture_output=True, timeout=120)
    assert done.returncode == 0, done.stderr.decode()
    return np.frombuffer(done.stdout, np.int32).reshape(n, len(COLUMNS))


def check(made: np.ndarray, expected: FlashRun) -> None:
    for column, name in enumerate(COLUMNS[:-1]):
        wrong = np.flatnonzero(made[:, column] != getattr(expected, name))
        assert not len(wrong), f"{name} of request {wrong[0]}"
    assert made[:, -1].sum() == expected.evictions


def random_requests(seed, n=3000):
    """Reuse, overwrites and requests across blocks, on three volumes."""
    rng = np.random.default_rng(seed)
    geometry = Geometry(64, 8)
    offset = np.where(rng.random(n) < 0.6, rng.integers(0, 300, n), rng.integers(0, 6000, n))
    volume, op = rng.integers(0, 3, n), (rng.random(n) < 0.3).astype(np.int64)
    return Requests(volume, op, offset, rng.integers(1, 100, n), geometry), rng


@pytest.mark.parametrize("whole", [False, True])
@pytest.mark.parametrize("case", range(12))
def test_random_requests_do_in_c_what_they_do_in_the_simulator(program, case, whole):
    requests, rng = random_requests(derive_seed(0, "flash cache in C", case))
    admit = rng.random(len(requests)) < 0.5
    low = rng.integers(0, 9, len(requests)).astype(np.int32)
    high = rng.integers(0, 9, len(requests)).astype(np.int32)
    prefetch = (None, Prefetch(low, high), Prefetch(low, high, True))[case % 3]
    capacity, window = int(rng.integers(1, 120)), int(rng.integers(0, 400))
    accesses, read, same = requests.accesses, requests.read, {"prefetch": prefetch, "whole_block": whole}
    made = run(program, requests, capacity, admit=admit, prefetch=prefetch, whole=whole)
    check(made, simulate_flash(accesses, read, admit, capacity, **same))
    made = run(program, requests, capacity, window=window, prefetch=prefetch, whole=whole)
    check(made, simulate_rejectx(accesses, read, window, capacity, **same))


@pytest.mark.parametrize("mode", ["none", "all_on_miss", "all_on_partial", "next(16)"])
@pytest.mark.parametrize(("trace", "whole"), [("web_test", False), ("web_test", True), ("database_test", True)])
def test_a_captured_trace_does_in_c_what_it_does_in_the_simulator(program, trace, whole, mode):
    table = read_trace(CAPTURED / f"{trace}.parquet")
    requests = Requests(table.volume.codes, table.op, table.offset, table.size, Geometry())
    prefetch = plain_prefetch(mode, requests.last, requests.geometry.per_block)
    capacity, window = requests.accesses.n_segments // 10, 4000
    admit = np.ones(len(requests), np.bool_)
    accesses, read, same = requests.accesses, requests.read, {"prefetch": prefetch, "whole_block": whole}
    made = run(program, requests, capacity, admit=admit, prefetch=prefetch, whole=whole)
    check(made, simulate_flash(accesses, read, admit, capacity, **same))
    assert made[:, 4].sum() > 0
    made = run(program, requests, capacity, window=window, prefetch=prefetch, whole=whole)
    check(made, simulate_rejectx(accesses, read, window, capacity, **same))
    assert made[:, 0].sum() > 0


def test_rejectx_with_too_little_memory_forgets_the_oldest_miss(program):
    geometry = Geometry(64, 8)
    offset = np.array([0, 8, 16, 0, 16, 8])
    requests = Requests(np.zeros(6), np.zeros(6), offset, np.full(6, 8), geometry)
    assert run(program, requests, 4, window=10)[:, 1].tolist() == [0, 0, 0, 1, 1, 1]
    assert run(program, requests, 4, window=10, misses=2)[:, 1].tolist() == [0, 0, 0, 0, 1, 0]
