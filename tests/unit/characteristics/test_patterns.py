"""Order of addresses, who, latency, the papers' rows, and all of it on edges."""

import json
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cachezoo.characteristics.describe import characterise, fios_row, rc_rnn_row
from cachezoo.characteristics.pages import footprint, uses
from cachezoo.characteristics.patterns import KINDS, WINDOW, patterns, runs, twsd
from cachezoo.characteristics.requests import UNKNOWN, latency, senders_by_column, summary
from cachezoo.characteristics.values import json_values
from cachezoo.coded import Coded
from cachezoo.features.fios import HIGH, choose_features
from cachezoo.serving.requests import batch_of
from cachezoo.traces.chunks import CHUNK_BYTES, continues
from cachezoo.traces.pages import expand_pages
from tests.characteristics_data import EDGES, PAGE, made, zipf_trace
from tests.oracles.characteristics import naive_runs, naive_twsd
from tests.page_data import seeded_trace

KIB = 1024


def requests_of(trace):
    names = [trace.volume.names[code] for code in trace.volume.codes]
    return list(
        zip(trace.time_us.tolist(), trace.op.tolist(), names, trace.offset.tolist(), trace.size.tolist(), strict=True)
    )


@pytest.mark.parametrize("n", [1, 99, 100, 101, 1234])
def test_twsd_is_the_naive_one(n):
    trace = seeded_trace(n, 3000, n, volume=Coded((np.arange(n) % 3).astype(np.int32), ("a", "b", "c")))
    kinds = naive_twsd(requests_of(trace), WINDOW)
    expected = Counter(zip(kinds, trace.op.tolist(), strict=True))
    found = twsd(batch_of(trace))
    assert {(kind, op): found[row, op] for row, kind in enumerate(KINDS) for op in (0, 1) if found[row, op]} == expected


PURE = {
    "sequential": (np.arange(1000) * 4096, 4096),
    "strided": (np.arange(1000) * 20_480, 4096),
    "random": (np.random.default_rng(1).permutation(1000) * (1 << 30), 4096),
    "overlapped": (np.zeros(1000, np.int64), 4096),
}


@pytest.mark.parametrize("kind", PURE)
def test_pure_patterns_are_told(kind):
    offset, size = PURE[kind]
    found = patterns(made(1000, offset=offset, size=np.full(1000, size))).twsd
    assert getattr(found["all"], kind) == pytest.approx(0.99, abs=0.011), "the first of a window has nothing before it"
    assert sum(json_values(found["all"]).values()) == pytest.approx(1)
    assert found["writes"] is None
    assert found["reads"] == found["all"]


def test_long_requests_are_sequential():
    rng = np.random.default_rng(1)
    trace = made(200, offset=rng.permutation(200) * (1 << 30), size=np.full(200, 128 * KIB))
    assert patterns(trace).twsd["all"].sequential == 1


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 5), st.integers(1, 3)), min_size=1, max_size=60))
def test_runs_are_the_naive_ones(rows):
    codes, first, count = (np.array(column, np.int64) for column in zip(*rows, strict=True))
    trace = made(
        len(rows), volume=Coded(codes.astype(np.int32), ("a", "b", "c")), offset=first * PAGE, size=count * PAGE
    )
    expected = naive_runs(requests_of(trace))
    follows = continues(trace)
    assert set(np.flatnonzero(~follows).tolist()) == {run[0] for run in expected}
    found = runs(trace, follows)
    assert found.longest_requests == max(map(len, expected))
    assert found.mean_requests == pytest.approx(len(rows) / len(expected))
    assert found.mean_bytes == pytest.approx(trace.size.sum() / len(expected))
    assert found.long_share == pytest.approx(sum(len(run) for run in expected if len(run) >= 8) / len(rows))


def test_who_sends_what():
    user = Coded(np.array([0, 0, 1, -1, 0, 1], np.int32), ("mysqld", "cp", "idle"))
    trace = made(6, user=user, op=np.array([0, 1, 0, 0, 1, 0], np.uint8), offset=np.array([0, 0, 1, 2, 9, 1]) * PAGE)
    found = senders_by_column(trace, expand_pages(trace))
    assert set(found) == {"volume", "user"}
    assert found["user"].count == 3
    first, second, third = found["user"].top
    assert (first.name, first.requests, first.request_share, first.bytes) == ("mysqld", 3, 0.5, 3 * PAGE)
    assert (first.read_share, first.footprint_bytes) == (1 / 3, 2 * PAGE)
    assert (second.name, second.read_share, second.footprint_bytes) == ("cp", 1, PAGE)
    assert (third.name, third.requests) == (UNKNOWN, 1)


def test_thousands_of_volumes():
    n = 20_000
    codes = np.minimum(np.random.default_rng(1).zipf(1.3, n) - 1, 4999).astype(np.int32)
    trace = made(n, volume=Coded(codes, tuple(f"v{k}" for k in range(5000))), offset=np.arange(n) % 7 * PAGE)
    found = characterise(trace, expand_pages(trace))
    counts = Counter(codes.tolist())
    assert found.summary.volumes == found.who["volume"].count == len(counts)
    assert [sender.requests for sender in found.who["volume"].top] == [count for _, count in counts.most_common(10)]


