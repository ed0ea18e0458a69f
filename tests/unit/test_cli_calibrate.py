"""`cachezoo device calibrate`: its table and files, what it refuses, five real disks, and devices behind fio."""

import gzip
import json
import os
import sys
from pathlib import Path

import numpy as np
import pytest

from cachezoo import cli
from cachezoo.coded import Coded
from cachezoo.devices.calibration import calibrate, times_of
from cachezoo.devices.fio.replay import LEAD_IN, Settings
from cachezoo.devices.microbench import design, measure
from cachezoo.devices.nbd.server import serving
from cachezoo.devices.profile import read_device
from cachezoo.devices.samples import Samples
from cachezoo.errors import DeviceError
from cachezoo.settings.device import Hdd, Ssd
from cachezoo.traces.store import write_trace
from cachezoo.traces.table import Trace, TraceMeta
from tests.oracles.hdd import seek_us
from tests.replay_data import retold_fio

ROOT = Path(__file__).resolve().parents[2]
BASE = str(ROOT / "conf/device/exosx20_990pro.yaml")
DRIVE = Ssd(read_us=80, write_us=20, read_mb_s=520, write_mb_s=480)
DISK = Hdd(
    capacity_bytes=10**12,
    rotation_us=8333.3,
    rotation="position",
    seek_base_us=900.0,
    seek_root_us=12000.0,
    outer_mb_s=180.0,
    inner_mb_s=90.0,
    read_us=150.0,
    interface_mb_s=400.0,
)


def run(monkeypatch, capsys, *words) -> tuple[int, str, str]:
    monkeypatch.setattr(sys, "argv", ["cachezoo", "device", "calibrate", *map(str, words)])
    with pytest.raises(SystemExit) as left:
        cli.main()
    said = capsys.readouterr()
    return int(left.value.code or 0), said.out, said.err


def samples_of(model: Hdd | Ssd, count: int = 1200, capacity: int = 10**12) -> Samples:
    asked = design("hdd" if isinstance(model, Hdd) else "ssd", capacity, count, isinstance(model, Ssd))
    bare = Samples(asked.offset, asked.size, asked.write, np.ones(count), np.full(count, 200.0))
    return Samples(bare.offset, bare.size, bare.write, times_of(bare, model), bare.think_us)


