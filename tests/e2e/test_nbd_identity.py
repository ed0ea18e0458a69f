"""A tier is of one disk, as it was left: another disk's bytes, or old ones of this disk, are never served.

Numbers in brackets are those of the crash model in docs/mounted.md.
"""

import os
import random
import shutil
import subprocess
from contextlib import contextmanager

import pytest

from cachezoo.seeds import derive_seed
from tests.e2e.test_nbd_filter import UNIT, counters, labelled, read_all, tier
from tests.e2e.test_nbd_ssd import command, loop
from tests.nbd_filter import refused, serve

UNITS = 256
NAMED = [pytest.param(tier, id="plain"), pytest.param(labelled, id="labelled")]

pytestmark = pytest.mark.needs("nbdkit", "gcc")


def content(name):
    return random.Random(derive_seed(0, "disk", name)).randbytes(UNITS * UNIT)


@pytest.fixture
def folder(tmp_path):
    """With a disk of 1 MiB of random bytes."""
    (tmp_path / "disk").write_bytes(content("first"))
    return tmp_path


def run(built, folder, options, end="stop", plugin=None, variables=None):
    """Read all through the cache: what the disk holds. How many units the tier held, and what was said."""
    with serve(built, folder, options, plugin, variables) as server:
        read_all(server, folder)
        server.wait_until_alone()  # by then what was read is on the SSD, which a kill would leave out
        getattr(server, end)()
        said = server.said.read_text()
    return (counters(folder)["resident_at_start"] if end == "stop" else None), said


def change(folder, unit=77):
    """One byte of the disk, around the cache."""
    with (folder / "disk").open("r+b") as file:
        file.seek(unit * UNIT + 99)
        byte = file.read(1)[0]
        file.seek(unit * UNIT + 99)
        file.write(bytes([byte ^ 1]))


def another_in_its_place(folder):
    (folder / "new").write_bytes(content("second"))
    (folder / "new").replace(folder / "disk")


def overwritten_by_another(folder):
    (folder / "disk").write_bytes(content("second"))


def copied_and_changed(folder):
    """An image of the disk that went its own way."""
    shutil.copy2(folder / "disk", folder / "new")
    stat = (folder / "new").stat()
    (folder / "new").replace(folder / "disk")
    change(folder)
    os.utime(folder / "disk", ns=(stat.st_atime_ns, stat.st_mtime_ns))


