"""Rows that stand for several accesses are replayed by whoever simulates."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cachezoo.coded import Coded
from cachezoo.traces.clock import has_clock
from cachezoo.traces.ingest import ingest
from cachezoo.traces.read import TraceFiles, read_any, replayed
from cachezoo.traces.store import read_pages, read_trace
from cachezoo.traces.table import Discards, Trace, TraceMeta
from tests.command_line import run

LINES = ["1 0 4096 1.0 1 p n u 3", "2 0 4096 2.0 3 p n u 1", "1 0 4096 3.0 1 p n u 2"]


def naive(time_us: list[int], counts: list[int], clock: bool) -> list[tuple[int, int]]:
    """(time, row) of every access in order: those of a row evenly over a second."""
    found = []
    for row, (at, n) in enumerate(zip(time_us, counts, strict=True)):
        found += [(at + (k * 1_000_000 // (n - 1) if clock and n > 1 else 0), row) for k in range(n)]
    return sorted(found, key=lambda one: one[0])


@given(
    st.lists(st.tuples(st.integers(1, 5), st.integers(0, 700_000)), min_size=1, max_size=12),
    st.lists(st.integers(0, 12), max_size=6),
    st.booleans(),
)
def test_a_row_s_accesses_fill_a_second_and_a_discard_stays_before_the_row_after_it(rows, at, numbered):
    n = len(rows)
    counts = [count for count, _ in rows]
    time_us = list(range(n)) if numbered else np.cumsum([gap for _, gap in rows]).tolist()
    places = np.array(sorted(place for place in at if place <= n), np.int64)
    discards = Discards(places, places * 0, places * 0 + 1, Coded.constant("0", len(places)))
    extra = {"time": "row numbers"} if numbered else {}
    trace = Trace(
        np.array(time_us, np.int64), np.zeros(n, np.uint8), np.arange(n) * 4096, np.arange(n) + 1,
        Coded.constant("0", n), TraceMeta("t", "", "", "", "", extra), count=np.array(counts, np.int32),
        discards=discards,
    )  # fmt: skip
    found = replayed(trace)
    expected = naive(time_us, counts, has_clock(trace))
    assert found.time_us.tolist() == [when for when, _ in expected] and found.count is None
    assert (found.size - 1).tolist() == [row for _, row in expected]
    assert found.discards is not None
    first = [next((k for k, (_, row) in enumerate(expected) if row == at), len(expected)) for at in range(n + 1)]
    assert found.discards.at.tolist() == [first[place] for place in places.tolist()]


@pytest.fixture
def trace(tmp_path):
    path = tmp_path / "full.trace"
    path.write_text("\n".join(LINES) + "\n")
    return path


def test_only_who_simulates_replays(trace):
    given = {"layout": "2"}
    assert len(read_any(trace, "tectonic", options=given)) == 3
    whole = read_any(trace, "tectonic", options=given, replay=True)
    assert whole.time_us.tolist() == [0, 500_000, 1_000_000, 1_000_000, 2_000_000, 3_000_000]
    assert (whole.offset // 2**23).tolist() == [1, 1, 1, 2, 1, 1]
    once = read_any(trace, "tectonic", options=given | {"counts": "once"}, replay=True)
    assert len(once) == 3 and once.count is None


@pytest.mark.parametrize(("counts", "requests", "ratio"), [("each", 6, 2 / 3), ("once", 3, 1 / 2)])
def test_simulate_replays_counts(trace, counts, requests, ratio):
    options = ("--format", "tectonic", "--option", "layout=2", "--option", f"counts={counts}")
    found = json.loads(run("simulate", trace, "--policy", "lru", "--size", "64KiB", *options, "--json").stdout)
    row = found["runs"][0]
    assert row["warmup"] + row["requests"] == requests  # the second half is counted
    assert row["hit_ratio"] == pytest.approx(ratio)


def test_flash_replays_counts(trace):
    given = ("--format", "tectonic", "--option", "layout=2", "--policy", "accept_all", "--count", "all", "--json")
    found = json.loads(run("recommend", "--only", "flash", trace, *given).stdout)
    assert found["requests"] == 6


def test_stages_take_a_request_for_each_access(trace, tmp_path):
    ingest(TraceFiles([trace], "tectonic", options={"layout": "2"}), tmp_path / "t.parquet", replay=True)
    found = read_trace(tmp_path / "t.parquet")
    whole = read_any(trace, "tectonic", options={"layout": "2"}, replay=True)
    assert found.count is None and found.time_us.tolist() == whole.time_us.tolist()
    assert len(read_pages(tmp_path / "t.parquet").page_ids) == 6
