"""A trace's metadata that hold another thing than what transforms, readers and captures write there."""

import os

import pytest

from cachezoo.errors import TraceError
from cachezoo.traces.store import read_trace, write_trace
from tests.command_line import run
from tests.request_data import trace_of

NESTED = "[" * 20_000
DAMAGED = [
    *((name, text) for name in ("transforms", "sources", "events") for text in (NESTED, "", "{", "3", "NaN", '"text"')),
    *(("sources", text) for text in ("[3]", "[{}]", '[{"source": 3}]', '[{"source": "a", "extra": 3}]', "{}")),
    ("transforms", "{}"),
    ("events", "[]"),
    ("events", '{"flush": "many"}'),
    *((name, text) for name in ("matched", "skipped_rows", "left_out.flush") for text in ("", "many", "1_0", "\u0661")),
]


def written(path, extra, trace_id="t"):
    requests = [{"time_us": k, "op": k % 2, "offset": 4096 * (k % 3), "size": 4096, "volume": "disk"} for k in range(9)]
    write_trace(trace_of(requests, trace_id, extra=extra), path)
    return path


@pytest.mark.parametrize(("name", "text"), DAMAGED, ids=lambda value: value[:16])
def test_it_is_named(tmp_path, name, text):
    path = written(tmp_path / "t.parquet", {name: text})
    with pytest.raises(TraceError) as caught:
        read_trace(path)
    assert str(caught.value).startswith(f"{path}: cachezoo.extra.{name} of its metadata")
    assert len(str(caught.value).splitlines()) == 1


COMMANDS = (
    ("trace", "info", "{trace}"),
    ("trace", "cut", "{trace}", "-o", "{out}", "--last-row", "5"),
    ("trace", "merge", "{trace}", "{trace}", "-o", "{out}"),
)


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command[1])
@pytest.mark.parametrize("name", ["transforms", "sources", "events", "matched"])
def test_a_command_says_so_and_writes_nothing(tmp_path, name, command):
    path = written(tmp_path / "t.parquet", {name: NESTED})
    done = run(*(word.format(trace=path, out=tmp_path / "out.parquet") for word in command), ok=False)
    assert done.stderr.startswith(f"cachezoo: {path}: cachezoo.extra.{name} of its metadata")
    assert os.listdir(tmp_path) == ["t.parquet"]


def test_what_cachezoo_writes_there_is_read_again(tmp_path):
    path = written(tmp_path / "t.parquet", {"events": '{"flush": 3}', "matched": "9", "left_out.trim": "1"})
    mixed = tmp_path / "mixed.parquet"
    run("trace", "merge", path, written(tmp_path / "u.parquet", {}, "u"), "-o", mixed)
    run("trace", "cut", mixed, "-o", tmp_path / "cut.parquet", "--last-row", "5")
    assert {"sources", "transforms"} <= set(read_trace(tmp_path / "cut.parquet").meta.extra)
