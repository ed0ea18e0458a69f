"""Fills are written behind the reads: what is read, overwritten, full, failing or ending meanwhile.

Writes to the SSD's data are held back (holding_preload.c), so that fills wait for as long as a test wants.
"""

import random
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from cachezoo.seeds import derive_seed
from tests.e2e.test_nbd_filter import UNIT, counters, labelled, read_all, tier, wait_for_entries, wait_for_text
from tests.nbd_filter import build_preload, serve

UNITS = 64
DATA_AT = 1 << 20

pytestmark = pytest.mark.needs("nbdkit", "gcc")


@dataclass
class Held:
    """A cache whose SSD takes no data while a file is there.

    Attributes:
        built: the filter.
        preload: holding_preload.c, compiled.
        folder: of disk, SSD and label.
        content: of the disk.
    """

    built: Path
    preload: Path
    folder: Path
    content: bytearray

    @property
    def until(self):
        return self.folder / "held"

    @contextmanager
    def serve(self, options, **more):
        """With writes held back from the start."""
        self.until.touch()
        variables = {"LD_PRELOAD": str(self.preload), "HOLD_FILE": str(self.folder / "ssd")}
        variables |= {"HOLD_FROM": str(DATA_AT), "HOLD_WHILE": str(self.until), "HOLD_SAID": str(self.folder / "waits")}
        with serve(self.built, self.folder, options, None, variables | more) as server:
            yield server

    def wait_for(self, count):
        """Until so many writes are held back."""
        waits, end = self.folder / "waits", time.monotonic() + 60
        while not waits.exists() or waits.stat().st_size < count:
            assert time.monotonic() < end, f"{count} writes did not begin within 60 s"
            time.sleep(0.002)

    def read(self, disk, *units):
        for unit in units:
            expected = self.content[unit * UNIT : (unit + 1) * UNIT]
            assert disk.read(unit * UNIT, UNIT)[0] == expected, f"unit {unit}"

    def write(self, disk, unit):
        data = bytes([unit + 1]) * UNIT
        disk.write(unit * UNIT, data)
        self.content[unit * UNIT : (unit + 1) * UNIT] = data

    def check(self, options, recovered):
        """After a restart: so many units are taken up, and everything is as on the disk."""
        with serve(self.built, self.folder, options) as server:
            read_all(server, self.folder, UNIT)
            server.stop()
        assert counters(self.folder)["resident_at_start"] == recovered


@pytest.fixture
def held(built, tmp_path):
    content = random.Random(derive_seed(0, "fills")).randbytes(UNITS * UNIT)
    (tmp_path / "disk").write_bytes(content)
    return Held(built, build_preload("holding", tmp_path / "holding.so"), tmp_path, bytearray(content))


def test_a_unit_whose_fill_waits_is_read_from_memory(held):
    options = labelled(held.folder)
    with held.serve(options) as server:
        with server.disk() as disk:
            held.read(disk, 0, 1, 0, 1, 0)
            held.wait_for(1)
            held.read(disk, 0, 1, 2, 0)
            assert disk.read(100, 2 * UNIT)[0] == held.content[100 : 100 + 2 * UNIT]
            held.until.unlink()
            wait_for_entries(held.folder, 3, 64)
            held.read(disk, 0, 1, 2)
        server.stop()
    found = counters(held.folder)
    assert (found["read_misses"], found["disk_reads"], found["hits_read_from_disk"]) == (3, 3, 0)
    assert (found["read_hits"], found["ssd_read_bytes"], found["ssd_writes"]) == (12, 3 * UNIT, 3)
    held.check(options, 3)


def test_a_write_over_a_fill_that_waits_or_is_being_written(held):
    """The first is not written at all; the second does not enter, and the unit's next fill waits for it."""
    options = labelled(held.folder)
    with held.serve(options) as server:
        with server.disk() as disk:
            held.read(disk, 0)
            held.wait_for(1)
            held.read(disk, 1, 2)
            for unit in (0, 1):
                held.write(disk, unit)
                held.read(disk, unit, unit)
            held.until.unlink()
            held.read(disk, 0, 1, 2)
            disk.flush()
            wait_for_entries(held.folder, 3, 64)
            held.read(disk, 0, 1, 2)
        server.stop()
    found = counters(held.folder)
    assert (found["ssd_writes_cancelled"], found["ssd_writes_skipped"], found["ssd_writes"]) == (1, 1, 3)
    assert (found["hits_read_from_disk"], found["ssd_corrupt"]) == (0, 0)
    held.check(options, 3)


