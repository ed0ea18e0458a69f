"""Write-back: what was acknowledged is kept, whatever happens, and a tier with data of its own is never given up.

The numbers in brackets are those of "Through and back" in docs/mounted.md.
"""

import os
import random
import struct
import time
from pathlib import Path

import pytest

from cachezoo.errors import DeviceError
from cachezoo.seeds import derive_seed
from tests.e2e.test_nbd_filter import UNIT, back, counters, labelled, read_all, tier, wait_for_text
from tests.e2e.test_nbd_identity import another_boot
from tests.e2e.test_nbd_ssd import command
from tests.nbd_crashes import SSD, after_a_crash, records, set_up
from tests.nbd_crashes import run as run_crashes
from tests.nbd_filter import build_preload, control, refused, serve
from tests.nbd_kills import run as run_kills

UNITS = 64
DIRTY = 1 << 63
TABLE = 8192
PAGES = "cz-delay=3600"  # nothing is destaged for its age

pytestmark = pytest.mark.needs("nbdkit", "gcc")


@pytest.fixture
def folder(tmp_path):
    """With a disk that ends within a unit."""
    (tmp_path / "disk").write_bytes(random.Random(derive_seed(0, "disk")).randbytes(UNITS * UNIT - 512))
    return tmp_path


def content(unit):
    return bytes([unit % 255 + 1]) * UNIT


def make_dirty(built, folder, units=range(8), options=None):
    """Units that the SSD alone holds, after a kill."""
    with serve(built, folder, options or back(folder, "256K", PAGES)) as server:
        with server.disk() as disk:
            for unit in units:
                disk.write(unit * UNIT, content(unit))
            disk.flush()
            server.kill()


