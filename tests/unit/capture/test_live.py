"""Recording a device of this machine: loop devices, their partitions, and one without requests."""

import contextlib
import json
import mmap
import os
import signal
import stat
import subprocess
import sys
import threading
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from cachezoo.capture import live
from cachezoo.capture.live import Clock, _events, record_device, watched
from cachezoo.capture.tracefs import MOUNT_POINT, PREFIX, lost_events, tracefs_sources
from cachezoo.cli import main
from cachezoo.errors import CaptureError, ConfigError
from cachezoo.traces.store import read_meta, read_trace
from tests.command_line import run
from tests.trace_data import texts
from tests.tracing import instance_of, running, wait_for_requests

ROOT = Path(__file__).resolve().parents[3]
MIB = 1 << 20
SIZE = 8192  # of a read
PARTITION = (8192, 40960)  # first sector and how many
needs = pytest.mark.needs("root", "tracefs", "loop")
ZRAM = Path("/sys/class/zram-control")


@pytest.fixture(autouse=True)
def nothing_left():
    instances = MOUNT_POINT / "instances"
    before = tracefs_sources()
    yield
    assert [path for path in instances.glob(f"{PREFIX}{os.getpid()}*")] == []
    assert tracefs_sources() == before


@pytest.fixture
def loop(tmp_path):
    """A loop device of 64 MiB with one partition, from its fourth MiB on."""
    image = tmp_path / "image"
    image.write_bytes(bytes(64 * MIB))
    made = ["losetup", "--find", "--show", str(image)]
    device = Path(subprocess.run(made, check=True, capture_output=True, text=True).stdout.strip())
    partition = Path(f"{device}p1")
    try:
        subprocess.run(["addpart", device, "1", *map(str, PARTITION)], check=True)
        number = Path(f"/sys/block/{device.name}/{partition.name}/dev").read_text().split(":")
        if not partition.exists():  # where nobody makes device nodes
            os.mknod(partition, 0o600 | stat.S_IFBLK, os.makedev(*map(int, number)))
        yield device
    finally:
        subprocess.run(["delpart", device, "1"], check=False)
        partition.unlink(missing_ok=True)
        subprocess.run(["losetup", "-d", device], check=True)


@contextlib.contextmanager
def load(*reads, rounds=3):
    """Read places of devices past the page cache, over and over, from the first look at a clock that this gives.

    A recording looks first as it begins. The time is up once each has been read some times, however long that takes.
    """
    begun, stop, done = threading.Event(), threading.Event(), [0] * len(reads)

    def read(number, path, *offsets):
        handle = os.open(path, os.O_RDONLY | os.O_DIRECT)
        buffer = mmap.mmap(-1, SIZE)
        begun.wait()
        while not stop.wait(0.01):
            for offset in offsets:
                os.preadv(handle, [buffer], offset)
            done[number] += 1
        os.close(handle)

    def now():
        begun.set()
        return 1e6 if min(done) >= rounds else 0.0

    readers = [threading.Thread(target=read, args=(number, *one)) for number, one in enumerate(reads)]
    for reader in readers:
        reader.start()
    try:
        yield Clock(now)
    finally:
        begun.set()
        stop.set()
        for reader in readers:
            reader.join()


def silent(done, note=""):
    pass


@needs
def test_what_a_device_is_asked_is_its_trace(tmp_path, loop):
    out = tmp_path / "mine.parquet"
    with load((loop, 0, 32 * MIB)) as clock:
        found = record_device(loop, 1.5, out, "mine", silent, clock)
    trace = read_trace(out)
    assert (found.requests, found.ended, found.lost_events) == (len(trace), "time", 0)
    assert set(trace.offset.tolist()) == {0, 32 * MIB} and set(trace.size.tolist()) == {8192}
    assert set(trace.op.tolist()) == {0}
    assert (trace.latency_us[:-1] >= 0).all()  # the last one may be under way as the time is over
    assert trace.time_us[0] == 0 < trace.time_us[-1] and found.seconds == 1.5
    assert set(texts(trace.volume)) == {loop.name}
    meta = read_meta(out)
    assert (meta.trace_id, meta.category, meta.source_format) == ("mine", "mine", "capture")
    about = json.loads(meta.extra["machine"])
    assert (about["device"], about["bytes"], about["events"]) == (loop.name, 64 * MIB, "requests")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["image", "mine.parquet"]


@needs
def test_of_a_partition_its_own_requests_count_from_its_beginning(tmp_path, loop):
    partition, out = Path(f"{loop}p1"), tmp_path / "mine.parquet"
    assert watched(partition).within == (8192, 8192 + 40960)
    with load((loop, 0, 40 * MIB), (partition, 0, 5 * MIB, 16 * MIB)) as clock:
        record_device(partition, 60, out, "mine", silent, clock)
    trace = read_trace(out)
    assert set(trace.offset.tolist()) == {0, 5 * MIB, 16 * MIB}
    assert set(texts(trace.volume)) == {partition.name}


