"""Episode labels of long traces: the arrays lie in files, and are worked on a few rows at a time."""

import gc
import mmap
import os
import weakref
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cachezoo import arrays
from cachezoo.coded import Coded
from cachezoo.errors import TraceError
from cachezoo.kernels.episodes import best_first
from cachezoo.labels import episode_file
from cachezoo.labels.episode_file import label_requests
from cachezoo.traces.memory import FROM
from cachezoo.traces.pages import expand_pages
from cachezoo.traces.rows import trace_in
from cachezoo.traces.spill import FOLDER, InFiles
from cachezoo.traces.store import read_trace, write_trace
from cachezoo.traces.table import Trace, TraceMeta
from tests.baleen_data import FLASH, LABEL, lone_segments, make_trace, partial_scans

NARROW = LABEL.model_copy(update={"block_bytes": 16384, "opt_prefetch": "opt_range_when"})
MODELLED = FLASH.model_copy(update={"disk": "wdredpro2tb", "touch": "segment", "eviction": "s3fifo"})


def few(op: list[int], offset: list[int], size: list[int]) -> Trace:
    n = len(op)
    return Trace(
        time_us=np.zeros(n, np.int64),
        op=np.array(op, np.uint8),
        offset=np.array(offset, np.int64),
        size=np.array(size, np.int64),
        volume=Coded(np.arange(n, dtype=np.int32) % 2, ("a", "b")),
        meta=TraceMeta("few", "database", "test", "0" * 64, "CC0"),
    )


TRACES = {
    "made": (make_trace(8000, 1), LABEL, FLASH),
    "requests over blocks": (make_trace(5000, 2), NARROW, MODELLED),
    "scans": (partial_scans(4000, 3), NARROW.model_copy(update={"opt_prefetch": "opt_range"}), FLASH),
    "one request": (few([0], [4096], [512]), LABEL, MODELLED),
    "three without a clock": (few([1, 0, 0], [0, 0, 262_000], [4096, 8192, 4096]), NARROW, FLASH),
}


@pytest.fixture
def piecewise(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Path]:
    """Every trace is long, and rows are worked on 777 at a time; yields the folder for files."""
    folder = tmp_path / "spilled"
    folder.mkdir()
    monkeypatch.setenv(FROM, "1")
    monkeypatch.setenv(FOLDER, str(folder))
    monkeypatch.setattr(arrays, "AT_ONCE", 777)
    yield folder
    gc.collect()
    assert not [*folder.iterdir()]


def stored(trace: Trace, folder: Path) -> Path:
    path = folder / "requests.parquet"
    write_trace(trace, path, expand_pages(trace))
    return path


@pytest.mark.parametrize("name", TRACES)
def test_long_traces_have_the_labels_of_memory(name: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    trace, label, flash = TRACES[name]
    requests = stored(trace, tmp_path)
    label_requests(requests, label, flash, tmp_path / "memory")
    request.getfixturevalue("piecewise")
    label_requests(requests, label, flash, tmp_path / "files")
    assert (tmp_path / "files").read_bytes() == (tmp_path / "memory").read_bytes()


def test_a_trace_in_files_is_the_one_in_memory(piecewise: Path, tmp_path: Path) -> None:
    requests = stored(make_trace(5000, 4), tmp_path)
    got, want = trace_in(InFiles(str(requests)), requests), read_trace(requests)
    for name in ("time_us", "op", "offset", "size"):
        np.testing.assert_array_equal(getattr(got, name), getattr(want, name))
    assert [got.volume.names[code] for code in got.volume.codes] == [
        want.volume.names[code] for code in want.volume.codes
    ]
    assert got.meta == want.meta
    room = InFiles("a trace")(np.int64, 0)
    assert room.dtype == np.int64 and len(room) == 0


def test_more_requests_than_can_be_numbered_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    requests = stored(make_trace(50, 4), tmp_path)
    monkeypatch.setattr(episode_file, "MOST_NUMBERED", 49)
    with pytest.raises(TraceError, match="50 requests, at most 49 can have episodes: cut the trace"):
        label_requests(requests, LABEL, FLASH, tmp_path / "made")
    assert not (tmp_path / "made").exists()


def test_a_trace_without_reads_leaves_no_file(piecewise: Path, tmp_path: Path) -> None:
    requests = stored(few([1], [0], [4096]), tmp_path)
    with pytest.raises(TraceError, match="no reads"):
        label_requests(requests, LABEL, FLASH, tmp_path / "made")
    assert not (tmp_path / "made").exists()


def test_what_files_take(piecewise: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    now, most = 0, 0

    class Counted(mmap.mmap):
        def __init__(self, file: int, length: int) -> None:
            nonlocal now, most
            now += len(self)
            most = max(most, now)
            weakref.finalize(self, left, len(self))

    def left(size: int) -> None:
        nonlocal now
        now -= size

    trace = lone_segments(6000, 6)
    requests = stored(trace, tmp_path)
    monkeypatch.setattr(mmap, "mmap", Counted)
    label_requests(requests, LABEL, MODELLED, tmp_path / "made")
    assert 150 * len(trace) < most < 250 * len(trace)
    assert now == 0


def test_without_room_it_says_so(piecewise: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    requests = stored(make_trace(1000, 5), tmp_path)
    full = lambda *_: (_ for _ in ()).throw(OSError(28, os.strerror(28)))  # noqa: E731
    monkeypatch.setattr(os, "posix_fallocate", full)
    with pytest.raises(TraceError, match=r"No space left on device.*TMPDIR"):
        label_requests(requests, LABEL, FLASH, tmp_path / "made")


SCORES = st.lists(
    st.tuples(st.sampled_from([-1.0, -0.0, 0.0, 5e-324, 1e-9, 0.5, 0.5000000000000001, 3.0, 1e300]), st.integers(0, 5)),
    max_size=30,
)


@given(SCORES, st.integers(0, 31), st.one_of(st.just(np.inf), st.floats(0, 60)))
@settings(max_examples=300, deadline=None)
def test_the_best_are_those_of_a_stable_sort(found: list[tuple[float, int]], most: int, budget: float) -> None:
    score = np.array([own[0] for own in found])
    written = np.array([own[1] for own in found], np.int64)
    order = np.argsort(-score, kind="stable")[: np.count_nonzero(score > 0)]
    want = min(most, int(np.searchsorted(np.cumsum(written[order]), budget, side="right")))
    taken, least, end = best_first(score, written, most, budget)
    assert taken == want
    chosen = (score > least) | ((score == least) & (np.arange(len(score)) < end))
    assert np.flatnonzero(chosen).tolist() == sorted(order[:want].tolist())