def entries(folder):
    """Slot, unit, fill number and whether it is dirty, of every entry in the table."""
    table = (folder / "ssd").read_bytes()[TABLE : TABLE + 4096]
    found = [(slot, *struct.unpack_from("<qQ", table, 32 * slot)) for slot in range(4096 // 32)]
    return [(slot, unit, fill & ~DIRTY, bool(fill & DIRTY)) for slot, unit, fill in found if fill]


def test_a_write_is_read_back_and_reaches_the_disk_at_a_clean_end(built, folder):
    before = (folder / "disk").read_bytes()
    with serve(built, folder, back(folder, "256K", PAGES)) as server:
        with server.disk() as disk:
            for unit in range(8):
                disk.write(unit * UNIT, content(unit))
            disk.write(20 * UNIT + 100, b"within a unit")
            disk.write(30 * UNIT - 5, b"across two units")
            disk.write(disk.size - 700, b"e" * 700)
            disk.flush()
            assert (folder / "disk").read_bytes() == before
            read = b"".join(disk.read(low, min(3 * UNIT, disk.size - low))[0] for low in range(0, disk.size, 3 * UNIT))
        expected = bytearray(before)
        expected[: 8 * UNIT] = b"".join(content(unit) for unit in range(8))
        expected[20 * UNIT + 100 :][:13] = expected[20 * UNIT + 100 : 20 * UNIT + 113] = b"within a unit"
        expected[30 * UNIT - 5 : 30 * UNIT + 11] = b"across two units"
        expected[-700:] = b"e" * 700
        assert read == bytes(expected)
        server.stop()
    assert (folder / "disk").read_bytes() == bytes(expected)
    assert counters(folder)["written_back"] == 12


def test_zeroes_and_trims_are_right_whatever_their_size(built, folder):
    """Small ones are dirty zeros, large ones go to the disk, whose units are destaged and void before."""
    (folder / "disk").write_bytes(random.Random(derive_seed(0, "zeroes")).randbytes(1024 * UNIT))
    expected = bytearray((folder / "disk").read_bytes())
    rng = random.Random(derive_seed(0, "zeroes and trims"))
    with serve(built, folder, back(folder, "1M", PAGES)) as server:
        with server.disk() as disk:
            for step in range(40):
                size = rng.choice((512, 5000, 300_000, 1_500_000, 2 << 20))
                low = rng.randrange(0, disk.size - size)
                if step % 2:
                    data = rng.randbytes(min(size, 400_000))
                    disk.write(low, data)
                    expected[low : low + len(data)] = data
                else:
                    (disk.zero if step % 4 else disk.trim)(low, size)
                    expected[low : low + size] = bytes(size)
                at = rng.randrange(0, disk.size - (1 << 20))
                assert disk.read(at, 1 << 20)[0] == expected[at : at + (1 << 20)]
        server.stop()
    assert (folder / "disk").read_bytes() == bytes(expected)


def test_more_than_the_cache_may_hold_waits_for_the_cleaner(built, folder):
    (folder / "disk").write_bytes(bytes(1024 * UNIT))
    with serve(built, folder, back(folder, "128K", PAGES, "cz-dirty=25")) as server:
        with server.disk() as disk:
            for low in range(0, 1024, 256):
                disk.write(low * UNIT, b"".join(content(low + k) for k in range(256)))
            for unit in range(1024):
                assert disk.read(unit * UNIT, UNIT)[0] == content(unit)
        server.stop()
    assert counters(folder)["writes_waited_for_room"] > 0
    read_all_of = (folder / "disk").read_bytes()
    assert read_all_of == b"".join(content(unit) for unit in range(1024))


def test_what_was_durable_survives_a_loss_of_power(built, folder):
    """[1] A write with FUA: data and entry were synced before the answer."""
    recorder, journal = build_preload("crash", folder / "recorder.so"), folder / "journal"
    with serve(built, folder, back(folder, "256K", PAGES)) as server:
        server.stop()
    for name in ("label", "ssd"):
        (folder / name).touch()
    files = [folder / name for name in ("ssd", "disk", "label")]
    before = [path.read_bytes() for path in files]
    variables = {"LD_PRELOAD": str(recorder), "CRASH_JOURNAL": str(journal)}
    variables["CRASH_FILES"] = ":".join(str(path) for path in files)
    with serve(built, folder, back(folder, "256K", PAGES), None, variables) as server:
        with server.disk() as disk:
            disk.write(0, b"1" * UNIT, durable=True)
            disk.write(UNIT, b"2" * UNIT)
            done = records(journal)
        server.kill()
    for kept in range(8):
        rng = random.Random(derive_seed(0, "power", kept))
        for file, path in enumerate(files):
            path.write_bytes(after_a_crash(before[file], done, file, rng))
        with serve(built, folder, back(folder, "256K", PAGES)) as server:
            with server.disk() as disk:
                assert disk.read(0, UNIT)[0] == b"1" * UNIT
                assert disk.read(UNIT, UNIT)[0] in (b"2" * UNIT, before[1][UNIT : 2 * UNIT])
            server.stop()
    assert before[SSD] != (folder / "ssd").read_bytes()


def test_a_kill_keeps_what_is_dirty_and_the_next_start_destages_it(built, folder):
    make_dirty(built, folder)
    assert {unit for _, unit, _, dirty in entries(folder) if dirty} == set(range(8))
    with serve(built, folder, back(folder, "256K", PAGES)) as server:
        with server.disk() as disk:
            assert [disk.read(unit * UNIT, UNIT)[0] for unit in range(8)] == [content(unit) for unit in range(8)]
        server.stop()
    assert counters(folder)["resident_at_start"] == 8
    assert (folder / "disk").read_bytes()[: 8 * UNIT] == b"".join(content(unit) for unit in range(8))
    assert not any(dirty for *_, dirty in entries(folder))


def lose(folder, unit):
    """A bit of the SSD's data of a unit turns."""
    slot = next(slot for slot, found, _, dirty in entries(folder) if found == unit and dirty)
    data = bytearray((folder / "ssd").read_bytes())
    data[(1 << 20) + slot * UNIT + 17] ^= 1
    (folder / "ssd").write_bytes(data)


def test_a_dirty_block_that_rots_is_an_error_and_never_the_old_block(built, folder):
    """[5] Others are served; the block is right again when it is overwritten."""
    make_dirty(built, folder)
    lose(folder, 3)
    for _ in range(2):
        with serve(built, folder, back(folder, "256K", PAGES)) as server:
            with server.disk() as disk:
                with pytest.raises(DeviceError):
                    disk.read(3 * UNIT, UNIT)
                assert disk.read(4 * UNIT, UNIT)[0] == content(4)
            wait_for_text(server.said, "4096 bytes at 12288 of the disk are lost")
            server.stop()
        assert counters(folder)["lost_units"] == 1
        assert "4096 bytes are on the SSD alone" in server.said.read_text()
    with serve(built, folder, back(folder, "256K", PAGES)) as server:
        with server.disk() as disk:
            disk.write(3 * UNIT, content(9))
            assert disk.read(3 * UNIT, UNIT)[0] == content(9)
        server.stop()
    assert (folder / "disk").read_bytes()[3 * UNIT : 4 * UNIT] == content(9)


def rot(folder, bit=0):
    """A bit of every unit on the SSD turns."""
    data = bytearray((folder / "ssd").read_bytes())
    for low in range(1 << 20, len(data) - (1 << 20), UNIT):
        data[low + 17] ^= 1 << bit
    (folder / "ssd").write_bytes(data)


def is_lost(disk, unit):
    try:
        disk.read(unit * UNIT, UNIT)
    except DeviceError:
        return True
    return False


def find_lost(disk, units):
    found = [unit for unit in units if not is_lost(disk, unit)]
    assert found == []


def wait_for_unit(folder, unit, expected):
    """Until the disk holds it."""
    end = time.monotonic() + 60
    while (folder / "disk").read_bytes()[unit * UNIT : (unit + 1) * UNIT] != expected:
        assert time.monotonic() < end, f"unit {unit} is not on the disk after 60 s"
        time.sleep(0.02)


def test_lost_blocks_are_no_part_of_what_may_be_dirty(built, folder):
    """[5] More than may be dirty are lost; the write that repairs them does not wait for them."""
    make_dirty(built, folder)
    rot(folder)
    with serve(built, folder, back(folder, "256K", PAGES, "cz-dirty=10")) as server:
        with server.disk() as disk:
            find_lost(disk, range(8))
            for unit in range(8):
                disk.write(unit * UNIT, content(unit + 9))
                assert disk.read(unit * UNIT, UNIT)[0] == content(unit + 9)
        server.stop()
    assert (folder / "disk").read_bytes()[: 8 * UNIT] == b"".join(content(unit + 9) for unit in range(8))


def test_many_lost_blocks_do_not_keep_others_from_the_disk(built, folder):
    """[5] They are the oldest, and more than the cleaner looks at in one turn."""
    lost = 1100
    (folder / "disk").write_bytes(bytes((lost + 8) * UNIT))
    make_dirty(built, folder, range(lost), back(folder, "16M", PAGES, "cz-dirty=100"))
    rot(folder)
    with serve(built, folder, back(folder, "16M", "cz-delay=1")) as server:
        with server.disk() as disk:
            find_lost(disk, range(lost))
            disk.write((lost + 3) * UNIT, content(5))
            wait_for_unit(folder, lost + 3, content(5))
        server.stop()
    assert counters(folder)["lost_units"] == lost


def test_lost_blocks_in_nearly_all_slots_can_be_overwritten(built, folder):
    """[5] The policy holds others meanwhile, whose slots are given up."""
    (folder / "disk").write_bytes(bytes(400 * UNIT))
    for low in range(0, 120, 30):
        with serve(built, folder, back(folder, "256K", PAGES, "cz-dirty=100")) as server:
            with server.disk() as disk:
                lost = [unit for unit in range(low) if is_lost(disk, unit)]
                for unit in range(low, low + 30):
                    disk.write(unit * UNIT, content(unit))
                disk.flush()
                server.kill()
        rot(folder, low // 30)
    assert len(lost) > 60
    with serve(built, folder, back(folder, "256K", PAGES)) as server:
        with server.disk() as disk:
            for unit in range(200, 260):
                assert disk.read(unit * UNIT, UNIT)[0] == bytes(UNIT)
            for unit in range(120):
                disk.write(unit * UNIT, content(unit + 7))
                assert disk.read(unit * UNIT, UNIT)[0] == content(unit + 7)
        server.stop()
    assert (folder / "disk").read_bytes()[: 120 * UNIT] == b"".join(content(unit + 7) for unit in range(120))


@pytest.mark.needs("loop")
@pytest.mark.parametrize("destaged", [False, True])
def test_a_filesystem_made_through_the_cache_outlasts_a_kill(built, folder, destaged):
    """[6] The disk is known by what it is, and not by the UUID that the cache itself writes to it."""
    size = 4 << 20
    (folder / "disk").write_bytes(bytes(size))
    (folder / "image").write_bytes(bytes(size))
    command("mkfs.ext4", "-q", "-F", folder / "image")
    image = (folder / "image").read_bytes()
    made = [unit for unit in range(size // UNIT) if any(image[unit * UNIT : (unit + 1) * UNIT])]
    options = back(folder, "8M", "cz-delay=0" if destaged else PAGES)
    with serve(built, folder, options) as server:
        with server.disk() as disk:
            for unit in made:
                disk.write(unit * UNIT, image[unit * UNIT : (unit + 1) * UNIT])
            disk.flush()
            if destaged:
                for unit in made:
                    wait_for_unit(folder, unit, image[unit * UNIT : (unit + 1) * UNIT])
            disk.write(1000 * UNIT, content(5), durable=True)
        server.kill()
    with serve(built, folder, back(folder, "8M", PAGES)) as server:
        with server.disk() as disk:
            assert (
                b"".join(disk.read(low, 1 << 20)[0] for low in range(0, 1000 * UNIT, 1 << 20))[: 1000 * UNIT]
                == (image[: 1000 * UNIT])
            )
            assert disk.read(1000 * UNIT, UNIT)[0] == content(5)
        server.stop()
    assert (folder / "disk").read_bytes()[: 1000 * UNIT] == image[: 1000 * UNIT]


@pytest.mark.needs("root")
def test_what_is_destaged_after_the_last_client_left_is_no_write_by_others(built, folder):
    """[6, 7] After a restart of the machine the ends of the disk tell, and the end itself has written there."""
    with serve(built, folder, back(folder, "256K", PAGES)) as server:
        alone = len(os.listdir(f"/proc/{server.process.pid}/task"))
        with server.disk() as disk:
            disk.read(0, 16 * UNIT)
            for unit in range(8):
                disk.write(unit * UNIT, content(unit))
        end = time.monotonic() + 60
        while len(os.listdir(f"/proc/{server.process.pid}/task")) > alone:
            assert time.monotonic() < end, "the client's threads did not end within 60 s"
            time.sleep(0.005)
        server.stop()
    assert (folder / "disk").read_bytes()[: 8 * UNIT] == b"".join(content(unit) for unit in range(8))
    with (
        another_boot(folder) as variables,
        serve(built, folder, back(folder, "256K", PAGES), None, variables) as server,
    ):
        with server.disk() as disk:
            assert disk.read(0, UNIT)[0] == content(0)
        server.stop()
        assert "begins empty" not in server.said.read_text()
    assert counters(folder)["resident_at_start"] == 16


def test_while_writes_are_refused_it_says_so_and_reads_are_served(built, folder):
    """SSD, label and disk fail for good: what is dirty stays, and a client may come and read."""
    preload = build_preload("failing", folder / "failing.so")
    files = ":".join(str(folder / name) for name in ("ssd", "label", "disk"))
    variables = {"LD_PRELOAD": str(preload), "FAIL_FILES": files, "FAIL_SAID": str(folder / "failed")}
    variables |= {"FAIL_FROM": "40", "FAIL_COUNT": str(1 << 30)}
    options = back(folder, "256K", PAGES, f"cz-control={folder / 'control'}")
    with serve(built, folder, options, None, variables) as server:
        with server.disk() as disk:
            disk.write(0, content(1), durable=True)
            with pytest.raises(DeviceError):
                for _ in range(100):
                    disk.write(UNIT, content(2), durable=True)
        with server.disk() as disk:
            assert disk.read(0, UNIT)[0] == content(1)
            with pytest.raises(DeviceError):
                disk.write(0, content(2))
        status = control(folder / "control", "status")
        assert status["writes_refused"]
        assert "failed on the SSD tier" in status["bypass_reason"]


def test_a_table_that_cannot_be_read_is_no_number_of_bytes(built, folder):
    """[6] Whether it holds dirty data is not known, so it may."""
    make_dirty(built, folder)
    os.truncate(folder / "ssd", TABLE)
    said = refused(built, folder, labelled(folder))
    assert "it may hold data of the volume disk that is not on its disk yet, and its table cannot be read" in said
    assert "-4096" not in said


WRONG = {
    "around": (lambda folder: labelled(folder), "give cz-writes=back"),
    "other size": (lambda folder: back(folder, "128K"), "give the cz-size and cz-unit that it has"),
    "other volume": (lambda folder: back(folder, "256K", "cz-volume=other"), "it is of another cz-volume"),
    "other label": (back, "cz-label is of another tier"),
}


@pytest.mark.parametrize("case", WRONG)
def test_a_tier_with_data_of_its_own_is_refused_by_any_other_cache(built, folder, case):
    """[6] And nothing is written, until it is given up by its name."""
    make_dirty(built, folder)
    if case == "other label":
        (folder / "label").unlink()
    options, why = WRONG[case]
    held = (folder / "ssd").read_bytes()
    said = refused(built, folder, options(folder))
    assert said.count("\n") == 1
    assert why in said
    assert f"it holds {8 * UNIT} bytes of the volume disk that are not on its disk yet" in said
    assert (folder / "ssd").read_bytes() == held
    name = said.partition("cz-format=")[2].split()[0]
    with serve(built, folder, [*options(folder), f"cz-format={name}"]) as server:
        read_all(server, folder)
        server.stop()


def test_another_disk_is_not_served(built, folder):
    """[6] A connection is refused, and the dirty data stays."""
    make_dirty(built, folder)
    (folder / "disk").rename(folder / "aside")
    (folder / "disk").write_bytes(bytes((folder / "aside").stat().st_size))
    with serve(built, folder, back(folder, "256K", PAGES)) as server:
        for _ in range(2):
            with pytest.raises(ConnectionError), server.disk():
                pass
        wait_for_text(server.said, "it is of another disk")
        server.stop()
    (folder / "aside").replace(folder / "disk")
    with serve(built, folder, back(folder, "256K", PAGES)) as server:
        with server.disk() as disk:
            assert disk.read(3 * UNIT, UNIT)[0] == content(3)
        server.stop()


def test_an_older_copy_of_the_ssd_is_refused(built, folder):
    """[6] It would bring back what was overwritten since."""
    make_dirty(built, folder)
    older = (folder / "ssd").read_bytes()
    make_dirty(built, folder, range(4, 12))
    (folder / "ssd").write_bytes(older)
    assert "cz-label is of another tier, or of another state" in refused(built, folder, back(folder))


BAD = [
    (lambda folder: tier(folder, "256K", "cz-writes=back", back(folder)[-2]), "cz-writes=back needs cz-label"),
    (lambda folder: labelled(folder, "256K", "cz-writes=back"), "cz-writes=through and back need cz-policy"),
    (lambda folder: back(folder, "256K", "cz-dirty=0"), "cz-dirty=0"),
    (lambda folder: back(folder, "256K", "cz-dirty=101"), "cz-dirty=101"),
    (lambda folder: labelled(folder, "256K", "cz-dirty=10"), "cz-dirty and cz-delay are for cz-writes=back"),
]


@pytest.mark.parametrize("case", range(len(BAD)))
def test_what_does_not_fit_write_back_is_refused_before_anything_is_written(built, folder, case):
    options, why = BAD[case]
    said = refused(built, folder, options(folder))
    assert why in said
    assert said.count("\n") == 1
    assert not (folder / "ssd").exists()


def test_an_export_with_a_name_is_not_served(built, folder):
    exports = folder / "exports"
    exports.mkdir()
    (exports / "a").write_bytes(bytes(1 << 18))
    options = back(folder, "256K", "cz-export=a", f"cz-disk={exports / 'a'}")
    with serve(built, folder, options, ["file", f"dir={exports}"]) as server:
        with pytest.raises(ConnectionError), server.disk("a"):
            pass
        wait_for_text(server.said, 'export "a" is not served')
        server.stop()


def test_a_disk_whose_connections_see_different_things_is_not_served(built, folder):
    calls = {
        "get_size": "echo 1048576",
        "pread": "head -c $3 /dev/zero",
        "can_write": "exit 0",
        "pwrite": "cat >/dev/null",
    }
    plugin = ["eval", *(f"{name}={script}" for name, script in calls.items())]
    with serve(built, folder, back(folder), plugin) as server:
        with pytest.raises(ConnectionError), server.disk():
            pass
        wait_for_text(server.said, "whose connections see each other's writes")
        server.stop()


@pytest.mark.parametrize("kills", [4, pytest.param(200, marks=pytest.mark.long)])
@pytest.mark.parametrize("most", [25, 90])
def test_no_kill_loses_a_byte(built, slow, tmp_path, kills, most):
    """[2]"""
    options = [option for option in back(tmp_path) if option.startswith(("cz-label", "cz-writes", "cz-policy"))]
    counts = run_kills(built, slow, tmp_path, kills, [*options, f"cz-dirty={most}", "cz-delay=1"])
    assert counts["requests"] > 0
    assert counts["resident_at_start"] > 0
    assert counts["ssd_errors"] == counts["ssd_corrupt"] == 0


@pytest.mark.parametrize("crashes", [8, pytest.param(1000, marks=pytest.mark.long)])
@pytest.mark.parametrize("most", [25, 90])
def test_no_loss_of_power_loses_what_was_flushed(built, slow, tmp_path, crashes, most):
    """[1 to 4]"""
    options = [option for option in back(tmp_path) if option.startswith(("cz-writes", "cz-policy"))]
    counts = run_crashes(set_up(tmp_path, built, slow, *options, f"cz-dirty={most}", "cz-delay=1"), crashes)
    assert counts["resident_at_start"] > 0


def test_options_are_explained():
    """What the filter's help says is in the document."""
    help_text = (Path(__file__).parents[2] / "runtimes/c/nbdkit/config.c").read_text()
    document = (Path(__file__).parents[2] / "docs/mounted.md").read_text()
    for name in ("cz-writes", "cz-dirty", "cz-delay"):
        assert f'"{name}=' in help_text
        assert f"\n{name}=" in document


def test_a_dead_ssd_is_replaced_by_an_empty_one_with_or_without_the_label(built, folder):
    """What it alone held is lost: the disk has the blocks of before, and the next SSD begins empty."""
    before = (folder / "disk").read_bytes()
    for label_is_kept in (True, False):
        make_dirty(built, folder)
        (folder / "ssd").unlink()
        if not label_is_kept:
            (folder / "label").unlink()
        with serve(built, folder, back(folder, "256K", PAGES)) as server:
            with server.disk() as disk:
                assert disk.read(0, 8 * UNIT)[0] == before[: 8 * UNIT]
            server.stop()
        assert (folder / "disk").read_bytes() == before
