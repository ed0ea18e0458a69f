"""`cachezoo device profile` and `device response`."""

import json
import shutil
from pathlib import Path

import pytest

from cachezoo.config.load import read_model
from cachezoo.devices.queueing import Asked
from cachezoo.devices.queueing import response as run_queue
from cachezoo.traces.store import write_trace
from tests.page_data import seeded_trace
from tests.unit.test_cli import run

ROOT = Path(__file__).resolve().parents[2]
DEVICE = ROOT / "conf/device/exosx20_990pro.yaml"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A project's conf/device, and a trace with latencies."""
    shutil.copytree(ROOT / "conf/device", tmp_path / "conf/device")
    trace = seeded_trace(400, 900, 2)
    write_trace(trace, tmp_path / "plain.parquet")
    known = seeded_trace(400, 900, 2, latency_us=(trace.size // 4096 * 9000))
    write_trace(known, tmp_path / "t.parquet")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def values(*args):
    return json.loads(run(*args, "--json").stdout)


def refused(args, said, status=1):
    done = run(*args, ok=False)
    assert done.returncode == status and said in done.stderr and len(done.stderr.splitlines()) == 1, done.stderr


def test_profile_by_name_and_by_path(folder):
    found = values("device", "profile", "exosx20_990pro")
    assert found == values("device", "profile", DEVICE)
    assert (found["profile"], found["source"]) == ("exosx20_990pro", "analytic")
    assert found["average_seek_us"] == pytest.approx({"read": 7400, "write": 8200})
    first = found["distances"][0]
    assert (first["op"], first["size_bytes"]) == ("read", 4096)
    assert first["response_us"]["1/3"] == pytest.approx(12_178, abs=1)
    ssd = next(row for row in found["accesses"] if (row["device"], row["op"]) == ("ssd", "read"))
    assert ssd["iops"] == pytest.approx(22_000, rel=0.001)
    assert values("device", "profile", "emulated")["source"] == "emulated"


def test_profile_tables_and_plot(folder):
    done = run("device", "profile", "exosx20_990pro", "--plot", "p.png").stdout
    for said in ("12.178", "average seek: read 7.40 ms · write 8.20 ms", "8 MiB", "22,002", "read, MB/s"):
        assert said in done
    assert Path("p.png").read_bytes().startswith(b"\x89PNG\r\n\x1a\n")


def test_response_takes_the_captured_depth(folder):
    found = values("device", "response", "t.parquet", "--device", "exosx20_990pro")
    assert (found["trace"], found["profile"], found["loop"], found["requests"]) == (
        "t.parquet", "exosx20_990pro", "closed", 400)  # fmt: skip
    assert found["depth"] == max(int(found["captured_depth"] + 0.5), 1) > 1
    text = run("device", "response", "t.parquet", "--device", "exosx20_990pro").stdout
    assert f"captured: {found['captured_depth']:.2f} requests outstanding" in text
    assert "MB/s" in text and "p99, µs" in text


def test_response_is_what_the_queue_says(folder):
    found = values("device", "response", "plain.parquet", "--device", DEVICE, "--depth", 8, "--scheduler", "sstf")
    own = run_queue(seeded_trace(400, 900, 2), read_model(DEVICE), Asked("closed", 8, "sstf"))
    assert {key: found[key] for key in own} == own
    assert found["captured_depth"] is None


def test_an_open_loop_prints_by_what_it_was_stretched(folder):
    found = values("device", "response", "plain.parquet", "--device", DEVICE, "--loop", "open")
    factor = found["devices"]["hdd"]["stretched"]
    assert factor > 1
    text = run("device", "response", "plain.parquet", "--device", DEVICE, "--loop", "open").stdout
    assert f"hdd: arrivals stretched {factor:.4g} times, to a load of 0.90" in text
    assert "ssd: arrivals" not in text


def test_bad_input_is_one_line(folder):
    response = ("device", "response")
    refused((*response, "plain.parquet", "--device", DEVICE), "no latencies")
    refused((*response, "gone.parquet", "--device", DEVICE), "gone.parquet")
    refused((*response, "t.parquet", "--device", "nosuch"), "no such device profile; conf/device has emulated, exos")
    refused((*response, "t.parquet", "--device", "real"), "source is real, which has no models")
    refused((*response, "t.parquet", "--device", DEVICE, "--loop", "round"), "loop 'round': use closed or open")
    refused((*response, "t.parquet", "--device", DEVICE, "--scheduler", "x"), "scheduler 'x': use fcfs or sstf")
    refused((*response, "t.parquet", "--device", DEVICE, "--depth", 0), "--depth", 2)
    refused((*response, "t.parquet"), "--device", 2)
    refused(("device", "profile", "gone.yaml"), "gone.yaml: no such file")
    refused(("device", "profile", "real"), "which has no models")
    refused(("device", "profile", DEVICE, "--plot", "p.pdf"), "p.pdf: plots are PNG files")
    refused(("device", "profile", DEVICE, "--plot", "t.parquet/p.png"), "t.parquet/p.png")
    assert not list(folder.glob("p.*"))
