import dataclasses
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pytest

from cachezoo.devices.fio.marker import HEADER_BYTES, write_marker
from cachezoo.devices.fio.prepare import prepare
from cachezoo.devices.fio.replay import Settings, check_replay, replay
from cachezoo.devices.fio.target import Use, open_target
from cachezoo.errors import DeviceError
from cachezoo.settings.device import RealDevice
from tests.replay_data import (
    MIB,
    false_fio,
    full_file,
    loop_device,
    make_trace,
    processes_with,
    random_trace,
    retold_fio,
    settle,
)

pytestmark = pytest.mark.needs("fio")
ROOT = Path(__file__).parents[4]


@pytest.fixture
def scratch(tmp_path, monkeypatch):
    """Where replays put their temporary files; empty again after each."""
    folder = tmp_path / "scratch"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    yield folder
    assert list(folder.iterdir()) == []


@pytest.fixture
def prepared(tmp_path):
    """As `prepare` leaves it, faster."""
    path = full_file(tmp_path / "a target: 1", 18 * MIB)
    write_marker(str(path), 16 * MIB)
    return path


def opened(path, engine="psync", writes=False, block=512):
    return open_target(str(path), "mine", Use(engine, block, writes, force=True))


@pytest.mark.parametrize(
    ("engine", "mode", "depth", "chunk"),
    [("psync", "service", 1, 0), ("libaio", "service", 1, 100), ("libaio", "closed", 8, 0), ("libaio", "closed", 3, 9)],
)
def test_every_request_has_a_time(scratch, prepared, engine, mode, depth, chunk):
    trace = random_trace(600, 1, 16 * MIB, writes=0.3)
    target = opened(prepared, engine, writes=True)
    settings = Settings(writes="replay", mode=mode, depth=depth, chunk_requests=chunk)
    measured = replay(trace, target, settings)
    assert measured.times_us.shape == (600,)
    assert measured.times_us.dtype == np.float64
    assert (measured.times_us > 0).all() and np.isfinite(measured.times_us).all()
    assert len(measured.means_us) == 3
    assert measured.spread >= 0
    assert measured.cleaning.counts() == {
        "requests": 600,
        "zero_length": 0,
        "rounded": int(((trace.offset % 512 != 0) | (trace.size % 512 != 0)).sum()),
        "folded": 0,
        "writes_as_reads": 0,
    }
    said = measured.provenance
    assert said["fio"].startswith("fio-3.")
    assert (said["engine"], said["mode"], said["queue_depth"]) == (engine, mode, str(depth))
    assert (said["target.name"], said["target.path"], said["repetitions"]) == ("mine", str(prepared), "3")
    assert ("read_iolog_chunked" in said["command"]) == (chunk > 0)
    assert f"--replay_redirect={prepared} " in said["command"]
    assert {"kernel", "host", "date", "target.model", "target.rotational"} <= set(said)


