"""What the host gave up: read from the formats that have it, heeded by the drive alone."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cachezoo.flash_drive.run import wear
from cachezoo.flash_drive.writes import drive_writes
from cachezoo.kernels.ftl import run_ftl
from cachezoo.settings.wear import Drive
from cachezoo.traces.formats.columns import parsed
from cachezoo.traces.pages import expand_pages
from cachezoo.traces.table import Discards
from tests.trace_data import read as read_files
from tests.trace_data import texts

HEADER = "at,what,from,length,disk"
NAMED = "time=at:us,op=what,offset=from:1,size=length:1,volume=disk"


def table(folder, *rows, name="trace.csv"):
    path = folder / name
    path.write_text("\n".join([HEADER, *rows]) + "\n")
    return path


def read(path):
    return read_files(path, fmt="columns", **parsed(NAMED))


def places(trace):
    found = trace.discards
    return list(zip(found.at.tolist(), found.offset.tolist(), found.size.tolist(), texts(found.volume), strict=True))


ROWS = ["0,trim,0,512,a", "1,W,0,8192,a", "2,W,8192,8192,b", "3,trim,0,8192,b", "4,discard,8192,8192,a", "5,R,0,512,a"]


def test_a_discard_is_known_by_the_request_that_it_came_before(tmp_path):
    trace = read(table(tmp_path, *ROWS, "6,trim,4096,4096,a"))
    assert len(trace) == 3
    assert places(trace) == [(0, 0, 512, "a"), (2, 0, 8192, "b"), (2, 8192, 8192, "a"), (3, 4096, 4096, "a")]
    assert trace.meta.extra["left_out.trim"] == "3"
    # A part has those before its requests, the last one also what comes after.
    assert [places(trace.rows(a, b)) for a, b in ((0, 2), (2, 3))] == [
        [(0, 0, 512, "a")],
        [(0, 0, 8192, "b"), (0, 8192, 8192, "a"), (1, 4096, 4096, "a")],
    ]
    assert trace.take(np.array([0])).discards is None
    assert read(table(tmp_path, "0,W,0,512,a", name="none.csv")).discards is None


def test_a_discard_stays_behind_its_request_where_rows_are_sorted_by_time(tmp_path):
    trace = read(table(tmp_path, "9,W,0,8192,a", "9,trim,0,8192,a", "5,W,8192,8192,a", "6,trim,8192,8192,a"))
    assert trace.offset.tolist() == [8192, 0]
    assert places(trace) == [(1, 8192, 8192, "a"), (2, 0, 8192, "a")]


def test_a_range_that_cannot_be_is_none(tmp_path):
    trace = read(
        table(tmp_path, "0,W,0,512,a", "1,trim,-1,512,a", "2,trim,0,0,a", f"3,trim,{2**62},512,a", "4,trim,0,512,a")
    )
    assert places(trace) == [(1, 0, 512, "a")]


def test_events_give_up_ranges(tmp_path):
    path = tmp_path / "trace.blkparse"
    path.write_text(
        "  8,0    1        1     0.000000000   101  D   D 64 + 99999999 [dd]\n"
        "  8,0    1        2     0.000002000   101  D   W 8 + 8 [dd]\n"
        "  8,0    1        3     0.000003000   101  D  DS 0 + 8 [dd]\n"
    )
    trace = read_files(path)
    assert places(trace) == [(0, 64 * 512, 99999999 * 512, "8,0"), (1, 0, 4096, "8,0")]


def test_no_other_figure_moves(tmp_path):
    """Requests and their pages are those of the same file without discards."""
    kept = [row for row in ROWS if row.split(",")[1] in "RW"]
    some, none = read(table(tmp_path, *ROWS)), read(table(tmp_path, *kept, name="none.csv"))
    for name in ("op", "offset", "size"):
        np.testing.assert_array_equal(getattr(some, name), getattr(none, name))
    np.testing.assert_array_equal(expand_pages(some).page_ids, expand_pages(none).page_ids)


PAGES, PAGE = 4096, 8192


def written(folder):
    """Writes at random, of which most are given up soon after."""
    rng = np.random.default_rng(0)
    rows = []
    for time, page in enumerate(np.concatenate([np.arange(PAGES), rng.integers(0, PAGES, 30_000)]).tolist()):
        rows.append(f"{time},W,{page * PAGE},{PAGE},a")
        if time >= PAGES and time % 2:
            rows.append(f"{time},trim,{page * PAGE},{PAGE},a")
    return read(table(folder, *rows, name="discards.csv"))


def test_a_drive_that_heeds_trims_copies_less(tmp_path):
    trace = written(tmp_path)
    cycles = [trace.rows(0, PAGES + 10_000), trace.rows(PAGES + 10_000, len(trace))]
    writes = drive_writes(cycles)
    settings = Drive(over_provisioning=0.25, gc_free_blocks=2)
    plain, heeding = wear(writes, None, settings), wear(writes, None, settings.model_copy(update={"trims": True}))
    assert heeding.waf < 0.8 * plain.waf
    assert heeding.host.sum() == plain.host.sum() == 20_000
    bare = [replace(cycle, discards=None) for cycle in cycles]
    np.testing.assert_array_equal(wear(drive_writes(bare), None, settings).copied, plain.copied)
    # The same by hand.
    at, n = writes.trims.at, len(writes)
    order = np.argsort(np.concatenate([2 * np.arange(n) + 1, 2 * at]), kind="stable")
    pages = np.concatenate([writes.pages, writes.trims.pages])[order]
    trim = order >= n
    first = int(np.flatnonzero(~trim)[writes.starts[1]])
    run = run_ftl(pages, None, heeding.drive, bounds=np.array([first, len(pages)]), trim=trim)
    assert run.copied.sum() == heeding.copied.sum()


ranges = st.lists(
    st.tuples(st.integers(0, 3), st.integers(0, 40), st.integers(1, 40), st.sampled_from("ab")), max_size=6
)


@given(given_up=ranges, page_bytes=st.sampled_from([4, 8]))
def test_trims_are_of_whole_pages_that_are_written(tmp_path_factory, given_up, page_bytes):
    rows = ["0,W,0,8,a", "1,W,10,20,b", "2,R,0,4,a"]
    trace = read(table(tmp_path_factory.getbasetemp(), *rows))
    given_up = sorted(given_up, key=lambda one: one[0])
    at, offset, size, volume = zip(*given_up, strict=True) if given_up else ((), (), (), ())
    names = ("a", "b")
    coded = replace(trace.volume, codes=np.array([names.index(name) for name in volume], np.int32), names=names)
    discards = Discards(np.array(at, np.int64), np.array(offset, np.int64), np.array(size, np.int64), coded)
    writes = drive_writes([replace(trace, discards=discards)], page_bytes)
    begins = {"a": 0, "b": 1 << 15}  # each behind the last, at a chunk's boundary
    expected = []
    for place, start, length, name in given_up:
        begin, end = begins[name] + start, begins[name] + start + length
        for page, address in enumerate(writes.address.tolist()):
            if begin <= address and address + page_bytes <= end:
                expected.append((int((writes.request < place).sum()), page))
    assert list(zip(writes.trims.at.tolist(), writes.trims.pages.tolist(), strict=True)) == expected
    assert writes.trims.commands == len(given_up)


@pytest.mark.parametrize("heeds", [True, False])
def test_the_command_counts_them(tmp_path, heeds):
    from typer.testing import CliRunner

    from cachezoo.cli.wear import app

    written(tmp_path)
    words = [
        "wear",
        str(tmp_path / "discards.csv"),
        "--placement",
        "legacy",
        "--op",
        "28%",
        "--streams",
        "1",
        "--free",
        "2",
        "--columns",
        NAMED,
    ]
    done = CliRunner().invoke(app, [*words, "--trims" if heeds else "--no-trims"], catch_exceptions=False)
    said = "and the drive heeds them" if heeds else "which the drive does not heed"
    assert f"trims: 15,000 discards give up 15,000 flash pages, {said}" in done.output
