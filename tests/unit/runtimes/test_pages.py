"""Parts of libcachezoo's kinds caching and workload beside Python: the same requests, the same bits."""

import subprocess
from itertools import product
from pathlib import Path

import numpy as np
import pytest

from cachezoo.coded import Coded
from cachezoo.features.sequence import Memory, raw_columns
from cachezoo.features.window import window_columns
from cachezoo.seeds import derive_seed
from cachezoo.serving.requests import RequestBatch, batch_of
from cachezoo.traces.store import read_trace
from tests.oracles.manager import NaiveManager

PROGRAM = "pages_run"
CAPTURED = Path(__file__).parents[3] / "data/raw/captured"
RULES = list(product((0, 1), repeat=3))  # fill, requeue, single
RAW = 16
MORE = 1 << 30  # pages: none is forgotten early


def run(program, what, header, rows):
    """Standard output of `pages_run` on a header and rows of int64."""
    given = np.array(header, np.int64).tobytes() + np.ascontiguousarray(rows, np.int64).tobytes()
    done = subprocess.run([program, what], input=given, capture_output=True, timeout=300)
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout


def rows_of(batch):
    return np.stack([batch.time_us, batch.op, batch.offset, batch.size, batch.volume.codes], axis=1)


def random_batch(n, name, volumes=3, pages=40):
    """Requests of some volumes that overlap, repeat and run on, with gaps of every size."""
    rng = np.random.default_rng(derive_seed(7, "pages", name))
    size = rng.integers(1, 30_000, n)
    offset = rng.integers(0, pages * 4096, n)
    for i in range(1, n):
        if rng.random() < 0.3:
            offset[i] = offset[i - 1] + size[i - 1]
    time_us = np.cumsum(rng.choice([0, 1, 50, 100_000], n))
    volume = Coded.of([f"v{k}" for k in rng.integers(0, volumes, n)])
    return RequestBatch(time_us, rng.integers(0, 2, n).astype(np.uint8), offset, size, volume)


def captured(name, n=20_000):
    return batch_of(read_trace(CAPTURED / f"{name}.parquet")).part(0, n)


# ---- the three-queue cache ----


def random_requests(n, name, spread):
    """Rows of volume, first page, pages, write and decision."""
    rng = np.random.default_rng(derive_seed(7, "manager", name))
    columns = (rng.integers(0, 2, n), rng.integers(0, spread, n), rng.integers(1, 9, n), rng.integers(0, 2, n))
    return np.stack([*columns, rng.integers(0, 4, n)], axis=1)


def expected(limits, rows):
    """What the naive cache makes of them, and how often each thing happened."""
    naive = NaiveManager(*(int(value) for value in limits[:3]), *(bool(value) for value in limits[3:]))
    out, seen = [], np.zeros(6, np.int64)
    for volume, first, count, write, decision in rows.tolist():
        decided = 2 if limits[5] and decision else decision
        before = dict(naive.counts)
        pages = [1_000_000 * volume + first + k for k in range(count)]
        outcome, queue, tags = naive.serve(pages, bool(write), decided)
        names = ("hits", "admissions", "evictions", "dirty_evictions")
        changed = [naive.counts[name] - before[name] for name in names]
        bits = sum(tag << place for place, tag in enumerate(tags))
        out += [queue, *changed, bits, *outcome]
        seen += [*changed, queue < 0, not bits]
    return np.array(out, np.int32), seen


@pytest.mark.parametrize("rules", RULES)
@pytest.mark.parametrize(("capacity", "period", "percent", "spread"), [(40, 120, 20, 90), (3, 9, 50, 30), (1, 5, 0, 8)])
def test_the_manager_does_what_the_naive_cache_does(program, rules, capacity, period, percent, spread):
    limits = [capacity, period, percent, *rules]
    rows = random_requests(1500, f"{limits}", spread)
    if rules[2]:
        rows[:, 4] = np.where(rows[:, 4] > 0, 2, 0)
    want, seen = expected(limits, rows)
    assert (seen[:4] > 0).all()
    assert seen[4] == 0 if rules[1] else seen[4] > 0 or capacity == 1  # hits that do not ask
    assert np.array_equal(np.frombuffer(run(program, "manager", limits, rows), np.int32), want)


