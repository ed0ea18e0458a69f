import os
import random
import signal
import threading
from pathlib import Path

import numpy as np
import pytest

from cachezoo.coded import Coded
from cachezoo.devices import replaying
from cachezoo.devices.analytic import t_hdd_us, t_ssd_us
from cachezoo.devices.fio.replay import Settings, replay
from cachezoo.devices.nbd.server import SlowRange, serving
from cachezoo.devices.replaying import MOST_BYTES, MOST_REQUESTS, emulate
from cachezoo.errors import DeviceError
from cachezoo.settings.device import EmulatedDevice, Hdd, Ssd
from cachezoo.traces.table import OP_READ, OP_WRITE, Trace, TraceMeta

runs = pytest.mark.needs("fio", "gcc", "nbdkit")

CAPACITY = 10**12 + 5
DISK = Hdd(
    capacity_bytes=CAPACITY,
    rotation_us=4000.0,
    seek_base_us=200.0,
    seek_root_us=20000.0,
    outer_mb_s=160.0,
    inner_mb_s=80.0,
    zones=5,
    read_us=100.0,
    write_us=300.0,
)
FLASH = Ssd(read_us=90.0, write_us=20.0, read_mb_s=500.0, write_mb_s=250.0)


def device(**changes):
    return EmulatedDevice(**{"source": "emulated", "hdd": DISK, "ssd": FLASH, "repetitions": 1, **changes})


def make(rows):
    offset, size, op = zip(*rows, strict=True)
    n = len(rows)
    return Trace(
        np.arange(n, dtype=np.int64),
        np.array(op, np.uint8),
        np.array(offset, np.int64),
        np.array(size, np.int64),
        Coded.constant("0", n),
        TraceMeta("t", "w", "csv", "0"),
    )


def random_trace(count, last=CAPACITY, seed=1):
    source = random.Random(seed)
    return make(
        [
            (source.randrange(last), source.choice([512, 4000, 65536]), source.choice([OP_READ, OP_WRITE]))
            for _ in range(count)
        ]
    )


def check_floor(measured, foreseen):
    """What the way to an emulated disk costs is there; how much it is is the machine's, and was little for one row."""
    over = measured - foreseen
    assert (over > 0).all()
    assert over.min() < 1000


@runs
def test_times_are_the_models_and_a_little_more():
    trace = random_trace(70, 3 * CAPACITY)
    hdd, ssd = emulate(trace, device(repetitions=3))
    check_floor(hdd.times_us, t_hdd_us(trace, DISK))
    check_floor(ssd.times_us, t_ssd_us(trace, FLASH))
    assert np.corrcoef(hdd.times_us, t_hdd_us(trace, DISK))[0, 1] > 0.99
    assert hdd.cleaning.counts() == {
        "requests": 70,
        "zero_length": 0,
        "rounded": 0,
        "folded": int((trace.offset >= CAPACITY).sum()),
        "writes_as_reads": 0,
    }
    assert ssd.cleaning.folded == 0
    assert (hdd.provenance["target.name"], ssd.provenance["target.name"]) == ("emulated hdd", "emulated ssd")


def lines_of(log, trace):
    """When the disk took each request up and how long it was to take by the disk's own log: µs, float64[n] each."""
    lines = [line.split(",") for line in log.read_text().splitlines()][-len(trace) :]
    assert [int(line[1]) for line in lines] == trace.offset.tolist()
    return np.array([int(line[0]) for line in lines]) / 1000, np.array([float(line[4]) for line in lines])


@runs
def test_waiting_for_the_sector_makes_up_for_the_way(tmp_path, monkeypatch):
    """Each request begins where the platter stands at the end of the one before, however long it takes to come."""
    model = DISK.model_copy(update={"rotation": "position", "rotation_us": 8000.0})
    trace, log = random_trace(120), tmp_path / "log"
    monkeypatch.setattr(replaying, "serving", lambda *given: serving(*given, log=log if given[0] == model else None))
    hdd, _ = emulate(trace, device(hdd=model))
    begun, intended = lines_of(log, trace)
    assert (hdd.times_us > intended).all()
    turns = (np.diff(begun + intended) - t_hdd_us(trace, model)[1:]) / 8000
    np.testing.assert_allclose(turns, np.round(turns), atol=0.001)
    assert turns.min() > -0.001


