"""What lies on what, on a machine that the test makes up: two disks, partitions, and a volume over both."""

import os
from pathlib import Path

import pytest

from cachezoo.devices.fio import disks


@pytest.fixture
def machine(tmp_path, monkeypatch):
    numbers = {"sda": "8:0", "sda1": "8:1", "sda2": "8:2", "sdb": "8:16", "dm-0": "253:0", "dm-1": "253:1"}
    folders = {name: tmp_path / "devices" / name for name in ("sda", "sdb", "dm-0", "dm-1")}
    folders |= {name: folders["sda"] / name for name in ("sda1", "sda2")}
    (tmp_path / "block").mkdir()
    for name, number in numbers.items():
        for part in ("holders", "slaves"):
            (folders[name] / part).mkdir(parents=True)
        (folders[name] / "dev").write_text(f"{number}\n")
        (tmp_path / "block" / number).symlink_to(folders[name])
        if name.startswith("sda") and name != "sda":
            (folders[name] / "partition").write_text("1\n")
    # dm-0 lies on sda2 and sdb, dm-1 on dm-0.
    for under, over in (("sda2", "dm-0"), ("sdb", "dm-0"), ("dm-0", "dm-1")):
        (folders[under] / "holders" / over).symlink_to(folders[over])
        (folders[over] / "slaves" / under).symlink_to(folders[under])
    monkeypatch.setattr(disks, "SYSFS", tmp_path / "block")


@pytest.mark.usefixtures("machine")
def test_disks_under_a_device():
    assert disks.whole_disks("8:1") == {"sda"}
    assert disks.whole_disks("8:16") == {"sdb"}
    assert disks.whole_disks("253:1") == {"sda", "sdb"}
    assert disks.whole_disks("0:41") == frozenset()
    assert disks.whole_disks(None) == frozenset()


@pytest.mark.usefixtures("machine")
def test_everything_that_is_made_of_a_device():
    assert dict(disks.relatives("8:0")) == {
        "8:0": "sda",
        "8:1": "sda1",
        "8:2": "sda2",
        "253:0": "dm-0",
        "253:1": "dm-1",
    }
    assert dict(disks.relatives("8:16")) == {"8:16": "sdb", "253:0": "dm-0", "253:1": "dm-1"}
    assert dict(disks.relatives("8:1")) == {"8:1": "sda1"}
    assert dict(disks.relatives("9:9")) == {"9:9": "9:9"}


@pytest.mark.usefixtures("machine")
def test_a_disk_is_known_by_what_no_other_has(tmp_path, monkeypatch):
    monkeypatch.setattr(disks, "BLOCKS", tmp_path / "devices")
    assert "identity" not in disks.facts("8:0")
    (tmp_path / "devices/sda/device").mkdir()
    (tmp_path / "devices/sda/device/serial").write_text("  WD-123  45 \n")
    assert disks.facts("8:0")["identity"] == "WD-123 45"
    assert disks.facts("8:1")["identity"] == "WD-123 45"
    assert disks.facts("253:1")["identity"] == "WD-123 45, unknown"
    (tmp_path / "devices/sdb/wwid").write_text("eui.0025\n")
    assert disks.facts("253:1")["identity"] == "WD-123 45, eui.0025"
    assert "identity" not in disks.facts(None)


@pytest.mark.parametrize(
    ("name", "model", "virtual"),
    [
        ("vda", "", True),
        ("loop3", "", True),
        ("nbd0", "", True),
        ("zram0", "", True),
        ("sda", "QEMU HARDDISK", True),
        ("nvme0n1", "Amazon Elastic Block Store", True),
        ("sdb", "Virtual Disk", True),
        ("sda", "WDC WD20EFRX-68E", False),
        ("nvme0n1", "Samsung SSD 980 PRO", False),
    ],
)
def test_virtual_disks_are_told_by_name_or_model(name, model, virtual):
    assert bool(disks.VIRTUAL_NAME.match(name) or disks.VIRTUAL_MODEL.search(model)) == virtual


def test_the_mount_of_a_path_is_the_deepest_and_last(tmp_path, monkeypatch):
    (tmp_path / "a" / "b").mkdir(parents=True)
    table = [
        disks.Mount("1:0", "/", "ext4", "/dev/x"),
        disks.Mount("2:0", str(tmp_path / "a"), "xfs", "/dev/y"),
        disks.Mount("3:0", str(tmp_path / "a"), "btrfs", "/dev/z"),
        disks.Mount("4:0", str(tmp_path / "a" / "bc"), "ext4", "/dev/w"),
    ]
    monkeypatch.setattr(disks, "mounts", lambda: table)
    assert disks.mount_of(str(tmp_path / "a" / "b")).number == "3:0"
    assert disks.mount_of(str(tmp_path)).number == "1:0"
    os.symlink(tmp_path / "a", tmp_path / "link")
    assert disks.mount_of(str(tmp_path / "link" / "b")).number == "3:0"


def test_the_disk_under_the_root_is_the_roots():
    if not disks.whole_disks(disks.device_under("/")):
        pytest.skip("needs a root filesystem on a disk, which this machine lacks")
    assert disks.on_root_disk("/")
    for name in disks.whole_disks(disks.device_under("/")):
        if Path(f"/dev/{name}").exists():
            assert disks.on_root_disk(f"/dev/{name}")