def shrunk_and_grown(folder):
    for size in (UNITS * UNIT // 4, UNITS * UNIT):
        os.truncate(folder / "disk", size)


SWAPS = [another_in_its_place, overwritten_by_another, copied_and_changed, change, shrunk_and_grown]


@pytest.mark.parametrize("options", NAMED)
@pytest.mark.parametrize("swap", SWAPS)
def test_after_a_clean_end_a_disk_that_is_not_as_it_was_left_makes_the_tier_empty(built, folder, options, swap):
    """[1]"""
    run(built, folder, options(folder, "1M"))
    assert run(built, folder, options(folder, "1M")) == (UNITS, "")
    swap(folder)
    recovered, said = run(built, folder, options(folder, "1M"))
    assert recovered == 0
    assert said.count("the SSD tier begins empty: ") == 1
    assert run(built, folder, options(folder, "1M")) == (UNITS, "")


@pytest.mark.parametrize("options", NAMED)
def test_a_write_right_before_the_end_does_not_hide_one_right_after(built, folder, options):
    """[1] Both have the same time, on a filesystem whose clock ticks every few ms."""
    for _ in range(8):
        with serve(built, folder, options(folder, "1M")) as server:
            with server.disk() as disk:
                disk.read(0, UNITS * UNIT)
                disk.write(3 * UNIT, random.randbytes(UNIT))
                disk.read(0, UNITS * UNIT)
            server.stop()
        change(folder, 3)
        run(built, folder, options(folder, "1M"))


@pytest.mark.parametrize("with_client", [False, True])
@pytest.mark.parametrize("swap", [change, overwritten_by_another, shrunk_and_grown])
@pytest.mark.parametrize("options", NAMED)
def test_a_disk_that_was_changed_while_nobody_was_connected_is_read_anew(built, folder, options, swap, with_client):
    """[2] Also where a client saw it half as large in between."""
    with serve(built, folder, options(folder, "1M")) as server:
        read_all(server, folder)
        read_all(server, folder)
        server.wait_until_alone()
        if with_client:
            os.truncate(folder / "disk", UNITS * UNIT // 4)
            read_all(server, folder)
            server.wait_until_alone()
            os.truncate(folder / "disk", UNITS * UNIT)
        swap(folder)
        read_all(server, folder)
        read_all(server, folder)
        server.stop()
        said = server.said.read_text()
    assert "the disk was written to while no client was connected" in said
    assert ("the disk has changed its size" in said) == with_client
    run(built, folder, options(folder, "1M"))


def test_after_a_kill_only_a_labelled_tier_is_taken_up(built, folder):
    """[1, 3]"""
    run(built, folder, tier(folder, "1M"), "kill")
    recovered, said = run(built, folder, tier(folder, "1M"))
    assert (recovered, "it was in use and did not end" in said) == (0, True)
    run(built, folder, labelled(folder, "1M"), "kill")
    assert run(built, folder, labelled(folder, "1M")) == (UNITS, "")


@pytest.mark.parametrize("swap", [another_in_its_place, overwritten_by_another])
def test_after_a_kill_another_disk_makes_a_labelled_tier_empty(built, folder, swap):
    """[3]"""
    run(built, folder, labelled(folder, "1M"), "kill")
    swap(folder)
    recovered, said = run(built, folder, labelled(folder, "1M"))
    assert recovered == 0
    assert "it is of another disk" in said or "the disk holds something else" in said


@pytest.mark.parametrize("end", ["stop", "kill"])
@pytest.mark.parametrize("options", NAMED)
def test_an_older_copy_of_the_ssd_is_empty(built, folder, options, end):
    """[4] A snapshot that came back, or the lagging half of a mirror."""
    run(built, folder, options(folder, "1M"), end)
    shutil.copy2(folder / "ssd", folder / "old")
    with serve(built, folder, options(folder, "1M")) as server:
        with server.disk() as disk:
            disk.write(0, content("second")[: UNITS * UNIT // 4])
        getattr(server, end)()
    shutil.copy2(folder / "old", folder / "ssd")
    assert run(built, folder, options(folder, "1M"))[0] == 0


@pytest.mark.parametrize("end", ["stop", "kill"])
@pytest.mark.parametrize("options", NAMED)
def test_two_ssds_that_take_turns_before_one_disk_begin_empty(built, folder, options, end):
    """[4]"""

    def write(ssd, text):
        given = [f"cz-ssd={folder / ssd}", *options(folder, "1M")[1:]]
        with serve(built, folder, given) as server:
            read_all(server, folder)
            with server.disk() as disk:
                for unit in range(0, UNITS, 4):
                    disk.write(unit * UNIT, text * UNIT)
            read_all(server, folder)
            getattr(server, end)()

    for ssd, text in (("ssd", b"a"), ("other", b"b"), ("ssd", b"c"), ("other", b"d")):
        write(ssd, text)


@pytest.mark.parametrize("label", ["gone", "of another disk", "damaged"])
def test_after_a_kill_another_label_makes_the_tier_empty(built, folder, label):
    """[3]"""
    options = labelled(folder, "1M")
    run(built, folder, options, "kill")
    path = folder / "label"
    if label == "gone":
        path.unlink()
    elif label == "damaged":
        path.write_bytes(path.read_bytes()[:20] + b"?" + path.read_bytes()[21:])
    else:
        run(built, folder, [f"cz-ssd={folder / 'other'}", *options[1:]], "kill")
    recovered, said = run(built, folder, options)
    assert (recovered, "the label is of another tier" in said) == (0, True)


def test_a_label_that_is_none_is_refused(built, folder):
    for name, text in (("label", b"a letter"), ("disk", None)):
        if text:
            (folder / name).write_bytes(text)
        before = (folder / name).read_bytes()
        said = refused(built, folder, tier(folder, "1M", f"cz-label={folder / name}"))
        assert "label" in said
        assert (folder / name).read_bytes() == before


def test_one_label_is_of_one_cache(built, folder):
    """What lies behind no file of this machine is locked by its label."""
    other = folder / "other"
    other.mkdir()
    (other / "disk").write_bytes(content("first"))
    with serve(built, folder, labelled(folder, "1M")) as server:
        options = [f"cz-ssd={other / 'ssd'}", "cz-size=1M", f"cz-label={folder / 'label'}"]
        assert "another cache uses this label" in refused(built, other, options)
        server.stop()


def remote(folder):
    """A plugin whose disk is known here by what is read from it alone."""
    disk = folder / "disk"
    calls = {
        "get_size": f"stat -c %s {disk}",
        "pread": f"dd if={disk} iflag=skip_bytes,count_bytes skip=$4 count=$3 bs=64k status=none",
        "can_multi_conn": "exit 0",
    }
    return ["eval", *(f"{name}={script}" for name, script in calls.items())]


@pytest.mark.needs("loop")
def test_a_disk_that_is_not_of_this_machine_is_known_by_its_uuid_and_label(built, folder):
    """[1, 3]"""
    results = []
    for options, end, uuid in (
        (tier, "stop", None), (tier, "stop", None), (labelled, "stop", None), (labelled, "kill", 1),
        (labelled, "kill", None), (labelled, "stop", None), (labelled, "stop", None), (labelled, "stop", 2),
    ):  # fmt: skip
        if uuid:
            command("mkfs.ext4", "-q", "-F", "-U", f"{uuid:08d}-0000-4000-8000-000000000000", folder / "disk")
        recovered, said = run(built, folder, options(folder, "1M"), end, remote(folder))
        results.append((recovered, said.partition("begins empty: ")[2].partition(";")[0].strip()))
    assert [why[:40] for _, why in results] == [
        "", "nothing shows that the disk was not writ", "the label is of another tier, or of anot",
        "it is of another disk", "", "", "", "it is of another disk",
    ]  # fmt: skip
    assert [recovered for recovered, _ in results] == [0, 0, 0, None, None, UNITS, UNITS, 0]


@contextmanager
def another_boot(folder):
    """A folder whose programs see another boot of the machine, for use as `nbdkit` before others in PATH."""
    path = folder / "bin"
    path.mkdir(exist_ok=True)
    (folder / "boot").write_text("11111111-2222-3333-4444-555555555555\n")
    script = f'mount --bind {folder / "boot"} /proc/sys/kernel/random/boot_id && exec {shutil.which("nbdkit")} "$@"'
    (path / "nbdkit").write_text(f"#!/bin/sh\nexec unshare --mount sh -c '{script}' nbdkit \"$@\"\n")
    (path / "nbdkit").chmod(0o755)
    yield {"PATH": f"{path}:{os.environ['PATH']}"}


@pytest.mark.needs("root")
@pytest.mark.parametrize("changed", [None, 0, UNITS - 1])
def test_after_a_restart_of_the_machine_a_label_and_the_ends_of_the_disk_tell(built, folder, changed):
    """[1, 3] The kernel's account of the disk is of one boot; filesystems write to the ends where they are mounted."""
    recovered = []
    for options in (tier, labelled):
        run(built, folder, options(folder, "1M"))
        with another_boot(folder) as variables:
            if changed is not None:
                change(folder, changed)
            recovered.append(run(built, folder, options(folder, "1M"), "stop", None, variables)[0])
    assert recovered == [0, 0 if changed is not None else UNITS]


@pytest.mark.needs("root", "loop")
def test_a_block_device_is_known_by_what_was_written_to_it(built, folder):
    """[1] By itself, and around it through the file that lies behind."""
    recovered = []
    with loop(folder / "disk") as device:
        plugin = ["file", str(device)]
        for around in (None, None, device, None, folder / "disk", None):
            if around:
                with around.open("r+b") as file:
                    file.seek(9 * UNIT)
                    file.write(random.randbytes(UNIT))
                    os.fsync(file.fileno())
                subprocess.run(["blockdev", "--flushbufs", str(device)], check=True, timeout=60)
            recovered.append(run(built, folder, tier(folder, "1M"), "stop", plugin)[0])
    assert recovered == [0, UNITS, 0, UNITS, 0, UNITS]