ROWS = [(row * 65536, 4096, OP_READ if row % 3 else OP_WRITE) for row in range(60)]
SLOW_ROW = 23
SLOW = SlowRange(SLOW_ROW * 65536, (SLOW_ROW + 2) * 65536, 250_000.0)


@runs
@pytest.mark.parametrize("model", [DISK, FLASH])
def test_a_slow_address_is_found_again_in_its_rows(model, tmp_path):
    log = tmp_path / "log"
    with serving(model, 1 << 30, SLOW, log) as target:
        measured = replay(make(ROWS), target, Settings(writes="replay", repetitions=1))
    _, intended = lines_of(log, make(ROWS))
    assert np.flatnonzero(intended > SLOW.extra_us).tolist() == [SLOW_ROW, SLOW_ROW + 1]
    assert (measured.times_us > intended).all()


@runs
def test_a_slow_address_is_found_again_in_the_rows_that_wait_behind_it():
    with serving(FLASH, 1 << 30, SLOW) as target:
        measured = replay(make(ROWS), target, Settings(writes="replay", mode="closed", depth=4))
    waits = np.round(measured.times_us / SLOW.extra_us).astype(int)
    expected = np.zeros(60, int)
    for slow in (SLOW_ROW, SLOW_ROW + 1):
        expected[slow : slow + 4] += 1
    assert waits.tolist() == expected.tolist()


@runs
def test_disk_that_hangs_is_given_up():
    with (
        pytest.raises(DeviceError, match=r"device\.timeout_s \(1\.5 s\)"),
        serving(FLASH, 1 << 30, SlowRange(SLOW.start, SLOW.end, 1e9)) as target,
    ):
        replay(make(ROWS), target, Settings(writes="replay", repetitions=1, timeout_s=1.5))
    assert not Path(f"/proc/{target.process}").exists()


@runs
def test_disk_that_dies_ends_the_replay():
    with (
        pytest.raises(DeviceError, match="nbdkit ended with status -9"),
        serving(FLASH, 1 << 30, SlowRange(SLOW.start, SLOW.end, 1e9)) as target,
    ):
        killer = threading.Timer(0.7, os.kill, (target.process, signal.SIGKILL))
        killer.start()
        replay(make(ROWS), target, Settings(writes="replay", repetitions=1, timeout_s=10.0))


def test_long_trace_is_told_how_long_it_would_take(monkeypatch):
    trace = random_trace(MOST_REQUESTS + 1)
    seconds = (t_hdd_us(trace, DISK).sum() + t_ssd_us(trace, FLASH).sum() + 2 * 200 * len(trace)) / 1e6
    with pytest.raises(DeviceError, match=rf"^t: its 10001 requests would take {seconds * 9 / 3600:.1f} h .*10000; "):
        emulate(trace, device(repetitions=9))


def test_large_request_is_refused_with_its_row():
    trace = make([(0, 4096, OP_READ), (0, MOST_BYTES, OP_READ), (0, MOST_BYTES + 1, OP_READ)])
    with pytest.raises(DeviceError, match=r"^t: row 3 is a request of 67108865 bytes"):
        emulate(trace, device())


def test_time_too_short_is_refused_before_anything_runs(monkeypatch):
    monkeypatch.setattr(replaying, "serving", None)
    with pytest.raises(
        DeviceError, match=r"^device\.timeout_s: 1: one replay of t takes up to (\d+) s; set it to \1 or"
    ):
        emulate(random_trace(1000), device(timeout_s=1.0))


@pytest.mark.parametrize(
    ("changes", "key"),
    [
        ({"hdd": DISK.model_copy(update={"write_buffer_bytes": 1})}, "hdd.write_buffer_bytes"),
        ({"ssd": FLASH.model_copy(update={"write_buffer_bytes": 1})}, "ssd.write_buffer_bytes"),
    ],
)
def test_models_that_cannot_be_emulated_are_refused_before_anything_runs(changes, key, monkeypatch):
    monkeypatch.setattr(replaying, "serving", None)
    with pytest.raises(DeviceError, match=f"^device.{key}: 1: "):
        emulate(random_trace(3), device(**changes))
