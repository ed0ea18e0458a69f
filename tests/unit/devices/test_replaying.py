import fcntl
import json
import time
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pytest

from cachezoo.config.load import load_params
from cachezoo.devices import replaying
from cachezoo.devices.analytic import t_hdd_us
from cachezoo.devices.fio.replay import replay
from cachezoo.devices.replaying import respond, write_responses
from cachezoo.devices.responses import one_provenance, read_responses
from cachezoo.errors import DeviceError, TraceError
from cachezoo.io import read_table, write_table
from cachezoo.settings.device import Hdd, RealDevice
from tests.unit.devices.test_analytic import make


def test_responses_have_the_requests_rows(tmp_path):
    trace = make([0, 9], [4096, 512], [0, 1])
    write_responses(trace, load_params().device, tmp_path / "r.parquet", tmp_path / "r.json")
    table, metadata = read_table(tmp_path / "r.parquet")
    assert table.column_names == ["t_hdd_us", "t_ssd_us"]
    assert len(table) == 2
    assert metadata["cachezoo.provenance"] == "analytic"


def test_the_record_counts_what_the_model_folded(tmp_path):
    device = load_params().device
    trace = make([0, device.hdd.capacity_bytes, 9 * device.hdd.capacity_bytes], [4096] * 3, [0, 0, 0])
    write_responses(trace, device, tmp_path / "r.parquet", tmp_path / "r.json")
    record = json.loads((tmp_path / "r.json").read_text())
    assert record == {
        "provenance": "analytic", "trace": "t", "requests": 3, "hdd": {"rows_changed": {"folded": 2}},
    }  # fmt: skip


def test_models_give_the_same_bytes_again(tmp_path):
    trace = make(np.arange(50) * 81920, [4096] * 50, [0, 1] * 25)
    for name in "ab":
        write_responses(trace, load_params().device, tmp_path / f"{name}.parquet", tmp_path / f"{name}.json")
    assert (tmp_path / "a.parquet").read_bytes() == (tmp_path / "b.parquet").read_bytes()
    assert (tmp_path / "a.json").read_bytes() == (tmp_path / "b.json").read_bytes()


@pytest.mark.needs("fio")
@pytest.mark.parametrize("missing", ["hdd", "ssd"])
def test_both_targets_are_looked_at_before_one_is_replayed_on(missing, tmp_path):
    paths = {kind: tmp_path / f"{kind}.scratch" for kind in ("hdd", "ssd")}
    there = next(path for kind, path in paths.items() if kind != missing)
    there.write_bytes(np.random.default_rng(0).bytes(2 << 20))
    targets = {kind: {"path": str(path), "name": kind} for kind, path in paths.items()}
    device = RealDevice.model_validate({"source": "real", "force": True, **targets})
    with pytest.raises(DeviceError, match=rf"{missing}\.scratch"):
        respond(make([0], [4096], [0]), device)
    assert sorted(tmp_path.iterdir()) == [there]


def test_of_two_replays_one_measures_at_a_time(tmp_path, monkeypatch):
    monkeypatch.setenv("CACHEZOO_CACHE_DIR", str(tmp_path))
    measuring, most = [], []

    def measure(trace, device):
        measuring.append(trace)
        most.append(len(measuring))
        time.sleep(0.1)
        measuring.pop()
        return (SimpleNamespace(times_us=np.ones(1)),) * 2

    monkeypatch.setattr(replaying, "measure_real", measure)
    monkeypatch.setattr(replaying, "recorded", lambda measured: {})
    targets = {kind: {"path": str(tmp_path / kind), "name": kind} for kind in ("hdd", "ssd")}
    device = RealDevice.model_validate({"source": "real", **targets})
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(lambda offset: respond(make([offset], [4096], [0]), device), (0, 4096)))
    assert most == [1, 1]


def test_times_of_several_traces_come_from_one_device(tmp_path):
    device = load_params().device
    slower = device.model_copy(update={"hdd": device.hdd.model_copy(update={"rotation_us": 11111.0})})
    paths = [tmp_path / f"{name}.parquet" for name in "abc"]
    for path, of in zip(paths, (device, device, slower), strict=True):
        write_responses(make([0], [4096], [0]), of, path, tmp_path / "record.json")
    assert one_provenance(paths[:2]) == "analytic"
    with pytest.raises(TraceError, match=r"c\.parquet: its times are of another device or other settings"):
        one_provenance(paths)


@pytest.mark.needs("fio")
def test_a_trace_that_does_not_fit_the_ssd_is_refused_before_the_disk_is_replayed_on(tmp_path, monkeypatch):
    monkeypatch.setattr("cachezoo.devices.replaying.replay", lambda *_: pytest.fail("replayed"))
    for name, size in (("hdd", 8 << 20), ("ssd", 2 << 20)):
        (tmp_path / name).write_bytes(np.random.default_rng(0).bytes(size))
    targets = {name: {"path": str(tmp_path / name), "name": name} for name in ("hdd", "ssd")}
    device = RealDevice.model_validate({"source": "real", "force": True, **targets})
    with pytest.raises(DeviceError, match=r"/ssd: .*fold"):
        respond(make([0, 4 << 20], [4096, 4096], [0, 0]), device)


