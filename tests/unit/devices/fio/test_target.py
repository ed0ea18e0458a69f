import os
import shutil
import subprocess
from pathlib import Path

import pytest

from cachezoo.devices.fio import disks
from cachezoo.devices.fio.marker import HEADER_BYTES, read_marker, write_marker
from cachezoo.devices.fio.prepare import prepare
from cachezoo.devices.fio.target import Use, open_target
from cachezoo.errors import DeviceError
from tests.replay_data import MIB, full_file, loop_device, settle

FORCE = Use(force=True)
WRITES = Use(writes=True, force=True)


def refused(path, use, said):
    with pytest.raises(DeviceError, match=said) as caught:
        open_target(str(path), "mine", use)
    assert str(caught.value).startswith(f"{path}: ")
    assert "\n" not in str(caught.value)


def test_what_is_not_there_or_no_device(tmp_path):
    refused(tmp_path / "none", FORCE, "is not there; .* cachezoo device prepare")
    refused(tmp_path, FORCE, "is neither a block device nor a regular file")
    refused(Path("/dev/null"), FORCE, "is neither a block device nor a regular file")
    os.mkfifo(tmp_path / "pipe")
    refused(tmp_path / "pipe", FORCE, "is neither")


def test_a_full_file_is_read_from_its_start(tmp_path):
    found = open_target(str(full_file(tmp_path / "a file: b", 3 * MIB)), "mine", FORCE)
    assert (found.data_offset, found.data_bytes, found.writable) == (0, 3 * MIB, False)
    assert found.fio_options() == [f"--replay_redirect={tmp_path}/a file: b", "--allow_file_create=0", "--direct=1"]
    facts = found.describe()
    assert facts["name"] == "mine"
    assert facts["kind"].startswith("file on ")
    assert facts["prepared"] == "false"


def test_files_that_would_not_measure_the_device(tmp_path):
    sparse = tmp_path / "sparse"
    sparse.touch()
    os.truncate(sparse, 4 * MIB)
    refused(sparse, FORCE, "has a hole at byte 0, and reads of holes do not reach the device; .* device prepare")
    full = full_file(tmp_path / "full", 2 * MIB)
    os.truncate(full, 4 * MIB)
    refused(full, FORCE, f"has a hole at byte {2 * MIB}")
    with full.open("r+b") as file:
        os.posix_fallocate(file.fileno(), 0, 4 * MIB)
    refused(full, FORCE, f"has a hole at byte {2 * MIB}")
    refused(full_file(tmp_path / "small", MIB - 512), FORCE, "has 1048064 bytes, a replay needs 1048576")
    (tmp_path / "empty").touch()
    refused(tmp_path / "empty", FORCE, "has 0 bytes")


def test_a_file_in_memory_is_no_device():
    if disks.mount_of("/dev/shm").kind != "tmpfs":
        pytest.skip("needs a tmpfs at /dev/shm, which this machine lacks")
    path = Path(f"/dev/shm/cachezoo-test-{os.getpid()}")
    try:
        refused(full_file(path, 2 * MIB), FORCE, "is on tmpfs, which is memory and no device")
    finally:
        path.unlink()


def test_the_root_filesystems_disk_needs_force(tmp_path):
    if tmp_path.stat().st_dev != Path("/").stat().st_dev:
        pytest.skip("needs its temporary files on the root filesystem, which this machine lacks")
    path = full_file(tmp_path / "f", 2 * MIB)
    refused(path, Use(), "is on the disk of the root filesystem.* set device.force")
    assert open_target(str(path), "mine", FORCE).data_bytes == 2 * MIB


def test_writes_need_a_prepared_target_whatever_force_says(tmp_path):
    path = full_file(tmp_path / "f", 4 * MIB)
    before = path.read_bytes()
    refused(path, WRITES, "is no prepared scratch target, .* cachezoo device prepare")
    assert path.read_bytes() == before
    write_marker(str(path), 2 * MIB)
    found = open_target(str(path), "mine", WRITES)
    assert (found.data_offset, found.data_bytes, found.writable) == (HEADER_BYTES, 2 * MIB, True)
    assert path.read_bytes()[HEADER_BYTES : 3 * MIB] == before[HEADER_BYTES : 3 * MIB]


