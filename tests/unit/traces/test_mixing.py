import json
from dataclasses import replace
from hashlib import sha256

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cachezoo.coded import Coded
from cachezoo.errors import ConfigError, TraceError
from cachezoo.traces.mixing import Turn, in_turns, interleave, share_counts, sources
from cachezoo.traces.store import read_trace, write_trace
from cachezoo.traces.table import CODED_COLUMNS, NUMBER_COLUMNS, Trace, validate
from cachezoo.traces.transforms import split_by
from tests.lstm_data import make_stream
from tests.oracles.transforms import naive_merge, naive_turns
from tests.request_data import requests_of, trace_of, traces
from tests.trace_data import texts

SIMPLE = ("op", "offset", "size")
TWO = st.tuples(traces("a"), traces("b"))
THREE = st.tuples(traces("a"), traces("b"), traces("c"))


def simple(times: list[int], label: int, trace_id: str) -> Trace:
    n = len(times)
    rows = [{"time_us": times[i], "op": 0, "offset": i + 100 * label, "size": i + 100 * label + 1} for i in range(n)]
    return trace_of([{**row, "volume": "sda"} for row in rows], trace_id)


def as_mixed(given, columns):
    """Requests as they stand in a mixture that has these columns."""
    empty = {"latency_us": -1, "count": 1, "user": "", "namespace": "", "host": "", "flags": ""}
    fill = {name: value for name, value in empty.items() if name in columns}
    own = given.meta.trace_id
    return [{**fill, **one, "volume": f"{own}/{one['volume']}", "source": own} for one in requests_of(given)]


def columns_of(parts):
    return {n for n in (*NUMBER_COLUMNS, *CODED_COLUMNS) if any(getattr(part, n) is not None for part in parts)}


def test_interleave_by_hand():
    major = simple([5, 15, 25, 35, 45, 55], 0, "a")
    merged = interleave([major, simple([7, 8, 9, 10], 1, "b")], "m", (0.75, 0.25))  # six and two requests
    assert merged.source.codes.tolist() == [0, 1, 0, 0, 0, 0, 0, 1] and merged.source.names == ("a", "b")
    assert merged.offset.tolist() == [0, 100, 1, 2, 3, 4, 5, 101] == (merged.size - 1).tolist()
    assert merged.time_us.tolist() == [0, 0, 10, 20, 30, 40, 50, 50]
    assert merged.volume.names == ("a/sda", "b/sda")
    cut = interleave([major, simple([3, 4, 7], 1, "b")], "m", (1, 1))  # three of each, the second one's burst in place
    assert cut.source.codes.tolist() == [0, 1, 1, 0, 0, 1] and cut.time_us.tolist() == [0, 0, 5, 10, 20, 20]
    single = interleave([major, simple([3], 1, "b")], "m", (0.8, 0.2))
    assert single.source.codes.tolist() == [0, 1, 0, 0, 0]


@pytest.mark.parametrize("share", [0.6, 0.8])
@pytest.mark.parametrize("counts", [(500, 500), (500, 60), (60, 500)])
def test_interleave_gives_each_stream_its_share_and_keeps_its_order(share, counts):
    streams = [make_stream(n, seed, name) for n, seed, name in zip(counts, (1, 2), ("pairs", "turns"), strict=True)]
    merged = interleave(streams, "m", (share, 1 - share))
    assert abs((merged.source.codes == 0).mean() - share) < 0.01 and (np.diff(merged.time_us) >= 0).all()
    for label, stream in enumerate(streams):
        mine = merged.offset[merged.source.codes == label]
        np.testing.assert_array_equal(mine, stream.offset[: len(mine)])


@given(given=THREE)
def test_clocks_as_traced_equal_the_naive_merge(given):
    mixed = interleave(given, "m")
    assert requests_of(validate(mixed, "m")) == naive_merge([as_mixed(one, columns_of(given)) for one in given])


@given(given=THREE, shares=st.tuples(*[st.floats(0.05, 1)] * 3))
def test_shares_hold_all_end_together_and_order_stays(given, shares):
    mixed = interleave(given, "m", shares)
    validate(mixed, "m")
    counts = [int((mixed.source.codes == k).sum()) for k in range(3)]
    assert counts == share_counts([len(one) for one in given], shares)
    ends = [int(mixed.time_us[mixed.source.codes == k][-1]) for k in range(3)]
    columns = columns_of(given)
    for k, one in enumerate(given):
        part = requests_of(mixed.take(mixed.source.codes == k))
        own = as_mixed(one, columns)[: len(part)]
        assert part == [{**now, "time_us": got["time_us"]} for now, got in zip(own, part, strict=True)]
        span = one.time_us[counts[k] - 1] - one.time_us[0]
        assert ends[k] == (ends[0] if span else 0)
    assert ends[0] == given[0].time_us[counts[0] - 1] - given[0].time_us[0]