@pytest.mark.needs("fio")
def test_the_ssd_is_kept_from_others_while_the_disk_is_replayed_on(tmp_path, monkeypatch):
    for name in ("hdd", "ssd"):
        (tmp_path / name).write_bytes(np.random.default_rng(0).bytes(2 << 20))
    targets = {name: {"path": str(tmp_path / name), "name": name} for name in ("hdd", "ssd")}
    device = RealDevice.model_validate({"source": "real", "force": True, "repetitions": 1, **targets})
    locked = []

    def replayed(trace, target, settings):
        for name in ("hdd", "ssd"):
            with (tmp_path / name).open() as file, pytest.raises(BlockingIOError):
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            locked.append(name)
        return replay(trace, target, settings)

    monkeypatch.setattr("cachezoo.devices.replaying.replay", replayed)
    hdd, ssd, record = respond(make([0], [4096], [0]), device)
    assert locked == ["hdd", "ssd"] * 2
    assert hdd[0] > 0 and ssd[0] > 0
    assert f"--replay_redirect={tmp_path}/ssd " in record["ssd"]["measured"]["command"]


def test_one_path_for_both_devices_is_refused(tmp_path):
    (tmp_path / "one").write_bytes(bytes(4 << 20))
    (tmp_path / "other").symlink_to(tmp_path / "one")
    targets = {
        "hdd": {"path": str(tmp_path / "one"), "name": "a"},
        "ssd": {"path": str(tmp_path / "other"), "name": "b"},
    }
    with pytest.raises(DeviceError, match=r"device\.hdd and device\.ssd are both .*one"):
        respond(make([0], [4096], [0]), RealDevice.model_validate({"source": "real", **targets}))


def test_times_of_two_disks_are_not_put_together_though_their_paths_are_the_same(tmp_path):
    paths = []
    for serial in ("A1", "B2"):
        paths.append(tmp_path / f"{serial}.parquet")
        facts = {"hdd": {"identity": serial, "virtual": "a virtual disk"}, "ssd": {}}
        metadata = {"cachezoo.provenance": "real", "cachezoo.device": "{}", "cachezoo.measured_on": json.dumps(facts)}
        write_table(paths[-1], pa.table({"t_hdd_us": [1.0], "t_ssd_us": [1.0]}), metadata)
    assert one_provenance(paths[:1]) == "real, on a virtual disk"
    with pytest.raises(TraceError, match=r"B2\.parquet: its times are of another device"):
        one_provenance(paths)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), 0.0, -1.0])
def test_a_time_that_is_none_is_neither_written_nor_read(value, tmp_path, monkeypatch):
    monkeypatch.setattr("cachezoo.devices.replaying.t_ssd_us", lambda *_: np.array([1.0, value]))
    with pytest.raises(DeviceError, match="row 2: t_ssd_us"):
        write_responses(make([0, 1], [512, 512], [0, 0]), load_params().device, tmp_path / "r", tmp_path / "j")
    assert not list(tmp_path.iterdir())
    write_table(tmp_path / "r.parquet", pa.table({"t_hdd_us": [1.0, 1.0], "t_ssd_us": [1.0, value]}), {})
    with pytest.raises(TraceError, match="row 2: t_ssd_us"):
        read_responses(tmp_path / "r.parquet")


@pytest.mark.parametrize("change", [
    {"seek_linear_us": float("nan")}, {"rotation_us": 1e308}, {"rotation_us": float("inf")}, {"rotation_us": 1e-12},
    {"capacity_bytes": 1 << 63}, {"write_buffer_bytes": 1 << 70}, {"outer_mb_s": 1e-308}, {"interface_mb_s": 0.0},
])  # fmt: skip
def test_no_profile_leads_out_of_numbers(change):
    hdd = load_params().device.hdd.model_dump() | change
    with pytest.raises(ValueError, match=next(iter(change))):
        Hdd.model_validate(hdd)


def test_the_widest_profile_still_gives_times():
    edge = {"rotation_us": 1e9, "seek_base_us": 1e9, "seek_root_us": 1e9, "outer_mb_s": 1e-6, "inner_mb_s": 1e9}
    hdd = Hdd.model_validate(
        load_params().device.hdd.model_dump() | edge | {"rotation": "position", "capacity_bytes": 1}
    )
    times = t_hdd_us(make([0, 1 << 40], [1 << 40, 512], [0, 1]), hdd)
    assert np.isfinite(times).all()
    assert (times > 0).all()
