"""`cachezoo device profile`, `response`, `prepare` and `replay`."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from cachezoo.devices.analytic import t_hdd_us, t_ssd_us
from cachezoo.devices.profile import load_models
from cachezoo.devices.queueing import Asked
from cachezoo.devices.queueing import response as run_queue
from cachezoo.devices.responses import read_responses
from cachezoo.errors import TraceError
from cachezoo.io import read_table
from cachezoo.traces.store import read_trace, write_trace
from tests.command_line import run
from tests.page_data import seeded_trace

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
    done = run("device", "profile", "exosx20_990pro", "-o", "p.png").stdout
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
    own = run_queue(seeded_trace(400, 900, 2), load_models(str(DEVICE)), Asked("closed", 8, "sstf"))
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
    refused((*response, "t.parquet", "--device", DEVICE, "--loop", "round"), "'round' is not one of 'closed'", 2)
    refused((*response, "t.parquet", "--device", DEVICE, "--scheduler", "x"), "'x' is not one of 'fcfs', 'sstf'", 2)
    refused((*response, "t.parquet", "--device", DEVICE, "--depth", 0), "--depth", 2)
    refused((*response, "t.parquet"), "--device", 2)
    refused(("device", "profile", "gone.yaml"), "gone.yaml: no such file")
    refused(("device", "profile", "real"), "which has no models")
    refused(("device", "profile", DEVICE, "-o", "p.pdf"), "give a name that ends in")
    refused(("device", "profile", DEVICE, "-o", "t.parquet/p.png"), "t.parquet/p.png")
    assert not list(folder.glob("p.*"))


REAL = """source: real
hdd: {path: a.img, name: my disk}
ssd: {path: b.img, name: my flash}
engine: libaio
fold: true
force: true
repetitions: 2
"""


def test_replay_with_models_writes_what_the_pipeline_does(folder):
    Path("out").mkdir()
    found = values("device", "replay", "t.parquet", "--device", "exosx20_990pro", "-o", "out/r.parquet")
    assert (found["provenance"], found["requests"], found["output"]) == ("analytic", 400, "out/r.parquet")
    trace, device = read_trace(Path("t.parquet")), load_models(str(DEVICE))
    hdd, ssd = read_responses(Path("out/r.parquet"), 400)
    np.testing.assert_array_equal(hdd, t_hdd_us(trace, device.hdd))
    np.testing.assert_array_equal(ssd, t_ssd_us(trace, device.ssd))
    assert json.loads(Path("out/r.json").read_text())["requests"] == 400


@pytest.mark.needs("fio")
def test_prepare_then_replay_on_real_files(folder):
    for name in ("a.img", "b.img"):
        assert values("device", "prepare", name, "--size", "4MiB", "--force")["data_bytes"] == 2 << 20
    Path("real.yaml").write_text(REAL + "writes: replay\n")
    found = values("device", "replay", "t.parquet", "--device", "real.yaml", "-o", "r.parquet")
    assert found["provenance"] == "real"
    assert found["hdd"]["measured"]["target.name"] == "my disk"
    assert len(found["ssd"]["means_us"]) == 2
    hdd, ssd = read_responses(Path("r.parquet"), 400)
    assert hdd.min() > 0 and ssd.min() > 0

    Path("real.yaml").write_text(REAL + "writes: as_reads\n")
    asked = ("device", "replay", "t.parquet", "--device", "real.yaml", "-o", "c.parquet")
    text = run(*asked, "--mode", "closed", "--depth", 4).stdout
    assert "my flash" in text and "rows writes as reads" in text
    table, metadata = read_table(Path("c.parquet"))
    assert table.column_names == ["response_hdd_us", "response_ssd_us"]
    assert (len(table), metadata["cachezoo.mode"], metadata["cachezoo.depth"]) == (400, "closed", "4")
    with pytest.raises(TraceError, match=r"c\.parquet"):
        read_responses(Path("c.parquet"), 400)

    before = Path("c.parquet").read_bytes()
    Path("real.yaml").write_text(REAL)
    refused(asked, "row 2 is a write, one of 135; set device.writes")
    assert Path("c.parquet").read_bytes() == before


@pytest.mark.needs("fio")
def test_what_cannot_be_prepared_is_left_as_it_is(folder):
    Path("mine").write_bytes(bytes(range(256)) * 16384)
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    refused(("device", "prepare", "mine"), "use --force")
    refused(("device", "prepare", "new"), "new: is not there")
    refused(("device", "prepare", "new", "--size", "1k", "--force"), "too few")
    refused(("device", "prepare", "new", "--size", "much"), "--size 'much': give bytes, such as 512MiB")
    refused(("device", "prepare", "new", "--size", "9000T", "--force"), "make room")
    refused(("device", "prepare", "conf", "--force"), "neither a block device nor a regular file")
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before


def test_what_cannot_be_replayed_leaves_nothing(folder):
    replay = ("device", "replay", "t.parquet", "-o", "r.parquet", "--device")
    refused((*replay, "exosx20_990pro", "--depth", 2), "depth 2: service times are those at depth 1")
    refused((*replay, "exosx20_990pro", "--mode", "closed"), "mode closed: is of real devices")
    refused((*replay, "exosx20_990pro", "--mode", "fast"), "'fast' is not one of 'service', 'closed'", 2)
    refused((*replay, "real"), "ata-YOUR_DISK: is not there")
    refused((*replay, "real", "--mode", "closed", "--depth", 2), "ata-YOUR_DISK: is not there")
    refused((*replay[:-2], "t.parquet", "--device", "real"), "would be replaced")
    refused((*replay[:-2], "t.parquet/r.parquet", "--device", "real"), "cannot be written")
    refused((*replay[:-2], "r.json", "--device", "exosx20_990pro"), "r.json: the record gets this name")
    assert not list(folder.glob("r.*"))