def write_disksim(samples: Samples, path: Path) -> None:
    after = [*samples.think_us.tolist()[1:], 0.0]
    rows = zip(samples.write, samples.offset // 512, samples.size // 512, samples.time_us, after, strict=True)
    text = "".join(f"{'RW'[op]} Hit {at} {size} {us:.6f} {rest:.6f}\n" for op, at, size, us, rest in rows)
    path.write_bytes(gzip.compress(text.encode(), mtime=0))


def write_parquet(samples: Samples, path: Path) -> None:
    took = np.ceil(samples.time_us).astype(np.int64)
    time = np.concatenate([[0], np.cumsum(took + 200)[:-1]])
    count = len(samples)
    volume = Coded.constant("0", count)
    meta = TraceMeta("t", "c", "f", "")
    write_trace(Trace(time, samples.write, samples.offset, samples.size, volume, meta, took), path)


@pytest.fixture
def traces(tmp_path, monkeypatch) -> Path:
    """`disk.trace.gz` of a disk, `drive.parquet` of an SSD, in the working folder."""
    monkeypatch.chdir(tmp_path)
    write_disksim(samples_of(DISK), Path("disk.trace.gz"))
    write_parquet(samples_of(DRIVE), Path("drive.parquet"))
    return tmp_path


def test_a_disk_s_trace_becomes_a_profile(traces, monkeypatch, capsys):
    words = ("--trace", "disk.trace.gz", "--kind", "hdd", "--base", BASE, "-o", "new.yaml", "-o", "new.png")
    status, out, err = run(monkeypatch, capsys, *words, "--size", 10**12)
    assert status == 0, err
    for word in ("1,200 requests", "least squares", "for demerit", "demerit, 600 tested", "2 to 15 %", "rotation_us"):
        assert word in out
    device = read_device(Path("new.yaml"))
    assert device.hdd.rotation_us == pytest.approx(8333, rel=0.05)
    assert device.ssd == read_device(Path(BASE)).ssd
    text = Path("new.yaml").read_text()
    assert "ssd: as in exosx20_990pro" in text
    assert str(traces) not in text
    beside = json.loads(Path("new.residuals.json").read_text())
    assert beside["test"]["demerit"] < 0.1 < beside["test"]["tuned_demerit"] < beside["test"]["baseline_demerit"]
    assert Path("new.png").read_bytes()[:4] == b"\x89PNG"
    files = [Path(name).read_bytes() for name in ("new.yaml", "new.residuals.json", "new.png")]
    status, _, err = run(monkeypatch, capsys, *words, "--size", 10**12)
    assert status == 1
    assert err == "cachezoo: new.yaml: is there already; name another file, or replace it with --force\n"
    assert run(monkeypatch, capsys, *words, "--size", 10**12, "--force")[0] == 0
    assert [Path(name).read_bytes() for name in ("new.yaml", "new.residuals.json", "new.png")] == files


def test_a_canonical_trace_with_latencies_becomes_a_profile(traces, monkeypatch, capsys):
    words = ("--trace", "drive.parquet", "--kind", "ssd", "--base", BASE, "-o", "new.yaml", "--json", "--refit")
    status, out, err = run(monkeypatch, capsys, *words)
    assert status == 0, err
    found = json.loads(out)
    assert found["untimed"] == 0
    assert found["after"]["read_us"] == pytest.approx(80, rel=0.03)
    assert read_device(Path("new.yaml")).ssd.model_dump(mode="json") == found["after"]


def test_a_disk_that_reaches_little_of_its_capacity_is_worth_a_word(traces, monkeypatch, capsys):
    words = ("--trace", "disk.trace.gz", "--kind", "hdd", "--base", BASE, "-o", "new.yaml")
    status, _, err = run(monkeypatch, capsys, *words)
    assert status == 0
    assert "--size" in err


def columns(path: str, **update) -> None:
    """A disk's trace with some columns replaced."""
    samples = samples_of(DISK, 600)
    values = {name: update.get(name, getattr(samples, name)) for name in ("offset", "size", "write", "time_us")}
    write_disksim(Samples(**values, think_us=samples.think_us), Path(path))


BAD = {
    "no such file": ("gone.gz", "gone.gz"),
    "too few": ("few.gz", "few.gz: 50 requests"),
    "writes only": ("writes.gz", "writes.gz: all 600 requests are writes"),
    "one size": ("size.gz", "size.gz: all 600 requests are of 4096 bytes"),
    "no time": ("time.gz", "time.gz: request 8"),
    "wrong columns": ("columns.csv", "columns.csv"),
    "no latencies": ("bare.csv", "bare.csv: has no column latency_us"),
}


@pytest.mark.parametrize(("file", "said"), BAD.values(), ids=BAD)
def test_bad_traces_end_in_one_line_and_nothing_is_written(tmp_path, monkeypatch, capsys, file, said):
    monkeypatch.chdir(tmp_path)
    write_disksim(samples_of(DISK, 600).part(0, 50), Path("few.gz"))
    columns("writes.gz", write=np.ones(600, np.uint8))
    columns("size.gz", size=np.full(600, 4096))
    columns("time.gz", time_us=np.where(np.arange(600) == 7, 0.0, 900.0))
    Path("columns.csv").write_text("colour,size\nred,1\n")
    Path("bare.csv").write_text("time_us,op,offset,size\n" + "".join(f"{k},R,{4096 * k},4096\n" for k in range(200)))
    refused(monkeypatch, capsys, said, "--trace", file, "--kind", "hdd", "--base", BASE, "-o", "new.yaml")


def refused(monkeypatch, capsys, said, *words, status=1) -> None:
    before = {str(path) for path in Path().rglob("*")}
    ended, _, err = run(monkeypatch, capsys, *words)
    assert ended == status, err
    assert len(err.splitlines()) == 1, err
    assert said in err
    assert {str(path) for path in Path().rglob("*")} == before


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--kind", "hdd"), "give either --trace"),
        (("--trace", "disk.trace.gz", "--target", "x", "--kind", "hdd"), "give either --trace"),
        (("--trace", "disk.trace.gz", "--writes", "--kind", "hdd"), "--writes and --force-target"),
        (("--trace", "disk.trace.gz", "--kind", "hdd", "-o", "new.txt"), "give a name that ends in .yaml"),
        (("--trace", "disk.trace.gz", "--kind", "hdd", "-o", "new.yaml", "-o", "new.jpg"), "give a name that ends in"),
        (("--trace", "disk.trace.gz", "--kind", "hdd", "--base", "gone"), "gone"),
        (("--trace", "disk.trace.gz", "--kind", "hdd", "--size", str(1 << 30)), "--size 1073741824"),
        (("--trace", "drive.parquet", "--kind", "ssd", "--size", str(1 << 50)), "leave it out"),
        (("--target", "gone", "--kind", "hdd"), "gone"),
        (("--target", "drive.parquet", "--kind", "hdd", "--force-target"), "drive.parquet"),
    ],
)
def test_options_that_do_not_fit_are_refused(traces, monkeypatch, capsys, words, said):
    defaults = [] if "--base" in words else ["--base", BASE]
    defaults += [] if "-o" in words else ["-o", "new.yaml"]
    refused(monkeypatch, capsys, said, *words, *defaults)


