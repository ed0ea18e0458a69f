"""Traces of objects on the command line: described, changed, converted; refused where addresses are needed."""

import json

import pytest

from tests.command_line import run

LINES = ["key,op,size,op_count", "a,GET,0,2", "a,SET,10,1", "b,SET,20,1", "a,DELETE,0,1", "c,GET,30,3"]


@pytest.fixture
def trace(tmp_path):
    path = tmp_path / "kv.csv"
    path.write_text("\n".join(LINES) + "\n")
    return path


def figures(*args):
    return json.loads(run(*args, "--json").stdout)


def test_a_trace_of_objects_is_ingested_described_and_changed(trace, tmp_path):
    stored = tmp_path / "kv.parquet"
    found = figures("trace", "ingest", trace, "-o", stored)
    assert (found["rows"], found["requests"], found["reads"], found["writes"], found["deletes"]) == (5, 8, 5, 2, 1)
    assert (found["objects"], found["object_bytes"], found["one_hit_share"]) == (3, 60, 1 / 3)
    assert "objects" in run("trace", "info", stored).stdout
    assert figures("trace", "cut", stored, "-o", tmp_path / "cut.parquet", "--first-row", 2)["rows"] == 3
    assert figures("trace", "sample", stored, "-o", tmp_path / "all.parquet", "--rate", 1)["objects"] == 3
    parts = figures("trace", "split", stored, "-o", tmp_path / "parts", "--at", 0.5)
    assert [part["rows"] for part in parts] == [2, 3]
    merged = figures("trace", "merge", stored, parts[0]["output"], "-o", tmp_path / "m.parquet")
    assert merged["objects"] == 3 + 1 and merged["rows"] == 7
    said = figures("trace", "convert", stored, "-o", tmp_path / "t.bin", "--to", "oraclegeneral")
    assert said["lost: deletes"] == 1 and said["lost: keys that are texts"] == 5
    back = figures("trace", "info", tmp_path / "t.bin", "--option", "ids=object")
    assert back["requests"] == 7 and back["bytes_read"] == 10 + 20 + 3 * 30


def test_blocks_are_of_addresses(trace, tmp_path):
    failed = run("trace", "sample", trace, "-o", tmp_path / "t", "--rate", 0.5, "--block-bytes", 8192, ok=False)
    assert "chosen whole: leave --block-bytes out" in failed.stderr and not (tmp_path / "t").exists()


@pytest.mark.parametrize(
    "args",
    [
        ("sweep", "--size", "4KiB"),
        ("recommend", "--only", "tiers"),
        ("recommend", "--only", "wear"),
        ("trace", "anonymise", "-o", "no.parquet"),
    ],
)
def test_what_needs_addresses_is_refused_with_the_reason(trace, tmp_path, monkeypatch, args):
    monkeypatch.chdir(tmp_path)
    named = {"trace": 2, "recommend": 3}.get(args[0], 1)
    failed = run(*args[:named], trace, *args[named:], ok=False)
    assert "names objects by keys and has no addresses: this needs addresses" in failed.stderr
    assert "trace info describes them, and simulate, compare, curve, bounds and recommend answer" in failed.stderr
    assert not (tmp_path / "no.parquet").exists()