def test_a_replay_writes_what_the_trace_writes_and_nothing_else(scratch, prepared):
    before = prepared.read_bytes()
    trace = make_trace([1, 0, 1], [8192, 65536, MIB], [4096, 4096, 700])
    measured = replay(trace, opened(prepared, writes=True), Settings(writes="replay", repetitions=1))
    assert measured.provenance["writes"] == "replayed"
    after = prepared.read_bytes()
    changed = np.flatnonzero(np.frombuffer(before, np.uint8) != np.frombuffer(after, np.uint8)) - HEADER_BYTES
    places = {int(one) for one in changed // 512}
    assert places == {*range(16, 24), 2048, 2049}


def test_writes_as_reads_change_nothing(scratch, prepared):
    before = prepared.read_bytes()
    trace = random_trace(100, 2, 16 * MIB, writes=0.5)
    measured = replay(trace, opened(prepared), Settings(writes="as_reads", repetitions=1))
    assert measured.cleaning.writes_as_reads == int(trace.op.sum())
    assert "--readonly" in measured.provenance["command"]
    assert prepared.read_bytes() == before


def test_writes_are_refused_by_default_and_on_other_peoples_files(scratch, tmp_path):
    path = full_file(tmp_path / "f", 4 * MIB)
    before = path.read_bytes()
    trace = make_trace([0, 1], [0, 0], [512, 512])
    with pytest.raises(DeviceError, match=r"row 2 is a write, one of 1; set device.writes"):
        replay(trace, opened(path), Settings())
    with pytest.raises(DeviceError, match="is no prepared scratch target"):
        replay(trace, opened(path), Settings(writes="replay"))
    assert path.read_bytes() == before


def test_rows_without_a_length_have_a_time_too(scratch, tmp_path):
    trace = make_trace([0, 0, 0], [0, 4096, 8192], [512, 0, 4096])
    measured = replay(trace, opened(full_file(tmp_path / "f", 2 * MIB)), Settings())
    assert measured.cleaning.zero_length == 1
    assert measured.times_us[1] == measured.times_us.min() > 0


def test_folding_is_counted_and_asked_for(scratch, tmp_path):
    trace = make_trace([0, 0], [0, 5 * MIB], [512, 4096])
    target = opened(full_file(tmp_path / "f", 2 * MIB))
    with pytest.raises(DeviceError, match=r"row 2 ends at byte 5246976, .* the target at 2097152; .* set device.fold"):
        replay(trace, target, Settings())
    assert replay(trace, target, Settings(fold=True, repetitions=1)).cleaning.folded == 1


@pytest.fixture
def told(scratch, monkeypatch):
    """A fio whose log has a time made of each line's own place and length, so that a row's time says whose it is."""
    folder = retold_fio(scratch.parent / "bin", "{ print $1, ($5 + $4) / 512, $3, $4, $5, $6 }")
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")


def of_their_own(trace):
    """The times of the requests, by the fio above."""
    start = trace.offset // 512 * 512
    length = -(-(trace.offset + trace.size) // 512) * 512 - start
    return (start + HEADER_BYTES + length) / 512 / 1000


def test_requests_from_small_to_large_are_read_in_chunks(prepared, told):
    sizes = np.repeat([512, 4096, 65536, 1 << 20, 4 << 20], 200)
    trace = make_trace(np.zeros(1000), np.arange(1000) % 24 * 524288, sizes)
    measured = replay(trace, opened(prepared, "libaio"), Settings(chunk_requests=1, repetitions=1))
    assert "read_iolog_chunked" in measured.provenance["command"]
    assert np.array_equal(measured.times_us, of_their_own(trace))


@pytest.mark.parametrize(("mode", "depth"), [("service", 1), ("closed", 4), ("response", 4)])
def test_every_time_is_found_in_its_own_row(prepared, told, mode, depth):
    """Also where large requests are overtaken by small ones behind them, so that the log is in another order."""
    size = np.full(300, 512)
    size[np.random.default_rng(depth).permutation(280)[:7]] = 15 * MIB
    trace = make_trace(np.zeros(300), np.arange(300) * 3584, size, np.arange(300) * 3000)
    measured = replay(trace, opened(prepared, "libaio"), Settings(mode=mode, depth=depth))
    assert np.array_equal(measured.times_us, of_their_own(trace))
    assert len(np.unique(measured.times_us)) == 300


def test_a_timed_replay_is_refused_by_an_old_fio(scratch, prepared, monkeypatch):
    monkeypatch.setenv("PATH", f"{false_fio(scratch.parent / 'bin', 'exit 1')}:/usr/bin:/bin")
    with pytest.raises(DeviceError, match=r"needs fio 3\.36 or later, this is fio-3\.33"):
        replay(random_trace(5, 1, MIB), opened(prepared, "libaio"), Settings(mode="response", depth=4))


def test_a_timed_replay_keeps_the_times_and_finds_every_row(prepared, told):
    trace = random_trace(200, 4, 16 * MIB)
    slower = make_trace(trace.op, trace.offset, trace.size, 7_000_000 + np.arange(200) * 5000)
    start = time.monotonic()
    measured = replay(slower, opened(prepared, "libaio"), Settings(mode="response", depth=4, repetitions=1))
    assert time.monotonic() - start > 0.99
    assert np.array_equal(measured.times_us, of_their_own(trace))
    assert (measured.provenance["mode"], measured.provenance["fio"]) == ("response", "fio-3.36")


def test_what_cannot_be_replayed_is_known_before(scratch, tmp_path, monkeypatch):
    target = opened(full_file(tmp_path / "f", 2 * MIB))
    check_replay(make_trace([0], [0], [512]), target, Settings())
    with pytest.raises(DeviceError, match="row 1 ends at byte 8192000"):
        check_replay(make_trace([0], [8_000_000], [192_000]), target, Settings())
    with pytest.raises(DeviceError, match="engine psync has queue depth 1, not 4"):
        check_replay(make_trace([0], [0], [512]), target, Settings(mode="closed", depth=4))
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(DeviceError, match="fio is not on PATH"):
        check_replay(make_trace([0], [0], [512]), target, Settings())


def test_a_hung_replay_is_killed_in_time_and_leaves_nothing(scratch, prepared, monkeypatch):
    folder = false_fio(scratch.parent / "bin", "sleep 3000 & sleep 3000")
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")
    with pytest.raises(DeviceError, match=r"did not end within device\.timeout_s \(0.3 s\) and was killed"):
        replay(random_trace(5, 1, MIB), opened(prepared), Settings(timeout_s=0.3))
    assert settle(lambda: not processes_with(f"{folder}/fio"))


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("exit 0", "left no result that can be read"),
        ("echo '{\"jobs\": []}'", "reports error without a job"),
        ('echo \'{"jobs": [{"error": 5}]}\'', "reports error 5; see dmesg"),
        ('echo \'{"jobs": [{"error": 0}]}\'', "wrote no latency log"),
        ('echo \'{"jobs": [{"error": 0}]}\'; echo 1, 2, 0, 512, 0, 0 > times_lat.log', "logged 1 of 9"),
    ],
)
def test_what_fio_leaves_is_not_trusted(scratch, prepared, monkeypatch, body, said):
    monkeypatch.setenv("PATH", f"{false_fio(scratch.parent / 'bin', body)}:/usr/bin:/bin")
    with pytest.raises(DeviceError, match=said):
        replay(random_trace(5, 1, MIB), dataclasses.replace(opened(prepared), data_offset=0), Settings())


