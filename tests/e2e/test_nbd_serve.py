"""`cachezoo-serve` over a file disk: read, written, looked at, changed, stopped, killed; and what it refuses."""

import json
import os
import random
import re
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from cachezoo.devices.nbd.client import connected
from cachezoo.seeds import derive_seed
from tests.openmetrics_text import read

ROOT = Path(__file__).parents[2]
BLOCK = 4096
PATIENCE_S = 60.0

pytestmark = pytest.mark.needs("nbdkit", "gcc")


class Machine:
    """A folder with a disk, and `cachezoo-serve` in it."""

    def __init__(self, folder, filter_file):
        self.folder, self.filter = folder, filter_file
        self.disk = random.Random(derive_seed(0, "served")).randbytes(1 << 20)
        (folder / "disk").write_bytes(self.disk)
        clean = {key: os.environ[key] for key in ("PATH", "HOME") if key in os.environ}
        self.env = clean | {"PYTHONPATH": str(ROOT / "src"), "CACHEZOO_RUN": str(folder / "run"),
                            "STATE_DIRECTORY": str(folder)}  # fmt: skip
        self.socket = folder / "run/d/nbd.sock"

    def line(self, *words):
        return [sys.executable, "-m", "cachezoo.serve", *words]

    def served(self, **changes):
        """The words of a start."""
        given = {"ssd": "ssd", "size": "256K", "name": "d", "filter": str(self.filter), "attach": "no"} | changes
        return [given.pop("disk", "disk"), *(word for key, text in given.items() for word in
                                             (f"--{key.replace('_', '-')}", text))]  # fmt: skip

    def run(self, *words, status=0):
        done = subprocess.run(self.line(*words), cwd=self.folder, env=self.env, capture_output=True, text=True,
                              timeout=PATIENCE_S, check=False)  # fmt: skip
        assert done.returncode == status, (done.stdout, done.stderr)
        return done.stdout if status == 0 else done.stderr

    @contextmanager
    def start(self, **changes):
        """Serve; the process, once clients can connect."""
        with (self.folder / "said").open("w") as said:
            process = subprocess.Popen(self.line(*self.served(**changes)), cwd=self.folder, env=self.env,
                                       stdout=subprocess.PIPE, stderr=said, text=True)  # fmt: skip
        try:
            process.first = process.stdout.readline()
            assert process.first.startswith("Serving"), (self.folder / "said").read_text()
            yield process
        finally:
            if process.poll() is None:
                process.terminate()
            process.wait(PATIENCE_S)
            process.stdout.close()

    def status(self):
        return json.loads(self.run("status", "d", "--json"))

    def read_all(self):
        with connected(self.socket) as disk:
            for low in range(0, len(self.disk), BLOCK):
                assert disk.read(low, BLOCK)[0] == self.disk[low : low + BLOCK]

    def write(self, block):
        data = bytes([block % 256]) * BLOCK
        self.disk = self.disk[: block * BLOCK] + data + self.disk[(block + 1) * BLOCK :]
        with connected(self.socket) as disk:
            disk.write(block * BLOCK, data)


@pytest.fixture
def machine(tmp_path, built):
    return Machine(tmp_path, built)


