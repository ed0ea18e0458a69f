"""Labels of written chunks: the table there and back, and damaged files."""

import numpy as np
import pytest

from cachezoo.coded import Coded
from cachezoo.errors import TraceError
from cachezoo.io import write_table
from cachezoo.labels.streams import COLUMNS, labels_of, read_stream_labels, write_stream_labels
from cachezoo.traces.chunks import CHUNK_BYTES, WINDOWS
from cachezoo.traces.pages import expand_pages
from tests.characteristics_data import made, zipf_trace


def labelled(trace):
    return labels_of(trace, expand_pages(trace))


def test_a_table_there_and_back(tmp_path):
    labels = labelled(zipf_trace(3000, 2000, 1.0, 3))
    path = tmp_path / "one.parquet"
    write_stream_labels(labels, "one", path)
    again = read_stream_labels(path)
    assert (again.volume.names, again.figures) == (labels.volume.names, labels.figures)
    assert again.chunk.tolist() == labels.chunk.tolist()
    assert {name: values.tolist() for name, values in again.columns.items()} == {
        name: values.tolist() for name, values in labels.columns.items()
    }
    expected = {
        one for name in COLUMNS for one in (
            [name.replace("<window>", window) for window in WINDOWS] if "<" in name else [name]
        )
    }  # fmt: skip
    assert {"volume", "chunk", *again.columns} == expected


def test_the_same_trace_gives_the_same_bytes(tmp_path):
    for name in ("one", "two"):
        write_stream_labels(labelled(zipf_trace(2000, 500, 1.0, 3)), "same", tmp_path / name)
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()


def test_figures():
    # Page 0 of 4 KiB three times, so that its flash page dies twice after one page write; another chunk once.
    trace = made(5, op=np.array([1, 1, 1, 1, 0], np.uint8), offset=np.array([0, 0, 0, CHUNK_BYTES, 0]))
    found = labelled(trace)
    assert (found.figures.requests, found.figures.writes, found.figures.page_writes) == (5, 4, 4)
    assert found.figures.theta["reuse_ratio"] == 1
    assert (found.figures.high, found.figures.features) == ("01001", "")
    assert found.figures.windows["1s"] == 1_000_000
    assert found.figures.windows["100th"] == 41, "4001 us"
    assert found.columns["life_mean"] == pytest.approx([2 / 3, 2])
    assert found.columns["life_median"] == pytest.approx([0, 2])
    assert found.columns["never"] == pytest.approx([1 / 3, 1])


def test_without_a_clock_windows_are_hundredths_of_the_requests():
    place = np.repeat(np.random.default_rng(1).integers(0, 9, 50), 10) * CHUNK_BYTES
    found = labelled(made(500, op=np.ones(500, np.uint8), time_us=np.arange(500), offset=place))
    assert not found.figures.clock
    assert set(found.figures.windows.values()) == {5}
    timed = labelled(made(500, op=np.ones(500, np.uint8), time_us=7000 * np.arange(500) + 3, offset=place))
    assert found.figures.theta["acf"] == pytest.approx(timed.figures.theta["acf"]), "intervals in requests"
    assert found.figures.theta["written_gb_per_day"] is None


def test_chunks_in_the_addresses_of_a_drive():
    volume = Coded(np.array([0, 1, 0], np.int32), ("b", "a"))
    found = labelled(made(3, op=np.ones(3, np.uint8), volume=volume, offset=np.array([0, 0, 5 * CHUNK_BYTES])))
    assert found.drive_chunks({"a": 0, "b": 3 * CHUNK_BYTES}).tolist() == [0, 3, 8]


@pytest.mark.parametrize("damage", ["absent", "text", "other"])
def test_what_holds_no_labels_is_refused_in_one_line(tmp_path, damage):
    path = tmp_path / "x.parquet"
    if damage == "text":
        path.write_text("no table")
    elif damage == "other":
        import pyarrow as pa

        write_table(path, pa.table({"chunk": [1]}))
    with pytest.raises(TraceError) as caught:
        read_stream_labels(path)
    assert str(caught.value).startswith(str(path))
    assert "\n" not in str(caught.value)
