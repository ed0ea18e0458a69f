"""Traces of objects from Python: read as such, and asked what the commands are."""

import json
import shlex

import numpy as np
import pandas as pd
import pytest

import cachezoo as cz
from cachezoo.errors import ConfigError, TraceError
from cachezoo.traces.objects import ObjectTrace
from cachezoo.traces.table import Trace
from tests.command_line import run
from tests.unit.api.test_answers import printed, timeless

COLUMNS = "time=time,key=key,size=size,op=op,ttl=ttl"
OPTIONS = ("--columns", COLUMNS)


@pytest.fixture(scope="module")
def table():
    draw, n = np.random.default_rng(5), 1500
    key = draw.zipf(1.3, n) % 120
    op = draw.choice(["get", "get", "get", "set", "delete"], n)
    return pd.DataFrame(
        {"time": np.arange(n) * 100_000, "key": key, "size": 100 + key * 7919 % 9000, "op": op,
         "ttl": np.where(op == "set", draw.choice([0, 20], n), 0)}
    )  # fmt: skip


@pytest.fixture(scope="module")
def file(table, tmp_path_factory):
    path = tmp_path_factory.mktemp("objects") / "mine.csv"
    table.to_csv(path, index=False)
    return path


@pytest.fixture(scope="module")
def trace(file):
    return cz.read(file, columns=COLUMNS, quiet=True)


ASKED = {
    "simulate": (
        lambda trace: cz.simulate(trace, ["lru", "gdsf"], ["5%", "64KiB"], first=1000, ignore="ttl"),
        ("--policy", "lru", "--policy", "gdsf", "--size", "5%,64KiB", "--first", "1000", "--ignore", "ttl"),
    ),
    "compare": (
        lambda trace: cz.compare(trace, ["lru", "s3fifo"], "10%", writes="around"),
        ("--policy", "lru", "--policy", "s3fifo", "--size", "10%", "--writes", "around"),
    ),
    "curve": (
        lambda trace: cz.curve(trace, "sieve", points=3, ignore="sizes"),
        ("--policy", "sieve", "--points", "3", "--ignore", "sizes"),
    ),
    "recommend": (lambda trace: cz.recommend(trace, "10%", hits="bytes"), ("--size", "10%", "--hits", "bytes")),
    "flash": (
        lambda trace: cz.flash(trace, "accept_all,rejectx", ignore="deletes"),
        ("--policy", "accept_all,rejectx", "--ignore", "deletes"),
    ),
}


@pytest.mark.slow(seconds=90)
@pytest.mark.parametrize("name", ASKED)
def test_an_answer_is_the_commands(name, file, trace):
    ask, words = ASKED[name]
    found = ask(trace)
    values = timeless(json.loads(json.dumps(found.values)))
    of_command = timeless(printed(name, file, *words, *OPTIONS))
    assert {**values, "trace_id": ""} == {**of_command, "trace_id": ""}
    assert len(found.frame) == len(found.rows) > 0 and found.title in str(found)
    if found.draw is not None:
        assert "<svg" in found.plot().svg


def test_a_table_with_a_key_is_of_objects(table, trace):
    words = table["op"].map({"get": 0, "set": 1, "delete": 2})
    frame = pd.DataFrame({"time_us": table["time"], "op": words, "key": table["key"], "size": table["size"]})
    found = cz.read(frame.assign(ttl_s=table["ttl"]), quiet=True)
    assert isinstance(found, ObjectTrace)
    for name in ("time_us", "op", "key", "size", "ttl_s"):
        assert getattr(found, name).tolist() == getattr(trace, name).tolist()
    assert cz.read(found) is found
    named = cz.read(frame.assign(key=table["key"].map("object {}".format)), quiet=True)
    assert isinstance(named, ObjectTrace) and named.name_of(int(named.key[0])) == f"object {table['key'][0]}"


def test_rows_stand_for_so_many_accesses():
    rows = {"time_us": [0, 1], "op": [0, 0], "size": [4096, 4096], "count": [5, 1]}
    objects, pages = cz.read({**rows, "key": [1, 2]}, quiet=True), cz.read({**rows, "offset": [0, 4096]}, quiet=True)
    assert isinstance(objects, ObjectTrace) and isinstance(pages, Trace) and len(pages) == 2
    assert cz.simulate(objects, "lru", "100%", count="all").hit_ratio == 4 / 6
    assert cz.simulate(pages, "lru", "2p", count="all").hit_ratio == 4 / 6


