"""A drive, and a cache's SSD, that live through long traces, whose columns lie in files, against those in memory."""

import json
from dataclasses import replace

import numpy as np
import pytest

import cachezoo as cz
from cachezoo import arrays
from cachezoo.coded import Coded
from cachezoo.flash_drive import writes as drive
from cachezoo.flash_drive.writes import drive_writes
from cachezoo.kernels import ftl
from cachezoo.policies import long as simulated
from cachezoo.questions.wear.long import long_writes
from cachezoo.questions.wear.options import cycles_of
from cachezoo.traces.chunks import CHUNK_BYTES
from cachezoo.traces.memory import FROM
from cachezoo.traces.pages import expand_pages
from cachezoo.traces.read import TraceFiles, read_any
from cachezoo.traces.store import write_trace
from cachezoo.zoo.streams import deaths
from tests.command_line import run
from tests.wear_data import on_volume, skewed

SPAN = 613
RULES = "legacy,equal,autostream,multiq,lifetime,sepbit,fk,oracle"


def some(seed, n=4_000):
    """Writes with reads between them, requests of several pages, and parts of pages; on two volumes."""
    rng, trace = np.random.default_rng(seed), skewed(seed, n)
    trace = replace(trace, op=np.where(rng.random(n) < 0.3, 0, trace.op).astype(np.uint8))
    size = np.where(rng.random(n) < 0.2, trace.size * rng.integers(1, 9, n), trace.size - rng.integers(0, 4096, n))
    volume = Coded((rng.random(n) < 0.25).astype(np.int32), ("sda", "sdb"))
    return replace(trace, size=size, volume=volume)


@pytest.fixture(scope="module")
def traces(tmp_path_factory):
    folder, first = tmp_path_factory.mktemp("wear"), some(1)
    write_trace(first, folder / "ids.parquet", expand_pages(first))
    write_trace(some(2), folder / "other.parquet")
    one = on_volume(some(3), "c")
    rows = zip(one.time_us, one.op, one.offset, one.size, strict=True)
    lines = [f"{time},{'RW'[op]},{offset},{size}" for time, op, offset, size in rows]
    (folder / "raw.csv").write_text("\n".join(["time_us,op,offset,size", *lines]) + "\n")
    return folder


@pytest.fixture
def in_short_spans(monkeypatch):
    for module in (drive, ftl, arrays, deaths, simulated):
        monkeypatch.setattr(module, "AT_ONCE", SPAN)


def same(ours, theirs):
    """All that a drive gets; requests and times count from a trace's start, where it is cut into cycles."""
    for name in ("pages", "address", "starts", "parts", "begins", "lifetimes"):
        np.testing.assert_array_equal(getattr(ours, name), getattr(theirs, name), name)
    assert (ours.page_bytes, dict(ours.volumes)) == (theirs.page_bytes, dict(theirs.volumes))
    for number in range(ours.cycles):
        part = ours.cycle(number)
        for name in ("request", "time_us"):
            np.testing.assert_array_equal(np.diff(getattr(ours, name)[part]), np.diff(getattr(theirs, name)[part]))


@pytest.mark.parametrize("names", [["ids.parquet"], ["raw.csv"], ["ids.parquet", "other.parquet", "raw.csv"]])
@pytest.mark.parametrize("page_bytes", [4096, 8192])
@pytest.mark.usefixtures("in_short_spans")
def test_a_drive_gets_of_long_traces_what_it_gets_of_those_in_memory(traces, names, page_bytes):
    paths = [traces / name for name in names]
    cycles = 4 if len(paths) == 1 else None
    theirs = drive_writes(cycles_of([read_any(path) for path in paths], cycles), page_bytes)
    ours, _ = long_writes([TraceFiles([path]) for path in paths], cycles, page_bytes)
    same(ours, theirs)
    for cycle in range(1, ours.cycles):
        same(ours.until(cycle), theirs.until(cycle))


@pytest.mark.usefixtures("in_short_spans")
def test_what_is_given_up_is_that_of_the_traces_in_memory(tmp_path):
    rng, path = np.random.default_rng(5), tmp_path / "given_up.blk"
    lines = []
    for k in range(3_000):
        kind = rng.choice(["W", "R", "D"], p=[0.6, 0.2, 0.2])
        sectors = int(rng.integers(1, 9 if kind != "D" else 4000))
        lines.append(
            f"  8,0    1 {k:8d} {k * 1e-4:14.9f}  77  D {kind} {int(rng.integers(0, 9000)) * 8} + {sectors} [a]"
        )
    path.write_text("\n".join(lines) + "\n")
    trace = read_any(path)
    assert trace.discards is not None
    theirs, ours = drive_writes(cycles_of([trace], 3)), long_writes([TraceFiles([path])], 3)[0]
    same(ours, theirs)
    assert ours.trims.commands == theirs.trims.commands > 100
    np.testing.assert_array_equal(ours.trims.at, theirs.trims.at)
    np.testing.assert_array_equal(ours.trims.pages, theirs.trims.pages)
    for mine, others in zip(ours.heeded(ours.begins.view(np.uint8)), theirs.heeded(theirs.begins.view(np.uint8)),
                            strict=True):  # fmt: skip
        np.testing.assert_array_equal(mine, others)


