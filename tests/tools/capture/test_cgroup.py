import pytest

from cachezoo.errors import CaptureError
from tools.capture.cgroup import MemoryGroup


def test_version_1_is_preferred_where_its_memory_controller_is(tmp_path):
    (tmp_path / "memory").mkdir()
    (tmp_path / "memory/cgroup.procs").write_text("")
    group = MemoryGroup("g", 4096, tmp_path)
    group.create()
    assert group.version == 1
    assert (tmp_path / "memory/g/memory.limit_in_bytes").read_text() == "4096"


def test_version_2_enables_the_controller_and_takes_it_back(tmp_path):
    (tmp_path / "cgroup.controllers").write_text("cpu memory\n")
    control = tmp_path / "cgroup.subtree_control"
    control.write_text("cpu")
    group = MemoryGroup("g", 4096, tmp_path)
    group.create()
    assert group.version == 2
    assert (tmp_path / "g/memory.max").read_text() == "4096"
    assert control.read_text() == "+memory"
    (tmp_path / "g/memory.max").unlink()
    group.remove()
    assert not group.path.exists()
    assert control.read_text() == "-memory"


def test_without_a_memory_controller(tmp_path):
    with pytest.raises(CaptureError, match="no memory cgroup"):
        MemoryGroup("g", 4096, tmp_path)
