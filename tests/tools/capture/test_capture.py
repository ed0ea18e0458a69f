"""Real captures of a few seconds, and what is left of them afterwards: nothing."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest

from cachezoo.capture.tracefs import MOUNT_POINT, PREFIX, tracefs_sources
from cachezoo.errors import CaptureError, InterruptedCaptureError
from cachezoo.traces.pages import expand_pages
from cachezoo.traces.store import read_trace
from tests.replay_data import settle
from tests.tracing import instance_of, running, unwaited, wait_for_requests
from tools.capture import __main__ as command_line
from tools.capture import sandbox
from tools.capture.__main__ import main
from tools.capture.paced import SETTLE_S, Jobs
from tools.capture.programs import program_class
from tools.capture.programs.base import Program
from tools.capture.programs.office import Office
from tools.capture.programs.postmark import Postmark
from tools.capture.programs.web import NginxSite
from tools.capture.recipe import RECIPES, load_recipe
from tools.capture.run import capture
from tools.capture.sandbox import Sandbox, sweep

ROOT = Path(__file__).resolve().parents[3]
KILLED = ("blob", "mail", "spool")
# One of each kind of server in every run; a second one of a kind, and those without a server, in the long one.
BRIEFLY = ("blob", "database", "mail", "web")
OTHERS = sorted({path.stem.removesuffix("_tiny") for path in RECIPES.glob("*_tiny.yaml")} - {*BRIEFLY})
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
    left = []

    def gone():
        left[:] = [line for line in leftovers() if not any(name in line for name in others)]
        return not left

    assert settle(gone), left
    # What the machine had mounted stays; nothing comes with it.
    assert [name for name in tracefs_sources() if name not in others] == [name for name in before if name not in others]


def silent(done, note=""):
    pass


def command(workload, out, *options):
    return [sys.executable, "-m", "tools.capture", f"{workload}_tiny", "-o", str(out), *options]


def environment():
    return {**os.environ, "PYTHONPATH": f"{ROOT / 'src'}:{ROOT}"}


CATEGORIES = {"mariadb": "database", "lighttpd": "web"}
# Whose block requests have another name than the workload.
SERVERS = {"database": "postgres", "mariadb": "mariadbd", "web": "nginx", "mail": "postmark", "fileserver": "dbench"}
SERVERS |= {"blob": "nginx", "spool": "imap"}


def recipe(name):
    return load_recipe(RECIPES / f"{name}_tiny.yaml")


@needs
@slow
@pytest.mark.parametrize("name", [*BRIEFLY, *(pytest.param(name, marks=pytest.mark.long) for name in OTHERS)])
def test_a_capture_of_six_seconds(taken, name):
    report = json.loads(taken.said)
    trace = read_trace(taken.out)
    # How much was asked in six seconds is the machine's; so is what was under way as they ended.
    assert report["requests"] == len(trace) > 0 and report["failed"] == 0
    assert report["unmatched_complete"] + report["unmatched_issue"] <= len(trace)
    assert (trace.latency_us >= 0).all()
    assert np.median(trace.latency_us) > 0
    server = SERVERS.get(name, name)
    assert server in trace.user.names
    assert {"R", "W"} <= {flags.lstrip("F")[0] for flags in trace.flags.names}
    assert expand_pages(trace).n_pages > 0
    assert (trace.offset + trace.size).max() <= recipe(name).disk_mib << 20
    meta, category = trace.meta, CATEGORIES.get(name, name)
    assert (meta.trace_id, meta.category, meta.source_format, meta.licence) == ("t", category, "capture", "CC0-1.0")
    assert json.loads(meta.extra["recipe"]) == recipe(name).model_dump(mode="json", exclude_none=True)
    assert {"imap": "dovecot"}.get(server, server) in json.loads(meta.extra["programs"])
    assert json.loads(meta.extra["machine"])["cgroup_version"] in (1, 2)
    assert json.loads(meta.extra["schedule"])["peak_to_mean"] >= 2
    assert float(meta.extra["time_scale"]) == 28_800
    volumes = program_class(recipe(name)).volumes(recipe(name))
    assert set(trace.volume.names) == set(volumes)
    assert ("joined" in json.loads(meta.extra["events"])) == (name == "blob")
    if name == "blob":
        # The accesses are of the clients' ranges, not of the device's largest request.
        assert len(volumes) == 3 and trace.size.max() >= 2 << 20
        assert trace.size[trace.op == 0].mean() > 512 << 10


class Writer(NginxSite):
    """A program without a server, whose processes write a little and end."""

    packages: ClassVar[dict[str, str]] = {}

    def prepare(self):
        pass

    def start(self):
        pass

    @classmethod
    def versions(cls):
        return {}

    def segment(self, segment):
        target = f"of={self.box.mount}/{segment.index}"
        return self.player("dd", ["dd", "if=/dev/zero", target, "bs=4096", "count=8", "oflag=direct"])

    def check_segment(self, segment, player):
        Program.finish(self, player)

    def job(self, job):
        pass


@pytest.fixture
def writer(monkeypatch):
    """The program that every recipe gets."""
    made = type("Made", (Writer,), {})
    monkeypatch.setattr("tools.capture.run.program_class", lambda recipe: made)
    return made


@needs
def test_segments_and_jobs_begin_at_their_times(tmp_path, monkeypatch, writer):
    out, clock, begun = tmp_path / "t.parquet", unwaited(), []

    def noted(owner, name, what):
        do = getattr(owner, name)

        def note(self, one):
            begun.append((clock.now(), what(one)))
            return do(self, one)

        monkeypatch.setattr(owner, name, note)

    noted(writer, "segment", lambda segment: segment.index)
    noted(Jobs, "start", lambda job: job.kind)
    report = capture(recipe("web"), out, silent, clock=clock)
    assert begun[0] == (0, -1)  # the warm-up
    jobs = {"backup": 0.1, "publish": 0.3, "crawl": 0.4}
    expected = [(at, at) for at in range(6)] + [(3 * (day + at), kind) for day in range(2) for kind, at in jobs.items()]
    assert [what for _, what in begun[1:]] == [what for _, what in sorted(expected, key=lambda one: one[0])]
    assert [at for at, _ in begun[1:]] == pytest.approx(sorted(at for at, _ in expected))
    assert clock.now() == pytest.approx(6 + SETTLE_S)
    trace = read_trace(out)
    assert report.requests == len(trace) >= 6 * 8
    assert list(tmp_path.iterdir()) == [out]


@needs
@pytest.mark.parametrize("what", ["segment", "job"])
def test_a_failure_in_the_middle_leaves_nothing(tmp_path, monkeypatch, writer, what):
    def fail(self, _):
        message = f"the {what} failed"
        raise CaptureError(message)

    def start(self, job, begin=Jobs.start):
        begin(self, job)
        self.join(60)

    monkeypatch.setattr(writer, what, fail)
    monkeypatch.setattr(Jobs, "start", start)
    with pytest.raises(CaptureError, match=f"the {what} failed"):
        capture(recipe("web"), tmp_path / "t.parquet", silent, clock=unwaited())
    assert list(tmp_path.iterdir()) == []


@needs
def test_lost_events_are_refused(tmp_path, monkeypatch, writer):
    monkeypatch.setattr("cachezoo.capture.tracefs.lost_events", lambda instance: 3)
    with pytest.raises(CaptureError, match=r"lost 3 block events .*raise buffer_kib"):
        capture(recipe("web"), tmp_path / "t.parquet", silent, clock=unwaited())
    assert list(tmp_path.iterdir()) == []


@needs
@slow
def test_a_mail_server_that_ends_is_the_captures_failure_and_leaves_no_stopped_program(tmp_path, monkeypatch):
    found, start = [], Postmark.segment

    def fail(self, segment):
        found.append(Path("/proc", str(self.servers[1].pid), "stat").read_text().rsplit(")", 1)[1].split()[0])
        self.servers[0].kill()
        return start(self, segment)

    monkeypatch.setattr(Postmark, "segment", fail)
    with pytest.raises(CaptureError, match=r"^postmark of domain 0 ended: .*Performing transactions"):
        capture(recipe("mail"), tmp_path / "t.parquet", silent)
    assert found[0] == "T"
    assert list(tmp_path.iterdir()) == []


@needs
@slow
def test_what_dbench_reports_is_the_captures_failure(tmp_path, monkeypatch):
    def spoil(self, segment):
        return ['0.1 Rename "/none" "/nowhere" NT_STATUS_OK\n' for _ in range(self._load.clients)]

    monkeypatch.setattr(Office, "segment", spoil)
    with pytest.raises(CaptureError, match=r"dbench: ERROR: child 0 failed at line 1"):
        capture(recipe("fileserver"), tmp_path / "t.parquet", silent)
    assert list(tmp_path.iterdir()) == []


def mounted(process):
    """Whether a capture has a filesystem and writes to it."""
    mount = Path("/var/tmp", f"{PREFIX}{process.pid}", "mnt")
    return mount.is_mount() and any(path.name != "lost+found" for path in mount.iterdir())


@needs
@slow
@pytest.mark.parametrize(
    ("workload", "loaded", "number"),
    [
        ("database", False, signal.SIGTERM),
        pytest.param("database", False, signal.SIGINT, marks=pytest.mark.long),
        pytest.param("web", True, signal.SIGTERM, marks=pytest.mark.long),
        ("web", True, signal.SIGINT),
        ("mail", True, signal.SIGINT),
        pytest.param("fileserver", True, signal.SIGTERM, marks=pytest.mark.long),
        pytest.param("spool", True, signal.SIGTERM, marks=pytest.mark.long),
    ],
)
def test_a_signal_ends_in_one_line_and_leaves_nothing(tmp_path, workload, loaded, number):
    """Once while the filesystem is filled, else under load; a mail server's programs are stopped for the most part."""
    begun = command(workload, tmp_path / "t.parquet", "--seconds", "600")
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with running(begun, env=environment(), **pipes) as process:
        if loaded:
            wait_for_requests(process)
        else:
            assert settle(lambda: process.poll() is not None or mounted(process))
        process.send_signal(number)
        out, errors = process.communicate(timeout=120)
    assert process.returncode == (130 if number == signal.SIGINT else 1), errors
    assert out == ""
    lines = [line for line in errors.splitlines() if line.startswith("cachezoo: ")]
    assert lines == [f"cachezoo: interrupted by {number.name}; nothing was written"]
    assert "Traceback" not in errors
    assert list(tmp_path.iterdir()) == []