def answers(monkeypatch, *args):
    """Output of a command for a trace in memory, and for the same trace as a long one."""
    found = []
    for least in ("", "1"):
        monkeypatch.setenv(FROM, least)
        found.append(json.loads(run("recommend", *args, "--json").stdout))
    return found


@pytest.mark.usefixtures("in_short_spans")
def test_the_answer_is_that_of_traces_in_memory(traces, monkeypatch):
    words = ("--placement", RULES, "--op", "28%", "--streams", "4", "--victim", "greedy")
    words += ("--unit", "32KiB", "--free", "8")
    for names in (["ids.parquet"], ["other.parquet", "ids.parquet"]):
        whole, ours = answers(monkeypatch, "--only", "wear", *(traces / name for name in names), *words)
        assert ours == whole


def test_fios_is_left_out_of_long_traces_and_that_is_said(traces, monkeypatch):
    words = ("--placement", "equal,fios", "--op", "28%", "--streams", "4", "--unit", "32KiB", "--free", "2")
    whole, ours = answers(monkeypatch, "--only", "wear", traces / "raw.csv", *words)
    assert [row["placement"] for row in ours["rows"]] == ["legacy", "equal", "legacy", "equal"]
    assert ours["notes"][0].startswith("fios: ") and ours["notes"][1:] == [
        note for note in whole["notes"] if not note.startswith("fios")
    ]
    assert [row for row in whole["rows"] if row["placement"] != "fios"] == ours["rows"]


def from_python(monkeypatch, given, by, **words):
    """Python answers like the command, which leaves out fios for long traces."""
    found = []
    for least in ("", "1"):
        monkeypatch.setenv(FROM, least)
        found.append(json.loads(json.dumps(cz.wear(given, by, **words).values)))
    return found


@pytest.mark.usefixtures("in_short_spans")
def test_from_python_it_is_the_command_s(traces, monkeypatch):
    paths, words = [traces / "raw.csv", traces / "ids.parquet"], {"op": "28%", "streams": 4, "unit": "32KiB", "free": 2}
    options = [word for name, value in words.items() for word in (f"--{name}", value)]
    for given in (paths[1:], paths):
        printed = answers(monkeypatch, "--only", "wear", *given, "--placement", "legacy,fios", *options)
        found = from_python(monkeypatch, given if len(given) > 1 else given[0], "legacy,fios", **words)
        assert found[0]["trace"] == found[1]["trace"] and len(found[0]["trace"]) == len(given)
        assert [own | {"trace": []} for own in found] == [own | {"trace": []} for own in printed]
    whole, partly = from_python(monkeypatch, [cz.read(paths[0]), paths[1]], "legacy,fios", **words)
    assert partly == whole  # one of them is in memory, and so all are


def test_from_python_rows_that_stand_for_several_accesses_are_so_many_writes(tmp_path):
    one, path = on_volume(some(3), "c"), tmp_path / "t.csv"
    rows = zip(one.time_us, one.op, one.offset, one.size, strict=True)
    lines = [f"{time},{'RW'[op]},{offset},{size},{1 + time % 3}" for time, op, offset, size in rows]
    path.write_text("\n".join(["time_us,op,offset,size,count", *lines]) + "\n")
    options = ("--op", "28%", "--streams", "4", "--unit", "32KiB", "--free", "2")
    printed = json.loads(run("recommend", "--only", "wear", path, "--placement", "legacy", *options, "--json").stdout)
    ours = cz.wear(path, "legacy", op="28%", streams=4, unit="32KiB", free=2).values
    assert ours["host_pages"] == printed["host_pages"]


@pytest.mark.parametrize("name", ["ids.parquet", "raw.csv"])
@pytest.mark.usefixtures("in_short_spans")
def test_a_cache_s_ssd_wears_as_that_of_a_trace_in_memory(traces, monkeypatch, name):
    words = ("--policy", "lru", "--policy", "rejectx", "--policy", "arc", "--size", "60%", "--op", "28%")
    by = ("--placement", "legacy,autostream", "--streams", "2", "--cycles", "4")
    whole, ours = answers(monkeypatch, "--only", "cache-wear", traces / name, *words, *by)
    assert ours == whole and len(ours["runs"]) == 3


def test_volumes_lie_one_after_another_by_their_first_write(traces):
    found, _ = long_writes([TraceFiles([traces / "ids.parquet"])])
    first, second = found.volumes
    assert found.volumes[first] == 0 and found.volumes[second] % CHUNK_BYTES == 0
