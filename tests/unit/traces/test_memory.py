"""Traces whose pages are more than there is memory for: one line before memory is taken."""

import numpy as np
import pytest

from cachezoo.traces import ingest, memory
from cachezoo.traces.ingest import describe_files
from cachezoo.traces.memory import ACCESS_BYTES, hold_pages, pieces
from cachezoo.traces.pages import accesses_of, expand_pages
from cachezoo.traces.read import TraceFiles, read_files
from tests.command_line import run
from tests.page_data import seeded_trace

MIB = 1 << 20
LARGE = "".join(f"{k},R,{(k % 5) << 26},{64 * MIB}\n" for k in range(3000))  # 49,152,000 page accesses


@pytest.fixture
def large(tmp_path):
    path = tmp_path / "large.csv"
    path.write_text("time_us,op,offset,size\n" + LARGE)
    return path


def leave(monkeypatch, mib):
    monkeypatch.setattr(memory, "memory_left", lambda: mib * MIB)


COMMANDS = (
    ("simulate",), ("curve",), ("tiers",), ("size",), ("recommend", "--no-models"), ("trace", "report", "--json"),
    ("trace", "synth", "-o", "out.parquet"), ("trace", "ingest", "-o", "out.parquet"),
    ("trace", "sample", "-o", "out.parquet", "--rate", "0.99"), ("wear",), ("bounds",),
)  # fmt: skip


@pytest.mark.parametrize("words", COMMANDS, ids=lambda words: "-".join(words[:2]))
def test_a_command_says_so_first(large, monkeypatch, words):
    monkeypatch.chdir(large.parent)
    leave(monkeypatch, 500)
    command, options = (words[:2], words[2:]) if words[0] == "trace" else (words[:1], words[1:])
    done = run(*command, large, *options, ok=False)
    said = done.stderr.splitlines()[-1]
    assert "its requests touch 4" in said
    assert "500 MiB is left: check the unit of its sizes, or cut or sample it" in said
    assert [path.name for path in large.parent.iterdir()] == ["large.csv"]


def test_a_description_takes_little_memory_whatever_the_sizes(large, monkeypatch):
    leave(monkeypatch, 150)
    counted = []
    monkeypatch.setattr(ingest.PageNumbers, "number", counting(ingest.PageNumbers.number, counted))
    figures = describe_files(TraceFiles([large]))
    assert (figures["page_accesses"], figures["distinct_pages"]) == (3000 * 16384, 5 * 16384)
    assert max(counted) <= ingest.AT_ONCE
    assert len(counted) > 10


def counting(own, counted):
    def number(self, trace):
        found = own(self, trace)
        counted.append(len(found.page_ids))
        return found

    return number


def test_a_description_stops_where_its_table_of_pages_would_not_fit(tmp_path, monkeypatch):
    path = tmp_path / "wide.csv"
    path.write_text("time_us,op,offset,size\n" + "".join(f"{k},R,{k << 26},{64 * MIB}\n" for k in range(3000)))
    leave(monkeypatch, 300)
    with pytest.raises(memory.TraceError, match=r"wide\.csv: its requests touch .* of memory, and 300 MiB is left"):
        describe_files(TraceFiles([path]))


FEW = (("convert", "-o", "out.csv", "--to", "csv"), ("cut", "-o", "o.parquet", "--last-row", "1"))


@pytest.mark.parametrize("words", FEW, ids=lambda words: words[0])
def test_what_numbers_no_pages_or_few_does_its_work(large, monkeypatch, words):
    """So that a trace can be made smaller by what the line advises."""
    monkeypatch.chdir(large.parent)
    leave(monkeypatch, 20)
    run("trace", words[0], large, *words[1:])


def test_a_trace_with_enough_memory_is_read(large, monkeypatch):
    leave(monkeypatch, 3000 * 16384 * ACCESS_BYTES // MIB + 1)
    assert len(read_files(TraceFiles([large]))) == 3000


@pytest.mark.parametrize("accesses", [1, 7, 100, 10**9])
def test_pieces_are_the_trace_and_touch_no_more_than_asked(accesses):
    trace = seeded_trace(500, 60, 3)
    found = list(pieces(trace, accesses))
    assert np.array_equal(np.concatenate([piece.offset for piece in found]), trace.offset)
    assert all(len(piece) == 1 or accesses_of(piece).sum() <= accesses for piece in found)
    assert accesses_of(trace).sum() == len(expand_pages(trace).page_ids)
    hold_pages(trace, "here")
