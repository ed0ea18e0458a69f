"""Traces from pipes: copied to a temporary file once, then read as any file."""

import gzip
import os
import random
import subprocess
import sys
import tempfile
import threading
from contextlib import contextmanager
from pathlib import Path

import pytest
from typer.testing import CliRunner

from cachezoo.cli import app
from cachezoo.errors import CachezooError, TraceError
from cachezoo.io import sha256_file
from cachezoo.traces.ingest import describe_files, ingest
from cachezoo.traces.read import TraceFiles, read_files
from cachezoo.traces.source import Source, refuse_pipe
from cachezoo.traces.store import read_trace, write_trace
from tests.page_data import seeded_trace
from tests.trace_data import text_lines

COMMAND = "from cachezoo.cli import main; main()"


@pytest.fixture(autouse=True)
def temporary(tmp_path, monkeypatch):
    """A folder of the test's own for temporary files, and nothing left in it."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


@contextmanager
def pipe(tmp_path, content, name="p"):
    """A named pipe that gives some bytes once."""
    path = tmp_path / name
    os.mkfifo(path)
    writer = threading.Thread(target=path.write_bytes, args=(content,), daemon=True)
    writer.start()
    yield path
    writer.join(10)
    path.unlink()


def contents(tmp_path):
    lines = text_lines(3000)["msr"]
    write_trace(seeded_trace(3000, 60, 1), tmp_path / "c.parquet")
    return {
        "text": "\n".join(lines).encode(),
        "packed": gzip.compress("\n".join(lines).encode()),
        "unsorted": "\n".join(random.Random(1).sample(lines, len(lines))).encode(),
        "parquet": (tmp_path / "c.parquet").read_bytes(),
    }


@pytest.mark.parametrize("kind", ["text", "packed", "unsorted", "parquet"])
def test_a_pipe_is_read_as_the_file_would_be(tmp_path, temporary, kind):
    content = contents(tmp_path)[kind]
    (tmp_path / "f").write_bytes(content)
    expected = ingest(TraceFiles([tmp_path / "f"], trace_id="t"), tmp_path / "f.parquet")
    with pipe(tmp_path, content) as path:
        assert ingest(TraceFiles([path], trace_id="t"), tmp_path / "p.parquet") == expected
    assert sha256_file(tmp_path / "p.parquet") == sha256_file(tmp_path / "f.parquet")
    with pipe(tmp_path, content) as path:
        assert describe_files(TraceFiles([path], trace_id="t")) == expected
    with pipe(tmp_path, content) as path:
        assert len(read_files(TraceFiles([path]))) == 3000
    assert list(temporary.iterdir()) == []


def test_standard_input_is_a_pipe(tmp_path, temporary):
    content = contents(tmp_path)["packed"]
    out = tmp_path / "o.parquet"
    command = [sys.executable, "-c", COMMAND, "trace", "ingest", "/dev/stdin", "-o", out, "--json"]
    done = subprocess.run(command, input=content, capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (0, b"")
    back = read_trace(out)
    assert (len(back), back.meta.trace_id, back.meta.source_format) == (3000, "stdin", "msr")
    assert list(temporary.iterdir()) == []


def test_errors_name_the_pipe(tmp_path):
    with pipe(tmp_path, text_lines(9)["msr"][0].encode() + b"\nwhat\n") as path:
        with pytest.raises(TraceError, match=rf"{path}: row 2: has 1 field, not 7"):
            read_files(TraceFiles([path]))
    with pipe(tmp_path, b"") as path:
        with pytest.raises(TraceError, match=rf"{path}: the trace is empty"):
            read_files(TraceFiles([path]))


FULL = """
import resource, sys
from pathlib import Path
from cachezoo.errors import TraceError
from cachezoo.traces.source import Source
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
try:
    Source(Path("/dev/stdin")).head()
except TraceError as error:
    print(error)
"""


def test_a_pipe_that_cannot_be_copied_names_the_folder_and_how_to_choose_another(tmp_path, temporary):
    done = subprocess.run([sys.executable, "-c", FULL], input=b"x" * 5000, capture_output=True, check=True)
    assert done.stdout.decode() == (
        f"/dev/stdin: is a pipe, which is copied to {temporary} to be read, and cannot be (File too large); make room "
        "there, or set TMPDIR to a folder with more\n"
    )
    assert list(temporary.iterdir()) == []


def test_devices_are_no_traces():
    with pytest.raises(TraceError, match="/dev/null: is neither a file nor a pipe; name the trace's files"):
        Source(Path("/dev/null")).head()


def test_what_is_read_more_than_once_may_be_no_pipe(tmp_path):
    refuse_pipe(Path(__file__))
    refuse_pipe(tmp_path / "gone")
    path = tmp_path / "p"
    os.mkfifo(path)
    with pytest.raises(TraceError, match=rf"{path}: is a pipe, but is needed more than once; save the trace to a file"):
        refuse_pipe(path)


@pytest.mark.parametrize(
    "words",
    [
        ["compare"],
        ["sweep"],
        ["trace", "add", "--category", "web", "--role", "test"],
        ["device", "calibrate", "--base", "exosx20_990pro", "--kind", "hdd", "--out", "new.yaml", "--trace"],
    ],
)
def test_commands_that_read_a_trace_more_than_once_refuse_a_pipe(tmp_path, monkeypatch, words):
    monkeypatch.chdir(Path(__file__).resolve().parents[3])
    path = tmp_path / "p"
    os.mkfifo(path)
    with pytest.raises(CachezooError, match=r"is a pipe, but is needed more than once"):
        CliRunner().invoke(app, [*words, str(path)], catch_exceptions=False)