# ---- inputs of the caching LSTM ----


def sequences(program, batch, memory, capacity, *, max_pages=MORE, save_every=0):
    """Inputs float32[n, 16], pages remembered at the end, pages forgotten early."""
    header = [memory.memory_accesses, memory.window_accesses, memory.region_bytes, memory.region_bits, capacity]
    out = run(program, "sequence", [*header, max_pages, save_every], rows_of(batch))
    keys, forgotten = np.frombuffer(out[-16:], np.int64)
    return np.frombuffer(out[:-16], np.float32).reshape(len(batch), RAW), int(keys), int(forgotten)


def reference(batch, memory, capacity):
    columns = raw_columns(batch, batch.pages(), [capacity], memory)
    return np.concatenate([columns.common, columns.sized[0]], axis=1)


def same_bits(one, other):
    assert one.shape == other.shape
    assert one.tobytes() == np.ascontiguousarray(other).tobytes()


DEPLOYED = Memory(memory_accesses=1 << 20, window_accesses=1 << 16, region_bytes=1 << 20, region_bits=16, clip=6.0)


@pytest.mark.parametrize("trace", ["database_test", "fileserver_test", "mail_test", "web_lighttpd"])
def test_inputs_of_captured_traces_are_equal_to_the_bit(program, trace):
    batch = captured(trace)
    found, _, forgotten = sequences(program, batch, DEPLOYED, 1234)
    same_bits(found, reference(batch, DEPLOYED, 1234))
    assert forgotten == 0


@pytest.mark.parametrize(
    ("memory", "window", "bits"), [(300, 50, 4), (60, 400, 1), (1, 1, 2), (97, 97, 3), (5000, 1000, 8)]
)
def test_inputs_are_equal_where_pages_are_forgotten_and_regions_collide(program, memory, window, bits):
    horizons = Memory(memory, window, 4096 * 8, bits, 6.0)
    batch = random_batch(3000, f"{memory} {window}", pages=120)
    found, keys, forgotten = sequences(program, batch, horizons, 17)
    same_bits(found, reference(batch, horizons, 17))
    assert forgotten == 0
    assert keys <= max(memory, window)


def test_a_saved_history_goes_on_as_if_nothing_had_happened(program):
    horizons = Memory(300, 120, 1 << 15, 5, 6.0)
    batch = random_batch(2000, "saved", pages=90)
    found, _, _ = sequences(program, batch, horizons, 17, save_every=37)
    same_bits(found, reference(batch, horizons, 17))


def test_with_fewer_pages_than_the_model_remembers_the_oldest_are_forgotten_and_counted(program):
    horizons = Memory(2000, 500, 1 << 15, 5, 6.0)
    batch = random_batch(2000, "few", pages=200)
    found, keys, forgotten = sequences(program, batch, horizons, 17, max_pages=50)
    assert keys == 50
    assert forgotten > 100
    assert np.isfinite(found).all()
    want = reference(batch, horizons, 17)
    same_bits(found[:, :6], want[:, :6])  # what needs no page's history
    assert (found[:, 7] >= want[:, 7]).all()  # more pages are fresh


# ---- inputs of the workload classifier ----


@pytest.mark.parametrize("length", [1, 2, 7, 100])
def test_inputs_of_windows_are_equal_to_the_bit(program, length):
    batch = random_batch(1003, f"window {length}")
    starts = np.arange(0, len(batch), length)
    want = window_columns(batch, starts, length).reshape(-1, 10)[: len(batch)]
    found = np.frombuffer(run(program, "window", [length], rows_of(batch)), np.float32).reshape(-1, 10)
    same_bits(found, want)


@pytest.mark.parametrize("trace", ["database_test", "fileserver_test", "mail_test", "web_lighttpd"])
def test_windows_of_captured_traces_are_equal_to_the_bit(program, trace):
    batch = captured(trace, 10_000)
    want = window_columns(batch, np.arange(0, len(batch), 100), 100).reshape(-1, 10)
    found = np.frombuffer(run(program, "window", [100], rows_of(batch)), np.float32).reshape(-1, 10)
    same_bits(found, want)