def test_an_error_of_the_device_names_the_row(scratch, prepared):
    # Nothing checks that this target is as long as it says.
    target = dataclasses.replace(opened(prepared), data_offset=0, data_bytes=64 * MIB)
    trace = make_trace([0, 0, 0], [0, 512, 32 * MIB], [512, 512, 512])
    with pytest.raises(DeviceError, match=r"status 1: fio: pid=.*Input/output error") as caught:
        replay(trace, target, Settings())
    assert "\n" not in str(caught.value)
    target = dataclasses.replace(target, engine="libaio")
    with pytest.raises(DeviceError, match="is a read of 0 bytes at 33554432 where row 3"):
        replay(trace, target, Settings())


@pytest.mark.needs("root", "loop")
def test_a_loop_device_is_replayed_without_force(scratch, tmp_path):
    image = tmp_path / "image"
    image.touch()
    os.truncate(image, 10 * MIB)
    with loop_device(image, "--direct-io=on") as device:
        prepare(device, force=True)
        target = open_target(device, "a loop", Use("libaio", writes=True))
        measured = replay(random_trace(300, 3, 8 * MIB, writes=0.5), target, Settings(writes="replay"))
        assert measured.provenance["target.virtual"].startswith("virtual disk (loop")
        assert measured.provenance["target.kind"] == "block device"


@pytest.mark.needs("root", "loop")
def test_a_filesystem_made_and_mounted_after_the_check_is_not_written(scratch, tmp_path):
    image = full_file(tmp_path / "image", 18 * MIB)
    write_marker(str(image), 16 * MIB)
    (tmp_path / "m").mkdir()
    trace = make_trace([1], [0], [4096])
    with loop_device(image) as device:
        target = open_target(device, "mine", Use(writes=True))
        subprocess.run(["mkfs.ext4", "-q", "-F", device], check=True, timeout=30)
        before = image.read_bytes()
        with pytest.raises(DeviceError, match="is not the scratch target that was checked any more"):
            replay(trace, target, Settings(writes="replay"))
        assert image.read_bytes() == before
        subprocess.run(["mount", device, tmp_path / "m"], check=True, timeout=30)
        with pytest.raises(DeviceError, match=r"cannot be had for a replay alone .Device or resource busy."):
            replay(trace, target, Settings(writes="replay"))


@pytest.mark.needs("root", "loop")
def test_nothing_can_mount_what_is_replayed_on(scratch, tmp_path):
    image = full_file(tmp_path / "image", 16 * MIB)
    subprocess.run(["mkfs.ext4", "-q", "-F", image], check=True, timeout=30)
    (tmp_path / "m").mkdir()
    mount = ["mount", "/dev/none", tmp_path / "m"]
    with loop_device(image) as device:
        mount[1] = device
        target = opened(device)
        with target.held(writes=False) as held, pytest.raises(DeviceError, match=r"alone .Device or resource busy."):
            assert subprocess.run(mount, capture_output=True, timeout=30).returncode
            replay(make_trace([0], [0], [512]), held, Settings(repetitions=1))
            with dataclasses.replace(target, force=False).held(writes=False):
                pass
        # Reads of what is mounted are what force is for.
        subprocess.run(mount, check=True, timeout=30)
        assert replay(make_trace([0], [0], [512]), target, Settings(repetitions=1)).times_us[0] > 0


