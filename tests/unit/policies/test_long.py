"""A long trace, whose columns lie in files, against the same trace in memory."""

import importlib
import json
import os
import pickle
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from cachezoo.contest.counting import Count
from cachezoo.errors import CachezooError
from cachezoo.io import read_table
from cachezoo.kernels.admit import rejectx
from cachezoo.kernels.bounds import following
from cachezoo.policies import engine, long, stream
from cachezoo.policies.evictions import learned
from cachezoo.policies.long import LongSimulator
from cachezoo.policies.registry import policy
from cachezoo.policies.simulate import Simulator
from cachezoo.traces import memory, spill
from cachezoo.traces.long import LongTrace, is_long
from cachezoo.traces.pages import expand_pages
from cachezoo.traces.read import TraceFiles, read_any
from cachezoo.traces.store import write_trace
from tests.command_line import run
from tests.page_data import seeded_trace

SPAN = 600
ASKED = (
    "lru", "s3fifo", "arc", "lfu", "lirs", "reca", "azor", "lrb", "rejectx", "coinflip(p=0.3)+sieve", "belady",
    "belady_bypass", "static_hindsight", "relaxed_belady", "follow", "follow(experts=lru|s3fifo,sample=0.95)",
)  # fmt: skip


@pytest.fixture(autouse=True)
def in_short_spans(monkeypatch):
    for module in (long, stream):
        monkeypatch.setattr(module, "AT_ONCE", SPAN)
    monkeypatch.setenv(memory.FROM, "1")


@pytest.fixture(scope="module")
def traces(tmp_path_factory):
    """The same requests, canonical with their page ids and without, and raw."""
    folder, trace = tmp_path_factory.mktemp("long"), seeded_trace(900, 300, 7)
    size = trace.size.copy()
    size[400] = (SPAN + 100) * 4096  # a request longer than a span
    trace = replace(trace, size=size)
    write_trace(trace, folder / "ids.parquet", expand_pages(trace))
    write_trace(trace, folder / "plain.parquet")
    rows = zip(trace.time_us, trace.op, trace.offset, trace.size, strict=True)
    lines = [f"{time},{'RW'[op]},{offset},{size}" for time, op, offset, size in rows]
    (folder / "raw.csv").write_text("\n".join(["time_us,op,offset,size", *lines]) + "\n")
    return folder


def values(*args):
    return json.loads(run(*args, "--json").stdout)


def files(path):
    return TraceFiles([path])


def firsts(simulator, text="half", capacity=70):
    return int(simulator.firsts(Count(text), [capacity])[0])


def same(ours, theirs):
    """Every figure that a long trace has, and none that a machine's speed is in."""
    for name, value in vars(ours).items():
        if name == "blocks":
            assert value.tolist() == theirs.blocks.tolist()
        elif name != "kernel_s":
            assert value == getattr(theirs, name), name


@pytest.mark.parametrize("name", ["ids.parquet", "plain.parquet", "raw.csv"])
@pytest.mark.parametrize(("unit", "page_bytes"), [("page", 4096), ("segment", 4096), ("request", 16384)])
def test_figures_are_those_of_the_trace_in_memory(traces, name, unit, page_bytes):
    path, outcomes = traces / name, []
    trace = read_any(path)
    whole = Simulator(trace, expand_pages(trace, page_bytes), "through", unit)
    assert is_long(files(path))
    ours = LongSimulator(LongTrace(files(path)), "through", unit, page_bytes)
    assert (ours.requests, ours.accesses, ours.n_pages) == (whole.requests, whole.accesses, whole.n_pages)
    for asked in ASKED if (name, unit) == ("ids.parquet", "page") else ("s3fifo", "belady_bypass"):
        first = firsts(whole)
        assert firsts(ours) == first
        keep = lambda outcome: outcomes.append(outcome.copy())  # noqa: E731 - a span's room is the next one's
        same(ours.run(asked, 70, first, keep), whole.run(asked, 70, first, keep))
        assert np.concatenate(outcomes[:-1]).tolist() == outcomes[-1].tolist()
        outcomes.clear()


