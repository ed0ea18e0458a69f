import os
import tempfile
import time

from cachezoo.devices.fio.scratch import PREFIX, YOUNG_S, scratch_folder


def test_folders_of_killed_processes_go_and_those_in_use_or_young_stay(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    old = time.time() - 2 * YOUNG_S
    left, young, other = (tmp_path / name for name in (f"{PREFIX}left", f"{PREFIX}young", "other"))
    for folder in (left, young, other):
        folder.mkdir()
        (folder / "file").touch()
    (tmp_path / f"{PREFIX}link").symlink_to(other)
    with scratch_folder() as used:
        for folder in (left, other, used):
            os.utime(folder, (old, old))
        with scratch_folder() as second:
            assert second != used
            assert used.is_dir()
        assert not left.exists()
        assert young.is_dir()
        assert (other / "file").exists()
    assert not used.exists()
    assert not second.exists()