def test_a_kind_that_is_none_is_refused(traces, monkeypatch, capsys):
    words = ("--trace", "disk.trace.gz", "--kind", "tape", "--base", BASE, "-o", "new.yaml")
    refused(monkeypatch, capsys, "'tape' is not one of 'hdd', 'ssd'", *words, status=2)


# Sizes of five SCSI disks; their service times are public.
DISKS = {
    "atlas10k": 9182992384,
    "barracuda": 2103629824,
    "cheetah9LP": 9103034368,
    "hp_c3323a": 1052491776,
    "ibm18es": 9167622144,
}


@pytest.mark.needs("public_traces")
@pytest.mark.parametrize(
    "disk", [pytest.param(one, marks=pytest.mark.long if one != "cheetah9LP" else ()) for one in DISKS]
)
def test_real_disks_are_modelled_on_the_half_the_fit_has_not_seen(tmp_path, monkeypatch, capsys, disk):
    trace = Path(os.environ["CACHEZOO_PUBLIC_TRACES"], "hdd", f"{disk}.trace.gz")
    words = ("--trace", trace, "--kind", "hdd", "--base", BASE, "-o", tmp_path / "new.yaml", "--json")
    status, out, err = run(monkeypatch, capsys, *words, "--size", DISKS[disk])
    assert status == 0, err
    test = json.loads(out)["test"]
    assert test["requests"] >= 4500
    assert test["demerit"] < 0.1 < test["tuned_demerit"] < test["baseline_demerit"]
    assert abs(test["mean_error"]) < 0.1


def test_a_model_that_is_far_from_the_device_is_not_written(traces, monkeypatch, capsys):
    words = ("--trace", "drive.parquet", "--kind", "hdd", "--base", BASE, "-o", "new.yaml", "--json")
    status, out, err = run(monkeypatch, capsys, *words, "-o", "new.png")
    found = json.loads(out)
    assert (status, found["out"]) == (1, None) and found["test"]["demerit"] > 0.3
    line = err.splitlines()[-1]
    assert line.startswith("cachezoo: new.yaml: not written, as the model is far from the measured times: demerit ")
    assert "at most 30% is accepted" in line and "Was it an HDD" in line
    assert sorted(path.name for path in traces.iterdir()) == ["disk.trace.gz", "drive.parquet", "new.png"]
    accepted = line.split("--accept-demerit ")[1].split()[0]
    status, out, err = run(monkeypatch, capsys, *words, "--accept-demerit", accepted)
    assert status == 0, err
    assert "warning: the model is far from the measured times: demerit " in err
    assert json.loads(out)["out"] == "new.yaml" and read_device(Path("new.yaml")).hdd is not None


def test_a_stricter_bar_may_be_set(traces, monkeypatch, capsys):
    words = ("--trace", "disk.trace.gz", "--kind", "hdd", "--base", BASE, "-o", "new.yaml")
    status, out, err = run(monkeypatch, capsys, *words, "--accept-demerit", 0.0001)
    assert status == 1 and "at most 0.01% is accepted" in err and "not written" in out
    assert not Path("new.yaml").exists()


@pytest.mark.parametrize(
    ("call", "answer", "options", "said"),
    [
        ("cachezoo.devices.fio.disks.on_root_disk", lambda _: True, (), "or give --force-target"),
        (
            "cachezoo.devices.fio.disks.on_root_disk",
            lambda _: True,
            ("--writes", "--force-target"),
            "and --writes was given",
        ),
        ("os.access", lambda path, mode: str(path) != "x" or mode != os.W_OK, ("--writes",), "or leave out --writes"),
    ],
)
def test_a_refused_target_names_this_command_s_options(tmp_path, monkeypatch, capsys, call, answer, options, said):
    monkeypatch.chdir(tmp_path)
    Path("x").write_bytes(np.random.default_rng(0).bytes(2 << 20))
    monkeypatch.setattr(call, answer)
    words = ("--target", "x", "--kind", "hdd", "--base", BASE, "-o", "new.yaml", *options)
    refused(monkeypatch, capsys, said, *words)


