"""Whether a trace has a clock: one rule for figures, readings, reports and recommendations."""

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from cachezoo.cli import app
from cachezoo.traces.clock import Clock, Outstanding, are_numbered, covered_us

LIS = "".join(f"{97 * k % 5000} {1 + k % 3} 0 {k}\n" for k in range(400))
TABLE = "".join(f"{97 * k % 5000};{1 + k % 3}\n" for k in range(400))
ROWS = {unit: ("--columns", f"time=row:{unit},offset=#1:512,size=#2:512,op=read") for unit in ("us", "ms")}


def shown(*words: object) -> str:
    return CliRunner().invoke(app, list(map(str, words)), catch_exceptions=False).stdout


@pytest.fixture(params=["lis", "us", "ms"])
def clockless(request, tmp_path: Path) -> tuple[object, ...]:
    path = tmp_path / ("t.lis" if request.param == "lis" else "t.txt")
    path.write_text(LIS if request.param == "lis" else TABLE)
    return (path, *ROWS.get(request.param, ()))


def test_numbered_rows_are_given_no_span_and_no_rate(clockless, tmp_path):
    out = tmp_path / "o.parquet"
    for words in (("info", *clockless), ("ingest", *clockless, "-o", out), ("info", out)):
        figures = json.loads(shown("trace", *words, "--json"))
        assert (figures["span_s"], figures["requests_per_s"]) == (None, None)
    lines = [line for line in shown("trace", "info", *clockless).splitlines() if "span_s" in line or "per_s" in line]
    assert len(lines) == 2 and all("no clock" in line for line in lines)


def test_readings_without_a_clock_say_so(tmp_path):
    path = tmp_path / "t.lis"
    path.write_text(LIS)
    first = json.loads(shown("trace", "formats", path, "--json"))[0]
    assert (first["id"], first["span"], first["rate"]) == ("lis", "no clock", "no clock")


@pytest.mark.parametrize(
    ("times", "ticks"),
    [
        ([5], False),
        ([5, 5, 5], False),
        ([5, 6, 7], False),
        ([5, 6], True),
        ([5, 6, 8], True),
        ([7, 6, 5], False),
        ([6, 7, 5, 8], False),
        ([5, 5, 8, 8], True),
    ],
)
@pytest.mark.parametrize("cut", [0, 1, 2])
def test_times_are_judged_alike_whole_and_in_pieces(times, ticks, cut):
    clock = Clock()
    for piece in (times[:cut], times[cut:]):
        clock.add(np.array(piece, np.int64))
    assert clock.ticks({}) is ticks


def test_what_a_reader_noted_counts_whatever_the_times():
    assert are_numbered({"time": "row numbers in microseconds"}) and are_numbered({"columns": "time=row:ms,offset=#1"})
    assert not are_numbered({"columns": "time=#1:ms,offset=#2"}) and not are_numbered({})
    clock = Clock()
    clock.add(np.array([0, 1000, 2500]))
    assert clock.ticks({}) and not clock.ticks({"columns": "time=row:ms,offset=#1"})


def test_covered_time_counts_overlaps_once():
    start, end = np.array([0.0, 2.0, 3.0, 20.0, 25.0]), np.array([10.0, 4.0, 12.0, 21.0, 25.0])
    assert covered_us(start, end) == 13
    assert covered_us(start, end, 11.0) == 2
    assert covered_us(np.empty(0), np.empty(0)) == 0


@given(
    rows=st.lists(st.tuples(st.integers(0, 9), st.integers(-1, 15)), min_size=1, max_size=14), cut=st.integers(0, 14)
)
def test_what_is_outstanding_is_the_same_of_all_requests_and_in_pieces(rows, cut):
    gap, latency = (np.array(column, np.int64) for column in zip(*rows, strict=True))
    time_us, whole, pieces = np.cumsum(gap), Outstanding(), Outstanding()
    whole.add(time_us, latency)
    for part in (slice(0, cut), slice(cut, None)):
        pieces.add(time_us[part], latency[part])
    assert pieces.mean == (None if whole.mean is None else pytest.approx(whole.mean))
