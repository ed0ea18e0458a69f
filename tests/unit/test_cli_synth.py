"""`cachezoo trace synth`: what it writes, prints and refuses."""

import json

import numpy as np
import pytest

from cachezoo.traces.store import read_trace, write_trace
from tests.baleen_data import make_trace
from tests.command_line import run


@pytest.fixture(scope="module")
def trace(tmp_path_factory):
    path = tmp_path_factory.mktemp("synth") / "t.parquet"
    write_trace(make_trace(2500, 5), path)
    return path


def test_a_trace_and_its_model_are_written_and_compared(trace, tmp_path):
    out, model = tmp_path / "s.parquet", tmp_path / "m.json"
    text = run("trace", "synth", trace, "-o", out, "--model", model, "--seed", "3").stdout
    for word in ("original", "synthetic", "error", "LRU hits at 20 %", "sequential", "sizes of reads", "points"):
        assert word in text
    found = json.loads(run("trace", "synth", trace, "-o", out, "--seed", "3", "--json").stdout)
    assert found["synthetic"]["requests"] == found["original"]["requests"] == 2500
    assert {row["kind"] for row in found["rows"]} == {"ratio", "points", "distance"}
    assert len(read_trace(out)) == 2500


def test_a_model_alone_draws_the_same_trace_elsewhere(trace, tmp_path):
    run("trace", "synth", trace, "-o", tmp_path / "a.parquet", "--model", tmp_path / "m.json")
    done = run("trace", "synth", "-o", tmp_path / "b.parquet", "--model", tmp_path / "m.json")
    assert (tmp_path / "a.parquet").read_bytes() == (tmp_path / "b.parquet").read_bytes()
    assert "synthetic" in done.stdout and "original" not in done.stdout
    asked = ("trace", "synth", "-o", tmp_path / "c.parquet", "--model", tmp_path / "m.json", "--json")
    found = json.loads(run(*asked, "--requests", "500", "--duration", "9").stdout)
    assert found["synthetic"]["requests"] == 500 and found["synthetic"]["seconds"] == 9 and found["original"] is None
    assert len(read_trace(tmp_path / "c.parquet")) == 500
    assert not np.array_equal(
        read_trace(tmp_path / "a.parquet").offset[:500], read_trace(tmp_path / "c.parquet").offset
    )


@pytest.mark.parametrize(
    ("args", "status", "said"),
    [
        ((), 1, "trace synth: give a trace to be like, or --model of one made before"),
        (("--model", "none.json"), 1, "none.json"),
        (("{trace}", "-o", "{trace}"), 1, "t.parquet"),
        (("{trace}", "--model", "{trace}"), 1, "t.parquet"),
        (("{trace}", "--scale", "0"), 2, "--scale"),
        (("{trace}", "--requests", "1"), 2, "--requests"),
        (("none.parquet",), 1, "none.parquet"),
        (("{trace}", "--model", "{trace}/m.json"), 1, "m.json: cannot be written"),
    ],
)
def test_what_cannot_be_is_refused_in_one_line(trace, tmp_path, args, status, said):
    words = [word.replace("{trace}", str(trace)) for word in args]
    out = () if "-o" in words else ("-o", tmp_path / "s.parquet")
    done = run("trace", "synth", *words, *out, ok=False)
    assert done.returncode == status and said in done.stderr, done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert not (tmp_path / "s.parquet").exists()


def test_a_long_trace_overwrites_the_space_of_its_original(trace, tmp_path):
    out = tmp_path / "long.parquet"
    asked = ("trace", "synth", trace, "-o", out, "--requests", "9000", "--json")
    found, grown = (json.loads(run(*asked, *more).stdout) for more in (("--overwrite", "100%"), ()))
    assert found["synthetic"]["distinct pages"] <= found["original"]["distinct pages"]
    assert grown["synthetic"]["distinct pages"] > 1.5 * found["original"]["distinct pages"]


def test_a_share_of_no_trace_is_refused(trace, tmp_path):
    model = tmp_path / "m.json"
    run("trace", "synth", trace, "-o", tmp_path / "a.parquet", "--model", model)
    done = run("trace", "synth", "-o", tmp_path / "b.parquet", "--model", model, "--overwrite", "50%", ok=False)
    assert "--overwrite '50%': there is no trace to take a part of; give bytes" in done.stderr
