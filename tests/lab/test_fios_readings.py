import math
from pathlib import Path

import pytest

from cachezoo.contest.series import autocorrelation
from cachezoo.features.fios import theta_of
from cachezoo.traces.chunks import CHUNK_BYTES, chunk_writes
from cachezoo.traces.pages import expand_pages
from cachezoo.traces.read import read_any
from lab.notes.fios_readings import PUBLIC, READINGS, Written, distance, files_of, table
from tests.characteristics_data import zipf_trace
from tests.oracles.characteristics import naive_updates
from tests.trace_data import sample

TRACE = zipf_trace(400, 60, 1.0, 3)


@pytest.mark.parametrize("unit", [4096, CHUNK_BYTES, 131_072])
def test_updates_by_units_of_any_size_are_the_naive_ones(unit):
    write = TRACE.op == 1
    spans = zip(TRACE.offset[write].tolist(), TRACE.size[write].tolist(), strict=True)
    new, intervals = naive_updates(
        [range(first // unit, (first + size - 1) // unit + 1) for first, size in spans], TRACE.time_us[write].tolist()
    )
    found = Written(TRACE).updates(unit)
    assert (found.new, found.intervals) == (new, len(intervals))
    assert found.correlation == pytest.approx(autocorrelation(intervals, 1))


def test_the_product_s_readings_are_among_them():
    found, own = theta_of(chunk_writes(TRACE), TRACE, expand_pages(TRACE)), Written(TRACE)
    assert found.acf == READINGS["ACF"]["update intervals of chunks of 32 KiB"](own)
    assert found.random_write_percent == READINGS["RW"]["not where the volume's last request ended"](own)
    assert found.reuse_ratio == READINGS["R"]["page writes of 4 KiB"](own)
    assert found.mean_write_kb == READINGS["S"]["mean"](own)
    assert found.written_gb_per_day == pytest.approx(READINGS["lambda"]["bytes written over the trace's span"](own))


def test_an_interval_and_the_next_of_the_same_chunk():
    found = READINGS["ACF"]["of one chunk, an interval and its next"](Written(zipf_trace(4000, 40, 0.0, 3)))
    assert abs(found) < 0.1, "places are drawn anew each time"


def test_distances():
    assert distance("ACF", 0.5, 0.75) == 0.25
    assert distance("RW", 40, 50) == pytest.approx(0.1)
    assert distance("R", 2, 16) == distance("S", 128, 16) == 3
    assert distance("S", None, 1) == distance("ACF", math.nan, 1) == math.inf


@pytest.mark.needs("public_traces")
def test_the_chosen_reading_is_the_nearest_on_postmark_and_ours_of_before_is_not():
    found = table("ACF", {"Postmark": Written(read_any(sample(PUBLIC["Postmark"]), quiet=True))})
    far = {row[0].text: row[-1].value for row in found.rows[1:]}
    assert far["update intervals of chunks of 32 KiB"] < 0.1
    assert far["times between writes, lag 1"] > 0.8
    assert list(far.values()) == sorted(far.values())


def test_files(monkeypatch):
    monkeypatch.delenv("CACHEZOO_PUBLIC_TRACES", raising=False)
    assert files_of(["IOzone=a"]) == {"IOzone": Path("a")}
    monkeypatch.setenv("CACHEZOO_PUBLIC_TRACES", "folder")
    assert list(files_of(["IOzone=a"])) == ["IOzone", "Postmark", "MSR-hm0"]


@pytest.mark.parametrize(("given", "said"), [(["Iozone=a"], "Iozone=a: give ROW=FILE"), ([], "no trace: give")])
def test_what_is_no_row_is_refused(monkeypatch, given, said):
    monkeypatch.delenv("CACHEZOO_PUBLIC_TRACES", raising=False)
    with pytest.raises(SystemExit, match=said):
        files_of(given)
