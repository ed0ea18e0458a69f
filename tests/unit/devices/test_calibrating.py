"""Stage calibrate: rows as the replay made them, the target's size, and how far repetitions lay apart."""

import json
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import yaml

from cachezoo import paths
from cachezoo.coded import Coded
from cachezoo.devices.calibrating import calibrate_responses, replayed
from cachezoo.devices.fio.iolog import Rules, clean
from cachezoo.devices.microbench import design
from cachezoo.devices.replaying import write_responses
from cachezoo.errors import DeviceError
from cachezoo.io import read_json, write_json
from cachezoo.settings.device import AnalyticDevice, Hdd, RealDevice, Ssd
from cachezoo.traces.store import write_trace
from cachezoo.traces.table import Trace, TraceMeta

BLOCK, CAPACITY = 4096, 1 << 40
MODELS = AnalyticDevice(
    source="analytic",
    hdd=Hdd(capacity_bytes=CAPACITY, rotation_us=8333.3, rotation="position", seek_base_us=900, seek_root_us=12000,
            outer_mb_s=180, inner_mb_s=90),
    ssd=Ssd(read_us=80, write_us=20, read_mb_s=520, write_mb_s=480),
)  # fmt: skip
REAL = RealDevice.model_validate(
    {
        "source": "real",
        "hdd": {"path": "/dev/a", "name": "a"},
        "ssd": {"path": "/dev/b", "name": "b"},
        "logical_block_bytes": BLOCK,
    }
)
TRACES = {"train": "one_train", "validation": "one_validation"}
DATA = SimpleNamespace(
    traces={key: SimpleNamespace(category="one") for key in TRACES.values()},
    roles={"one": {role: [key] for role, key in TRACES.items()}},
)
PARAMS = SimpleNamespace(device=REAL, data=DATA)


def measured(key: str, record: dict[str, object], seed: int = 0, category: str = "one") -> Trace:
    """A trace at odd addresses below half the capacity, with the models' times of what the replay makes of it."""
    asked = design("hdd", CAPACITY // 2, 1000, writes=True, seed=seed)
    volume, meta = Coded.constant("0", len(asked)), TraceMeta(key, category, "csv", "")
    time = np.arange(len(asked))
    as_asked = Trace(time, asked.write, asked.offset + 512, asked.size - 1024, volume, meta)
    write_trace(as_asked, paths.requests(category, key))
    rows, _ = clean(
        time, asked.write, as_asked.offset, as_asked.size, Rules(BLOCK, 0, CAPACITY, False, "as_reads", key)
    )
    write_responses(
        Trace(time, rows.op, rows.offset, rows.size, volume, meta),
        MODELS,
        paths.responses(category, key),
        Path("unused"),
    )
    changed = {"requests": len(asked), "zero_length": 0, "rounded": len(asked), "folded": 0, "writes_as_reads": 500}
    both = {"rows_changed": changed, "spread": 0.01, **record}
    write_json(paths.replay_record(category, key), {"provenance": "real", "hdd": both, "ssd": both})
    return as_asked


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for made in (paths.requests, paths.responses, paths.replay_record):
        made("one", "any").parent.mkdir(parents=True)
    return tmp_path


def test_rows_are_those_that_the_device_was_asked_for():
    trace = measured("one_train", {})
    found = replayed(PARAMS, "one", "one_train", "hdd")
    for row in range(len(trace)):
        begin, end = trace.offset[row], trace.offset[row] + trace.size[row]
        asked = found.samples.offset[row], found.samples.offset[row] + found.samples.size[row]
        assert asked == (begin // BLOCK * BLOCK, -(-end // BLOCK) * BLOCK)
    assert not found.samples.write.any()
    assert found.data_bytes == 0


def test_folded_addresses_are_refused():
    measured("one_train", {"rows_changed": {"folded": 3, "writes_as_reads": 0}})
    with pytest.raises(DeviceError, match="one_train: 3 addresses were folded"):
        replayed(PARAMS, "one", "one_train", "hdd")


def test_a_category_whose_addresses_were_folded_is_left_out_and_named(folder):
    for category in ("one", "two"):
        for made in (paths.requests, paths.responses, paths.replay_record):
            made(category, "any").parent.mkdir(parents=True, exist_ok=True)
    others = {role: f"two_{role}" for role in TRACES}
    for seed, key in enumerate(TRACES.values()):
        measured(key, {"data_bytes": CAPACITY}, seed)
    for key in others.values():
        measured(key, {"rows_changed": {"folded": 3, "writes_as_reads": 0}}, category="two")
    keys = dict.fromkeys(TRACES.values(), "one") | dict.fromkeys(others.values(), "two")
    roles = DATA.roles | {"two": {role: [key] for role, key in others.items()}}
    data = SimpleNamespace(traces={key: SimpleNamespace(category=own) for key, own in keys.items()}, roles=roles)
    calibrate_responses(SimpleNamespace(device=REAL, data=data), folder / "out")
    report = read_json(folder / "out/calibration.json")
    for kind in ("hdd", "ssd"):
        assert report[kind]["test"]["demerit"] < 0.06
        assert report[kind]["left_out"] == ["two_train: 3 addresses were folded, so that distances are not the trace's"]
    assert (folder / "out/profile.yaml").exists()


@pytest.mark.parametrize(("spread", "warned"), [(0.5, False), (0.7, True)])
def test_the_report_says_how_far_repetitions_lay_apart(folder, spread, warned):
    for seed, key in enumerate(TRACES.values()):
        measured(key, {"spread": spread, "data_bytes": CAPACITY}, seed)
    calibrate_responses(PARAMS, folder / "out")
    report = json.loads((folder / "out/calibration.json").read_text())
    for kind in ("hdd", "ssd"):
        assert report[kind]["spread"] == spread
        assert ("warning" in report[kind]) == warned
    assert report["hdd"]["test"]["demerit"] < 0.06
    profile = yaml.safe_load((folder / "out/profile.yaml").read_text())
    assert profile["hdd"]["capacity_bytes"] == CAPACITY
    assert profile["ssd"]["read_us"] == pytest.approx(80, rel=0.03)


def test_without_a_record_of_the_target_s_size_the_disk_ends_where_its_requests_do(folder):
    for seed, key in enumerate(TRACES.values()):
        measured(key, {}, seed)
    calibrate_responses(PARAMS, folder / "out")
    end = max(
        int((one.samples.offset + one.samples.size).max())
        for one in (replayed(PARAMS, "one", key, "hdd") for key in TRACES.values())
    )
    assert read_json(folder / "out/calibration.json")["hdd"]["after"]["capacity_bytes"] == end < CAPACITY
