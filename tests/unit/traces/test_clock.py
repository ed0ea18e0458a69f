"""Whether a trace has a clock: one rule for figures, readings, reports and recommendations."""

import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from cachezoo.cli import app
from cachezoo.traces.clock import Clock, are_numbered

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
