"""Features of written chunks against brute force, and what a trace must have."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from cachezoo.coded import Coded
from cachezoo.errors import TraceError
from cachezoo.features.fios import chunk_features, shared_of
from cachezoo.kernels import chunks as kernel
from cachezoo.settings.wear import StreamsLabel
from cachezoo.traces.chunks import CHUNK_BYTES, WINDOWS, chunk_writes
from tests.characteristics_data import made
from tests.oracles.chunks import naive_lifetimes, naive_shared, naive_uses

KIB = 1024
NAMES = ("sdb", "sda")  # codes in another order than names
LENGTHS = {"1s": 1_000_000, "60s": 60_000_000, "5min": 300_000_000}
FAR = (1 << 47) * CHUNK_BYTES - (1 << 31)  # near the last chunk that a trace can have
# step of time in µs, write, volume, 4 KiB blocks from the start of one of a few regions, bytes
REQUEST = st.tuples(
    st.sampled_from([0, 1, 400_000, 999_999, 1_000_000, 70_000_000]), st.sampled_from([1, 1, 1, 0]), st.integers(0, 1),
    st.sampled_from([0, 0, 0, 4095 * CHUNK_BYTES, FAR]), st.integers(0, 60),
    st.sampled_from([512, 4 * KIB, 12 * KIB, 32 * KIB, 100 * KIB]),
)  # fmt: skip
TRACES = st.lists(REQUEST, min_size=1, max_size=60).filter(lambda rows: any(row[1] for row in rows))


def trace_of(rows, clock=True):
    step, op, volume, region, block, size = (np.array(column, np.int64) for column in zip(*rows, strict=True))
    trace = made(
        len(rows), time_us=np.cumsum(step) if clock else np.arange(len(rows)), op=op.astype(np.uint8),
        volume=Coded(volume.astype(np.int32), NAMES), offset=region + block * 4 * KIB, size=size,
    )  # fmt: skip
    return trace if clock else replace(trace, meta=replace(trace.meta, extra={"time": "row numbers, no clock"}))


def requests_of(trace, writes):
    when = trace.time_us - trace.time_us[0] if writes.clock else np.arange(len(trace))
    return [
        (int(t), int(op), trace.volume.names[code], int(offset), int(size))
        for t, op, code, offset, size in zip(
            when, trace.op, trace.volume.codes, trace.offset, trace.size, strict=True
        )
    ]  # fmt: skip


def keys(writes):
    return [(writes.volumes[v], int(c)) for v, c in zip(writes.volume, writes.chunk, strict=True)]


@given(TRACES)
def test_chunks_and_their_uses_are_the_naive_ones(rows):
    trace = trace_of(rows)
    writes = chunk_writes(trace)
    expected, total = naive_uses(requests_of(trace, writes))
    assert keys(writes) == list(expected)
    assert writes.joined.tolist() == [(v, c - 1) in expected for v, c in expected]
    found, clock = kernel.chunk_uses(writes.rows, writes.follows, len(writes.chunk))
    assert clock == total
    assert found.tolist() == [list(use.values()) for use in expected.values()]


@given(TRACES)
def test_bits_and_real_values_are_the_naive_ones(rows):
    trace = trace_of(rows)
    writes = chunk_writes(trace)
    uses, total = naive_uses(requests_of(trace, writes))
    found = chunk_features(writes, ["1s"])
    counts = [use["writes"] for use in uses.values()]
    assert found.frequent.tolist() == [count > np.median(counts) for count in counts]
    assert found.sequential.tolist() == [2 * use["following"] >= use["writes"] for use in uses.values()]
    interval = [
        (use["last"] - use["first"]) / (use["writes"] - 1) if use["writes"] > 1 else total for use in uses.values()
    ]
    assert found.real["log2_writes"] == pytest.approx(np.log2(counts))
    assert found.real["log2_interval"] == pytest.approx(np.log2(interval), abs=1e-5)
    assert found.real["log2_recency"] == pytest.approx([np.log2(total - use["last"]) for use in uses.values()])
    assert found.real["sequential"] == pytest.approx([use["following"] / use["writes"] for use in uses.values()])
    assert found.real["log2_pages"] == pytest.approx([np.log2(use["pages"] / use["writes"]) for use in uses.values()])


@given(TRACES, st.sampled_from(list(WINDOWS)), st.booleans())
def test_windows_are_the_naive_ones(rows, window, clock):
    trace = trace_of(rows, clock)
    writes = chunk_writes(trace)
    requests = requests_of(trace, writes)
    length = LENGTHS.get(window) if writes.clock else None
    span = requests[-1][0] + 1
    expected = naive_shared(requests, length or -(-span // 100))
    found = shared_of(writes, window, history=len(rows))
    assert found.adjacent.tolist() == [adjacent for adjacent, _, _ in expected.values()]
    assert found.coherent.tolist() == [count >= 2 for _, count, _ in expected.values()]
    assert found.coherent_pair.tolist() == [bool(again) for _, _, again in expected.values()]
    assert found.coherence == pytest.approx([len(again) / count for _, count, again in expected.values()])


@given(TRACES, st.integers(1, 4))
@example([(1_000_000, 1, 0, 0, 8 * k, 512) for k in (0, 1, 0, 2, 0, 3, 0, 1)], 1)
def test_a_short_history_finds_some_pairs_and_none_that_are_not_there(rows, history):
    writes = chunk_writes(trace_of(rows))
    short, long = shared_of(writes, "1s", history), shared_of(writes, "1s", len(rows))
    assert not (short.coherent_pair & ~long.coherent_pair).any()
    assert (short.coherence <= long.coherence).all()
    assert (short.adjacent == long.adjacent).all()
    assert (short.coherent == long.coherent).all()


def test_the_history_is_what_hides_a_friend_that_comes_back_late():
    # Window by window: 0 and 9 together, then 0 alone four times, then together again.
    blocks = [(0, 9), (0,), (0,), (0,), (0,), (0, 9)]
    rows = [
        (1_000_000 if place == 0 else 0, 1, 0, 0, 8 * chunk, 512)
        for chunks in blocks
        for place, chunk in enumerate(chunks)
    ]
    writes = chunk_writes(trace_of(rows))
    assert shared_of(writes, "1s", 5).coherent_pair.tolist() == [True, True]
    assert shared_of(writes, "1s", 4).coherent_pair.tolist() == [False, False]


@given(TRACES)
def test_lifetimes_are_the_naive_ones(rows):
    trace = trace_of(rows)
    writes = chunk_writes(trace)
    found = chunk_features(writes, ["1s"])
    mean, median, died = kernel.lifetimes(writes.rows, found.pages, found.total)
    expected = naive_lifetimes(requests_of(trace, writes)).values()
    assert mean == pytest.approx([one[0] for one in expected], abs=1e-5)
    assert median == pytest.approx([one[1] for one in expected], abs=1e-5)
    assert died.tolist() == [one[2] for one in expected]


def test_friends_meet_in_two_windows_and_adjacent_chunks_in_one():
    row = [(0, 1, 0, 0, 0, 512), (0, 1, 0, 0, 40, 512), (1_000_000, 1, 0, 0, 40, 512), (0, 1, 0, 0, 0, 512)]
    found = shared_of(chunk_writes(trace_of([*row, (0, 1, 0, 0, 48, 512)])), "1s")
    assert found.coherent_pair.tolist() == [True, True, False]
    assert found.coherence.tolist() == [0.5, 0.5, 0]
    assert found.adjacent.tolist() == [False, True, True]


def test_neighbours_are_of_one_volume():
    last = (0, 1, 1, FAR, 0, 1 << 20)
    writes = chunk_writes(trace_of([last, (0, 1, 0, 0, 0, 512)]))
    assert writes.volumes == ("sda", "sdb")
    assert writes.joined.tolist() == [False] + [True] * 31 + [False]


def test_a_trace_without_writes_is_refused_in_one_line():
    with pytest.raises(TraceError, match=r"^t: nothing is written.*give a trace with writes$"):
        chunk_writes(replace_id(made(3, op=np.zeros(3, np.uint8))))


def replace_id(trace):
    return replace(trace, meta=replace(trace.meta, trace_id="t"))


def test_one_chunk():
    found = chunk_features(chunk_writes(trace_of([(0, 1, 0, 0, 0, 512)])))
    assert (found.writes.tolist(), found.frequent.tolist(), found.total) == ([1], [False], 1)
    assert all(np.isfinite(values).all() for values in found.real.values())


@given(TRACES, st.sampled_from(["median", 0, 1, 4]), st.sampled_from([0.1, 0.5, 1.0]), st.integers(1, 4))
def test_thresholds_are_where_the_bits_begin(rows, frequency, sequential, windows):
    writes = chunk_writes(trace_of(rows))
    plain = chunk_features(writes, ["1s"])
    found = chunk_features(writes, ["1s"], StreamsLabel(frequency=frequency, sequential=sequential, windows=windows))
    often = np.median(plain.writes) if frequency == "median" else frequency
    assert found.frequent.tolist() == (plain.writes > often).tolist()
    uses = kernel.chunk_uses(writes.rows, writes.follows, len(writes.chunk))[0]
    assert found.sequential.tolist() == [
        following / count >= sequential for count, following in uses[:, [kernel.WRITES, kernel.FOLLOWING]].tolist()
    ]
    seen = kernel.shared_windows(writes.rows, writes.when, writes.window_length("1s"), writes.joined)[0]
    assert found.shared["1s"].coherent.tolist() == (seen >= windows).tolist()
    assert found.shared["1s"].adjacent.tolist() == plain.shared["1s"].adjacent.tolist()


def test_the_thresholds_of_the_paper_are_the_defaults():
    writes = chunk_writes(trace_of([(0, 1, 0, 0, 0, 512)] * 3 + [(0, 1, 0, 0, 40, 512)]))
    given, plain = chunk_features(writes, ["1s"], StreamsLabel()), chunk_features(writes, ["1s"])
    assert given.frequent.tolist() == plain.frequent.tolist() == [True, False]
    assert StreamsLabel() == StreamsLabel(frequency="median", sequential=0.5, windows=2)
