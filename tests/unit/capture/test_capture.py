"""Real captures of a few seconds, and what is left of them afterwards: nothing."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from cachezoo.capture import sandbox
from cachezoo.capture.recipe import load_recipe
from cachezoo.capture.run import capture, choose_recipe
from cachezoo.capture.sandbox import PREFIX, Sandbox, sweep
from cachezoo.capture.tracefs import MOUNT_POINT, tracefs_sources
from cachezoo.capture.workloads import workload_class
from cachezoo.capture.workloads.mail import MailWorkload
from cachezoo.capture.workloads.office import Office
from cachezoo.capture.workloads.web import WebWorkload
from cachezoo.errors import CaptureError, ConfigError
from cachezoo.traces.pages import expand_pages
from cachezoo.traces.store import read_trace
from tests.command_line import run

ROOT = Path(__file__).resolve().parents[3]
CONF = ROOT / "conf" / "capture"
needs = pytest.mark.needs("root", "tracefs", "loop", "cgroup", "capture")
slow = pytest.mark.slow  # a capture lasts six seconds, and its servers want some to begin and end


def leftovers():
    """Everything of a capture that can outlive it, on the whole machine."""
    folders = [Path("/var/tmp"), Path("/sys/fs/cgroup"), Path("/sys/fs/cgroup/memory"), MOUNT_POINT / "instances"]
    found = [str(path) for folder in folders for path in folder.glob(f"{PREFIX}*")]
    mounts = Path("/proc/self/mounts").read_text()
    processes, loops = Path("/proc").glob("[0-9]*/cmdline"), Path("/sys/block").glob("loop*/loop/backing_file")
    said = []
    for path in (*processes, *loops):
        try:
            said.append(path.read_bytes().decode(errors="replace"))
        except OSError:
            continue
    lines = [*mounts.splitlines(), *said]
    return found + [line for line in lines if f"/var/tmp/{PREFIX}" in line]


@pytest.fixture(autouse=True)
def nothing_left():
    before = tracefs_sources()
    # A capture of somebody else on this machine is none of ours, and what a killed one left may go.
    others = {name for name in before if name.startswith(PREFIX)}
    others |= {path.name for path in Path("/var/tmp").glob(f"{PREFIX}*")}
    yield
    for _ in range(30):
        left = [line for line in leftovers() if not any(name in line for name in others)]
        if not left:
            break
        time.sleep(0.1)
    assert not left
    # What the machine had mounted stays; nothing comes with it.
    assert [name for name in tracefs_sources() if name not in others] == [name for name in before if name not in others]


def silent(done, note=""):
    pass


def command(workload, out, *options):
    code = "from cachezoo.cli import main; main()"
    arguments = ["trace", "capture", workload, "-o", out, "--recipe", CONF / f"{workload}_tiny.yaml", *options]
    return [sys.executable, "-c", code, *map(str, arguments)]


def environment():
    return {**os.environ, "PYTHONPATH": str(ROOT / "src")}


@needs
@slow
@pytest.mark.parametrize(
    ("workload", "category", "server"),
    [
        ("database", "database", "postgres"),
        ("mariadb", "database", "mariadbd"),
        ("web", "web", "nginx"),
        ("lighttpd", "web", "lighttpd"),
        ("mail", "mail", "postmark"),
        ("fileserver", "fileserver", "dbench"),
        ("blob", "blob", "nginx"),
        ("spool", "spool", "imap"),
    ],
)
def test_a_capture_of_six_seconds(tmp_path, workload, category, server):
    out = tmp_path / "t.parquet"
    done = subprocess.run(
        command(workload, out, "--seed", "7", "--json"),
        capture_output=True,
        text=True,
        timeout=120,
        env=environment(),
        check=False,
    )
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    trace = read_trace(out)
    assert report["requests"] == len(trace) > 200
    assert report["unmatched_complete"] == report["unmatched_issue"] == report["failed"] == 0
    assert 4 < trace.time_us[-1] / 1e6 < 9
    assert (trace.latency_us >= 0).all()
    assert np.median(trace.latency_us) > 0
    assert server in trace.user.names
    assert {"R", "W"} <= {name.lstrip("F")[0] for name in trace.flags.names}
    assert expand_pages(trace).n_pages > 100
    assert (trace.offset + trace.size).max() <= load_recipe(CONF / f"{workload}_tiny.yaml").disk_mib << 20
    meta = trace.meta
    assert (meta.trace_id, meta.category, meta.source_format, meta.licence) == ("t", category, "capture", "CC0-1.0")
    assert json.loads(meta.extra["recipe"])["seed"] == 7
    assert {"imap": "dovecot"}.get(server, server) in json.loads(meta.extra["programs"])
    assert json.loads(meta.extra["machine"])["cgroup_version"] in (1, 2)
    assert json.loads(meta.extra["schedule"])["peak_to_mean"] >= 2
    assert float(meta.extra["time_scale"]) == 28_800
    assert list(tmp_path.iterdir()) == [out]
    volumes = workload_class(workload).volumes(load_recipe(CONF / f"{workload}_tiny.yaml"))
    assert set(trace.volume.names) == set(volumes)
    assert ("joined" in json.loads(meta.extra["events"])) == (workload == "blob")
    if workload == "blob":
        # The accesses are of the clients' ranges, not of the device's largest request.
        assert len(volumes) == 3 and trace.size.max() >= 2 << 20
        assert trace.size[trace.op == 0].mean() > 512 << 10


@needs
@slow
def test_a_failure_in_the_middle_leaves_nothing(tmp_path, monkeypatch):
    def fail(self, segment):
        message = "the segment failed"
        raise CaptureError(message)

    monkeypatch.setattr(WebWorkload, "segment", fail)
    with pytest.raises(CaptureError, match="the segment failed"):
        capture(load_recipe(CONF / "web_tiny.yaml"), tmp_path / "t.parquet", silent)
    assert list(tmp_path.iterdir()) == []


@needs
@slow
def test_a_mail_server_that_ends_is_the_captures_failure_and_leaves_no_stopped_program(tmp_path, monkeypatch):
    found, start = [], MailWorkload.segment

    def fail(self, segment):
        found.append(Path("/proc", str(self.postmarks.servers[1].pid), "stat").read_text().rsplit(")", 1)[1].split()[0])
        self.postmarks.servers[0].kill()
        return start(self, segment)

    monkeypatch.setattr(MailWorkload, "segment", fail)
    with pytest.raises(CaptureError, match=r"^postmark of domain 0 ended: .*Performing transactions"):
        capture(load_recipe(CONF / "mail_tiny.yaml"), tmp_path / "t.parquet", silent)
    assert found[0] == "T"
    assert list(tmp_path.iterdir()) == []


@needs
@slow
def test_what_dbench_reports_is_the_captures_failure(tmp_path, monkeypatch):
    def spoil(self, segment):
        return ['0.1 Rename "/none" "/nowhere" NT_STATUS_OK\n' for _ in range(self._load.clients)]

    monkeypatch.setattr(Office, "segment", spoil)
    with pytest.raises(CaptureError, match=r"dbench: ERROR: child 0 failed at line 1"):
        capture(load_recipe(CONF / "fileserver_tiny.yaml"), tmp_path / "t.parquet", silent)
    assert list(tmp_path.iterdir()) == []


@needs
@slow
def test_a_failing_job_is_the_captures_failure(tmp_path, monkeypatch):
    def fail(self, job):
        message = "the job failed"
        raise CaptureError(message)

    monkeypatch.setattr(WebWorkload, "_publish", fail)
    with pytest.raises(CaptureError, match="the job failed"):
        capture(load_recipe(CONF / "web_tiny.yaml"), tmp_path / "t.parquet", silent)


@needs
@slow
def test_lost_events_are_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("cachezoo.capture.tracefs.lost_events", lambda instance: 3)
    with pytest.raises(CaptureError, match=r"lost 3 block events .*raise buffer_kib"):
        capture(load_recipe(CONF / "web_tiny.yaml"), tmp_path / "t.parquet", silent)
    assert list(tmp_path.iterdir()) == []


@needs
@slow
@pytest.mark.parametrize(
    ("workload", "after", "number"),
    [
        ("database", 0.8, signal.SIGTERM),
        ("database", 0.8, signal.SIGINT),
        ("web", 4.0, signal.SIGTERM),
        ("web", 4.0, signal.SIGINT),
        ("mail", 4.0, signal.SIGINT),
        ("fileserver", 5.0, signal.SIGTERM),
        ("spool", 6.0, signal.SIGTERM),
    ],
)
def test_a_signal_ends_in_one_line_and_leaves_nothing(tmp_path, workload, after, number):
    """Once while the filesystem is filled, else under load; a mail server's programs are stopped for the most part."""
    process = subprocess.Popen(
        command(workload, tmp_path / "t.parquet"),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment(),
    )
    deadline = time.monotonic() + 30
    while not (Path("/var/tmp") / f"{PREFIX}{process.pid}" / "mnt").is_dir() and time.monotonic() < deadline:
        time.sleep(0.02)
    time.sleep(after)
    process.send_signal(number)
    out, errors = process.communicate(timeout=60)
    assert process.returncode == (130 if number == signal.SIGINT else 1), errors
    assert out == ""
    lines = [line for line in errors.splitlines() if line.startswith("cachezoo: ")]
    assert lines == [f"cachezoo: interrupted by {number.name}; nothing was written"]
    assert "Traceback" not in errors
    assert list(tmp_path.iterdir()) == []


