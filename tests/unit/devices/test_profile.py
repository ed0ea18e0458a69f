from pathlib import Path

import numpy as np
import pytest

from cachezoo.devices import profile
from cachezoo.devices.built_in import BUILT_IN
from cachezoo.devices.profile import (
    DISTANCES,
    NEXT_TRACK,
    OPS,
    SIZES,
    access_rows,
    average_seek_us,
    distance_rows,
    distance_us,
    load_profile,
    profile_path,
    sequential_us,
    size_text,
    track_bytes,
)
from cachezoo.devices.profile_plot import draw_profile
from cachezoo.errors import ConfigError
from cachezoo.settings.device import AnalyticDevice, Hdd, ReadBuffer, Ssd

ROOT = Path(__file__).resolve().parents[3]
CAPACITY = 1 << 40
HDD = Hdd(capacity_bytes=CAPACITY, rotation_us=8000.0, seek_base_us=500.0, seek_root_us=9000.0, seek_linear_us=600.0,
          write_settle_us=400.0, outer_mb_s=120.0, inner_mb_s=80.0, read_us=50.0, write_us=70.0)  # fmt: skip
SSD = Ssd(read_us=90.0, write_us=20.0, read_mb_s=500.0, write_mb_s=400.0)
SOUND = """# @package device
source: analytic
hdd: {capacity_bytes: 1000000, rotation_us: 8000, seek_base_us: 1, seek_root_us: 2, outer_mb_s: 100, inner_mb_s: 50}
ssd: {read_us: 90, write_us: 20, read_mb_s: 500, write_mb_s: 400}
"""


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("part", [0.001, 0.1, 0.5])
@pytest.mark.parametrize("write", [False, True])
def test_a_response_time_is_seek_half_a_revolution_and_transfer(size, part, write):
    """There and back around the middle of the disk, whose rates lie evenly about that of the middle."""
    seek = 500 + 9000 * part**0.5 + 600 * part + (400 + 70 if write else 50)
    both = [size / (100 + sign * 20 * part) for sign in (1, -1)]
    assert distance_us(HDD, size, part, write) == pytest.approx(seek + 4000 + np.mean(both), rel=1e-4)


def test_where_the_angle_counts_it_is_the_mean_over_a_revolution():
    turning = HDD.model_copy(update={"rotation": "position"})
    for part in (NEXT_TRACK, 0.001, 0.3):
        known = distance_us(HDD, 4096, part, write=False)
        assert distance_us(turning, 4096, part, write=False) == pytest.approx(known, abs=8000 / 64)


def test_the_next_track_is_a_revolution_away():
    assert track_bytes(HDD) == 800_000
    part = 800_000 // 512 * 512 / CAPACITY
    assert distance_us(HDD, 4096, NEXT_TRACK, write=False) == pytest.approx(distance_us(HDD, 4096, part, write=False))


def test_a_run_back_to_back_pays_no_seek():
    assert sequential_us(HDD, 65536, write=False) == pytest.approx(65536 / 100 + 50, rel=1e-3)
    assert distance_us(HDD, 65536, 0.0, write=True) == pytest.approx(65536 / 100 + 70, rel=1e-3)


def test_full_buffers_do_not_make_a_disk_faster_than_its_media():
    buffer = ReadBuffer(segments=2, segment_bytes=1 << 20)
    buffered = HDD.model_copy(update={"read_buffer": buffer, "write_buffer_bytes": 1 << 22})
    assert sequential_us(buffered, 65536, write=False) == pytest.approx(65536 / 100, rel=0.02)
    assert sequential_us(buffered, 65536, write=True) >= 65536 / 100
    assert distance_us(buffered, 4096, 0.3, write=True) == pytest.approx(70 + 4096 / 600)


def test_a_full_ssd_buffer_writes_at_the_rate_of_the_flash():
    ssd = SSD.model_copy(update={"write_buffer_bytes": 1 << 24, "program_mb_s": 100.0, "waf": 2.0})
    rows = access_rows(AnalyticDevice(source="analytic", hdd=HDD, ssd=ssd))
    found = {(row["device"], row["op"], row["pattern"], row["size_bytes"]): row for row in rows}
    assert found["ssd", "write", "sequential", 1 << 21]["mb_s"] == pytest.approx(50, rel=0.02)
    assert found["ssd", "read", "sequential", 1 << 21]["mb_s"] == pytest.approx(500, rel=0.03)


def test_the_average_seek_is_that_of_random_pairs():
    a, b = np.random.default_rng(1).random((2, 200_000))
    seeks = 500 + 9000 * np.sqrt(np.abs(a - b)) + 600 * np.abs(a - b)
    assert average_seek_us(HDD) == pytest.approx(seeks.mean(), rel=0.003)
    assert average_seek_us(HDD, write=True) == average_seek_us(HDD) + 400


