import os
import signal
import subprocess
import sys
import zlib
from pathlib import Path

import pytest

from cachezoo.devices.fio.hold import hold, identity
from cachezoo.devices.fio.marker import HEADER_BYTES, read_marker
from cachezoo.devices.fio.prepare import prepare
from cachezoo.devices.fio.target import Use, open_target
from cachezoo.errors import DeviceError
from tests.replay_data import MIB, false_fio, full_file, loop_device, settle

pytestmark = pytest.mark.needs("fio")
ROOT = Path(__file__).parents[4]


def test_a_new_file_is_full_of_data_that_hardly_compresses(tmp_path):
    path = tmp_path / "a: b"
    assert prepare(str(path), 16 * MIB + 5, force=True) == 14 * MIB
    data = path.read_bytes()
    assert len(data) == 16 * MIB
    for start in range(HEADER_BYTES, 15 * MIB, MIB):
        assert len(zlib.compress(data[start : start + MIB], 1)) > 0.8 * MIB
    assert os.listdir(tmp_path) == ["a: b"]
    found = open_target(str(path), "mine", Use(writes=True, force=True))
    assert (found.data_offset, found.data_bytes, found.writable) == (HEADER_BYTES, 14 * MIB, True)
    # Again, and smaller: it is ours to overwrite.
    assert prepare(str(path), 8 * MIB, force=True) == 6 * MIB
    assert path.stat().st_size == 8 * MIB
    assert path.read_bytes()[HEADER_BYTES : 7 * MIB] != data[HEADER_BYTES : 7 * MIB]


def test_a_file_with_data_is_not_overwritten_without_force(tmp_path):
    path = full_file(tmp_path / "f", 4 * MIB)
    before = path.read_bytes()
    with pytest.raises(DeviceError, match=r"is on the disk of the root filesystem|is no scratch target"):
        prepare(str(path))
    assert path.read_bytes() == before
    assert prepare(str(path), force=True) == 2 * MIB


@pytest.mark.parametrize(
    ("name", "size", "said"),
    [
        ("f", None, "is not there, and how large it shall be is not said; give a size"),
        ("f", MIB, "1048576 bytes are too few for a scratch target; it needs 3 MiB"),
        ("f", 1 << 60, "needs 1152921504606846976 bytes more and its filesystem has"),
        ("none/f", 4 * MIB, "its folder is not there"),
        ("/dev/sdnone", 4 * MIB, "is not there; name a block device that is"),
        ("/dev/shm/cachezoo-none", 4 * MIB, "tmpfs|name a block device"),
    ],
)
def test_refusals_leave_nothing(tmp_path, name, size, said):
    path = tmp_path / name
    with pytest.raises(DeviceError, match=said):
        prepare(str(path), size, force=True)
    assert not path.exists()


def test_a_fill_that_fails_leaves_nothing_of_a_new_file_and_no_header_on_an_old_one(tmp_path, monkeypatch):
    old = tmp_path / "old"
    prepare(str(old), 4 * MIB, force=True)
    monkeypatch.setenv("PATH", f"{false_fio(tmp_path / 'bin', 'echo fio: no space; exit 1')}:/usr/bin:/bin")
    with pytest.raises(DeviceError, match="fio ended with status 1: fio: no space"):
        prepare(str(tmp_path / "new"), 4 * MIB, force=True)
    assert not (tmp_path / "new").exists()
    with pytest.raises(DeviceError, match="no space"):
        prepare(str(old), 4 * MIB, force=True)
    assert old.exists()
    assert read_marker(str(old)) is None


@pytest.mark.parametrize("end", [signal.SIGINT, signal.SIGTERM])
def test_whoever_ends_it_finds_no_new_file(tmp_path, end):
    fio = false_fio(tmp_path / "bin", 'echo $$ > "$0.pid"; exec sleep 300')
    code = "import sys; from cachezoo.devices.fio.prepare import prepare; prepare(sys.argv[1], 4 << 20, force=True)"
    environment = {
        **os.environ,
        "PYTHONPATH": str(ROOT / "src"),
        "PATH": f"{fio}:/usr/bin:/bin",
        "TMPDIR": str(tmp_path),
    }
    path = tmp_path / "f"
    child = subprocess.Popen([sys.executable, "-c", code, path], env=environment, stderr=subprocess.DEVNULL)
    try:
        assert settle((fio / "fio.pid").exists)
        assert path.exists()
        child.send_signal(end)
        child.wait(60)
        assert not path.exists()
        assert os.listdir(tmp_path) == ["bin"]
    finally:
        child.kill()
        child.wait(60)