@needs
def test_the_device_is_not_written_to(tmp_path, loop):
    before = (tmp_path / "image").read_bytes()
    counters = Path(f"/sys/block/{loop.name}/stat").read_text().split()
    with load((loop, MIB)) as clock:
        record_device(loop, 60, tmp_path / "mine.parquet", "mine", silent, clock)
    after = Path(f"/sys/block/{loop.name}/stat").read_text().split()
    assert after[4:8] == counters[4:8]  # writes
    assert (tmp_path / "image").read_bytes() == before


@needs
def test_a_device_that_nobody_uses_gives_no_trace(tmp_path, loop):
    with pytest.raises(CaptureError, match=r"nothing was read or written in 0 s; nothing is written"):
        record_device(loop, 0.3, tmp_path / "mine.parquet", "mine", silent)
    assert [path.name for path in tmp_path.iterdir()] == ["image"]


CODE = "from cachezoo.cli import main; main()"


def begin(*words):
    return running(
        [sys.executable, "-c", CODE, "trace", "capture", *map(str, words)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
    )


@needs
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_keeps_what_was_recorded_so_far(tmp_path, loop, number):
    out = tmp_path / "mine.parquet"
    words = ("--device", loop, "--seconds", 600, "-o", out, "--json")
    with load((loop, 0)) as clock, begin(*words) as process:
        clock.now()
        wait_for_requests(process)
        process.send_signal(number)
        said, errors = process.communicate(timeout=120)
    assert process.returncode == 0, errors
    found = json.loads(said)
    assert found["ended"] == ("Ctrl-C" if number == signal.SIGINT else "SIGTERM")
    assert found["requests"] == len(read_trace(out)) > 2
    assert found["seconds"] < 600
    assert not instance_of(process).exists()
    assert "Traceback" not in errors


@needs
def test_ctrl_c_before_anything_was_recorded_says_so(tmp_path, loop):
    with begin("--device", loop, "--seconds", 600, "-o", tmp_path / "mine.parquet") as process:
        wait_for_requests(process, least=0)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=120)
    assert process.returncode == 130
    assert errors.splitlines()[-1] == "cachezoo: interrupted; nothing was recorded"
    assert [path.name for path in tmp_path.iterdir()] == ["image"]


def test_ctrl_c_outside_the_recording_says_so_too(tmp_path, monkeypatch, capsys):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(live, "check_rights", interrupted)
    words = [
        "cachezoo",
        "trace",
        "capture",
        "--device",
        "/dev/null",
        "--seconds",
        "3",
        "-o",
        str(tmp_path / "x.parquet"),
    ]
    monkeypatch.setattr(sys, "argv", words)
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 130
    assert capsys.readouterr().err == "cachezoo: interrupted; nothing was recorded\n"


def test_whoever_is_not_root_is_told_that_first(tmp_path, monkeypatch, capsys):
    """Whatever else is wrong: a disk is not readable to them, the device here is none, nor is there the folder."""
    closed = tmp_path / "closed"
    closed.touch()
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.setattr(os, "access", lambda *_, **__: False)
    words = ["cachezoo", "trace", "capture", "--device", str(closed), "-o", str(tmp_path / "none/x.parquet")]
    monkeypatch.setattr(sys, "argv", words)
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 1
    said = f"cachezoo: {closed}: recording its requests needs root (tracefs); run it with sudo\n"
    assert capsys.readouterr().err == said


@needs
def test_a_folder_that_is_not_there_is_refused_and_not_made(tmp_path, loop):
    words = ("--device", loop, "--seconds", 600, "-o", tmp_path / "nodir/x.parquet")
    done = run("trace", "capture", *words, ok=False)
    assert done.returncode == 1 and f"({tmp_path}/nodir: no such folder); make it" in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["image"]


@needs
def test_the_next_recording_sweeps_what_a_killed_one_left(tmp_path, loop):
    with begin("--device", loop, "--seconds", 600, "-o", tmp_path / "killed.parquet") as process:
        wait_for_requests(process, least=0)
        process.kill()
    instance = instance_of(process)
    assert instance.exists()
    with load((loop, 0)) as clock:
        record_device(loop, 60, tmp_path / "mine.parquet", "mine", silent, clock)
    assert not instance.exists()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["image", "mine.parquet"]


