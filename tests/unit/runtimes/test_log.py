"""libcachezoo's log of requests: `cachezoo trace ingest` reads the same trace back, and a full disk is told."""

import resource
import signal
import subprocess
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from cachezoo.coded import Coded
from cachezoo.serving.requests import RequestBatch, batch_of
from cachezoo.traces.ingest import ingest
from cachezoo.traces.read import TraceFiles
from cachezoo.traces.store import read_trace
from tests.c_history import answer

ROOT = Path(__file__).parents[3]
BUNDLE = ROOT / "tests/golden/protocol2/admission.database.lgbm"
NUMBERS = ("time_us", "op", "offset", "size")


def read_back(log, folder):
    ingest(TraceFiles([log], "csv"), folder / "back.parquet")
    return batch_of(read_trace(folder / "back.parquet"))


def texts(coded):
    return [coded.names[code] if code >= 0 else None for code in coded.codes]


def check_same(back, batch):
    for name in NUMBERS:
        assert np.array_equal(getattr(back, name), getattr(batch, name)), name
    for name in ("volume", "namespace", "user", "flags"):
        own, other = getattr(batch, name), getattr(back, name)
        assert (own is None) == (other is None), name
        if own is not None:
            assert texts(own) == texts(other), name


@pytest.mark.parametrize("trace", ["mail_test", "blob_test"])
def test_the_log_of_a_captured_trace_is_that_trace(history_run, tmp_path, trace):
    batch = batch_of(read_trace(ROOT / f"data/raw/captured/{trace}.parquet"))
    answer(history_run, BUNDLE, batch, tmp_path, log=tmp_path / "log.csv")
    check_same(read_back(tmp_path / "log.csv", tmp_path), batch)


def small(names, user=None):
    n = len(names)
    rows = np.arange(n, dtype=np.int64)
    return RequestBatch(
        rows, (rows % 2).astype(np.uint8), rows * 4096, rows + 1, Coded.of(names), user=user and Coded.of(user)
    )


def test_names_of_any_kind_come_back(history_run, tmp_path):
    names = ["plain", "a,b", 'say "x"', "a b", '"', "#no comment", "ümlaut", "x;y", "'"]
    batch = replace(small(names, names[::-1]), namespace=Coded.of(names), flags=Coded.of(names))
    answer(history_run, BUNDLE, batch, tmp_path, log=tmp_path / "log.csv")
    check_same(read_back(tmp_path / "log.csv", tmp_path), batch)


def test_what_no_csv_holds_is_replaced(history_run, tmp_path):
    batch = small(["a\rb", " c "])
    answer(history_run, BUNDLE, batch, tmp_path, log=tmp_path / "log.csv")
    assert texts(read_back(tmp_path / "log.csv", tmp_path).volume) == ["a b", "c"]


def test_large_numbers_are_written_whole(history_run, tmp_path):
    batch = replace(small(["v", "v"]), offset=np.array([0, 1 << 60]), time_us=np.array([0, 1 << 61]))
    answer(history_run, BUNDLE, batch, tmp_path, log=tmp_path / "log.csv")
    assert (tmp_path / "log.csv").read_text(encoding="utf-8").splitlines()[2] == f"{1 << 61},write,{1 << 60},2,v"


def test_a_log_does_not_replace_a_file(history_run, tmp_path):
    (tmp_path / "log.csv").write_text("mine", encoding="utf-8")
    with pytest.raises(AssertionError, match="exists already"):
        answer(history_run, BUNDLE, small(["v"]), tmp_path, log=tmp_path / "log.csv")
    assert (tmp_path / "log.csv").read_text(encoding="utf-8") == "mine"


def test_a_disk_that_is_full_is_told_and_leaves_whole_lines(history_run, tmp_path):
    n = 60_000
    rows = np.arange(n, dtype=np.int64)
    batch = RequestBatch(rows, np.zeros(n, np.uint8), rows * 4096, rows + 1, Coded.constant("v", n))
    answer(history_run, BUNDLE, batch, tmp_path, log=tmp_path / "whole.csv")  # writes names and requests too
    whole = (tmp_path / "whole.csv").read_bytes()
    assert len(whole) > 1_500_000

    def fill_up():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (1_200_000, 1_200_000))

    command = [
        history_run,
        BUNDLE,
        tmp_path / "names",
        tmp_path / "requests",
        "/dev/null",
        f"log={tmp_path / 'log.csv'}",
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False, preexec_fn=fill_up)
    assert done.returncode == 1
    assert "log.csv: cannot be written (File too large)" in done.stderr
    left = (tmp_path / "log.csv").read_bytes()
    assert whole.startswith(left)
    assert left.endswith(b"\n")
    assert len(left) > 500_000