@pytest.mark.needs("root", "loop")
def test_a_device_is_prepared_whole_or_in_part(tmp_path):
    image = tmp_path / "image"
    image.touch()
    os.truncate(image, 8 * MIB)
    with loop_device(image) as device:
        with pytest.raises(DeviceError, match="has 8388608 bytes, not 16777216; give a smaller size or none"):
            prepare(device, 16 * MIB, force=True)
        assert prepare(device, 4 * MIB, force=True) == 2 * MIB
        assert open_target(device, "mine", Use(writes=True)).data_bytes == 2 * MIB
        assert prepare(device) == 6 * MIB
        assert open_target(device, "mine", Use(writes=True)).data_bytes == 6 * MIB


@pytest.mark.needs("root", "loop")
def test_a_device_that_was_not_prepared_is_not_taken_for_an_empty_one(tmp_path):
    image = tmp_path / "image"
    image.write_bytes(bytes(8 * MIB))
    with image.open("r+b") as file:
        # Between the places that a look would go to.
        file.seek(MIB + 8192)
        file.write(b"a thesis")
    with loop_device(image) as device:
        with pytest.raises(DeviceError, match=r"is no scratch target; what is in it would be lost: .* use --force"):
            prepare(device)
    assert b"a thesis" in image.read_bytes()


def test_no_name_makes_it_write_elsewhere(tmp_path):
    other = full_file(tmp_path / "ab:c", 4 * MIB)
    before = other.read_bytes()
    path = tmp_path / "a\\b:c"
    prepare(str(path), 4 * MIB, force=True)
    assert other.read_bytes() == before
    assert not path.read_bytes().count(bytes(4096), MIB, 3 * MIB)
    assert sorted(os.listdir(tmp_path)) == ["a\\b:c", "ab:c"]


def test_a_file_that_fio_did_not_fill_is_no_target(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", f"{false_fio(tmp_path / 'bin', 'exit 0')}:/usr/bin:/bin")
    with pytest.raises(DeviceError, match="f: has a hole at byte 1048576"):
        prepare(str(tmp_path / "f"), 4 * MIB, force=True)
    assert not (tmp_path / "f").exists()


def test_what_took_the_place_of_a_new_file_stays(tmp_path, monkeypatch):
    path = tmp_path / "f"
    script = f"rm '{path}'; echo theirs > '{path}'; exit 1"
    monkeypatch.setenv("PATH", f"{false_fio(tmp_path / 'bin', script)}:/usr/bin:/bin")
    with pytest.raises(DeviceError, match="fio ended with status 1"):
        prepare(str(path), 4 * MIB, force=True)
    assert path.read_text() == "theirs\n"


def test_what_is_no_plain_file_is_named(tmp_path):
    with pytest.raises(DeviceError, match=r"^/proc/self/mem: cannot be opened .Invalid argument.; "):
        prepare("/proc/self/mem", force=True)
    (tmp_path / "link").symlink_to(tmp_path / "none")
    with pytest.raises(DeviceError, match="link: is not there"):
        prepare(str(tmp_path / "link"), 4 * MIB, force=True)


@pytest.mark.needs("root", "loop")
def test_a_device_that_is_filled_cannot_be_mounted_nor_filled_by_another(tmp_path, monkeypatch):
    image = tmp_path / "image"
    image.touch()
    os.truncate(image, 8 * MIB)
    with loop_device(image) as device:
        said = "cannot be had for a replay alone .Device or resource busy."

        def run(*_):
            with pytest.raises(OSError, match="busy"):
                os.open(device, os.O_RDONLY | os.O_EXCL)
            with pytest.raises(DeviceError, match=said), hold(device, identity(device), writes=True):
                pass

        monkeypatch.setattr("cachezoo.devices.fio.prepare.run", run)
        prepare(device, force=True)
