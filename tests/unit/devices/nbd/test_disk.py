import itertools
import math
import os
import random
import subprocess

import numpy as np
import pytest

from cachezoo.coded import Coded
from cachezoo.devices.analytic import t_hdd_us, t_ssd_us
from cachezoo.devices.nbd.client import connected
from cachezoo.devices.nbd.server import SlowRange, plugin_file, serving
from cachezoo.settings.device import Hdd, Ssd
from cachezoo.traces.table import OP_READ, OP_WRITE, Trace, TraceMeta
from tests.oracles.hdd import seek_us

pytestmark = pytest.mark.needs("gcc", "nbdkit")

MIB = 1 << 20
CAPACITY = 1000 * MIB
SIZE = CAPACITY + 64 * MIB
# A disk some 40 times as fast as any: the formulas do not mind, and the tests take less.
FAST = Hdd(
    capacity_bytes=CAPACITY,
    rotation_us=200.0,
    seek_base_us=20.0,
    seek_root_us=300.0,
    seek_linear_us=-50.0,
    cylinder_bytes=3 * MIB,
    switch_us=8.0,
    write_settle_us=40.0,
    outer_mb_s=4000.0,
    inner_mb_s=1500.0,
    read_us=10.0,
    write_us=15.0,
    interface_mb_s=2000.0,
)
FLASH = Ssd(read_us=90.0, write_us=20.0, read_mb_s=550.0, write_mb_s=500.0, waf=2.5, program_mb_s=900.0)