def gone(pid):
    """Until a process has ended, or is dead and waits for its parent to look."""
    end = time.monotonic() + PATIENCE_S
    with suppress(OSError):
        while Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z":
            assert time.monotonic() < end, f"process {pid} did not end"
            time.sleep(0.01)


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def test_it_serves_is_looked_at_changed_and_stopped(machine):
    port = str(free_port())
    with machine.start(metrics=port, promise="5%", metrics_file="m.prom", write_rate="1GB/s") as process:
        machine.read_all()
        with connected(machine.socket) as disk:
            for _ in range(2000):
                disk.read(0, BLOCK)
        machine.write(7)
        found = machine.status()
        counters = found["counters"]
        assert counters["read_hits"] + counters["read_misses"] == 2256
        assert (found["name"], found["promised"], found["mode"]) == ("d", 0.05, "around")
        shown = machine.run("status").splitlines()
        assert shown[0].startswith("d: ") and "promised 5.0 %" in shown[0] and shown[1] == ""
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=10) as answer:
            families = read(answer.read().decode())
        hits = {labels["op"]: value for _, labels, value in families["cachezoo_hit_units"]["samples"]}
        assert hits["read"] == counters["read_hits"] > 1900
        assert families["cachezoo_ssd_write_budget_bytes_per_second"]["samples"][0][2] == 1e9
        with connected(machine.socket) as disk:  # stays while the policy changes
            assert machine.run("reload", "--policy", "lru").startswith("d: lru decides now")
            assert disk.read(7 * BLOCK, BLOCK)[0] == bytes([7]) * BLOCK
            said = machine.run("attach", "--ssd", "ssd2")
            assert said == f"d: {machine.folder}/ssd2 is the cache now, 256 KiB; it fills.\n"
            assert disk.read(7 * BLOCK, BLOCK)[0] == bytes([7]) * BLOCK
        assert machine.status()["ssd"] == str(machine.folder / "ssd2")
        said = machine.run("reload", "--policy", "nonsense", status=1)
        assert "nonsense" in said and said.count("\n") == 1
        assert machine.run("stop") == "d: stopped. The disk holds everything.\n"
        assert process.wait(PATIENCE_S) == 0
    assert "cachezoo_hit_units_total" in (machine.folder / "m.prom").read_text()
    assert (machine.folder / "disk").read_bytes() == machine.disk
    assert not (machine.folder / "run").exists()
    assert "nothing is served" in machine.run("status", status=1)


def test_models_of_a_page_cache_are_served_and_take_each_others_place(machine):
    stored = ROOT / "tests/golden/protocol2"
    with machine.start(policy=str(stored / "caching.database.lstm1x8"), mode="through") as process:
        machine.read_all()
        assert machine.status()["counters"]["kind"] == "caching"
        said = machine.run("reload", "--policy", str(stored / "reuse.follow"))
        assert said.startswith("d: reuse.follow decides now")
        machine.write(3)
        machine.read_all()
        assert machine.status()["counters"]["policy_failures"] == 0
        process.terminate()


@pytest.mark.parametrize("victim", ["pid", "nbdkit_pid"])
def test_a_start_after_a_kill_goes_on(machine, victim):
    with machine.start(label="label") as process:
        machine.read_all()
        machine.write(3)
        note = machine.status()
        os.kill(note[victim], signal.SIGKILL)
        assert process.wait(PATIENCE_S) == (1 if victim == "nbdkit_pid" else -signal.SIGKILL)
        gone(note["nbdkit_pid"])
    with machine.start(label="label"):
        machine.read_all()
        assert machine.status()["counters"]["resident_at_start"] > 0


@pytest.mark.parametrize("mode", ["through", "back"])
def test_writes_reach_the_disk_in_every_mode_also_after_a_kill(machine, mode):
    with machine.start(mode=mode, policy="s3fifo", size="512K") as process:
        for block in range(0, 64, 3):
            machine.write(block)
        with connected(machine.socket) as disk:
            disk.flush()
        machine.read_all()
        counters = machine.status()["counters"]
        assert counters["writes"] == mode and counters["write_hits"] + counters["write_misses"] == 22
        process.kill()
        process.wait(PATIENCE_S)
    with machine.start(mode=mode, policy="s3fifo", size="512K"):  # which waits for the nbdkit of before
        machine.read_all()
        machine.write(5)
        assert machine.run("stop") == "d: stopped. The disk holds everything.\n"
    assert (machine.folder / "disk").read_bytes() == machine.disk


