"""The nbdkit filter with several exports, and with connections that do not see each other's writes."""

import time

import pytest

from tests.e2e.test_nbd_filter import UNIT, counters, labelled, read_all, tier, wait_for_entries, wait_for_text
from tests.nbd_filter import serve

pytestmark = pytest.mark.needs("nbdkit", "gcc")


@pytest.fixture
def folder(tmp_path):
    """With a disk of 1 MiB."""
    (tmp_path / "disk").write_bytes(bytes(range(256)) * 4096)
    return tmp_path


def two_disks(folder, *options):
    """Options and plugin of two exports, a and b, of equal size."""
    exports = folder / "exports"
    exports.mkdir(exist_ok=True)
    for name in ("a", "b"):
        if not (exports / name).exists():
            (exports / name).write_bytes(name.encode() * (1 << 18))
    return labelled(folder, "1M", *options), ["file", f"dir={exports}"]


def behind(folder, name):
    """The path of an export, which the plugin is not given as one file."""
    return f"cz-disk={folder / 'exports' / name}"


def read_export(server, name, count=16):
    """The first segments of an export, which are all of one byte."""
    with server.disk(name) as disk:
        data = {bytes([byte]) for k in range(count) for byte in disk.read(k * UNIT, UNIT)[0]}
    assert len(data) == 1
    return data.pop().decode()


def test_no_restart_takes_one_export_for_another(built, folder):
    for name in ("a", "b", "a"):
        with serve(built, folder, *two_disks(folder)) as server:
            assert read_export(server, name) == name
            assert read_export(server, "b") == "b"
            server.stop()
    recovered = []
    for name in ("a", "b", "b", "a"):
        with serve(built, folder, *two_disks(folder, f"cz-export={name}", behind(folder, name))) as server:
            assert [read_export(server, other) for other in ("b", "a", "b")] == ["b", "a", "b"]
            server.stop()
            said = server.said.read_text()
        assert "is not cached" in said
        recovered.append((counters(folder)["resident_at_start"], "it is of another export" in said))
    assert recovered == [(0, False), (0, True), (16, False), (0, True)]


def test_the_default_export_is_known_by_its_own_name(built, folder):
    options, plugin = two_disks(folder)
    found = []
    for name in ("a", "b", "b"):
        given = [*options, behind(folder, name)]
        with serve(built, folder, given, ["--filter=exportname", *plugin, f"default-export={name}"]) as server:
            for asked in ("", "a", "b"):
                assert read_export(server, asked) == (asked or name)
            server.stop()
        found.append((counters(folder)["resident_at_start"], counters(folder)["read_hits"]))
    assert found == [(0, 16), (0, 16), (16, 32)]


def test_a_name_that_cannot_be_opened_takes_no_tier(built, folder):
    with serve(built, folder, *two_disks(folder, "cz-export=a")) as server:
        with pytest.raises(ConnectionError), server.disk("nowhere"):
            pass
        for _ in range(2):
            assert read_export(server, "a") == "a"
        server.stop()
    assert counters(folder)["read_hits"] == 16


def aliases(folder):
    """Options and plugin of a disk that has two names, a and b."""
    given = two_disks(folder, "cz-export=a", behind(folder, "a"))
    (folder / "exports/b").unlink(missing_ok=True)
    (folder / "exports/b").hardlink_to(folder / "exports/a")
    return given


@pytest.mark.parametrize("end", ["stop", "kill"])
def test_a_write_under_another_name_before_the_tier_is_taken_up_is_seen(built, folder, end):
    def run(written, read):
        with serve(built, folder, *given) as server:
            if written:
                with server.disk("b") as disk:
                    disk.write(0, written.encode() * (16 * UNIT))
            assert not read or read_export(server, "a") == read
            getattr(server, end)()
            return server.said.read_text()

    given = aliases(folder)
    run(None, "a")
    assert "the SSD tier begins empty" in run("x", None)
    assert "it was marked as invalid" in run(None, "x")
    run("y", "y")
    run(None, "y")


def test_a_flush_under_another_name_keeps_nothing(built, folder):
    given = two_disks(folder, "cz-export=a", behind(folder, "a"))
    with serve(built, folder, *given) as server:
        with server.disk("a") as disk, server.disk("b") as other:
            disk.write(0, b"x" * UNIT)
            disk.read(0, 2 * UNIT)
            other.flush()
            wait_for_entries(folder, 1)
            server.kill()
    with serve(built, folder, *given) as server:
        with server.disk("a") as disk:
            assert disk.read(0, UNIT)[0] == b"x" * UNIT
        server.stop()
    assert counters(folder)["resident_at_start"] == 1


def apart(folder):
    """A plugin whose connections do not see each other's writes."""
    return ["--filter=multi-conn", "file", str(folder / "disk"), "multi-conn-mode=disable"]


@pytest.mark.parametrize("others", [0, 1])
def test_a_flush_covers_only_writes_that_it_sees(built, folder, others):
    with serve(built, folder, labelled(folder, "1M"), apart(folder)) as server:
        with server.disk() as disk:
            disk.write(0, b"x" * UNIT)
            disk.read(0, 2 * UNIT)
            if others:
                with server.disk() as other:  # which flushes as it begins, too
                    other.flush()
                    wait_for_entries(folder, 1)
                    server.kill()
            else:
                disk.flush()
                wait_for_entries(folder, 2)
                server.kill()
    with serve(built, folder, labelled(folder, "1M"), apart(folder)) as server:
        read_all(server, folder)
        server.stop()
    assert counters(folder)["resident_at_start"] == 2 - others


def test_a_connection_that_has_met_another_fills_no_more(built, folder):
    """Without can_multi_conn it may see the disk as it was, also after the other has left."""
    with serve(built, folder, tier(folder, "1M"), apart(folder)) as server:
        with server.disk() as disk:
            disk.read(255 * UNIT, UNIT)
            with server.disk() as other:
                other.write(0, b"x" * UNIT)
            for number in range(50):
                disk.read(number * UNIT, UNIT)
                time.sleep(0.002)  # for the other to have left
        server.stop()
    assert (counters(folder)["ssd_writes"], counters(folder)["ssd_writes_cancelled"]) == (1, 50)


def test_what_a_client_left_unflushed_is_not_kept(built, folder):
    """Its last flush fails; a later one by another connection does not stand for it."""
    disk, broken = folder / "disk", folder / "broken"
    calls = {
        "get_size": f"stat -c %s {disk}",
        "pread": f"dd if={disk} bs=512 skip=$(($4/512)) count=$(($3/512)) status=none",
        "pwrite": f"dd of={disk} bs=512 seek=$(($4/512)) conv=notrunc status=none",
        "can_write": "exit 0",
        "can_flush": "exit 0",
        "flush": f"! test -e {broken} || exit 1",
    }
    plugin = ["eval", *(f"{name}={script}" for name, script in calls.items())]
    options = labelled(folder, "1M", f"cz-disk={disk}")
    with serve(built, folder, options, plugin) as server:
        with server.disk() as client:
            client.write(0, b"x" * UNIT)
            broken.touch()
        wait_for_text(server.said, "the last flush failed")
        broken.unlink()
        with server.disk() as client:
            client.read(0, UNIT)
            server.kill()
    with serve(built, folder, options, plugin) as server:
        read_all(server, folder)
        server.stop()
    assert counters(folder)["resident_at_start"] == 0