def test_a_prepared_target_that_was_cut_short_is_none(tmp_path):
    path = full_file(tmp_path / "f", 4 * MIB)
    write_marker(str(path), 2 * MIB)
    os.truncate(path, 3 * MIB)
    refused(path, WRITES, "is no prepared scratch target")


def test_the_beginning_of_a_prepared_target_makes_no_other_one(tmp_path):
    path, mine = full_file(tmp_path / "f", 4 * MIB), full_file(tmp_path / "mine", 8 * MIB, 2)
    write_marker(str(path), 2 * MIB)
    for start in (path.read_bytes()[:MIB], path.read_bytes()[: 3 * MIB]):
        with mine.open("r+b") as file:
            file.write(start)
        refused(mine, WRITES, "is no prepared scratch target")
    # Prepared themselves, and then given the beginning of another.
    write_marker(str(mine), 2 * MIB)
    with mine.open("r+b") as file:
        file.write(path.read_bytes()[:MIB])
    refused(mine, WRITES, "is no prepared scratch target")


@pytest.mark.parametrize("place", [446, 1024, 4096, 65536, HEADER_BYTES - 1, 3 * MIB, 4 * MIB - 1])
def test_what_was_put_on_a_prepared_target_later_is_safe(tmp_path, place):
    path = full_file(tmp_path / "f", 4 * MIB)
    write_marker(str(path), 2 * MIB)
    assert read_marker(str(path)).data_bytes == 2 * MIB
    with path.open("r+b") as file:
        file.seek(place)
        file.write(b"x")
    assert read_marker(str(path)) is None
    refused(path, WRITES, "is no prepared scratch target")


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"not json",
        b"[]",
        b"[" * 4000,
        b'{"bytes": 1}',
        *(
            b'{"data_bytes": %s, "key": "%s"}' % (number, b"0" * 32)
            for number in (b"null", b"Infinity", b"-9", b"9" * 18)
        ),
    ],
)
def test_a_damaged_header_is_none(tmp_path, text):
    path = tmp_path / "f"
    path.write_bytes((b"cachezoo scratch target 2\n" + text + b"\n").ljust(2 * MIB, b"\0"))
    assert read_marker(str(path)) is None


def test_places_with_blanks_are_read_as_they_are(tmp_path):
    table = tmp_path / "mountinfo"
    table.write_text("27 1 254:0 / /a\\040b\\134c rw - ext4 /dev/disk\\040x rw\n")
    assert disks.mounts(table) == [disks.Mount("254:0", "/a b\\c", "ext4", "/dev/disk x")]


def test_an_error_says_what_the_asker_has_to_change(tmp_path, monkeypatch):
    words = {"force_word": "give --force", "writes_word": "--writes was given", "reads_word": "leave out --writes"}
    path = full_file(tmp_path / "f", 4 * MIB)
    refused(path, Use(writes=True, force=True, **words), "scratch target, and --writes was given; make")
    monkeypatch.setattr(disks, "on_root_disk", lambda _: True)
    refused(path, Use(**words), "name a target on another disk or give --force$")
    monkeypatch.setattr(os, "access", lambda *_: False)
    refused(path, Use(writes=True, **words), "is read-only; name a target that can be written, or leave out --writes$")


@pytest.mark.parametrize(("kind", "noted"), [("ext4", False), ("xfs", False), ("fuse.sshfs", True), ("zfs", True)])
def test_a_file_that_a_cache_may_answer_for_is_labelled(tmp_path, monkeypatch, kind, noted):
    monkeypatch.setattr(disks, "mount_of", lambda _: disks.Mount("0:0", "/x", kind, "none"))
    facts = open_target(str(full_file(tmp_path / "f", 2 * MIB)), "mine", FORCE).describe()
    assert facts["kind"] == f"file on {kind}"
    assert ("from its own cache" in facts.get("note", "")) == noted