def test_in_mode_back_a_stop_before_any_client_writes_what_the_ssd_holds(machine):
    with machine.start(mode="back", policy="s3fifo", size="512K", option="cz-delay=3600") as process:
        for block in range(0, 64, 3):
            machine.write(block)
        with connected(machine.socket) as disk:
            disk.flush()
        nbdkit = machine.status()["nbdkit_pid"]
        os.kill(nbdkit, signal.SIGKILL)
        assert process.wait(PATIENCE_S) == 1
        gone(nbdkit)
    assert (machine.folder / "disk").read_bytes() != machine.disk
    with machine.start(mode="back", policy="s3fifo", size="512K", option="cz-delay=3600"):
        assert machine.status()["counters"]["dirty"] > 0
        assert machine.run("stop") == "d: stopped. The disk holds everything.\n"
    assert (machine.folder / "disk").read_bytes() == machine.disk


def test_ctrl_c_ends_it_cleanly_and_another_name_is_another_cache(machine):
    (machine.folder / "disk2").write_bytes(machine.disk)
    with machine.start() as process:
        assert f"process {process.pid}" in machine.run(*machine.served(), status=1)
        said = machine.run(*machine.served(disk="disk2", name="e"), status=1)  # on the same SSD
        assert said.count("\n") == 1 and "ssd" in said
        process.send_signal(signal.SIGINT)
        assert process.wait(PATIENCE_S) == 0
    assert (machine.folder / "said").read_text().count("Traceback") == 0


def test_in_the_background_it_returns_once_it_serves(machine):
    shown = machine.run(*machine.served(), "--background")
    try:
        assert "nbd+unix:///?socket=" in shown
        machine.read_all()
        assert "it is served by process" in machine.run(*machine.served(), "--background", status=1)
        machine.read_all()
    finally:
        assert machine.run("stop", "d").startswith("d: stopped")
    said = machine.run(*machine.served(size="3T"), "--background", status=1)
    assert said.count("\n") == 1


def test_a_file_of_options_and_a_reload_of_it(machine):
    file = machine.folder / "d.conf"
    lines = "[serve]\ndisk = disk\nssd = ssd\nsize = 256K\nattach = no\npolicy = {}\ncz-stats = stats.json\n"
    file.write_text(lines.format("lru") + f"filter = {machine.filter}\n")
    process = subprocess.Popen(machine.line("--config", str(file), "--name", "d"), cwd=machine.folder, env=machine.env,
                               stdout=subprocess.PIPE, text=True)  # fmt: skip
    try:
        assert process.stdout.readline().startswith("Serving")
        file.write_text(file.read_text().replace("= lru", "= s3fifo"))
        assert machine.run("reload", "d").startswith("d: s3fifo decides now")
        assert machine.status()["counters"]["policy"] == "s3fifo"
    finally:
        process.terminate()
        assert process.wait(PATIENCE_S) == 0
        process.stdout.close()
    assert json.loads((machine.folder / "stats.json").read_text())["policy"] == "s3fifo"


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"policy": "nonsense"}, "nonsense"),
        ({"mode": "sideways"}, "--mode 'sideways': there are around, through, back"),
        ({"size": "1K"}, "--size: 1,024 bytes are less than a page"),
        ({"policy": "bundle"}, "bundle"),
        ({"ssd": "full"}, "full"),
        ({"ssd": "disk"}, "--ssd .*/disk: it is the disk itself"),
        ({"disk": "none"}, "DISK .*/none: there is no such file or device"),
    ],
)
def test_what_is_wrong_is_one_line_and_nothing_is_written(machine, changes, says):
    (machine.folder / "bundle").mkdir()
    (machine.folder / "bundle/manifest.json").write_text("{}")
    (machine.folder / "full").write_bytes(b"data of somebody" * 4096)
    before = {one.name: one.read_bytes() for one in machine.folder.iterdir() if one.is_file()}
    said = machine.run(*machine.served(**changes), status=1)
    assert said.startswith("cachezoo-serve: ") and said.count("\n") == 1

    assert re.search(says, said)
    assert {one.name: one.read_bytes() for one in machine.folder.iterdir() if one.is_file()} == before
    assert not (machine.folder / "run").exists()
