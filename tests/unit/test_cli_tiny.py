"""Every command on traces of one request and of a few: an answer, or one line that says what is missing."""

import pytest

from cachezoo.traces.store import write_trace
from tests.command_line import run
from tests.request_data import trace_of

OUT = ("-o", "out.parquet")
COMMANDS = (
    ("trace", "ingest", "t.parquet", *OUT),
    ("trace", "info", "t.parquet"),
    ("trace", "convert", "t.parquet", "-o", "out.csv", "--to", "csv"),
    ("trace", "cut", "t.parquet", *OUT, "--last-row", "1"),
    ("trace", "sample", "t.parquet", *OUT, "--rate", "0.5"),
    ("trace", "split", "t.parquet", "-o", "parts", "--at", "0.5"),
    ("trace", "anonymise", "t.parquet", *OUT),
    ("trace", "merge", "t.parquet", "u.parquet", *OUT),
    ("trace", "synth", "t.parquet", *OUT),
    ("trace", "report", "t.parquet", "-o", "out.html"),
    ("simulate", "t.parquet"),
    ("recommend", "t.parquet", "--no-models"),
    ("recommend", "--only", "ram-ssd", "t.parquet"),
    ("compare", "t.parquet"),
    ("sweep", "t.parquet", "--workers", "1"),
    ("curve", "t.parquet"),
    ("bounds", "t.parquet"),
    ("recommend", "--only", "wear", "t.parquet"),
    ("recommend", "--only", "cache-wear", "t.parquet"),
    ("recommend", "--only", "tiers", "t.parquet"),
    ("recommend", "--only", "share", "t.parquet", "u.parquet", "--names", "a,b"),
    ("recommend", "--only", "flash", "t.parquet"),
    ("device", "response", "t.parquet", "--device", "exosx20_990pro"),
)
READ, WRITE = 0, 1
TRACES = {
    "a read": [(0, READ, 0, 4096)],
    "a write": [(0, WRITE, 0, 4096)],
    "a byte": [(0, READ, 5, 1)],
    "two": [(0, READ, 0, 4096), (1000, READ, 0, 4096)],
    "at once": [(0, READ, 0, 4096), (0, WRITE, 0, 4096), (0, READ, 8192, 4096)],
    "one large": [(0, READ, 0, 1 << 24), (1000, WRITE, 1 << 30, 512)],
}


@pytest.mark.slow(seconds=120)
@pytest.mark.parametrize("words", COMMANDS, ids=lambda words: "-".join(words[:2]))
@pytest.mark.parametrize("rows", TRACES.values(), ids=TRACES)
def test_an_answer_or_one_line(tmp_path, monkeypatch, rows, words):
    monkeypatch.chdir(tmp_path)
    names = ("time_us", "op", "offset", "size")
    for name in "tu":
        requests = [{**dict(zip(names, row, strict=True)), "volume": "disk"} for row in rows]
        write_trace(trace_of(requests, name), tmp_path / f"{name}.parquet")
    done = run(*words, ok=None)
    assert done.returncode in (0, 1)
    if done.returncode:
        lines = [line for line in done.stderr.splitlines() if not line.startswith(("warning: ", "note: "))]
        assert len(lines) == 1, done.stderr
        assert lines[0].startswith("cachezoo: ")