@pytest.mark.needs("root", "loop")
@pytest.mark.parametrize("direct", ["on", "off"])
def test_a_loop_device_that_the_page_cache_answers_for_is_labelled(tmp_path, direct):
    with loop_device(full_file(tmp_path / "image", 4 * MIB), f"--direct-io={direct}") as device:
        facts = open_target(device, "loop", Use(force=True)).describe()
    assert ("from the page cache" in facts.get("note", "")) == (direct == "off")


@pytest.mark.needs("root", "loop")
class TestLoopDevice:
    @pytest.mark.needs("fio")
    def test_what_is_behind_another_by_any_name_is_in_use(self, tmp_path):
        image = full_file(tmp_path / "image", 8 * MIB)
        write_marker(str(image), 6 * MIB)
        linked = tmp_path / "linked"
        linked.hardlink_to(image)
        with loop_device(image) as device:
            image.unlink()
            refused(linked, WRITES, f"is behind {device}, and nothing is ever written there")
            with pytest.raises(DeviceError, match=f"is behind {device}, and nothing is ever written there"):
                prepare(str(linked), force=True)
            with loop_device(Path(device)) as above:
                refused(device, WRITES, f"is behind {above}, and nothing is ever written there")
                refused(device, Use(), f"is behind {above}; free it")
            assert open_target(device, "mine", Use(writes=True)).writable

    def test_a_partition_of_one_that_is_behind_another_is_in_use(self, tmp_path):
        image = full_file(tmp_path / "image", 16 * MIB)
        with loop_device(image, "--partscan") as device:
            part = Path(f"{device}p1")
            subprocess.run(["addpart", device, "1", "2048", str(14 * 2048)], check=True, timeout=30)
            assert settle(part.exists)
            with loop_device(Path(device)) as above:
                refused(part, WRITES, f"is behind {above}")
            with loop_device(part) as above:
                refused(device, WRITES, f"is behind {above}")

    def test_an_empty_rotational_one_is_read_and_labelled(self, tmp_path):
        image = tmp_path / "image"
        image.touch()
        os.truncate(image, 8 * MIB)
        with loop_device(image) as device:
            rotational = Path(f"/sys/block/{Path(device).name}/queue/rotational")
            rotational.write_text("1")
            found = open_target(device, "mine", Use())
            assert (found.data_offset, found.data_bytes, found.writable) == (0, 8 * MIB, False)
            facts = found.describe()
            assert facts["kind"] == "block device"
            assert facts["virtual"] == f"virtual disk ({Path(device).name}): neither an HDD nor a bare SSD"
            assert facts["rotational"] == "1"
            rotational.write_text("0")
            refused(device, Use(), "is empty, and flash that was never written is not read; .* device prepare")
            assert open_target(device, "mine", FORCE).data_bytes == 8 * MIB

    def test_one_that_is_not_empty_needs_force(self, tmp_path):
        with loop_device(full_file(tmp_path / "image", 4 * MIB)) as device:
            refused(device, Use(), "is not empty and no prepared scratch target; .* device.force")
            assert open_target(device, "mine", FORCE).data_bytes == 4 * MIB

    def test_data_at_its_end_only_is_seen(self, tmp_path):
        image = tmp_path / "image"
        image.write_bytes(bytes(8 * MIB - 1) + b"x")
        with loop_device(image) as device:
            refused(device, Use(), "is not empty")

    @pytest.mark.needs("fio")
    def test_a_mounted_one_needs_force_and_is_never_written(self, tmp_path):
        image = tmp_path / "image"
        image.touch()
        os.truncate(image, 16 * MIB)
        subprocess.run(["mkfs.ext4", "-q", "-F", image], check=True, timeout=30)
        place = tmp_path / "a place"
        place.mkdir()
        with loop_device(image) as device:
            subprocess.run(["mount", device, place], check=True, timeout=30)
            said = f"is mounted .{Path(device).name} at {place}.*"
            refused(device, Use(), said + "free it .umount, swapoff., or set device.force")
            assert open_target(device, "mine", FORCE).data_bytes == 16 * MIB
            refused(device, WRITES, said + "nothing is ever written there")
            with pytest.raises(DeviceError, match=said + "nothing is ever written there"):
                prepare(device, force=True)
            refused(image, WRITES, f"is behind {device}, and nothing is ever written there")

    @pytest.mark.needs("fio")
    def test_a_filesystem_made_on_a_prepared_one_is_no_scratch_target(self, tmp_path):
        image = full_file(tmp_path / "image", 16 * MIB)
        write_marker(str(image), 14 * MIB)
        with loop_device(image) as device:
            assert open_target(device, "mine", Use(writes=True)).writable
            subprocess.run(["mkfs.ext4", "-q", "-F", device], check=True, timeout=30)
            refused(device, WRITES, "is no prepared scratch target")
            with pytest.raises(DeviceError, match=r"is no scratch target; what is in it would be lost: .* use --force"):
                prepare(device)

    def test_one_with_a_mounted_partition_is_in_use(self, tmp_path):
        image = tmp_path / "image"
        image.touch()
        os.truncate(image, 16 * MIB)
        with loop_device(image, "--partscan") as device:
            part = Path(f"{device}p1")
            # Told to the kernel as it is: not every kernel reads partition tables.
            subprocess.run(["addpart", device, "1", "2048", str(14 * 2048)], check=True, timeout=30)
            assert settle(part.exists)
            subprocess.run(["mkfs.ext4", "-q", "-F", part], check=True, timeout=30)
            (tmp_path / "m").mkdir()
            subprocess.run(["mount", part, tmp_path / "m"], check=True, timeout=30)
            refused(device, Use(), f"is mounted .{part.name} at {tmp_path}/m")
            refused(part, Use(), f"is mounted .{part.name} at {tmp_path}/m")
            assert disks.whole_disks(disks.block_number(str(part))) == {Path(device).name}

    def test_one_that_another_program_has_claimed_is_in_use(self, tmp_path):
        image = tmp_path / "image"
        image.touch()
        os.truncate(image, 4 * MIB)
        with loop_device(image) as device:
            handle = os.open(device, os.O_RDONLY | os.O_EXCL)
            try:
                refused(device, Use(), "is in use .Device or resource busy.")
            finally:
                os.close(handle)

    @pytest.mark.skipif(shutil.which("mkswap") is None, reason="needs mkswap, which this machine lacks")
    def test_swap_space_is_in_use(self, tmp_path):
        image = full_file(tmp_path / "image", 4 * MIB)
        with loop_device(image) as device:
            subprocess.run(["mkswap", device], check=True, timeout=30, capture_output=True)
            if subprocess.run(["swapon", device], timeout=30, capture_output=True).returncode:
                pytest.skip("needs swap, which this machine lacks")
            try:
                refused(device, Use(), "is swap space")
            finally:
                subprocess.run(["swapoff", device], check=True, timeout=30)

    @pytest.mark.needs("fio")
    def test_a_read_only_one_is_read_and_refused_where_something_is_written(self, tmp_path):
        image = full_file(tmp_path / "image", 4 * MIB)
        write_marker(str(image), 2 * MIB)
        with loop_device(image, "--read-only") as device:
            assert open_target(device, "mine", Use()).data_bytes == 2 * MIB
            refused(device, Use(writes=True), "is read-only; name a target that can be written, or .* as_reads")
            with pytest.raises(DeviceError, match=r"is read-only; name a target that can be written$"):
                prepare(device, force=True)

    def test_its_logical_block_is_the_least(self, tmp_path):
        image = full_file(tmp_path / "image", 4 * MIB)
        with loop_device(image, "--sector-size", "4096") as device:
            refused(device, FORCE, "has logical blocks of 4096 bytes; set device.logical_block_bytes to 4096")
            assert open_target(device, "mine", Use(block_bytes=4096, force=True)).data_bytes == 4 * MIB
