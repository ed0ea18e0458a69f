"""What `cz-ssd` may be: nothing that holds anything is written to, under whatever name it is given."""

import os
import re
import struct
import subprocess
import uuid
import zlib
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from tests.e2e.test_nbd_filter import counters, read_all, tier
from tests.nbd_filter import refused, serve

SIZE = 16 << 20

pytestmark = pytest.mark.needs("nbdkit", "gcc")


@pytest.fixture
def folder(tmp_path):
    """With a disk of 1 MiB."""
    (tmp_path / "disk").write_bytes(bytes(range(256)) * 4096)
    return tmp_path


def command(*words):
    return subprocess.run([str(word) for word in words], check=True, capture_output=True, text=True, timeout=120).stdout


def blank(path, size=SIZE):
    with path.open("wb") as file:
        file.truncate(size)
    return path


def unchanged(built, folder, options, path):
    """What nbdkit says where it does not start; the file keeps every byte."""
    before = path.read_bytes()
    said = refused(built, folder, options)
    assert path.read_bytes() == before
    assert said.count("\n") == 1
    return said


@contextmanager
def loop(path):
    """A loop device over a file."""
    device = Path(command("losetup", "--find", "--show", path).strip())
    try:
        yield device
    finally:
        command("losetup", "--detach", device)


def a_filesystem(path):
    command("mkfs.ext4", "-q", blank(path))


def a_swap_area(path):
    command("mkswap", blank(path))


def a_partition_table(path):
    """A GPT without partitions, and its copy at the end."""
    sectors, entries, disk = SIZE // 512, bytes(128 * 128), uuid.uuid4().bytes_le
    with blank(path).open("r+b") as file:
        file.seek(446)
        file.write(struct.pack("<IIII", 0x00000200, 0xFFFFFFEE, 1, sectors - 1) + bytes(48) + b"\x55\xaa")
        for own, other, table in ((1, sectors - 1, 2), (sectors - 1, 1, sectors - 33)):
            places = struct.pack("<QQQQ16sQ", own, other, 34, sectors - 34, disk, table)
            places += struct.pack("<III", 128, 128, zlib.crc32(entries))
            head = b"EFI PART" + struct.pack("<IIII", 0x10000, 92, 0, 0) + places
            file.seek(own * 512)
            file.write(head[:16] + struct.pack("<I", zlib.crc32(head)) + head[20:])


def a_table_at_the_end(path):
    """As it is where the beginning was lost."""
    a_partition_table(path)
    with path.open("r+b") as file:
        file.write(bytes(1 << 20))


def a_filesystem_behind_a_tier(path):
    """`mkfs` may leave the first sectors as they were."""
    a_filesystem(path)
    with path.open("r+b") as file:
        file.write(b"CZTIER\r\n")


def text(path):
    path.write_bytes(bytes(8192) + b"a letter to a friend" + bytes(SIZE))


def far_in(path):
    with blank(path, 64 << 20).open("r+b") as file:
        file.seek(40 << 20)
        file.write(b"\1")


@pytest.mark.needs("loop")
@pytest.mark.parametrize(
    ("lay", "name"),
    [
        (a_filesystem, r"ext4:[0-9a-f-]{36}"), (a_swap_area, r"swap:[0-9a-f-]{36}"), (a_partition_table, "gpt:.*"),
        (a_table_at_the_end, "data:.*|gpt:.*"), (a_filesystem_behind_a_tier, r"ext4:.*"), (text, "data:[0-9a-f]{8}"),
        (far_in, "data:[0-9a-f]{8}"),
    ],
)  # fmt: skip
def test_what_is_no_tier_is_overwritten_once_and_by_its_name_alone(built, folder, lay, name):
    ssd = folder / "ssd"
    lay(ssd)
    said = unchanged(built, folder, tier(folder), ssd)
    found = re.search(r"it is no tier and holds (.*); cz-format=(.*) overwrites that", said)
    assert found
    assert found[1] == found[2]
    assert re.fullmatch(name, found[2])
    unchanged(built, folder, tier(folder, "256K", "cz-format=ext4"), ssd)
    unchanged(built, folder, tier(folder, "256K", f"cz-format={ssd}"), ssd)
    recovered = []
    for more in ([f"cz-format={found[2]}"], [], [f"cz-format={found[2]}"]):
        with serve(built, folder, tier(folder, "256K", *more)) as server:
            read_all(server, folder)
            server.stop()
        recovered.append(counters(folder)["resident_at_start"])
    assert recovered == [0, 64, 64]
    lay(ssd)
    if lay in (a_filesystem, a_swap_area, a_partition_table):  # with another UUID
        unchanged(built, folder, tier(folder, "256K", f"cz-format={found[2]}"), ssd)