@pytest.mark.parametrize("text", ["half", "auto", "all", "33%", "1000", "0.5s"])
@pytest.mark.parametrize("first", [None, 500])
def test_it_counts_from_the_same_access_on(traces, text, first):
    trace = read_any(traces / "ids.parquet").rows(0, first or 900)
    whole = Simulator(trace, expand_pages(trace))
    ours = LongSimulator(LongTrace(files(traces / "ids.parquet"), first), count=Count(text))
    assert (ours.requests, ours.n_pages) == (whole.requests, whole.n_pages)
    for capacity in (1, 60, 10**6):
        assert firsts(ours, text, capacity) == firsts(whole, text, capacity)


def test_another_process_maps_the_same_files(traces):
    ours = LongSimulator(LongTrace(files(traces / "ids.parquet")))
    code = "import pickle, sys; print(pickle.load(sys.stdin.buffer).run('arc', 50, 900).hits)"
    there = subprocess.run([sys.executable, "-c", code], input=pickle.dumps(ours), capture_output=True, check=True)
    assert int(there.stdout) == ours.run("arc", 50, 900).hits


def test_its_files_leave_nothing_behind(traces, tmp_path, monkeypatch):
    monkeypatch.setenv(spill.FOLDER, str(tmp_path))
    ours = LongSimulator(LongTrace(files(traces / "ids.parquet")))
    ours.run("belady", 50, 900)
    assert ours.stream.spill.has(stream.FOLLOWING)
    assert not os.listdir(tmp_path)


def refusal(path, asked="lru", **how):
    with pytest.raises(CachezooError) as error:
        LongSimulator(LongTrace(files(path)), **how).run(asked, 70, 0)
    return str(error.value)


def test_what_needs_memory_says_so(traces, tmp_path, monkeypatch):
    path = traces / "ids.parquet"
    assert "cut or sample it" in refusal(path, writes="around")
    assert "cut or sample it" in refusal(path, "lru+next")
    assert "the trace ends before" in refusal_of_time(path)
    monkeypatch.setattr(long, "hold", lambda *_: (_ for _ in ()).throw(CachezooError("too little memory")))
    assert refusal(path, "relaxed_belady") == "too little memory"
    turned = tmp_path / "turned.csv"
    turned.write_text("time_us,op,offset,size\n9,R,0,4096\n5,R,0,4096\n")
    assert "ingest it first" in refusal(turned)
    monkeypatch.setenv(memory.FROM, "many")
    with pytest.raises(CachezooError, match="is no number of page accesses"):
        is_long(files(path))
    monkeypatch.setenv(memory.FROM, "1")
    monkeypatch.setenv(spill.FOLDER, str(tmp_path / "none"))
    assert "cannot be kept in" in refusal(path)


def refusal_of_time(path):
    with pytest.raises(CachezooError) as error:
        LongSimulator(LongTrace(files(path)), count=Count("9d")).firsts(Count("9d"), [7])
    return str(error.value)


def test_commands_print_the_same_of_a_long_trace(traces, tmp_path, monkeypatch):
    asked = ("simulate", traces / "ids.parquet", "--policy", "arc", "--size", "10%")
    compare = (
        "compare", traces / "ids.parquet", "--policy", "lru", "--policy", "arc", "--size", "5%,10%", "--sample", "exact"
    )  # fmt: skip
    files_of = [tmp_path / f"{name}.parquet" for name in ("long", "short")]
    of_long = run(*asked, "--outcomes", files_of[0]).stdout, [values(*compare, "--workers", n) for n in (1, 2)]
    monkeypatch.delenv(memory.FROM)
    of_short = run(*asked, "--outcomes", files_of[1]).stdout, [values(*compare) for _ in range(2)]
    assert without_speed(of_long) == without_speed(of_short)
    assert read_table(files_of[0])[0].equals(read_table(files_of[1])[0])
    assert len(read_table(files_of[0])[0]) == expand_pages(read_any(traces / "ids.parquet")).request_start[-1]


@pytest.mark.parametrize("name", ["ids.parquet", "raw.csv"])
def test_a_curve_of_a_long_trace_is_that_of_the_whole(traces, name, monkeypatch):
    policies = [f"--policy={own}" for own in ("lru", "reca", "belady_bypass", "static_hindsight")]
    asked = [
        ("curve", traces / name, *policies, "--points", 5, "--sample", sample, "--first", 800)
        for sample in ("exact", "0.9")
    ]
    of_long = [values(*one) for one in asked]
    monkeypatch.delenv(memory.FROM)
    assert of_long == [values(*one) for one in asked]
    assert {row["rate"] < 1 for row in of_long[1]["rows"]} == {True}


