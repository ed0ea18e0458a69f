"""A disk and an SSD of what a machine has: made, prepared, and gone at the end."""

import os
from pathlib import Path

import pytest

from cachezoo.devices.fio.marker import read_marker
from cachezoo.errors import DeviceError
from lab.real.targets import disk_and_ram


@pytest.mark.needs("root", "loop", "zram", "fio")
@pytest.mark.parametrize("fails", [False, True])
def test_both_targets_are_prepared_and_gone_at_the_end(tmp_path, fails):
    made = []
    try:
        with disk_and_ram(tmp_path, 3 << 20) as paths:
            made += paths
            assert all(read_marker(path) is not None for path in paths)
            assert list(tmp_path.iterdir()) == []
            assert (Path("/sys/block") / Path(paths[0]).name / "loop/dio").read_text().strip() == "1"
            if fails:
                raise DeviceError("as if")
    except DeviceError as error:
        assert fails and str(error) == "as if"
    disk, ram = made
    assert not Path(ram).exists()
    loop = Path("/sys/block") / Path(disk).name / "loop/backing_file"
    assert not loop.exists() or str(tmp_path) not in loop.read_text()


def test_targets_are_refused_without_root_or_memory(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(DeviceError, match="run it as root"), disk_and_ram(tmp_path, 1):
        pass
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr("lab.real.targets.CONTROL", tmp_path)
    with pytest.raises(DeviceError, match="is not there; load the module zram"), disk_and_ram(tmp_path, 1):
        pass
    (tmp_path / "hot_add").write_text("7")
    with pytest.raises(DeviceError, match="more than half of the free memory"), disk_and_ram(tmp_path, 1 << 60):
        pass
