import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cachezoo.coded import Coded
from cachezoo.errors import ConfigError, TraceError
from cachezoo.kernels.outcome import HIT
from cachezoo.policies.registry import POLICIES
from cachezoo.traces import sampling
from cachezoo.traces.pages import expand_pages
from cachezoo.traces.sampling import sample
from cachezoo.traces.store import write_trace
from cachezoo.traces.table import validate
from cachezoo.traces.transforms import cut, faster, split, split_by
from tests.oracles.transforms import naive_chosen, naive_cut, naive_error, naive_pages, naive_sample
from tests.request_data import requests_of, trace_of, traces
from tests.trace_data import read
from tests.trace_data import sample as public_sample

BLOCKS = st.sampled_from([4096, 8192, 65536])
RATES = st.floats(0.05, 1)
ROWS = [
    {"time_us": 5, "op": 0, "offset": 0, "size": 4096, "volume": "a", "user": "x", "latency_us": 7},
    {"time_us": 1_000_005, "op": 1, "offset": 4096, "size": 512, "volume": "b", "user": "y", "latency_us": 8},
    {"time_us": 2_000_005, "op": 0, "offset": 0, "size": 4096, "volume": "a", "user": "y", "latency_us": -1},
    {"time_us": 3_500_005, "op": 0, "offset": 9, "size": 70_000, "volume": "c", "user": "x", "latency_us": 9},
]


def step(trace, name):
    return json.loads(trace.meta.extra["transforms"])[-1][name]


@given(
    trace=traces(),
    start=st.none() | st.integers(0, 40),
    width=st.none() | st.integers(1, 60),
    first=st.none() | st.integers(0, 20),
    rows=st.none() | st.integers(1, 25),
)
def test_cut_equals_the_naive_one(trace, start, width, first, rows):
    if start is width is first is rows is None:
        return
    stop = None if width is None else (start or 0) + width
    last = None if rows is None else (first or 0) + rows
    want = naive_cut(requests_of(trace), start or 0, stop, first or 0, last)
    seconds = [None if value is None else value / 1e6 for value in (start, stop)]
    if not want:
        with pytest.raises(TraceError, match="the cut keeps no request; it has"):
            cut(trace, *seconds, first, last)
        return
    part = validate(cut(trace, *seconds, first, last), "part")
    assert requests_of(part) == want
    assert set(part.volume.names) == {one["volume"] for one in want}


def test_cut_by_hand():
    trace = trace_of(ROWS)
    part = cut(trace, 1.0, 3.0)
    assert part.time_us.tolist() == [0, 1_000_000] and part.volume.names == ("a", "b") and part.user.names == ("y",)
    assert step(part, "cut") == {"start_s": 1.0, "stop_s": 3.0, "first": None, "last": None, "rows": [1, 3]}
    assert (part.meta.trace_id, part.meta.source_sha256) == (trace.meta.trace_id, trace.meta.source_sha256)
    assert cut(trace, stop_s=3.0, first=2, last=99).time_us.tolist() == [0]
    again = cut(part, first=1)
    assert [list(one) for one in json.loads(again.meta.extra["transforms"])] == [["cut"], ["cut"]]


def test_cuts_that_cannot_be_are_named():
    trace = trace_of(ROWS)
    for arguments, error, message in (
        ((), ConfigError, "t: nothing to cut: give a first or last time or row"),
        ((-1.0,), ConfigError, "t: start is -1.0; give seconds from the trace's start, at 0 or later"),
        ((None, float("nan")), ConfigError, "t: stop is nan"),
        ((float("inf"),), ConfigError, "t: start is inf"),
        ((2.0, 2.0), ConfigError, r"t: seconds \[2.0, 2.0\) are none; give a stop after the start"),
        ((None, None, -1), ConfigError, r"t: rows \[-1, None\) are none"),
        ((None, None, 3, 3), ConfigError, r"t: rows \[3, 3\) are none"),
        ((4.0,), TraceError, "t: the cut keeps no request; it has 4 requests in 3.500005 seconds: choose"),
        ((None, 1.0, 2), TraceError, "keeps no request"),
    ):
        with pytest.raises(error, match=message) as raised:
            cut(trace, *arguments)
        assert "\n" not in str(raised.value)