def without_speed(found):
    printed, comparisons = found
    for comparison in comparisons:
        for each in comparison["runs"]:
            for row in each["rows"]:
                del row["requests_per_s"]
    lines = [line for line in printed.splitlines() if "requests_per_s" not in line and "outcomes" not in line]
    return [line for line in lines if "became" not in line], comparisons


def test_what_would_take_the_whole_trace_is_refused_in_a_line(traces):
    for more in (("--over-time", 4), ("--device", "wdredpro2tb_850pro"), ("--misses", "m.parquet")):
        found = run("simulate", traces / "ids.parquet", *more, ok=False)
        assert "whole trace in memory; cut or sample it" in found.stderr, more
        short = run("simulate", traces / "ids.parquet", *more, "--first", 3, ok=None)
        assert "whole trace in memory" in short.stderr, more  # even three requests are many here


def test_some_requests_of_a_long_trace_are_short(traces, monkeypatch):
    accesses = expand_pages(read_any(traces / "ids.parquet")).request_start[-1]
    for name in ("ids.parquet", "raw.csv"):
        monkeypatch.setenv(memory.FROM, str(accesses // 2))
        assert is_long(files(traces / name))
        assert not is_long(files(traces / name), 300)
        monkeypatch.setenv(memory.FROM, str(2 * accesses))
        assert not is_long(files(traces / name))


def test_stops_are_where_requests_begin():
    rng = np.random.default_rng(3)
    for length in (1, 5, 60, 700):
        flags = (rng.random(length) < 0.1).astype(np.uint8) * stream.REQUEST
        flags[0] |= stream.REQUEST
        given = stream.Stream(np.zeros(length, np.int32), flags, np.full(length, 4096, np.int32), 1)
        starts = np.flatnonzero(flags)
        for every in (1, 7, 64):
            wanted = {
                int(starts[min(np.searchsorted(starts, k), len(starts) - 1)]) for k in range(every, length, every)
            }
            assert engine.pauses(given, every) == [*sorted(wanted - {0}), length]


@pytest.fixture
def growth(monkeypatch):
    """The benchmark, and long traces as they are without this file's settings."""
    monkeypatch.undo()
    monkeypatch.syspath_prepend(Path(__file__).resolve().parents[3] / "benchmarks")
    return importlib.import_module("growth")


@pytest.mark.long
def test_ten_million_accesses_are_counted_to_the_last_hit(tmp_path, growth):
    path = tmp_path / "ten.parquet"
    growth.write(path, 10_000_000)
    trace = read_any(path)
    whole, ours = Simulator(trace, expand_pages(trace)), LongSimulator(LongTrace(files(path)))
    for asked in ("lru", "s3fifo", "arc", "belady", "belady_bypass"):
        first, capacity = firsts(whole), whole.n_pages // 10
        same(ours.run(asked, capacity, first), whole.run(asked, capacity, first))


@pytest.mark.long
def test_a_hundred_million_requests_take_memory_by_their_pages(tmp_path, growth, capsys):
    path = tmp_path / "hundred.parquet"
    pages = growth.write(path, 100_000_000)
    rows = [growth.measured(step, path, 100_000_000, pages) for step in growth.STEPS]
    with capsys.disabled():
        sys.stdout.write("\n".join(["", *growth.table(rows), ""]))
    assert len(rows) == len(growth.STEPS)
    for own in rows:
        # Of a page 30 bytes for each cache; of a piece of the trace that is read, its rows, less than one gigabyte;
        # a sample, as large of any long trace, less than three.
        processes = 2 if "by two" in own.step else 1
        assert own.own_bytes < (3e9 if own.step == growth.RECOMMEND else processes * (800e6 + 60 * pages)), own


def test_what_counts_accesses_in_32_bits_says_where_they_end(monkeypatch):
    monkeypatch.setattr(learned, "MOST_NUMBERED", 9)
    given = stream.Stream.of_pages(np.zeros(10, np.int32), 1)
    for asked in ("lrb", "threelcache"):
        with pytest.raises(CachezooError, match="10 page accesses, more than the 9"):
            policy(asked).simulate(given, 1)


def test_rejectx_remembers_beyond_32_bits():
    state = rejectx.make(2, 10, 1, following.width_of(2**31))
    assert [rejectx.admit(state, 0, 2**33 + k) for k in (0, 5, 16)] == [False, True, False]
    assert following.width_of(2**31 - 1) is np.int32
