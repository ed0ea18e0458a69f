import pytest

from cachezoo.capture.cgroup import MemoryGroup
from cachezoo.capture.tracefs import lost_events
from cachezoo.errors import CaptureError


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


def test_lost_events_are_summed_over_processors(tmp_path):
    for cpu, (overrun, dropped) in enumerate([(3, 0), (0, 4)]):
        folder = tmp_path / f"per_cpu/cpu{cpu}"
        folder.mkdir(parents=True)
        text = f"entries: 9\noverrun: {overrun}\ncommit overrun: 1\nbytes: 5\ndropped events: {dropped}\n"
        (folder / "stats").write_text(text)
    assert lost_events(tmp_path) == 9
