"""Hit ratios in windows of time, those of reads and of writes apart, and what a cache missed as a trace."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cachezoo.errors import TraceError
from cachezoo.kernels.outcome import HIT
from cachezoo.policies.simulate import Simulator
from cachezoo.questions.page.bench import Bench
from cachezoo.questions.page.misses import misses_of
from cachezoo.questions.page.over_time import Windows, draw_over_time
from cachezoo.traces.pages import expand_pages
from cachezoo.traces.table import OP_WRITE
from tests.page_data import seeded_trace

PNG = b"\x89PNG\r\n\x1a\n"


def bench_of(trace, page_bytes=4096):
    return Bench(Simulator(trace, expand_pages(trace, page_bytes)))


def accesses_of(trace, page_bytes):
    """(row, page, is a write) of each page access, naively."""
    return [
        (row, page, int(trace.op[row]) == OP_WRITE)
        for row in range(len(trace))
        for page in range(int(trace.offset[row]) // page_bytes,
                          (int(trace.offset[row]) + int(trace.size[row]) - 1) // page_bytes + 1)
    ]  # fmt: skip


def ratio(hits):
    return sum(hits) / len(hits) if hits else None


def test_reads_and_writes_are_counted_apart():
    n = 1000
    place = np.tile(np.arange(n, dtype=np.int64) * 4096, 3)
    op = np.repeat(np.array([1, 0, 1], np.uint8), n)
    trace = seeded_trace(3 * n, 9, 1, op=op, offset=place, size=np.full(3 * n, 4096))
    bench = bench_of(trace)
    found = bench.counted_run(bench.simulator.run("lru", n, 0), "classic")
    assert (found.hit_ratio, found.read_hit_ratio, found.write_hit_ratio) == (pytest.approx(2 / 3), 1.0, 0.5)
    none = bench_of(replace(trace, op=np.zeros(3 * n, np.uint8))).run("lru", n)
    assert none.write_hit_ratio is None and none.read_hit_ratio == none.hit_ratio


@given(st.integers(0, 5000), st.integers(1, 12), st.sampled_from([4096, 65_536]))
def test_windows_part_the_trace_s_time(seed, count, page_bytes):
    trace = seeded_trace(70, 60, seed)
    bench = bench_of(trace, page_bytes)
    outcome = bench.simulated("sieve", 5).outcome
    rows = Windows.of(bench, count).rows(bench, outcome)
    accesses = accesses_of(trace, page_bytes)
    first, last = int(trace.time_us[0]), int(trace.time_us[-1])
    edges = [first + (last - first) * k / count for k in range(count + 1)]
    for k, row in enumerate(rows):
        own = [
            (outcome[i] == HIT, write)
            for i, (request, _, write) in enumerate(accesses)
            if edges[k] <= trace.time_us[request] and (k == count - 1 or trace.time_us[request] < edges[k + 1])
        ]
        assert (row["from_s"], row["to_s"]) == (pytest.approx(edges[k] / 1e6), pytest.approx(edges[k + 1] / 1e6))
        assert (row["page_accesses"], row["hit_ratio"]) == (len(own), ratio([hit for hit, _ in own]))
        assert row["read_hit_ratio"] == ratio([hit for hit, write in own if not write])
        assert row["write_hit_ratio"] == ratio([hit for hit, write in own if write])
    assert sum(row["requests"] for row in rows) == len(trace)
    assert sum(row["hits"] for row in rows) == (outcome == HIT).sum()


def test_without_a_clock_windows_have_equally_many_requests(tmp_path):
    trace = seeded_trace(100, 60, 2, time_us=np.zeros(100, np.int64))
    bench = bench_of(trace)
    rows = Windows.of(bench, 4).rows(bench, bench.simulated("lru", 9).outcome)
    assert [(row["from_s"], row["requests"]) for row in rows] == [(None, 25)] * 4
    draw_over_time([("lru", rows), ("the same", rows)], "t", tmp_path / "o.png")
    assert (tmp_path / "o.png").read_bytes().startswith(PNG)


@given(st.integers(0, 5000), st.sampled_from(["lru", "s3fifo", "rejectx+lru", "lru+next(n=2)"]),
       st.sampled_from([4096, 65_536]))  # fmt: skip
def test_misses_are_the_missed_bytes_of_each_request(seed, policy, page_bytes):
    trace = seeded_trace(60, 50, seed, latency_us=np.arange(60, dtype=np.int64))
    bench = bench_of(trace, page_bytes)
    outcome = bench.simulated(policy, 3).outcome
    found = misses_of(bench, policy, 3, outcome)
    rest = []  # (row, first byte, past the last) of each run of missed pages
    for i, (row, page, _) in enumerate(accesses_of(trace, page_bytes)):
        if outcome[i] == HIT:
            continue
        begin, end = int(trace.offset[row]), int(trace.offset[row] + trace.size[row])
        low, high = max(begin, page * page_bytes), min(end, (page + 1) * page_bytes)
        if rest and rest[-1][0] == row and rest[-1][2] == low:
            rest[-1] = (row, rest[-1][1], high)
        else:
            rest.append((row, low, high))
    assert list(zip(found.offset.tolist(), (found.offset + found.size).tolist(), strict=True)) == [
        (low, high) for _, low, high in rest
    ]
    rows = [row for row, _, _ in rest]
    assert found.op.tolist() == trace.op[rows].tolist() and found.time_us.tolist() == trace.time_us[rows].tolist()
    whole = [int(trace.latency_us[row]) if high - low == trace.size[row] else -1 for row, low, high in rest]
    assert found.latency_us.tolist() == whole


def test_a_cache_that_misses_nothing_has_no_trace_of_misses():
    bench = bench_of(seeded_trace(5, 4, 1))
    with pytest.raises(TraceError, match="lru missed nothing"):
        misses_of(bench, "lru", 4, np.full(len(bench.pages.page_ids), HIT, np.uint8))
