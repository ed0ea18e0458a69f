import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from cachezoo.devices.nbd import server
from cachezoo.devices.nbd.client import connected
from cachezoo.devices.nbd.server import SlowRange, serving
from cachezoo.errors import DeviceError
from cachezoo.settings.device import Hdd, ReadBuffer, Ssd

FLASH = Ssd(read_us=90.0, write_us=20.0, read_mb_s=550.0, write_mb_s=500.0)
DISK = Hdd(
    capacity_bytes=1 << 30, rotation_us=8000.0, seek_base_us=0.0, seek_root_us=0.0, outer_mb_s=160.0, inner_mb_s=80.0
)
SIZE = 1 << 30
needs_nbdkit = pytest.mark.needs("gcc", "nbdkit")


@pytest.fixture
def scratch(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    return tmp_path


def gone(process):
    """Whether a process ends within a minute; one that only waits for its parent to notice has."""
    for _ in range(6000):
        try:
            if Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()[0] == "Z":
                return True
        except FileNotFoundError:
            return True
        time.sleep(0.01)
    return False


@needs_nbdkit
def test_ends_with_its_context(scratch):
    with serving(FLASH, SIZE) as target:
        assert Path(f"/proc/{target.process}").exists()
        assert target.describe()["kind"] == "emulated"
        assert target.fio_options() == [f"--uri=nbd+unix:///?socket={target.socket}"]
    assert not Path(f"/proc/{target.process}").exists()
    assert list(scratch.iterdir()) == []


@needs_nbdkit
def test_ends_when_the_body_raises(scratch):
    with pytest.raises(ZeroDivisionError), serving(FLASH, SIZE) as target:
        raise ZeroDivisionError
    assert not Path(f"/proc/{target.process}").exists()
    assert list(scratch.iterdir()) == []


@needs_nbdkit
def test_request_that_takes_for_ever_does_not_keep_it(scratch):
    begin = time.monotonic()
    with serving(FLASH, SIZE, slow=SlowRange(0, 4096, 1e9)) as target, connected(target.socket) as client:
        client._wire.settimeout(0.2)
        with pytest.raises(TimeoutError):
            client.read(0, 4096)
    assert time.monotonic() - begin < 500  # half of what the request takes
    assert not Path(f"/proc/{target.process}").exists()


OWNER = """
import sys, time
from pathlib import Path
from cachezoo.settings.device import Ssd
from cachezoo.devices.nbd.server import serving
with serving(Ssd(read_us=1, write_us=1, read_mb_s=500, write_mb_s=500), 1 << 20) as target:
    print(target.process, flush=True)
    time.sleep(600)
"""


@needs_nbdkit
@pytest.mark.parametrize("end", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_ends_with_the_program_that_started_it(end, scratch):
    environment = {**os.environ, "TMPDIR": str(scratch), "PYTHONPATH": os.pathsep.join(sys.path)}
    with subprocess.Popen(
        [sys.executable, "-c", OWNER], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment
    ) as owner:
        process = int(owner.stdout.readline())
        owner.send_signal(end)
        owner.wait(60)
    assert gone(process)
    left = list(scratch.iterdir())
    assert len(left) == (end == signal.SIGKILL)
    for folder in left:  # young ones may be about to be locked
        os.utime(folder, (0, 0))
    with serving(FLASH, SIZE) as target:
        assert [path.name for path in scratch.iterdir()] == [target.socket.parent.name]  # what was left is cleared


@needs_nbdkit
def test_disk_that_ends_early_is_said_to_have_ended(scratch):
    with pytest.raises(DeviceError, match="nbdkit ended with status -9") as caught, serving(FLASH, SIZE) as target:
        os.kill(target.process, signal.SIGKILL)
        assert gone(target.process)
        message = "fio: I/O error"
        raise DeviceError(message)
    assert str(caught.value.__cause__) == "fio: I/O error"


@needs_nbdkit
def test_disk_that_does_not_start_says_why(scratch, monkeypatch):
    monkeypatch.setattr(server, "plugin_parameters", lambda model: {"mode": "hdd"})
    with (
        pytest.raises(DeviceError, match=r"nbdkit ended with status 1: .*capacity_bytes: must be given"),
        serving(DISK, 1),
    ):
        pass
    assert list(scratch.iterdir()) == []


@needs_nbdkit
def test_disk_that_is_not_ready_in_time_is_given_up(scratch, monkeypatch):
    script = scratch / "bin" / "nbdkit"
    script.parent.mkdir()
    script.write_text("#!/bin/sh\nexec sleep 600\n")
    script.chmod(0o755)
    plugin = server.plugin_file()
    monkeypatch.setattr(server, "plugin_file", lambda: plugin)
    monkeypatch.setattr(server, "need", lambda name: str(script))
    monkeypatch.setattr(server, "READY_S", 0.1)
    with pytest.raises(DeviceError, match="was not ready within"), serving(FLASH, SIZE):
        pass
    assert list(scratch.iterdir()) == [script.parent]


def test_folder_too_deep_for_a_socket_is_refused(tmp_path, monkeypatch):
    deep = tmp_path / ("x" * 100)
    deep.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(deep))
    with pytest.raises(DeviceError, match="set TMPDIR to a folder with a shorter one"), serving(FLASH, SIZE):
        pass
    assert list(deep.iterdir()) == []


@pytest.mark.parametrize(
    ("model", "key"),
    [
        (
            DISK.model_copy(update={"read_buffer": ReadBuffer(segments=4, segment_bytes=65536)}),
            "hdd.read_buffer.segments",
        ),
        (DISK.model_copy(update={"write_buffer_bytes": 4096}), "hdd.write_buffer_bytes"),
        (DISK.model_copy(update={"scheduler": "sstf"}), "hdd.scheduler"),
        (FLASH.model_copy(update={"write_buffer_bytes": 4096}), "ssd.write_buffer_bytes"),
    ],
)
def test_models_that_the_disk_does_not_know_are_refused(model, key):
    with (
        pytest.raises(DeviceError, match=f"^device.{key}: .* set it to .*, or use source: analytic$"),
        serving(model, SIZE),
    ):
        pass


def test_every_key_of_the_models_is_emulated_harmless_or_refused():
    refused = {"read_buffer", "write_buffer_bytes", "scheduler"}
    assert set(Hdd.model_fields) == set(server.HDD_KEYS) | refused
    harmless = {"channels", "stripe_bytes"}  # to one request at a time
    emulated = {"read_us", "write_us", "read_mb_s", "write_mb_s", "program_mb_s", "waf"}
    assert set(Ssd.model_fields) == emulated | harmless | {"write_buffer_bytes"}