def test_rows_are_complete():
    device = AnalyticDevice(source="analytic", hdd=HDD, ssd=SSD)
    rows = list(distance_rows(HDD))
    assert [(row["op"], row["size_bytes"]) for row in rows] == [(op, size) for op in OPS for size in SIZES]
    assert all(list(row["response_us"]) == list(DISTANCES) for row in rows)
    accesses = list(access_rows(device))
    assert len(accesses) == 4 * len(OPS) * len(SIZES)
    for row in accesses:
        assert row["iops"] == pytest.approx(1e6 / row["response_us"])
        assert row["mb_s"] == pytest.approx(row["iops"] * row["size_bytes"] / 1e6)


def test_what_a_small_disk_has_no_room_for_is_left_out():
    small = HDD.model_copy(update={"capacity_bytes": 4 << 20})
    assert distance_us(small, 8 << 20, 0.1, write=False) is None
    assert sequential_us(small, 1 << 20, write=False) is None
    assert distance_us(small, 4096, 1.0, write=False) > distance_us(small, 4096, 0.1, write=False)


def test_a_plot_has_the_same_bytes_each_time(tmp_path):
    device = AnalyticDevice(source="analytic", hdd=HDD, ssd=SSD)
    rows = list(access_rows(device))
    for name in ("a.png", "b.png"):
        draw_profile(device, rows, "a [disk]", tmp_path / name)
    content = (tmp_path / "a.png").read_bytes()
    assert content.startswith(b"\x89PNG\r\n\x1a\n")
    assert content == (tmp_path / "b.png").read_bytes()


def test_a_name_is_a_file_of_the_folder(tmp_path):
    (tmp_path / "mine.yaml").write_text(SOUND)
    assert profile_path("mine", tmp_path) == tmp_path / "mine.yaml"
    assert load_profile("mine", tmp_path) == load_profile(str(tmp_path / "mine.yaml"))
    with pytest.raises(ConfigError, match=r"other: no such device profile; .* has mine; or give a YAML file"):
        profile_path("other", tmp_path)
    with pytest.raises(ConfigError, match=r"there is no .*nowhere here"):
        profile_path("other", tmp_path / "nowhere")
    with pytest.raises(ConfigError, match=r"gone\.yaml: no such file"):
        profile_path(str(tmp_path / "gone.yaml"))


def test_defaults_are_composed(tmp_path):
    group = tmp_path / "disks"
    group.mkdir()
    (group / "base.yaml").write_text(SOUND)
    text = "# @package device\ndefaults:\n  - base\n  - _self_\nsource: emulated\nhdd: {rotation_us: 6000}\n"
    (group / "changed.yaml").write_text(text)
    device = load_profile(str(group / "changed.yaml"))
    assert (device.source, device.hdd.rotation_us, device.hdd.outer_mb_s) == ("emulated", 6000, 100)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("defaults: [nosuch, _self_]\nsource: analytic\n", r"bad\.yaml: .*nosuch.*; fix its defaults"),
        ("defaults: [base, _self_]\nhdd: {rotation_us: -1}\n", r"bad\.yaml: .*rotation_us: Input should be greater"),
        ("defaults: [base, _self_]\nsource: magic\n", r"bad\.yaml: .*magic"),
        ("source: real\nhdd: {path: /x, name: x}\nssd: {path: /y, name: y}\n", r"source is real, which has no models"),
        ("hdd: 3\n", r"bad\.yaml: .*source"),
        ("[", r"bad\.yaml: not readable as YAML"),
    ],
)
def test_a_bad_profile_is_named_in_one_line(tmp_path, text, message):
    group = tmp_path / "device"
    group.mkdir()
    (group / "base.yaml").write_text(SOUND)
    (group / "bad.yaml").write_text(f"# @package device\n{text}")
    with pytest.raises(ConfigError, match=message) as error:
        load_profile(str(group / "bad.yaml"))
    assert "\n" not in str(error.value)


def test_sizes_read_well():
    assert [size_text(size) for size in (4096, 131072, 1 << 20, 8 << 20)] == ["4 KiB", "128 KiB", "1 MiB", "8 MiB"]


def test_names_are_looked_up_here_then_in_the_package_s_project_then_in_what_is_built_in(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert profile.load_models("wdredpro2tb_850pro") == profile.load_models("wdredpro2tb_850pro", ROOT / "conf/device")
    own = tmp_path / "conf/device/wdredpro2tb_850pro.yaml"
    own.parent.mkdir(parents=True)
    own.write_text((ROOT / "conf/device/exosx20_990pro.yaml").read_text())
    assert profile.load_models("wdredpro2tb_850pro") == BUILT_IN
    monkeypatch.setattr(profile, "PROJECT", tmp_path / "none")
    own.unlink()
    assert profile.load_models("exosx20_990pro") == BUILT_IN
    with pytest.raises(ConfigError, match="other: no such device profile; conf/device has exosx20_990pro; or give"):
        profile.load_models("other")
