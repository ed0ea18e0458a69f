"""The check at a session's end, on folders that are laid out like the machine's."""

import os
import stat
from pathlib import Path

import pytest

from tests.left_behind import Machine

MOUNT = "36 35 98:0 / {} rw,noatime shared:1 - ext4 /dev/loop0 rw\n"


@pytest.fixture
def machine(tmp_path):
    for name in ("dev", "block", "own"):
        (tmp_path / name).mkdir()
    (tmp_path / "dev/stdout").symlink_to("/proc/self/fd/1")
    os.mkfifo(tmp_path / "dev/log")
    (tmp_path / "mountinfo").write_text(MOUNT.format("/") + MOUNT.format("/elsewhere"))
    return Machine(tmp_path / "dev", tmp_path / "mountinfo", tmp_path / "block")


def attach(machine, name, file):
    (machine.blocks / name / "loop").mkdir(parents=True)
    (machine.blocks / name / "loop/backing_file").write_text(f"{file}\n")


def test_nothing_is_left_where_nothing_is(machine, tmp_path):
    before = machine.nodes()
    os.mkfifo(machine.devices / "new")
    (machine.devices / "log").unlink()
    attach(machine, "loop0", "/elsewhere/image")
    assert machine.changed(before) == []
    assert machine.taken(tmp_path / "own") == []


@pytest.mark.parametrize("name", ["stdout", "log", "new"])
def test_a_file_in_the_place_of_a_device_is_named(machine, name):
    before = machine.nodes()
    (machine.devices / name).unlink(missing_ok=True)
    (machine.devices / name).write_text("a trace")
    assert machine.changed(before) == [f"changed: {machine.devices / name}"]


@pytest.mark.needs("root")
def test_another_device_of_the_same_name_is_named(machine):
    os.mknod(machine.devices / "null", stat.S_IFCHR | 0o666, os.makedev(1, 3))
    before = machine.nodes()
    (machine.devices / "null").unlink()
    os.mknod(machine.devices / "null", stat.S_IFCHR | 0o666, os.makedev(1, 7))
    assert machine.changed(before) == [f"changed: {machine.devices / 'null'}"]


def test_what_is_mounted_or_attached_below_the_folder_is_named(machine, tmp_path):
    own = tmp_path / "own"
    with machine.mounts.open("a") as file:
        file.write(MOUNT.format(f"{own}/test_a0/a\\040b"))
    attach(machine, "loop3", f"{own}/test_a0/image (deleted)")
    attach(machine, "loop4", "/elsewhere/image")
    assert machine.taken(own) == [
        f"attached: loop3: {own}/test_a0/image (deleted)", f"mounted: {own}/test_a0/a\\040b",
    ]  # fmt: skip


def test_this_machine_can_be_looked_at(tmp_path):
    assert "null" in Machine().nodes()
    assert Machine().taken(Path("/")) != []
    assert Machine().taken(tmp_path) == []