@given(lengths=st.lists(st.integers(200, 5000), min_size=2, max_size=6), data=st.data())
def test_shares_are_met_within_a_request_of_each(lengths, data):
    shares = data.draw(st.lists(st.floats(0.1, 1), min_size=len(lengths), max_size=len(lengths)))
    counts = share_counts(lengths, shares)
    assert all(1 <= count <= n for count, n in zip(counts, lengths, strict=True))
    for count, share in zip(counts, shares, strict=True):
        assert abs(count - sum(counts) * share / sum(shares)) <= len(lengths)
    limit = min(n / share for n, share in zip(lengths, shares, strict=True)) * sum(shares)
    assert sum(counts) >= limit * (1 - 10 / min(lengths)) - len(lengths)  # the scarcest is used up, up to rounding


@st.composite
def turns_of(draw, given):
    """Turns in whole numbers that the traces can fill: (id, requests, microseconds)."""
    left = {one.meta.trace_id: [one.time_us.tolist(), 0, int(one.time_us[0])] for one in given}
    out = []
    for _ in range(draw(st.integers(1, 6))):
        able = [name for name, (times, first, _) in left.items() if first < len(times)]
        if not able:
            break
        name = draw(st.sampled_from(able))
        times, first, clock = left[name]
        kinds = ["requests", "rest"] + ["seconds"] * (times[-1] + 1 > clock)
        kind = draw(st.sampled_from(kinds))
        if kind == "seconds":
            micro = draw(st.integers(1, times[-1] + 1 - clock))
            stop = int(np.searchsorted(times, clock + micro))
            out.append((name, None, micro))
            left[name] = [times, stop, clock + micro]
            continue
        requests = draw(st.integers(1, len(times) - first)) if kind == "requests" else None
        stop = len(times) if requests is None else first + requests
        out.append((name, requests, None))
        left[name] = [times, stop, times[stop] if stop < len(times) else times[-1]]
    return out


@given(given=TWO, data=st.data())
def test_turns_equal_the_naive_clock(given, data):
    asked = data.draw(turns_of(given))
    columns = columns_of(given)
    naive = naive_turns({one.meta.trace_id: as_mixed(one, columns) for one in given}, asked, 1)
    turns = [Turn(name, requests, None if micro is None else micro / 1e6) for name, requests, micro in asked]
    if not naive:
        with pytest.raises(TraceError, match="no request falls into the turns"):
            in_turns(given, "m", turns)
        return
    assert requests_of(validate(in_turns(given, "m", turns), "m")) == naive


def test_turns_by_hand():
    a, b = simple([10, 12, 20, 30], 0, "a"), simple([0, 5, 6], 1, "b")
    mixed = in_turns([a, b], "m", [Turn("a", requests=2), Turn("b", seconds=3e-6)], periods=2)
    # a: clock 10..20, then 20..30; b: clock 0..3, then 3..6
    assert texts(mixed.source) == ["a", "a", "b", "a", "a", "b"]
    assert mixed.time_us.tolist() == [0, 2, 10, 13, 23, 25]
    assert mixed.offset.tolist() == [0, 1, 100, 2, 3, 101]
    step = json.loads(mixed.meta.extra["transforms"])[0]["in_turns"]
    assert step == {
        "periods": 2,
        "turns": [
            {"trace_id": "a", "requests": 2, "seconds": None},
            {"trace_id": "b", "requests": None, "seconds": 3e-6},
        ],
    }