@given(trace=traces(), rate=RATES, seed=st.integers(0, 2**31), block_bytes=BLOCKS, piece=st.sampled_from([3, 1 << 22]))
def test_sample_equals_the_naive_one(trace, rate, seed, block_bytes, piece):
    requests = requests_of(trace)
    want = naive_sample(requests, rate, seed, block_bytes)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sampling, "PIECE_PAGES", piece)
        if not want:
            with pytest.raises(TraceError, match="blocks is chosen: raise rate"):
                sample(trace, rate, seed, block_bytes)
            return
        part = validate(sample(trace, rate, seed, block_bytes), "part")
    assert requests_of(part) == want
    pages = naive_pages(requests)
    kept = [page for page in pages if naive_chosen(page[0], page[1] * 4096 // block_bytes, seed, rate)]
    assert naive_pages(want) == kept
    said = step(part, "sample")
    assert said["requests"] == len(trace) and said["rate"] == rate and said["seed"] == seed
    assert (said["page_accesses"], said["page_accesses_chosen"]) == (len(pages), len(kept))
    for name, some in (("blocks", pages), ("blocks_chosen", kept)):
        assert said[name] == len({(volume, page * 4096 // block_bytes) for volume, page in some})
    assert said["expected_error"] == pytest.approx(naive_error(requests, rate, block_bytes))


@given(trace=traces(), seed=st.integers(0, 99), low=RATES, high=RATES)
def test_a_lower_rate_chooses_a_subset(trace, seed, low, high):
    def pages(rate):
        try:
            return set(naive_pages(requests_of(sample(trace, rate, seed, 4096))))
        except TraceError:
            return set()

    low, high = sorted((low, high))
    assert pages(low) <= pages(high)
    assert requests_of(sample(trace, 1.0, seed, 4096)) == requests_of(trace)


def test_the_choice_depends_on_names_not_on_codes_or_neighbours():
    trace = trace_of([{**ROWS[0], "offset": 65536 * k, "volume": "ab"[k % 2]} for k in range(200)])
    other = replace(trace.take(np.arange(199, 2, -1)), time_us=trace.time_us[3:])
    other = replace(other, volume=Coded(np.int32(2) - other.volume.codes, ("?", "b", "a")))
    kept, again = (
        {(one["volume"], one["offset"]) for one in requests_of(sample(given, 0.3, 7))} for given in (trace, other)
    )
    assert again == {one for one in kept if one[1] >= 3 * 65536} and 20 < len(kept) < 100
    assert kept != {(one["volume"], one["offset"]) for one in requests_of(sample(trace, 0.3, 8))}


def test_the_choice_stays_from_release_to_release():
    trace = trace_of([{**ROWS[0], "offset": 65536 * k, "volume": "sda"} for k in range(40)])
    chosen = (sample(trace, 0.25, 7).offset // 65536).tolist()
    assert chosen == [8, 15, 17, 19, 21, 22, 25, 26, 27, 28, 29, 32, 36, 37, 38, 39]


def test_the_rate_is_the_part_of_the_blocks():
    n = 40_000
    rng = np.random.default_rng(3)
    trace = trace_of(ROWS[:1])
    blocks = np.sort(rng.choice(10**7, n, replace=False))
    trace = replace(trace.take(np.zeros(n, np.int64)), offset=blocks * 65536, size=np.full(n, 512))
    for rate in (0.01, 0.1, 0.5, 0.9):
        spread = (n * rate * (1 - rate)) ** 0.5
        assert abs(len(sample(trace, rate, 5)) - n * rate) < 4 * spread  # a seed in 16,000 would fail
    said = step(sample(trace, 0.1, 5), "sample")
    assert said["expected_error"] == pytest.approx((0.9 / 0.1 / n) ** 0.5)  # one access a block: binomial


def test_sample_leaves_the_clock_and_forgets_the_latency_of_a_part():
    part = sample(trace_of(ROWS), 0.5, 3, 8192)
    want = naive_sample(ROWS, 0.5, 3, 8192)
    assert requests_of(part) == want and len({one["time_us"] for one in want}) < len(want)  # one request in two parts
    cut_up = [one for one in want if one["time_us"] == 3_500_005]
    assert len(cut_up) > 1 and all(one["latency_us"] == -1 for one in cut_up)
    assert all(one["time_us"] >= 5 for one in want)


def test_samples_that_cannot_be_are_named():
    trace = trace_of(ROWS[:1])
    out = next(seed for seed in range(99) if not naive_chosen("a", 0, seed, 0.5))
    for arguments, error, message in (
        ((0, 1), ConfigError, "t: rate is 0; give a number above 0, at most 1"),
        ((1.5, 1), ConfigError, "t: rate is 1.5"),
        ((float("nan"), 1), ConfigError, "t: rate is nan"),
        ((0.5, 1, 5000), ConfigError, "t: blocks of 5000 bytes; give a multiple of 4096"),
        ((0.5, 1, 0), ConfigError, "t: blocks of 0 bytes"),
        ((0.5, out), TraceError, "t: none of its blocks is chosen: raise rate 0.5, or take all of it"),
    ):
        with pytest.raises(error, match=message):
            sample(trace, *arguments)
    with pytest.raises(TraceError, match="t: the trace is empty"):
        sample(trace.take(np.arange(0)), 0.5, 1)


@pytest.mark.needs("public_traces")
@pytest.mark.parametrize(
    "name", ["block/cloudphysics.vscsi", pytest.param("block/postmark.disksim.gz", marks=pytest.mark.slow)]
)
def test_the_sample_keeps_reuse_and_the_hit_ratio_of_lru(name):
    trace, rate, block_bytes = read(public_sample(name)), 0.25, 65536
    whole = expand_pages(trace)
    for seed in (1, 2, 3):
        part = sample(trace, rate, seed, block_bytes)
        kept = expand_pages(part)
        # Page accesses of the chosen blocks, in their order: the same dense numbers by first appearance.
        request = whole.request_of_access()
        page = trace.offset[request] // 4096 + np.arange(len(request)) - whole.request_start[request]
        block, volume = page * 4096 // block_bytes, trace.volume.names[0]
        known = {one: naive_chosen(volume, one, seed, rate) for one in np.unique(block).tolist()}
        chosen = np.array([known[one] for one in block.tolist()])
        ids, dense = whole.page_ids[chosen], {}
        np.testing.assert_array_equal(kept.page_ids, [dense.setdefault(one, len(dense)) for one in ids.tolist()])
        error = step(part, "sample")["expected_error"]
        for share in (0.05, 0.2, 0.4):
            capacity = int(whole.n_pages * share)
            ratio = float((POLICIES["lru"].hits(whole.page_ids, whole.n_pages, capacity) == HIT).mean())
            seen = float((POLICIES["lru"].hits(kept.page_ids, kept.n_pages, round(rate * capacity)) == HIT).mean())
            # `error` bounds the standard error due to the choice of blocks, loosely, as no block has hits or misses
            # alone; half a point more for the pages of a block, which compete in the scaled cache together.
            assert abs(seen - ratio) < error + 0.005, f"seed {seed}: {seen} beside {ratio} at {capacity} pages"


def test_same_bytes(tmp_path):
    trace = trace_of(ROWS)
    for name, made in (("cut", lambda: cut(trace, 1.0)), ("sample", lambda: sample(trace, 0.5, 3, 8192))):
        for copy in ("1", "2"):
            write_trace(made(), tmp_path / f"{name}{copy}")
        assert (tmp_path / f"{name}1").read_bytes() == (tmp_path / f"{name}2").read_bytes()


@given(trace=traces(), at=st.lists(st.floats(0.01, 0.99), min_size=1, max_size=3, unique=True).map(sorted))
def test_parts_in_time_laid_end_to_end_are_the_trace(trace, at):
    edges = [0, *(int(fraction * len(trace)) for fraction in at), len(trace)]
    if len(set(edges)) < len(edges):
        with pytest.raises(TraceError, match="has no request: move the cuts"):
            split(trace, at)
        return
    parts, requests = split(trace, at), requests_of(trace)
    for index, part in enumerate(parts):
        mine = requests[edges[index] : edges[index + 1]]
        assert requests_of(part) == [{**one, "time_us": one["time_us"] - mine[0]["time_us"]} for one in mine]
        assert part.meta.trace_id == f"t.{index + 1}" and set(part.volume.names) == {one["volume"] for one in mine}


def test_split_by_seconds_and_refusals():
    parts = split(trace_of(ROWS), (1.0, 2.5), "seconds")
    assert [len(part) for part in parts] == [1, 2, 1] and parts[1].time_us.tolist() == [0, 1_000_000]
    assert step(parts[1], "split") == {"at": [1.0, 2.5], "unit": "seconds", "part": 2, "rows": [1, 3]}
    for at, unit, error, message in (
        ((0.5,), "hours", ConfigError, "unit hours is unknown; give fraction or seconds"),
        ((), "fraction", ConfigError, r"cuts at \[\] fraction; give one or more, rising, above 0 and below 1.0"),
        ((0.5, 0.5), "fraction", ConfigError, r"cuts at \[0.5, 0.5\]"),
        ((0, 0.5), "fraction", ConfigError, "above 0"),
        ((1.0,), "fraction", ConfigError, "below 1.0"),
        ((float("nan"),), "seconds", ConfigError, "cuts at"),
        ((9.0,), "seconds", TraceError, "part 2 of cuts at .* has no request: move the cuts"),
    ):
        with pytest.raises(error, match=message):
            split(trace_of(ROWS), at, unit)


@given(trace=traces(), column=st.sampled_from(["volume", "user"]))
def test_split_by_a_column_equals_the_naive_one(trace, column):
    if getattr(trace, column) is None:
        with pytest.raises(ConfigError, match=r"t: there is no column user to split by; the trace has volume$"):
            split_by(trace, column)
        return
    requests = requests_of(trace)
    parts = split_by(trace, column)
    assert list(parts) == list(dict.fromkeys(one[column] for one in requests))
    for value, part in parts.items():
        assert requests_of(validate(part, value)) == [one for one in requests if one[column] == value]
        assert getattr(part, column).names == (value,) and part.meta.trace_id == f"t.{value}"
        assert step(part, "split_by") == {"column": column, "value": value}


def test_only_coded_columns_split():
    with pytest.raises(ConfigError, match="there is no column size to split by; the trace has volume, user"):
        split_by(trace_of(ROWS), "size")


def test_a_faster_trace_asks_for_the_same_in_less_time():
    trace = trace_of(ROWS)
    found = faster(trace, 2)
    assert found.time_us.tolist() == [round(time / 2) for time in trace.time_us.tolist()]
    assert step(found, "faster") == {"speed": 2.0}
    same = replace(found, time_us=trace.time_us, meta=trace.meta)
    for name in ("op", "offset", "size", "latency_us"):
        np.testing.assert_array_equal(getattr(same, name), getattr(trace, name))
    with pytest.raises(ConfigError, match="give a number above 0"):
        faster(trace, 0)
    with pytest.raises(TraceError, match="there is no clock"):
        faster(replace(trace, time_us=np.zeros(len(trace), np.int64)), 2)