def test_latency_is_of_those_that_have_one():
    times = np.array([10, 20, -1, 40, 1000])
    found = latency(made(5, latency_us=times, op=np.array([0, 0, 0, 1, 1], np.uint8)))
    assert (found["all"].known, found["reads"].known, found["reads"].mean_us) == (4, 2, 15)
    assert (found["writes"].median_us, found["writes"].max_us) == (40, 1000)


@pytest.mark.parametrize("times", [None, np.full(3, -1)])
def test_without_latency_there_is_none(times):
    assert latency(made(3, latency_us=times)) is None


# FIOS, Table II: ACF, RW, R, S, lambda of the traces whose features the paper names, or that follow from its rule.
TABLE_2 = {
    "Postmark": ((0.99, 98.29, 37.61, 26, 43.87), "CF"),
    "IOzone": ((0.98, 49.45, 1.21, 197, 28.08), "S"),
    "FIU-1": ((0.78, 75, 157.35, 9, 139.4), "ACF"),
    "FIU-2": ((0.87, 82, 232.89, 8, 114.72), "ACF"),
    "FIU-3": ((0.97, 57, 182.04, 8, 185.09), "ACF"),
    "MSR-hm0": ((0.92, 66, 4.48, 15, 58.51), "C"),
    "MSR-hm1": ((0.95, 58, 157.37, 31, 1.57), "CF"),
    "MSR-mds0": ((0.98, 69, 32.47, 19, 21.04), "CF"),
    "MSR-prn0": ((0.98, 61, 4.72, 25, 131.33), "AC"),
    "MSR-proj0": ((1, 27, 6.27, 29, 412.19), "A"),
    "UMASS-1": ((0.21, 64, 1242.93, 8, 575.94), "F"),
    "UMASS-2": ((0.02, 76, 1.13, 5, 76.6), ""),
}


@pytest.mark.parametrize("name", TABLE_2)
def test_fios_choice_on_its_own_table(name):
    values, features = TABLE_2[name]
    assert choose_features(dict(zip(HIGH, values, strict=True)))[1] == features


def test_the_worked_case_of_fios():
    assert choose_features(dict(zip(HIGH, TABLE_2["MSR-prn0"][0], strict=True))) == ("11001", "AC")


def row_of(trace):
    pages = expand_pages(trace)
    used = uses(trace, pages)
    return fios_row(trace, summary(trace, pages), footprint(trace, used), used)


def test_a_row_of_fios_table_2():
    page = np.array([0, 1, 5, 5, 6, 0, 9, 9])
    op = np.array([1, 1, 1, 1, 1, 1, 0, 0], np.uint8)
    time_us = np.array([0, 1, 2, 3, 4, 5, 6, 8]) * 100_000_000
    found = row_of(made(8, offset=page * PAGE, op=op, time_us=time_us))
    assert found.random_write_percent == pytest.approx(100 * 4 / 6), "1 goes on from 0, and 6 from 5"
    assert found.reuse_ratio == 2 / 4, "writes of 5 and 0 again, over four pages written"
    assert found.mean_write_kb == 4
    assert found.working_volume_kb == 40
    assert found.written_gb_per_day == pytest.approx(6 * PAGE / 1e9 / 800 * 86_400)
    assert found.throughput_iops == 8 / 800
    assert found.peak_iops == 3 / 300
    assert (found.acf, found.high, found.features) == (None, "01000", "")


def test_the_acf_of_fios_is_of_update_intervals_and_knows_no_speed():
    """Ten chunks in turn, read in between, at a pace that changes every 600 writes: intervals follow the pace."""
    gaps = np.repeat(np.random.default_rng(2).exponential(1, 10), 600) * 1e5
    times = np.cumsum(gaps).astype(np.int64)
    op = np.ones(6000, np.uint8)
    op[::2] = 0
    place = np.arange(6000) // 2 % 10 * CHUNK_BYTES
    one, slower = (row_of(made(6000, time_us=times * factor, op=op, offset=place)) for factor in (1, 24))
    assert one.acf > 0.95
    assert slower.acf == pytest.approx(one.acf)
    assert slower.written_gb_per_day == pytest.approx(one.written_gb_per_day / 24)


def test_rc_rnns_row():
    trace = made(5, op=np.array([0, 0, 1, 1, 1], np.uint8), size=np.array([1, 1, 1, 1, 6]) * KIB)
    found = rc_rnn_row(summary(trace, expand_pages(trace)))
    assert (found.requests, found.read_write_ratio, found.mean_request_kb) == (5, 2 / 3, 2)


def test_rc_rnns_row_of_reads_alone():
    trace = made(5)
    assert rc_rnn_row(summary(trace, expand_pages(trace))).read_write_ratio is None
    assert row_of(trace) is None


@pytest.mark.parametrize("name", EDGES)
def test_edges_are_described_in_json(name):
    trace = EDGES[name]
    pages = expand_pages(trace)
    values = json.loads(json.dumps(json_values(characterise(trace, pages)), allow_nan=False))
    assert values["summary"]["requests"] == len(trace)
    assert values["footprint"]["bytes"] == pages.n_pages * PAGE
    assert np.sum(values["heat_map"]["requests"]) == len(trace)
    assert values["working_set"]["total_bytes"][-1] == values["footprint"]["bytes"]
    assert (values["arrivals"] is None) == (not values["summary"]["clock"])


def test_the_same_trace_gives_the_same_figures():
    first, second = (
        json.dumps(json_values(characterise(trace, expand_pages(trace))))
        for trace in [zipf_trace(5000, 300, 1.0, 4)] * 2
    )
    assert first == second
