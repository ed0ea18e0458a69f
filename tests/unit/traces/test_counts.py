"""Rows that stand for several accesses are replayed by whoever simulates."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cachezoo.coded import Coded
from cachezoo.traces.read import read_any, replayed
from cachezoo.traces.table import Discards, Trace, TraceMeta
from tests.command_line import run

LINES = ["1 0 4096 1.0 1 p n u 3", "2 0 4096 2.0 3 p n u 1", "1 0 4096 3.0 1 p n u 2"]


@given(st.lists(st.integers(1, 4), min_size=1, max_size=12), st.lists(st.integers(0, 12), max_size=6))
def test_a_row_is_repeated_and_a_discard_stays_behind_it(counts, at):
    n = len(counts)
    rows = np.arange(n)
    places = np.array(sorted(place for place in at if place <= n), np.int64)
    discards = Discards(places, places * 0, places * 0 + 1, Coded.constant("0", len(places)))
    trace = Trace(
        rows, np.zeros(n, np.uint8), rows * 4096, rows + 1, Coded.constant("0", n), TraceMeta("t", "", "", ""),
        count=np.array(counts, np.int32), discards=discards,
    )  # fmt: skip
    found = replayed(trace)
    expected = [row for row, times in enumerate(counts) for _ in range(times)]
    assert found.time_us.tolist() == expected and found.count is None
    assert found.discards is not None
    # Before a discard come the accesses of all rows before it.
    assert found.discards.at.tolist() == [sum(counts[:place]) for place in places.tolist()]


@pytest.fixture
def trace(tmp_path):
    path = tmp_path / "full.trace"
    path.write_text("\n".join(LINES) + "\n")
    return path


def test_only_who_simulates_replays(trace):
    given = {"layout": "2"}
    assert len(read_any(trace, "tectonic", options=given)) == 3
    whole = read_any(trace, "tectonic", options=given, replay=True)
    assert whole.time_us.tolist() == [0, 0, 0, 1_000_000, 2_000_000, 2_000_000]
    once = read_any(trace, "tectonic", options=given | {"counts": "once"}, replay=True)
    assert len(once) == 3 and once.count is None


@pytest.mark.parametrize(("counts", "requests", "ratio"), [("each", 6, 2 / 3), ("once", 3, 1 / 2)])
def test_simulate_replays_counts(trace, counts, requests, ratio):
    options = ("--format", "tectonic", "--option", "layout=2", "--option", f"counts={counts}")
    found = json.loads(run("simulate", trace, "--policy", "lru", "--size", "64KiB", *options, "--json").stdout)
    row = found["runs"][0]
    assert row["warmup"] + row["requests"] == requests  # the second half is counted
    assert row["hit_ratio"] == pytest.approx(ratio)