def requests(count, seed=1):
    """Random ones, every third near where the one before it ended, if not there, and one across the capacity's end."""
    source, rows, end = random.Random(seed), [(CAPACITY - 4096, 65536, OP_READ)], 0
    while len(rows) < count:
        near = (end + source.choice([0, 0, 512, 2 * MIB, 4 * MIB])) % CAPACITY
        offset = near if len(rows) % 3 == 0 else source.randrange(CAPACITY // 512) * 512
        size = source.choice([512, 4096, 65536])
        rows.append((offset, size, source.choice([OP_READ, OP_WRITE])))
        end = (offset + size) % CAPACITY
    return rows


def as_trace(rows):
    offset, size, op = zip(*rows, strict=True)
    return Trace(
        np.arange(len(rows), dtype=np.int64),
        np.array(op, np.uint8),
        np.array(offset, np.int64),
        np.array(size, np.int64),
        Coded.constant("0", len(rows)),
        TraceMeta("t", "w", "csv", "0"),
    )


def run(model, rows, tmp_path, slow=None):
    """What the client measured, what the disk intended, and when it took each request up: float64[n] µs each."""
    log = tmp_path / "intended.csv"
    with serving(model, SIZE, slow=slow, log=log) as target, connected(target.socket) as client:
        assert client.size == SIZE
        taken = [
            client.write(offset, bytes(size)) if op == OP_WRITE else client.read(offset, size)[1]
            for offset, size, op in rows
        ]
    lines = [line.split(",") for line in log.read_text().splitlines()]
    assert [(int(o), int(s), k) for _, o, s, k, _ in lines] == [(o, s, "rw"[op == OP_WRITE]) for o, s, op in rows]
    return (
        np.array(taken),
        np.array([float(line[4]) for line in lines]),
        np.array([int(line[0]) for line in lines]) / 1000,
    )


def check_time(taken, intended):
    """No request is faster than the model; how much slower one is is the machine's, and was little for one at least."""
    assert (taken >= intended - 0.01).all()
    assert (taken - intended).min() < 1000


@pytest.mark.parametrize(("zones", "overlap"), [(0, True), (1, True), (7, True), (7, False)])
def test_disk_takes_what_the_analytic_model_says(zones, overlap, tmp_path):
    model = FAST.model_copy(update={"zones": zones, "overlap": overlap})
    rows = requests(300)
    taken, intended, _ = run(model, rows, tmp_path)
    np.testing.assert_allclose(intended, t_hdd_us(as_trace(rows), model), atol=0.002)
    check_time(taken, intended)


def test_flash_takes_what_the_analytic_model_says(tmp_path):
    rows = requests(600)
    taken, intended, _ = run(FLASH, rows, tmp_path)
    np.testing.assert_allclose(intended, t_ssd_us(as_trace(rows), FLASH), atol=0.002)
    check_time(taken, intended)


def media_rate(model, start):
    part = start / CAPACITY
    if model.zones > 0:
        part = math.floor(part * model.zones) / max(model.zones - 1, 1)
    return model.outer_mb_s + (model.inner_mb_s - model.outer_mb_s) * part


def passing_us(model, start):
    """How long the head takes from address 0 to another, read from end to end: zone by zone, or by Simpson's rule."""
    steps = model.zones or 2000
    edges = [min(start, CAPACITY * step / steps) for step in range(steps + 1)]
    if model.zones:
        middles = [CAPACITY * (step + 0.5) / steps for step in range(steps)]
        return sum((edges[k + 1] - edges[k]) / media_rate(model, middles[k]) for k in range(steps))
    return sum(
        (b - a) / 6 * (1 / media_rate(model, a) + 4 / media_rate(model, (a + b) / 2) + 1 / media_rate(model, b))
        for a, b in itertools.pairwise(edges)
    )


@pytest.mark.parametrize("zones", [0, 1, 7])
def test_disk_waits_for_the_sector_by_the_clock(zones, tmp_path):
    changes = {"zones": zones, "rotation": "position", "cylinder_bytes": 0, "interface_mb_s": 1e9}
    model = FAST.model_copy(update=changes)
    rows = requests(200)
    _, intended, entry = run(model, rows, tmp_path)
    expected, head = [], 0
    for (start, size, op), now in zip(rows, entry, strict=True):
        part, seek = abs(start - head) / CAPACITY, 0.0
        if start != head:
            seek = seek_us(model, part) + (model.write_settle_us if op == OP_WRITE else 0)
        seek += model.write_us if op == OP_WRITE else model.read_us
        wait = (passing_us(model, start) - now - seek) % model.rotation_us
        expected.append(seek + wait + size / media_rate(model, start))
        head = (start + size) % CAPACITY
    np.testing.assert_allclose(intended, expected, atol=0.01)


def test_waits_for_random_sectors_are_spread_over_a_revolution(tmp_path):
    model = FAST.model_copy(update={"rotation": "position", "rotation_us": 1000.0})
    source = random.Random(3)
    rows = [(source.randrange(CAPACITY // 512) * 512, 512, OP_READ) for _ in range(400)]
    _, intended, _ = run(model, rows, tmp_path)
    mean = model.model_copy(update={"rotation": "mean"})
    waits = np.sort(intended - t_hdd_us(as_trace(rows), mean) + 500) / 1000
    even = (np.arange(400) + 0.5) / 400
    assert np.abs(waits - even).max() < 0.13  # Kolmogorov: more than this in one of 300,000 such tests


def test_next_sector_has_just_passed_when_its_request_comes(tmp_path):
    model = FAST.model_copy(update={"rotation": "position", "rotation_us": 10000.0, "read_us": 0.0})
    rows = [(start * 4096, 4096, OP_READ) for start in range(20)]
    _, intended, entry = run(model, rows, tmp_path)
    # From end to end it takes whole revolutions and the transfer: some µs late is too late, and waits for the next.
    between = np.diff(entry + intended) - 4096 / FAST.outer_mb_s
    turns = np.round(between / 10000)
    np.testing.assert_allclose(between, turns * 10000, atol=0.5)
    assert turns.min() >= 1
    assert intended.max() < 10000 + 10  # and the transfer


def test_slow_addresses_are_slower_by_as_much_as_was_said(tmp_path):
    rows = requests(100)
    slow = SlowRange(CAPACITY // 2, CAPACITY // 2 + CAPACITY // 10, 5000.0)
    taken, intended, _ = run(FLASH, rows, tmp_path, slow)
    hit = np.array([slow.start <= offset < slow.end for offset, _, _ in rows])
    assert 0 < hit.sum() < 50
    np.testing.assert_allclose(intended - t_ssd_us(as_trace(rows), FLASH), np.where(hit, 5000, 0), atol=0.002)
    assert (taken[hit] > 5000).all()


def test_head_is_at_rest_for_each_connection(tmp_path):
    log = tmp_path / "log"
    with serving(FAST, SIZE, log=log) as target:
        for _ in range(2):
            with connected(target.socket) as client:
                assert client.read(CAPACITY // 2, 4096)[0] == bytes(4096)
    first, second = (line.split(",")[4] for line in log.read_text().splitlines())
    assert first == second


def test_keeps_nothing():
    with serving(FLASH, SIZE) as target, connected(target.socket) as client:
        client.write(8192, b"x" * 4096)
        assert client.read(8192, 4096)[0] == bytes(4096)


HDD = {
    "mode": "hdd",
    "size": "1G",
    "capacity_bytes": "1G",
    "rotation_us": "8000",
    "outer_mb_s": "160",
    "inner_mb_s": "80",
    "interface_mb_s": "600",
}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"mode": "tape"}, "mode=tape: hdd or ssd"),
        ({"mode": None}, "mode: must be given"),
        ({"size": None}, "size: must be given"),
        ({"size": "0"}, "size=0: must be above 0"),
        ({"capacity_bytes": None}, "capacity_bytes: must be given"),
        ({"rotation_us": None}, "rotation_us: must be given, above 0"),
        ({"rotation_us": "0"}, "rotation_us: must be given, above 0"),
        ({"rotation_us": "fast"}, "rotation_us=fast: not a number"),
        ({"rotation_us": "1e999"}, "rotation_us=1e999: not a number"),
        ({"inner_mb_s": "-1"}, "inner_mb_s=-1: must be at least 0"),
        ({"overlap": "half"}, "could not decipher boolean (half)"),
        ({"rotation": "often"}, "rotation=often: mean or position"),
        ({"zones": "-1"}, "zones=-1: must be at least 0"),
        ({"read_mb_s": "5"}, "read_mb_s: not a parameter of mode=hdd"),
        ({"slow": "5-5:1"}, "slow=5-5:1: must be START-END:MICROSECONDS"),
        ({"slow": "1-5"}, "slow=1-5: must be START-END:MICROSECONDS"),
        ({"slow": "1-5:x"}, "slow=x: not a number"),
        ({"colour": "red"}, "colour=red: no such parameter"),
        ({"log": "/nowhere/log"}, "log=/nowhere/log: No such file or directory"),
        ({"parent": "1"}, "parent=1: not the parent of this process"),
    ],
)
def test_bad_parameters_are_refused(changes, message, tmp_path):
    given = {key: value for key, value in {**HDD, **changes}.items() if value is not None}
    command = ["nbdkit", "-f", "-U", str(tmp_path / "socket"), str(plugin_file())]
    done = subprocess.run(
        [*command, *(f"{key}={value}" for key, value in given.items())],
        capture_output=True,
        text=True,
        check=False,
        timeout=30,
        env={**os.environ, "LC_ALL": "C"},
    )
    assert done.returncode != 0
    assert message in done.stderr
