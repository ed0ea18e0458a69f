"""A flush of the disk that fails: what was written since the last good one is void, whatever a later flush says."""

import random
import shutil
import struct
from contextlib import contextmanager

import pytest

from cachezoo.errors import DeviceError
from cachezoo.seeds import derive_seed
from tests.e2e.test_nbd_filter import UNIT, counters, labelled, read_all, tier, wait_for_text
from tests.nbd_filter import serve

UNITS = 256
LOST, KEPT, LATER = range(0, 64), range(64, 128), range(128, 192)

pytestmark = pytest.mark.needs("nbdkit", "gcc")


@pytest.fixture
def folder(tmp_path):
    """With a disk of 1 MiB of random bytes."""
    (tmp_path / "disk").write_bytes(random.Random(derive_seed(0, "disk")).randbytes(UNITS * UNIT))
    return tmp_path


@contextmanager
def running(built, slow, folder, variables=None, *more):
    plugin = [str(slow), f"file={folder / 'disk'}", "slow-us=0", f"broken={folder / 'broken'}"]
    with serve(built, folder, labelled(folder, "1M", *more), plugin, variables) as server:
        yield server


@contextmanager
def broken(folder):
    """The disk cannot flush."""
    (folder / "broken").touch()
    yield
    (folder / "broken").unlink()


def write(disk, units, text):
    for unit in units:
        disk.write(unit * UNIT, text * UNIT)


def fails(call, *given):
    with pytest.raises(DeviceError):
        call(*given)


def by_flush(server, folder):
    with server.disk() as disk:
        write(disk, LOST, b"x")
        with broken(folder):
            fails(disk.flush)


def by_leaving(server, folder):
    with broken(folder):
        with server.disk() as disk:
            write(disk, LOST, b"x")
        wait_for_text(server.said, "the last flush failed")


def by_a_write_to_be_durable(server, folder):
    with server.disk() as disk:
        write(disk, LOST[1:], b"x")
        with broken(folder):
            fails(lambda: disk.write(0, b"x" * UNIT, durable=True))


def by_another_connection(server, folder):
    with server.disk() as disk, server.disk() as other:
        write(disk, LOST, b"x")
        other.read(0, UNITS * UNIT)
        with broken(folder):
            fails(other.flush)


def by_one_that_is_running(server, folder):
    """Read before the flush, so that it is cached when it is lost."""
    with server.disk() as disk:
        write(disk, LOST, b"x")
        disk.read(0, UNITS * UNIT)
        with broken(folder):
            fails(disk.flush)


@pytest.mark.parametrize(
    "lose", [by_flush, by_leaving, by_a_write_to_be_durable, by_another_connection, by_one_that_is_running]
)
def test_what_a_failed_flush_lost_is_never_cached_again(built, slow, folder, lose):
    """The pages are clean afterwards, so the next flush is good; a crash of the machine shows what the disk holds."""
    before = (folder / "disk").read_bytes()
    with running(built, slow, folder) as server:
        with server.disk() as disk:
            write(disk, KEPT, b"k")
            disk.flush()
            disk.read(0, UNITS * UNIT)
            lose(server, folder)
            for _ in range(2):
                disk.read(0, UNITS * UNIT)
                disk.flush()
            write(disk, LATER, b"l")
            disk.flush()
            disk.read(0, UNITS * UNIT)
        server.kill()
    said = server.said.read_text()
    assert "the disk failed to flush" in said
    table = (folder / "ssd").read_bytes()[8192 : 8192 + UNITS * 32]
    entries = [struct.unpack_from("<qQ", table, low) for low in range(0, len(table), 32)]
    held = {number for number, fill in entries if fill}
    assert not held & set(LOST)
    assert held >= set(KEPT) | set(LATER)
    with (folder / "disk").open("r+b") as file:
        file.write(before[: len(LOST) * UNIT])
    with running(built, slow, folder) as server:
        read_all(server, folder)
        server.stop()


def test_nothing_is_kept_in_the_boot_in_which_a_flush_failed(built, slow, folder):
    """A later run reads what the disk lost from the kernel's memory, and must not keep it."""
    before = (folder / "disk").read_bytes()
    with running(built, slow, folder) as server:
        by_flush(server, folder)
        server.stop()
    for end in ("stop", "kill", "stop"):
        with running(built, slow, folder) as server:
            read_all(server, folder)
            read_all(server, folder)
            getattr(server, end)()
        assert "the disk failed to flush since the machine was started" in server.said.read_text()
        if end == "stop":
            assert (counters(folder)["resident_at_start"], counters(folder)["read_hits"]) == (0, UNITS)
    (folder / "disk").write_bytes(before)  # the kernel forgets
    with running(built, slow, folder) as server:
        read_all(server, folder)
        server.stop()


def test_a_flush_that_fails_under_another_name_counts(built, folder, slow):
    """Before the tier is taken up: nothing of the disk is known, and nothing is kept."""
    exports = folder / "exports"
    exports.mkdir()
    shutil.copy(folder / "disk", exports / "a")
    broken_file = folder / "broken"
    calls = {
        "get_size": f"stat -c %s {folder / 'disk'}",
        "open": "echo $3",
        "pread": f"dd if={folder / 'disk'} bs=512 skip=$(($4/512)) count=$(($3/512)) status=none",
        "can_flush": "exit 0",
        "can_multi_conn": "exit 0",
        "flush": f"! test -e {broken_file} || exit 1",
    }
    plugin = ["eval", *(f"{name}={script}" for name, script in calls.items())]
    with serve(built, folder, tier(folder, "1M", "cz-export=a"), plugin) as server:
        with server.disk("b") as other, broken(folder):
            fails(other.flush)
        for _ in range(2):
            with server.disk("a") as disk:
                disk.read(0, 4 * UNIT)
        server.stop()
    assert (counters(folder)["read_hits"], counters(folder)["ssd_writes"]) == (0, 0)
