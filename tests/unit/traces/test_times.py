"""Times that cannot be right: a warning for a jump of years, a bad row where microseconds overflow."""

import numpy as np
import pytest

from cachezoo.errors import TraceError
from cachezoo.traces.ingest import describe_files, ingest
from cachezoo.traces.read import TraceFiles, read_files
from cachezoo.traces.source import Source
from cachezoo.traces.store import read_trace
from tests.trace_data import read, text_lines

YEAR_S = 365 * 86_400


def msr(tmp_path, *wild, name="t.csv"):
    """MSR rows 1 to 50, those of `wild` (row, ticks) at other times."""
    lines = text_lines(50)["msr"]
    for row, ticks in wild:
        lines[row - 1] = f"{ticks},{lines[row - 1].split(',', 1)[1]}"
    path = tmp_path / name
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.mark.parametrize("block", [200, 4 << 20])
@pytest.mark.parametrize("use", ["ingest", "describe", "read"])
def test_a_wild_time_is_warned_of_with_its_row(tmp_path, monkeypatch, capsys, block, use):
    monkeypatch.setattr(Source.lines, "__defaults__", (block,))
    path = msr(tmp_path, (20, -1))
    files = TraceFiles([path])
    if use == "ingest":
        figures = ingest(files, tmp_path / "o.parquet")
        assert read_trace(tmp_path / "o.parquet").meta.extra["time_jumps"] == "2"
    else:
        figures = describe_files(files) if use == "describe" else read_files(files).meta.extra
    assert figures["time_jumps"] == "2"
    assert figures["first_time_jump"] == "row 20: 406.4 years back"
    said = capsys.readouterr().err
    assert said.splitlines() == [
        f"warning: {path}: row 20: its time is 406.4 years before the last row's, and there are 2 jumps of more than a "
        "year; all times count from the earliest: fix or drop the row if it is wrong"
    ]


@pytest.mark.parametrize(("row", "jumps", "first"), [(1, 1, "row 2: 406.4 years back"), (50, 1, "row 50: 406.4 years")])
def test_a_wild_time_at_an_end_is_one_jump(tmp_path, row, jumps, first):
    extra = read(msr(tmp_path, (row, 2 * 128166372003061629))).meta.extra
    assert (extra["time_jumps"], extra["first_time_jump"]) == (
        str(jumps),
        first.replace("years", "years on", row == 50),
    )


def test_the_file_is_named_where_there_are_several(tmp_path, capsys):
    one, two = msr(tmp_path), msr(tmp_path, (7, -1), name="u.csv")
    extra = read(one, two).meta.extra
    assert extra["first_time_jump"] == "file 2, row 7: 406.4 years back"
    assert f"warning: {two}: row 7: " in capsys.readouterr().err


def test_steps_of_a_year_at_most_are_no_jumps(tmp_path, capsys):
    path = tmp_path / "t.csv"
    path.write_text("time_us,op,offset,size\n" + "".join(f"{k * YEAR_S * 1_000_000},R,0,1\n" for k in range(9)))
    assert "time_jumps" not in read(path).meta.extra
    assert capsys.readouterr().err == ""
    path.write_text(path.read_text() + f"{8 * YEAR_S * 1_000_000 + YEAR_S * 1_000_000 + 1},R,0,1\n")
    assert read(path).meta.extra["first_time_jump"] == "row 10: 1.0 years on"


@pytest.mark.parametrize("wild", [2**62, -(2**62), 9 * 10**18, -9 * 10**18])
@pytest.mark.parametrize("fmt", ["vscsi_csv", "alibaba", "etw", "csv"])
def test_a_time_that_would_overflow_is_a_bad_row(tmp_path, fmt, wild):
    place = {"vscsi_csv": 1, "alibaba": 4, "etw": 1, "csv": 0}[fmt]
    lines = text_lines(9)[fmt]
    fields = lines[-1].split(",")
    fields[place] = f" {wild}"
    path = tmp_path / "t"
    path.write_text("\n".join([*lines[:-1], ",".join(fields)]) + "\n")
    with pytest.raises(TraceError, match=r"row 9: its time lies before the trace's start, or is no number"):
        read(path, fmt=fmt)
    trace = read(path, fmt=fmt, skip_bad_rows=1)
    assert len(trace) == 8 and np.ptp(trace.time_us) < 10_000


def test_an_elapsed_time_that_would_overflow_is_a_bad_row(tmp_path):
    lines = text_lines(3)["etw"]
    path = tmp_path / "t"
    path.write_text("\n".join([*lines[:2], lines[2].replace(", 2, 0, 0x6", f", {-(2**63) + 1}, 0, 0x6")]) + "\n")
    with pytest.raises(TraceError, match="row 3: its time lies before"):
        read(path, fmt="etw")