@pytest.mark.parametrize(
    "ask",
    [lambda trace: cz.wear(trace), lambda trace: cz.size(trace), lambda trace: cz.share([trace, trace])],
    ids=["wear", "size", "share"],
)
def test_what_needs_addresses_is_refused(ask, trace):
    with pytest.raises(TraceError, match="mine: names objects by keys and has no addresses"):
        ask(trace)


@pytest.mark.parametrize(
    ("ask", "says"),
    [
        (lambda trace: cz.simulate(trace, "lru+next(n=4)"), "next"),
        (lambda trace: cz.simulate(trace, "lru", "64p"), "objects are not pages"),
        (lambda trace: cz.simulate(trace, page_size="8KiB"), "--page-size: the trace names objects by keys"),
        (lambda trace: cz.simulate(trace, ignore="keys"), "deletes, ttl, sizes"),
        (lambda trace: cz.compare(trace, bundle=["nowhere"]), "--bundle"),
        (lambda trace: cz.curve(trace, sample="0.1"), "--sample"),
        (lambda trace: cz.recommend(trace, target_ms=1.0), "--target-ms"),
        (lambda trace: cz.flash(trace, "opt"), "opt"),
        (lambda trace: cz.simulate([1, 2], ignore="ttl"), "traces of objects"),
        (lambda trace: cz.recommend([1, 2], hits="bytes"), "--hits bytes"),
    ],
)
def test_what_is_of_the_other_kind_of_trace_is_refused(ask, says, trace):
    with pytest.raises(ConfigError, match=says):
        ask(trace)


def test_options_of_pages_count_by_what_they_say_not_by_how(file, trace):
    by_default = cz.simulate(trace, "lru").hit_ratio
    assert cz.simulate(trace, "lru", page_size="4096B", unit="page", decision_us=0).hit_ratio == by_default
    assert cz.curve(trace, "lru", "10%", page_size="4096B")["hit_ratio"] == by_default
    assert cz.recommend(trace, endurance="1.2PBW").says == cz.recommend(trace).says
    for words in (("simulate",), ("compare", "--policy", "lru"), ("curve", "--size", "10%"), ("bounds",)):
        run(words[0], file, *words[1:], *OPTIONS, "--page-size", "4096B")
    with pytest.raises(ConfigError, match="--page-size"):
        cz.simulate(trace, page_size="8192B")


def test_pages_are_as_large_as_asked():
    lines = cz.read({"time_us": range(8), "op": [0] * 8, "offset": [4096 * k for k in range(8)], "size": [4096] * 8})
    assert cz.simulate(lines, "lru", "2p", count="all").hit_ratio == 0
    assert cz.simulate(lines, "lru", "2p", count="all", page_size="16KiB").hit_ratio == 6 / 8
    assert cz.simulate(lines, "lru", "2p", count="all", page_size="16KiB", first=2).hit_ratio == 1 / 2
    assert cz.curve(lines, "lru", "1p", count="all", page_size="16KiB")["hit_ratio"] == 6 / 8
    assert cz.compare(lines, "lru", "1p", count="all", page_size="16KiB").rows[0]["hit_ratio"] == 6 / 8


def command_in(said):
    """The words of the command at the end of an answer, and its figures where it is run."""
    return shlex.split(said.partition("In simulation: cachezoo ")[2].partition(" (")[0])


@pytest.fixture
def canonical(file, tmp_path):
    path = tmp_path / "a folder" / "mine.parquet"
    path.parent.mkdir()
    run("trace", "ingest", file, *OPTIONS, "-o", path)
    return path


def test_the_answers_command_runs_and_repeats_its_figures(canonical, monkeypatch):
    monkeypatch.chdir(canonical.parents[1])
    found = cz.recommend("a folder/mine.parquet")
    printed_answer = "".join(run("recommend", "a folder/mine.parquet").stdout.splitlines()[-1:])
    words, answer = command_in(found.says[-1]), dict(found.values)
    assert words == command_in(printed_answer) and words[1] == "a folder/mine.parquet"
    (again,) = json.loads(run(*words, "--json").stdout)["runs"]
    picked = found.rows[answer["recommended"]]
    assert again["policy"] == picked["policy"] and again["hit_ratio"] == picked["hit_ratio"]


def test_the_answer_on_a_trace_in_memory_says_to_save_it(trace):
    found = cz.recommend(trace)
    assert command_in(found.says[-1])[1] == "FILE.parquet"
    assert found.says[-1].endswith(" (save the trace as FILE.parquet first)")
    assert "trace formats" not in found.says[0]