@needs
@slow
@pytest.mark.parametrize("workload", ["web", *(pytest.param(one, marks=pytest.mark.long) for one in KILLED)])
def test_the_next_capture_sweeps_what_a_killed_one_left(tmp_path, workload):
    """With everything that it can leave: images, loop devices, mounts, memory group, tracefs instance, programs."""
    begun = command(workload, tmp_path / "t.parquet", "--seconds", "600")
    with running(begun, env=environment(), stderr=subprocess.DEVNULL) as process:
        wait_for_requests(process)
        process.kill()
    assert str(instance_of(process)) in leftovers()
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
        capture(recipe("web"), tmp_path / "t.parquet", silent)


def said(capsys, *words):
    """What the command line ends with, in one line."""
    with pytest.raises(SystemExit) as left:
        main([*map(str, words)])
    out, err = capsys.readouterr()
    assert (left.value.code, out, err.count("\n")) == (1, "", 1)
    return err


def test_bad_arguments_end_in_one_line(tmp_path, capsys):
    out = tmp_path / "t.parquet"
    for words, message in [
        (["tape", "-o", out], "tape.yaml: not readable as YAML"),
        (["none.yaml", "-o", out], "none.yaml: not readable as YAML"),
        (["web_tiny", "--seconds", "2", "-o", out], "a duration of 2 s"),
        (["corpus/web/nginx_a", "--seconds", "20"], "only a schedule's days can be shortened"),
        (["web_tiny", "--seed", "-1", "-o", out], "--seed: seed"),
        (["web_tiny"], "web_tiny: is not of the corpus; name the trace's file with -o"),
        (["web_tiny", "web_train", "-o", out], "with -o there is one RECIPE"),
        (["web_tiny", "-o", tmp_path / "nodir/x.parquet"], f"({tmp_path}/nodir: no such folder); make it"),
        (["corpus/web/tape_a"], "has no recipe 'web/tape_a'; it has database/bdb_a, "),
    ]:
        assert message in said(capsys, *words)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("names", "end"), [(["corpus"], "stay: the same command goes on"), (["web_tiny"], "written")])
def test_an_interrupted_capture_says_how_it_goes_on(monkeypatch, tmp_path, capsys, names, end):
    def stopped(*_):
        message = "interrupted by SIGINT; nothing was written"
        raise InterruptedCaptureError(message)

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(command_line, "capture", stopped)
    with pytest.raises(SystemExit) as left:
        main([*names, *(["-o", str(tmp_path / "x")] if names != ["corpus"] else [])])
    err = capsys.readouterr().err
    assert left.value.code == 130 and err.startswith("cachezoo: interrupted by SIGINT; ") and err.endswith(f"{end}\n")


def test_a_failing_command_says_its_last_line():
    with pytest.raises(CaptureError, match="failed with status 3: second"):
        sandbox.call(["sh", "-c", "echo first; echo second; exit 3"])
    with pytest.raises(CaptureError, match="did not end within"):
        sandbox.call(["sleep", "5"], timeout_s=0.1)