def test_provenance_of_a_mixture(tmp_path):
    a, b = simple([0, 1], 0, "a"), simple([0, 1], 1, "b")
    other = replace(b, meta=replace(b.meta, category="mail", licence="CC-BY-4.0", source_format="lis"))
    meta = interleave([a, b], "m").meta
    assert (meta.trace_id, meta.category, meta.source_format, meta.licence) == ("m", "web", "csv", "CC0-1.0")
    assert meta.source_sha256 == sha256((a.meta.source_sha256 + b.meta.source_sha256).encode()).hexdigest()
    mixed = interleave([a, other], "m", (1, 1))
    assert (mixed.meta.category, mixed.meta.source_format, mixed.meta.licence) == (
        "mixed",
        "mixed",
        "CC0-1.0; CC-BY-4.0",
    )
    said = json.loads(mixed.meta.extra["transforms"])
    assert said == [{"interleave": {"clock": "stretched", "shares": [1.0, 1.0], "requests": {"a": 2, "b": 2}}}]
    assert [(one["source"], one["category"]) for one in json.loads(mixed.meta.extra["sources"])] == [
        ("a", "web"),
        ("b", "mail"),
    ]
    for path in (tmp_path / "one.parquet", tmp_path / "two.parquet"):
        write_trace(interleave([a, other], "m", (1, 1)), path)
    assert (tmp_path / "one.parquet").read_bytes() == (tmp_path / "two.parquet").read_bytes()
    again = read_trace(tmp_path / "one.parquet")
    assert requests_of(again) == requests_of(mixed) and again.meta == mixed.meta


def test_a_mixture_of_mixtures_knows_the_innermost_source():
    a, b, c = (simple([0, 1], k, name) for k, name in enumerate("abc"))
    whole = interleave([interleave([a, b], "m"), c], "n")
    assert texts(whole.source) == ["m/a", "m/b", "c", "m/a", "m/b", "c"]
    assert whole.volume.names == ("m/a/sda", "m/b/sda", "c/sda")
    entries = json.loads(whole.meta.extra["sources"])
    assert [(one["source"], one["trace_id"]) for one in entries] == [("m/a", "a"), ("m/b", "b"), ("c", "c")]
    assert set(split_by(whole, "source")) == {"m/a", "m/b", "c"}


def test_what_cannot_be_mixed_is_named():
    a, b = simple([0, 1], 0, "a"), simple([0, 1], 1, "b")
    twice = replace(b, volume=Coded.constant("c/d", 2))
    slash = replace(b, meta=replace(b.meta, trace_id="b/c"), volume=Coded.constant("d", 2))
    for refused, message in (
        (lambda: interleave([a], "m"), "1 trace is given; a mixture takes at least two"),
        (lambda: interleave([a, b, a], "m"), "2 traces are called a: give each an id of its own"),
        (lambda: interleave([twice, slash], "m"), "b/c: another trace has a volume called b/c/d too"),
        (lambda: interleave([a, b], "m", (1,)), r"shares are \[1\] for 2 traces; give each a number above 0"),
        (lambda: interleave([a, b], "m", (1, 0)), r"shares are \[1, 0\] for 2 traces"),
        (lambda: interleave([a, b], "m", (1, float("nan"))), r"shares are \[1, nan\] for 2 traces"),
        (lambda: Turn("a", requests=0), "turn of a: 0 requests; give at least 1"),
        (lambda: Turn("a", seconds=float("inf")), "turn of a: inf seconds; give at least"),
        (lambda: Turn("a", 1, 1.0), "turn of a: 1 requests and 1.0 seconds; give one of them"),
        (lambda: in_turns([a, b], "m", []), "0 turns in 1 periods; .*, each turn to one of a, b"),
        (lambda: in_turns([a, b], "m", [Turn("a")], 0), "1 turns in 0 periods"),
        (lambda: in_turns([a, b], "m", [Turn("x")]), "a turn of x; give at least one turn and period"),
    ):
        with pytest.raises(ConfigError, match=message) as error:
            refused()
        assert "\n" not in str(error.value)
    empty = a.take(np.arange(0))
    for refused, message in (
        (lambda: interleave([a, empty], "m"), None),
        (lambda: in_turns([a, b], "m", [Turn("a", 3)]), "a: a turn asks for 3 requests, but 2 of its 2 requests and"),
        (lambda: in_turns([a, b], "m", [Turn("a"), Turn("a")]), "a: a turn asks for the rest, but 0 of its 2 requests"),
        (lambda: in_turns([a, b], "m", [Turn("a", seconds=1.0)]), "for 1.0 seconds, but .* 1e-06 seconds are left"),
        (lambda: sources(a), "a: it does not say which trace a request comes from"),
    ):
        with pytest.raises((TraceError, ConfigError), match=message) as error:
            refused()
        assert "\n" not in str(error.value)
