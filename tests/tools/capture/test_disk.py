"""Disks that lie elsewhere than on their own image."""

import shutil

import pytest

from tools.capture.disk import call, remove_folder
from tools.capture.sandbox import Sandbox


@pytest.mark.needs("root", "loop", "cgroup")
def test_a_disk_lies_on_another_file_with_the_same_filesystem():
    with Sandbox(64, 32, 128) as box:
        (disk,) = box.disks.values()
        (box.mount / "file").write_text("before")
        disk.close()
        other = box.work / "other"
        shutil.copy(disk.image, other)
        with disk.served_from(other):
            assert (box.mount / "file").read_text() == "before"
            (box.mount / "file").write_text("after")
        assert not box.mount.is_mount()
        with disk.served_from(disk.image):
            assert (box.mount / "file").read_text() == "before"
        call(["e2fsck", "-fn", str(other)])


def test_a_folder_that_is_busy_for_a_moment_is_removed(tmp_path, monkeypatch):
    folder, real, tries = tmp_path / "work", shutil.rmtree, []
    (folder / "mnt").mkdir(parents=True)

    def busy(path, **options):
        tries.append(path)
        if len(tries) > 2:
            real(path, **options)

    monkeypatch.setattr(shutil, "rmtree", busy)
    remove_folder(folder)
    assert not folder.exists() and len(tries) == 3
    remove_folder(folder)
