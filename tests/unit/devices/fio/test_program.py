import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from cachezoo.devices.fio.command import Way, check_way, replay_command
from cachezoo.devices.fio.program import Program, find_fio, run
from cachezoo.errors import DeviceError
from tests.replay_data import SocketTarget, false_fio, settle

ROOT = Path(__file__).parents[4]


def alone_on_path(monkeypatch, folder):
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")


def alive(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2][0] != "Z"
    except OSError:
        return False


def test_no_fio_names_debians_package(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(DeviceError, match=r"^fio is not on PATH; install it .Debian: apt-get install fio"):
        find_fio()


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ("echo fio-3.20", "a replay needs fio 3.30 or later, this is fio-3.20; install a newer fio"),
        ("echo hello", "says 'hello', not its version"),
        ("exit 1", "says 'nothing', not its version"),
    ],
)
def test_an_old_or_other_fio_is_refused(monkeypatch, tmp_path, said, expected):
    false_fio(tmp_path, "")
    (tmp_path / "fio").write_text(f"#!/bin/sh\n{said}\n")
    alone_on_path(monkeypatch, tmp_path)
    with pytest.raises(DeviceError, match=f"^{tmp_path}/fio: {expected}"):
        find_fio()


@pytest.mark.parametrize("text", ["fio-3.36", "fio-3.36-17-gabc", "fio-3.36.1", "fio-4.0"])
def test_versions_of_builds_are_read(monkeypatch, tmp_path, text):
    false_fio(tmp_path, "")
    (tmp_path / "fio").write_text(f"#!/bin/sh\necho {text}\n")
    alone_on_path(monkeypatch, tmp_path)
    find_fio().needs((3, 36), "it")


@pytest.mark.needs("fio")
def test_the_installed_fio_is_found():
    assert find_fio().version >= (3, 30)


def test_a_run_that_hangs_is_killed_with_all_it_started(tmp_path):
    false_fio(tmp_path / "bin", 'sleep 300 & echo $$ $! > "$0.pids"; wait')
    (tmp_path / "work").mkdir()
    written = tmp_path / "bin" / "fio.pids"

    def begun():
        return written.exists() and written.read_text()

    with pytest.raises(DeviceError, match=r"^/dev/x: fio did not end within device.timeout_s \(0.5 s\)"):
        # However long the script takes to begin, its time is not up before.
        run([str(tmp_path / "bin" / "fio")], tmp_path / "work", 0.5, "/dev/x", lambda *_: settle(begun))
    pids = [int(one) for one in written.read_text().split()]
    assert len(pids) == 2
    assert settle(lambda: not any(alive(pid) for pid in pids))


def test_a_run_that_ends_leaves_no_child_behind(tmp_path):
    false_fio(tmp_path / "bin", 'sleep 300 & echo $! > "$0.pids"')
    run([str(tmp_path / "bin" / "fio")], tmp_path, 20, "x")
    assert settle(lambda: not alive(int((tmp_path / "bin" / "fio.pids").read_text())))


def test_a_run_that_fails_says_what_fio_said(tmp_path):
    false_fio(tmp_path, "echo starting; echo 'fio: it broke' >&2; exit 3")
    with pytest.raises(DeviceError, match=r"^x: fio ended with status 3: fio: it broke$"):
        run([str(tmp_path / "fio")], tmp_path, 20, "x")


CHILD = """
import sys
from pathlib import Path
from cachezoo.devices.fio.program import run
run([sys.argv[1]], Path(sys.argv[2]), 300, "x")
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_fio_dies_with_the_process_that_runs_it(tmp_path, number):
    body = 'echo $$ > "$0.pid"; exec sleep 300'
    fio = false_fio(tmp_path / "bin", body) / "fio"
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    child = subprocess.Popen([sys.executable, "-c", CHILD, fio, tmp_path], env=environment, stderr=subprocess.DEVNULL)
    try:
        pid = tmp_path / "bin" / "fio.pid"
        assert settle(lambda: pid.exists() and pid.read_text().strip())
        fio_pid = int(pid.read_text())
        assert alive(fio_pid)
        child.send_signal(number)
        child.wait(60)
        assert settle(lambda: not alive(fio_pid))
    finally:
        child.kill()
        child.wait(60)


TARGET = SocketTarget(Path("/tmp/s"), 1 << 20)
OLD, NEW = Program("/usr/bin/fio", (3, 33)), Program("/usr/bin/fio", (3, 36))


def test_the_command_of_a_service_replay():
    command = replay_command(OLD, TARGET, Way(), 65536, writes=False)
    assert command[0] == "/usr/bin/fio"
    for option in ("--thread", "--ioengine=nbd", "--iodepth=1", "--uri=nbd+unix:///?socket=/tmp/s", "--readonly"):
        assert option in command
    assert "--log_offset=1" in command and "--bs=65536" in command
    assert not any("chunked" in option or "no_stall" in option for option in command)


def test_only_a_replay_that_writes_may_write_and_only_a_chunked_one_is_read_in_chunks():
    command = replay_command(OLD, TARGET, Way("closed", 4, chunked=True), 512, writes=True)
    assert "--readonly" not in command
    assert "--iodepth=4" in command and "--read_iolog_chunked=1" in command


def test_a_timed_replay_needs_3_36():
    with pytest.raises(
        DeviceError, match=r"a replay at the trace's own times needs fio 3\.36 or later, this is fio-3\.33"
    ):
        check_way(Way("response", 8), OLD, TARGET)
    target = SocketTarget(Path("/tmp/s"), 1 << 20, engine="libaio")
    assert "--iodepth=8" in replay_command(NEW, target, Way("response", 8), 512, writes=False)


@pytest.mark.parametrize(
    ("way", "engine", "said"),
    [
        (Way("service", 2), "libaio", "service times are measured at queue depth 1, not 2"),
        (Way("closed", 2), "psync", "engine psync has queue depth 1, not 2; set device.engine to libaio"),
        (Way("response", 1), "psync", "needs device.engine libaio, not psync"),
        (Way("response", 8), "nbd", "needs device.engine libaio, not nbd"),
    ],
)
def test_ways_that_cannot_be(way, engine, said):
    target = SocketTarget(Path("/tmp/s"), 1 << 20, engine=engine)
    with pytest.raises(DeviceError, match=said):
        check_way(way, NEW, target)