@needs
@pytest.mark.parametrize("what", ["memory", "room"])
def test_too_little_of_anything_ends_it_with_what_there_is(tmp_path, loop, monkeypatch, what):
    with load((loop, 0)) as clock:
        if what == "memory":
            monkeypatch.setattr("cachezoo.capture.live.memory_left", lambda: 800)
        else:  # once something has been read
            free = {True: SimpleNamespace(free=1 << 60), False: SimpleNamespace(free=0)}
            monkeypatch.setattr(live.shutil, "disk_usage", lambda _: free[clock.now() == 0])
        clock.now()
        found = record_device(loop, 600, tmp_path / "mine.parquet", "mine", silent)
    assert found.ended.startswith(f"too little {what}")
    assert found.requests == len(read_trace(tmp_path / "mine.parquet")) > 0
    assert found.seconds < 600


@pytest.fixture
def ram():
    """A compressed disk in memory: a device that has bios and no requests."""
    number = int((ZRAM / "hot_add").read_text())
    name = f"zram{number}"
    device = Path(f"/dev/{name}")
    folder = Path(f"/sys/block/{name}")
    made = not device.exists()
    if made:
        os.mknod(device, 0o600 | stat.S_IFBLK, os.makedev(*map(int, (folder / "dev").read_text().split(":"))))
    (folder / "disksize").write_text("16M")
    try:
        yield device
    finally:
        (folder / "reset").write_text("1")
        (ZRAM / "hot_remove").write_text(str(number))
        if made:
            device.unlink()


@pytest.mark.needs("root", "tracefs", "zram")
def test_a_device_without_requests_is_recorded_by_its_bios(tmp_path, ram):
    assert not watched(ram).requests
    with load((ram, 0, 4 * MIB)) as clock:
        found = record_device(ram, 60, tmp_path / "mine.parquet", "mine", silent, clock)
    trace = read_trace(tmp_path / "mine.parquet")
    assert found.requests == len(trace)
    assert set(trace.offset.tolist()) == {0, 4 * MIB} and set(trace.size.tolist()) == {8192}
    assert json.loads(read_meta(tmp_path / "mine.parquet").extra["machine"])["events"] == "bios"


def test_lost_events_are_counted_and_no_reason_to_give_up(tmp_path):
    from cachezoo.capture.live import Watched

    line = "  dd-9 [001] ..... 10.00000{}: block_rq_issue: 7,1 R 4096 () {} + 8 be,0,4 [dd]\n"
    spool = tmp_path / "events"
    spool.write_text(line.format(1, 108) + "CPU:0 [LOST 7 EVENTS]\n" + line.format(2, 116))
    device = Watched("loop1p1", 7 << 20 | 1, 100, 1000, requests=True, rotational=False, partition=True)
    events, digest = _events(spool, device)
    assert np.array_equal(events.sector, [8, 16]) and len(digest) == 64
    spool.write_text("nonsense\n")
    with pytest.raises(CaptureError, match="line 1 of the trace is no block event: 'nonsense'"):
        _events(spool, device)


def test_lost_events_are_summed_over_processors(tmp_path):
    for cpu, (overrun, dropped) in enumerate([(3, 0), (0, 4)]):
        folder = tmp_path / f"per_cpu/cpu{cpu}"
        folder.mkdir(parents=True)
        text = f"entries: 9\noverrun: {overrun}\ncommit overrun: 1\nbytes: 5\ndropped events: {dropped}\n"
        (folder / "stats").write_text(text)
    assert lost_events(tmp_path) == 9


@pytest.mark.parametrize("name, said", [("none", "No such file"), ("file", "is no block device"), (".", "is no block")])
def test_what_is_no_device_is_said(tmp_path, name, said):
    (tmp_path / "file").touch()
    with pytest.raises(ConfigError, match=said):
        watched(tmp_path / name)


@pytest.mark.parametrize(
    "words, said",
    [
        ((), "name the disk to watch with --device"),
        (("web",), "python -m tools.capture RECIPE"),
        (("web", "--recipe", "web.yaml"), "python -m tools.capture RECIPE"),
        (("web", "--device", "/dev/null"), "python -m tools.capture RECIPE"),
        (("--device", "/dev/null", "--seconds", "3"), "/dev/null: is no block device"),
    ],
)
def test_words_that_do_not_go_together_are_refused(tmp_path, words, said):
    done = run("trace", "capture", "-o", tmp_path / "x.parquet", *words, ok=False)
    assert done.returncode == 1 and said in done.stderr and done.stderr.count("\n") == 1


@needs
def test_how_long_has_to_be_said(tmp_path, loop):
    done = run("trace", "capture", "--device", loop, "-o", tmp_path / "x.parquet", ok=False)
    assert done.returncode == 1 and "say with --seconds how long" in done.stderr