@needs
@slow
@pytest.mark.parametrize("workload", ["web", "blob", "mail", "spool"])
def test_the_next_capture_sweeps_what_a_killed_one_left(tmp_path, workload):
    """With everything that it can leave: images, loop devices, mounts, memory group, tracefs instance, programs."""
    process = subprocess.Popen(command(workload, tmp_path / "t.parquet"), stderr=subprocess.PIPE, env=environment())
    instance = MOUNT_POINT / "instances" / f"{PREFIX}{process.pid}"
    deadline = time.monotonic() + 60
    while not instance.is_dir() and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.02)
    time.sleep(0.5)
    process.kill()
    process.communicate(timeout=30)
    assert str(instance) in leftovers()
    sweep()
    assert not [line for line in leftovers() if f"{PREFIX}{process.pid}" in line]
    assert f"{PREFIX}{process.pid}" not in tracefs_sources()


@needs
def test_memory_is_no_place_for_the_image(tmp_path):
    box = Sandbox(64, 32, 128, Path("/dev/shm"))
    with pytest.raises(CaptureError, match="is memory, not a disk"), box:
        pass
    assert not box.work.exists()


@needs
def test_too_little_room_is_said(tmp_path):
    with pytest.raises(CaptureError, match=r"MiB free, the recipe's disk_mib is 999999999; make room"):
        Sandbox(999_999_999, 32, 128, tmp_path).__enter__()