def test_where_the_queue_is_full_a_read_writes_its_own_fill(held):
    """A quarter of the cache may wait: four units of these sixteen. What is not in the queue is read from the disk."""
    options = tier(held.folder, f"{16 * UNIT}")
    with held.serve(options) as server:
        with server.disk() as disk, server.disk() as other, ThreadPoolExecutor(1) as pool:
            held.read(disk, 0)
            held.wait_for(1)
            held.read(disk, 1, 2, 3)
            more = pool.submit(held.read, other, 4)
            held.wait_for(2)
            held.read(disk, 4, 3, 2, 1, 0)
            assert not more.done()
            held.until.unlink()
            more.result()
            held.read(disk, 4, 3, 2, 1, 0)
        server.stop()
    found = counters(held.folder)
    told = ("ssd_writes", "read_misses", "hits_read_from_disk", "disk_reads")
    assert [found[name] for name in told] == [5, 5, 1, 6]
    held.check(options, 5)


def test_units_are_evicted_before_they_are_written(held):
    """Slots go from one fill to the next while the first waits."""
    options = tier(held.folder, f"{4 * UNIT}")
    with held.serve(options) as server:
        with server.disk() as disk, ThreadPoolExecutor(1) as pool:
            held.read(disk, 0)
            held.wait_for(1)
            work = pool.submit(held.read, disk, *range(1, 32), *range(32))
            held.until.unlink()
            work.result()
            held.read(disk, *range(28, 32))
        server.stop()
    found = counters(held.folder)
    assert found["ssd_writes"] + found["ssd_writes_skipped"] + found["ssd_writes_cancelled"] == found["admitted"]
    held.check(options, 4)


@pytest.mark.parametrize("end", ["stop", "kill"])
def test_the_end_with_fills_that_wait(held, end):
    """A clean end writes them; a kill loses what the cache need not have."""
    options = labelled(held.folder)
    with held.serve(options) as server:
        with server.disk() as disk:
            held.read(disk, *range(8))
            held.wait_for(1)
            (server.kill if end == "kill" else server.process.terminate)()
        held.until.unlink()
        if end == "stop":
            server.stop()
            assert counters(held.folder)["ssd_writes"] == 8
    held.check(options, 8 if end == "stop" else 0)


def test_the_last_client_that_leaves_waits_for_the_fills(held):
    options = labelled(held.folder)
    with held.serve(options) as server:
        with server.disk() as disk:
            held.read(disk, *range(8))
            held.wait_for(1)
        held.until.unlink()
        server.wait_until_alone()
        server.kill()
    held.check(options, 8)


def test_an_ssd_that_fails_in_the_background_is_not_seen(built, held):
    """All writes of data fail; nobody waits for them."""
    failing = build_preload("failing", held.folder / "failing.so")
    options = tier(held.folder)
    variables = {"LD_PRELOAD": str(failing), "FAIL_FILES": str(held.folder / "ssd"), "FAIL_SAID": "failed"}
    variables |= {"FAIL_FROM": "5", "FAIL_COUNT": str(1 << 30)}  # after the size and the superblock, twice
    with serve(built, held.folder, options, None, variables) as server:
        with server.disk() as disk:
            for _ in range(3):
                held.read(disk, *range(UNITS))
            wait_for_text(server.said, "a write failed on the SSD tier; the cache is bypassed")
            held.read(disk, *range(UNITS))
            held.write(disk, 3)
            held.read(disk, *range(UNITS))
        server.stop()
    found = counters(held.folder)
    assert (found["bypassed"], found["ssd_writes"]) == (True, 0)
    assert found["ssd_errors"] >= 8
    held.check(options, 0)
