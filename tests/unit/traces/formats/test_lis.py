"""ARC's .lis."""

import random

import pytest

from cachezoo.errors import TraceError
from cachezoo.traces.formats import fits_of
from cachezoo.traces.formats.base import Fit
from cachezoo.traces.source import Source
from tests.trace_data import read, sample


@pytest.mark.needs("public_traces")
def test_samples():
    for name, rows, pages in (("OLTP", 914_145, 914_145), ("P2", 666_176, 12_729_495)):
        trace = read(sample(f"lbn/{name}.lis.zst"))
        assert trace.meta.source_format == "lis"
        assert len(trace) == rows and trace.size.sum() == pages * 4096
        assert trace.op.max() == 0 and trace.time_us[-1] == rows - 1
    assert trace.offset[:2].tolist() == [3_050_771 * 4096, 2_461_851 * 4096]
    assert trace.size[:2].tolist() == [25 * 4096, 8 * 4096]


def test_random_rows_against_a_plain_loop(tmp_path):
    rng = random.Random(4)
    rows = [(rng.randrange(10**9), rng.randint(1, 200), 0, at) for at in range(3000)]
    path = tmp_path / "p.lis"
    path.write_text("".join(" ".join(map(str, row)) + rng.choice(("\n", " \r\n")) for row in rows))
    trace = read(path)
    assert trace.offset.tolist() == [row[0] * 4096 for row in rows]
    assert trace.size.tolist() == [row[1] * 4096 for row in rows]
    assert trace.meta.extra["op"].startswith("all reads") and trace.meta.extra["time"].startswith("row numbers")


def test_rows_of_a_second_file_go_on(tmp_path):
    for name in "ab":
        (tmp_path / name).write_text("1 1 0 0\n2 1 0 0\n")
    trace = read(tmp_path / "a", tmp_path / "b")
    assert trace.time_us.tolist() == [0, 1, 2, 3] and trace.offset.tolist() == [4096, 8192] * 2


def test_damaged_rows_are_named_or_skipped(tmp_path):
    path = tmp_path / "p.lis"
    path.write_text("1 1 0 0\n2 x 0 1\n3 0 0 2\n4 1 0 3\n5 1 0 4\n")
    with pytest.raises(TraceError, match=r"p\.lis: row 2: count is 'x'"):
        read(path)
    with pytest.raises(TraceError, match="row 3: size is 0"):
        read(path, skip_bad_rows=1)
    trace = read(path, skip_bad_rows=2)
    assert trace.time_us.tolist() == [0, 3, 4] and trace.meta.extra["skipped_rows"] == "2"


def test_it_is_likely(tmp_path):
    path = tmp_path / "p.lis"
    path.write_text("1 1 0 0\n2 1 0 0\n")
    assert fits_of(Source(path)) == {"lis": Fit.LIKELY}


def test_the_third_column_is_ignored_where_the_fourth_counts_requests(tmp_path):
    path = tmp_path / "p.lis"
    path.write_text("".join(f"{8 * k} {1 + k % 3} {k % 7} {20 + k}\n" for k in range(60)))
    assert fits_of(Source(path)) == {"lis": Fit.LIKELY}
    trace = read(path)
    assert trace.offset.tolist() == [8 * k * 4096 for k in range(60)]
    assert trace.size.tolist() == [(1 + k % 3) * 4096 for k in range(60)]
    path.write_text("5 1 17 0\n6 2 3 0\n")
    assert fits_of(Source(path)) == {"lis": Fit.LIKELY}


def test_four_numbers_without_numbered_requests_are_no_arc_trace(tmp_path):
    path = tmp_path / "t"
    path.write_text("".join(f"{8 * k} 8 {k % 2} {1000 + 37 * k}\n" for k in range(60)))
    assert fits_of(Source(path)) == {}
    path.write_text("".join(f"{37 * k} {8 * k} 8 {k % 2}\n" for k in range(60)))
    assert fits_of(Source(path)) == {}