def test_only_root_captures(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(CaptureError, match="needs root"):
        capture(load_recipe(CONF / "web_tiny.yaml"), tmp_path / "t.parquet", silent)


def test_a_workload_has_a_recipe_without_being_given_one(monkeypatch):
    monkeypatch.chdir(ROOT)
    for workload, name in [("web", "web_train"), ("spool", "spool")]:
        assert choose_recipe(workload, None, None, None) == load_recipe(CONF / f"{name}.yaml")
    with pytest.raises(ConfigError, match=r"lighttpd_train\.yaml: not readable as a recipe"):
        choose_recipe("lighttpd", None, None, None)


def test_bad_arguments_end_in_one_line(tmp_path, monkeypatch):
    monkeypatch.chdir(ROOT)
    for arguments, message in [
        (["tape"], "unknown workload 'tape'"),
        (["web", "--recipe", str(CONF / "database_tiny.yaml")], "a recipe for database, not for web"),
        (["web", "--recipe", "none.yaml"], "not readable as a recipe"),
        (["web", "--duration", "2"], "a duration of 2 s"),
        (["web", "--seed", "-1"], "--seed: seed"),
    ]:
        done = run("trace", "capture", *arguments, "-o", tmp_path / "t.parquet", ok=False)
        assert done.returncode == 1
        assert message in done.stderr
        assert done.stderr.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_a_failing_command_says_its_last_line():
    with pytest.raises(CaptureError, match="failed with status 3: second"):
        sandbox.call(["sh", "-c", "echo first; echo second; exit 3"])
    with pytest.raises(CaptureError, match="did not end within"):
        sandbox.call(["sleep", "5"], timeout_s=0.1)