@pytest.mark.needs("loop")
def test_nothing_is_written_before_a_client_comes(built, folder):
    ssd = folder / "ssd"
    a_filesystem(ssd)
    before = ssd.read_bytes()
    name = re.search("cz-format=(.*) over", refused(built, folder, tier(folder)))[1]
    with serve(built, folder, tier(folder, "256K", f"cz-format={name}")) as server:
        server.stop()
    assert ssd.read_bytes() == before
    unchanged(built, folder, tier(folder, "256K", f"cz-format={name}", "cz-log=disk", "cz-mode=arc"), ssd)


def test_a_blank_file_needs_no_word(built, folder):
    (folder / "ssd").write_bytes(bytes(4 << 20))
    with serve(built, folder, tier(folder)) as server:
        read_all(server, folder)
        server.stop()


@pytest.mark.parametrize("name", ["disk", "symlink", "hardlink", "dir/../disk"])
def test_the_disk_is_no_tier_under_any_name(built, folder, name):
    disk = blank(folder / "disk")
    (folder / "dir").mkdir()
    (folder / "symlink").symlink_to(disk)
    (folder / "hardlink").hardlink_to(disk)
    said = unchanged(built, folder, [f"cz-ssd={folder / name}", "cz-size=256K"], disk)
    assert "it is the disk itself, or a part of it" in said


@pytest.mark.needs("root", "loop")
def test_loop_devices_hide_nothing(built, folder):
    disk, ssd, node = blank(folder / "disk"), blank(folder / "ssd"), folder / "node"
    size = "cz-size=256K"
    with ExitStack() as down:
        device = down.enter_context(loop(disk))
        os.mknod(node, 0o600 | 0o060000, device.stat().st_rdev)
        itself = "it is the disk itself, or a part of it"
        assert itself in unchanged(built, folder, [f"cz-ssd={device}", size], disk)
        assert itself in unchanged(built, folder, [f"cz-ssd={node}", size], disk)
        for ssd_path, behind in ((disk, device), (disk, node), (node, device), (device, device)):
            said = unchanged(built, folder, [f"cz-ssd={ssd_path}", size, f"cz-disk={behind}"], disk)
            assert itself in said
        again = down.enter_context(loop(device))
        assert itself in unchanged(built, folder, [f"cz-ssd={again}", size], disk)
        down.enter_context(loop(ssd))
        assert "a loop device lies over it" in unchanged(built, folder, [f"cz-ssd={ssd}", size], ssd)


@pytest.mark.needs("root", "loop")
def test_a_mounted_disk_is_refused_and_cannot_be_mounted_while_it_is_cached(built, folder):
    place = folder / "place"
    place.mkdir()
    a_filesystem(folder / "flash")
    with loop(folder / "flash") as device:
        options = tier(folder, "256K", f"cz-disk={device}")
        command("mount", "-t", "ext4", device, place)
        try:
            said = refused(built, folder, options)
        finally:
            command("umount", place)
        assert f"{device}: it is mounted, or another program uses it" in said
        with serve(built, folder, options, ["file", str(device)]) as server:
            with pytest.raises(subprocess.CalledProcessError):
                command("mount", "-t", "ext4", device, place)
            server.stop()