def test_a_path_that_leads_elsewhere_after_the_check_is_refused(scratch, tmp_path, prepared):
    other = full_file(tmp_path / "other", 18 * MIB, 2)
    before = other.read_bytes()
    link = tmp_path / "link"
    link.symlink_to(prepared)
    target = opened(link, writes=True)
    link.unlink()
    link.symlink_to(other)
    with pytest.raises(DeviceError, match="link: is another device or file than when it was checked"):
        replay(make_trace([1], [0], [4096]), target, Settings(writes="replay"))
    link.unlink()
    with pytest.raises(DeviceError, match="No such file or directory"):
        replay(make_trace([0], [0], [4096]), target, Settings())
    assert other.read_bytes() == before
    assert not link.exists()


def test_a_path_that_leads_elsewhere_during_a_replay_does_not_lead_it_there(scratch, tmp_path, prepared):
    theirs = full_file(tmp_path / "theirs", 18 * MIB, 2)
    before, mine = theirs.read_bytes(), prepared.read_bytes()
    with opened(prepared, writes=True).held(writes=True) as held:
        prepared.rename(tmp_path / "moved")
        theirs.rename(prepared)
        replay(make_trace([1], [0], [4096]), held, Settings(writes="replay", repetitions=1))
    assert prepared.read_bytes() == before
    assert (tmp_path / "moved").read_bytes() != mine


def test_two_replays_at_once_on_one_target_are_refused(scratch, prepared, monkeypatch):
    monkeypatch.setattr("cachezoo.devices.fio.hold.TRIES", 2)
    with opened(prepared).held(writes=False), pytest.raises(DeviceError, match=r"cannot be locked .another replay"):
        replay(make_trace([0], [0], [4096]), opened(prepared), Settings(repetitions=1))
    assert replay(make_trace([0], [0], [4096]), opened(prepared), Settings(repetitions=1)).times_us[0] > 0


def test_the_scratch_target_is_looked_at_again_before_each_repetition(scratch, prepared, monkeypatch):
    ran = []

    def damage(*_):
        ran.append(1)
        with prepared.open("r+b") as file:
            file.seek(1024)
            file.write(b"a filesystem")

    monkeypatch.setattr("cachezoo.devices.fio.replay.logs.check_times", damage)
    with pytest.raises(DeviceError, match="is not the scratch target that was checked any more"):
        replay(make_trace([1], [0], [4096]), opened(prepared, writes=True), Settings(writes="replay"))
    assert ran == [1]


def test_repetitions_that_become_faster_are_pointed_at(scratch, prepared, monkeypatch, capsys):
    means = iter([100.0, 95.0, 91.0, 100.0, 95.0, 80.0])
    monkeypatch.setattr(
        "cachezoo.devices.fio.replay._Job.once", lambda _, script, *__: np.full(len(script), next(means))
    )
    trace = make_trace([0], [0], [4096])
    assert "warning" not in replay(trace, opened(prepared), Settings()).provenance
    found = replay(trace, opened(prepared), Settings())
    assert "100 µs on average the first time and 80 later" in found.provenance["warning"]
    assert capsys.readouterr().err.count("warning: ") == 1


CHILD = """
import sys
import tempfile
from cachezoo.devices.fio.replay import Settings, check_replay, replay
from cachezoo.devices.fio.target import Use, open_target
from tests.replay_data import MIB, random_trace
replay(random_trace(5, 1, MIB), open_target(sys.argv[1], "mine", Use(force=True)), Settings())
"""


@pytest.mark.parametrize("end", [signal.SIGINT, signal.SIGTERM])
def test_whoever_ends_it_finds_neither_fio_nor_files(scratch, prepared, end):
    fio = false_fio(scratch.parent / "bin", 'echo $$ > "$0.pid"; sleep 3000 & wait')
    environment = {
        **os.environ,
        "PYTHONPATH": f"{ROOT / 'src'}:{ROOT}",
        "PATH": f"{fio}:/usr/bin:/bin",
        "TMPDIR": str(scratch),
    }
    child = subprocess.Popen([sys.executable, "-c", CHILD, prepared], env=environment, stderr=subprocess.DEVNULL)
    try:
        assert settle((fio / "fio.pid").exists)
        child.send_signal(end)
        child.wait(60)
        assert settle(lambda: not processes_with(f"{fio}/fio"))
    finally:
        child.kill()
        child.wait(60)


def test_settings_are_the_configured_ones():
    device = RealDevice(
        source="real",
        hdd={"path": "/dev/a", "name": "a"},
        ssd={"path": "/dev/b", "name": "b"},
        logical_block_bytes=4096,
        writes="as_reads",
        fold=True,
        repetitions=5,
        chunk_requests=7,
        timeout_s=9.0,
    )
    assert Settings.of(device) == Settings(4096, "as_reads", True, 5, 7, 9.0)
    assert Settings.of(device, "closed", 4).depth == 4