@pytest.mark.parametrize(("requests", "seconds"), [(200, 3600), (1_000_000, 100_000)])
def test_a_measurement_of_many_requests_has_more_time(tmp_path, monkeypatch, capsys, requests, seconds):
    def late(_target: object, settings: Settings, *_: object) -> None:
        message = f"x: not within {settings.timeout_word} ({settings.timeout_s:g} s)"
        raise DeviceError(message)

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("cachezoo.devices.fio.target.open_target", lambda *_: None)
    monkeypatch.setattr("cachezoo.devices.microbench.measure", late)
    words = ("--target", "x", "--kind", "hdd", "--base", BASE, "-o", "new.yaml", "--requests", requests)
    refused(monkeypatch, capsys, f"not within the time for --requests {requests} ({seconds:g} s)", *words)


def told(folder: Path, samples: Samples) -> str:
    """A PATH with a fio whose log has these times, after those of the replay's own reads."""
    times = folder / "times"
    times.write_text("".join(f"{us * 1000:.0f}\n" for us in [*[1.0] * LEAD_IN, *samples.time_us]))
    change = "NR == FNR { ns[FNR] = $1; next } { print $1, ns[FNR], $3, $4, $5, $6 }"
    return f"{retold_fio(folder / 'bin', change, times)}:{os.environ['PATH']}"


@pytest.mark.parametrize("its_own", [False, pytest.param(True, marks=[pytest.mark.slow, pytest.mark.long])])
@pytest.mark.needs("fio", "nbdkit", "gcc")
def test_a_disk_emulated_behind_fio_is_found_again(tmp_path, monkeypatch, capsys, its_own):
    """By the emulated disk's own time, and by the times of its model."""
    truth = Hdd(
        capacity_bytes=8 << 30,
        rotation_us=4000.0,
        rotation="position",
        seek_base_us=600.0,
        seek_root_us=6000.0,
        seek_linear_us=1500.0,
        outer_mb_s=80.0,
        inner_mb_s=40.0,
        read_us=200.0,
        interface_mb_s=1000.0,
    )
    out = tmp_path / "new.yaml"
    if not its_own:
        monkeypatch.setenv("PATH", told(tmp_path, samples_of(truth, 600, truth.capacity_bytes)))
    with serving(truth if its_own else DRIVE, truth.capacity_bytes) as target:
        monkeypatch.setattr("cachezoo.devices.fio.target.open_target", lambda *_: target)
        words = ("--target", "emulated", "--kind", "hdd", "--base", BASE, "-o", out, "--requests", 600, "--json")
        status, said, err = run(monkeypatch, capsys, *words)
    assert status == 0, err
    assert "the disk is taken to end" not in err
    assert json.loads(said)["test"]["demerit"] < 0.2
    assert "# target.kind: emulated" in out.read_text()
    after = read_device(out).hdd
    assert after.capacity_bytes == truth.capacity_bytes
    assert after.rotation_us == pytest.approx(4000, rel=0.15)
    assert after.outer_mb_s == pytest.approx(80, rel=0.25)
    for distance in (0.1, 0.3, 0.9):
        there = truth.read_us + seek_us(truth, distance)
        assert after.read_us + seek_us(after, distance) == pytest.approx(there, rel=0.2)


@pytest.mark.parametrize("its_own", [False, pytest.param(True, marks=[pytest.mark.slow, pytest.mark.long])])
@pytest.mark.needs("fio", "nbdkit", "gcc")
def test_an_ssd_emulated_behind_fio_is_found_again(tmp_path, monkeypatch, its_own):
    truth = Ssd(read_us=900, write_us=500, read_mb_s=100, write_mb_s=60)
    if not its_own:
        monkeypatch.setenv("PATH", told(tmp_path, samples_of(truth, 240, 1 << 30)))
    with serving(truth if its_own else DRIVE, 1 << 30) as target:
        samples, _ = measure(target, Settings(timeout_s=600.0), "ssd", 240, writes=True)
    found = calibrate(samples, DRIVE, refit=True)
    for name, part in {"read_us": 0.25, "write_us": 0.4, "read_mb_s": 0.25, "write_mb_s": 0.25}.items():
        assert getattr(found.after, name) == pytest.approx(getattr(truth, name), rel=part), name
