"""Real closed-loop captures of a few hundred requests by every program, and what is left of them: nothing."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from cachezoo.errors import CaptureError
from cachezoo.traces.pages import expand_pages
from cachezoo.traces.store import read_trace
from tests.tools.capture.test_capture import nothing_left, silent  # noqa: F401 - a fixture for every test here
from tests.tracing import running, wait_for_requests
from tools.capture.programs import PROGRAMS, dbench
from tools.capture.programs.base import Closed
from tools.capture.programs.web import NginxSite
from tools.capture.recipe import parse_recipe
from tools.capture.run import capture
from tools.capture.sandbox import Sandbox

ROOT = Path(__file__).resolve().parents[3]
needs = pytest.mark.needs("root", "tracefs", "loop", "cgroup", "capture")
slow = pytest.mark.slow  # a server wants some seconds to begin and end
SITE = {
    "clients": 4,
    "articles": 300,
    "assets": 1.0,
    "median_kib": 8,
    "sigma": 1.0,
    "max_kib": 256,
    "publish_articles": 4,
    "backup_share": 0.3,
}
MAILBOXES = {"clients": 2, "users": 6, "messages": 120, "median_kib": 6, "sigma": 0.8, "max_kib": 64}
TREES = {"clients": 1, "trees": 2, "files": 80, "median_kib": 8, "sigma": 0.8, "max_kib": 64, "batch": 4}
LOADS = {
    "apache": SITE,
    "build": TREES,
    "caddy": SITE,
    # A server, a client with operations of its own beside scripts, a job: all that a recipe's scripts can be.
    "commands": {
        "name": "copies",
        "packages": ["coreutils"],
        "clients": 2,
        "items": 120,
        "batch": 4,
        "values": {"median_kib": 16, "sigma": 0.5, "max_kib": 64, "content": "bytes"},
        "prepare": "mkdir $root/copies; python3 -m tools.capture.clients.files $root/files $items"
        " $median_kib $sigma $max_kib $content $seed",
        "server": {
            "command": "exec python3 -m http.server --bind 127.0.0.1 --directory $root $port",
            "fill": "python3 -c \"import urllib.request; urllib.request.urlopen('http://127.0.0.1:$port/files')\"",
        },
        "client": "files",
        "operations": {
            "reads": None,
            "changes": None,
            "copies": "for one in $set; do cp $root/files/*/f*$one $root/copies/; done",
        },
        "jobs": {"sums": "cat $root/files/*/* | md5sum; sleep 0.1"},
    },
    "dbench": {
        "clients": 2,
        "files": 300,
        "shared": 0.5,
        "shared_visits": 0.5,
        "median_kib": 8,
        "sigma": 1.0,
        "max_kib": 128,
        "user_sigma": 0.5,
        "backup_share": 0.3,
    },
    "dovecot": {**MAILBOXES, "format": "sdbox"},
    "git": {**TREES, "commits": 3},
    "lighttpd": SITE,
    "maildir": MAILBOXES,
    "mariadb": {"clients": 2, "accounts": 5000, "ledger_mib": 1, "buffer_pool_mib": 8},
    "nginx": SITE,
    "notmuch": {"clients": 1, "messages": 40, "median_kib": 2, "sigma": 0.5, "max_kib": 16, "words": 500, "deliver": 2},
    "postgres": {"clients": 2, "scale": 1, "ledger_mib": 1, "shared_buffers_mib": 4},
    "postmark": {
        "clients": 2,
        "domains": 4,
        "messages": 6000,
        "pool_sigma": 0.5,
        "mean_kib": 8,
        "size_sigma": 0.4,
        "read_bias": 7,
        "archives": 0.5,
        "visit_calls": 40,
    },
    "rocksdb": {
        "clients": 1,
        "keys": 20000,
        "value_bytes": 200,
        "cache_mib": 1,
        "write_buffer_mib": 1,
        "compression": "none",
        "ranges": 5,
    },
    "rsync": {**TREES, "keep": 1},
    "sqlite": {"clients": 2, "accounts": 4000, "filler": 100, "ledger_rows": 4000, "journal": "wal", "cache_kib": 64},
}
# Whose block requests have another name than the program's own: its clients, or what it runs.
ISSUERS = {
    "apache": ("apache2",),
    "commands": ("cat", "cp", "kworker", "python"),
    "build": ("ar", "as", "grep", "ld", "make", "python"),
    # What these write goes to the disk later, by the kernel's hand.
    "dbench": ("dbench", "kworker"),
    "postmark": ("postmark", "kworker", "tar"),
    "maildir": ("python",),
    "mariadb": ("mariadbd",),
    "rocksdb": ("db_bench", "rocksdb"),
    "rsync": ("python", "rsync", "tar"),
    "sqlite": ("python",),
    "dovecot": ("imap",),
}
# A server's own folders alone are larger than that.
MEMORY_MIB = {"mariadb": 128, "caddy": 64, "commands": 64, "dovecot": 64, "build": 64}


def recipe(program, **changes):
    """A recipe of two short phases: with every operation and job of a program, and with one that may need no disk."""
    load = {"program": program, **LOADS[program]}
    kind = PROGRAMS[program]
    operations, beside = tuple(load.get("operations", kind.operations)), tuple(load.get("jobs", kind.beside))
    phases = [
        {"mix": dict.fromkeys(operations, 1), "theta": 0.8, "requests": 150, "pages": 2000, "seconds": 60},
        {"mix": {operations[0]: 1}, "theta": 0.5, "move": 0.5, "requests": 100, "pages": 1500, "seconds": 2},
    ]
    phases[0]["beside"] = beside
    values = {
        "category": "tiny",
        "seed": 11,
        "disk_mib": {"mariadb": 512, "sqlite": 256}.get(program, 192),
        "place_mib": 128 if program == "sqlite" else 16,
        "memory_mib": MEMORY_MIB.get(program, 32),
        "readahead_kib": 64,
        "buffer_kib": 4096,
        "warmup_pages": 60,
        "phases": phases,
        "load": load,
    }
    return parse_recipe({**values, **changes}, "here")


def test_every_program_is_tried():
    assert set(LOADS) == {name for name, kind in PROGRAMS.items() if issubclass(kind, Closed)}


@needs
@slow
@pytest.mark.parametrize("name", sorted(LOADS))
def test_a_short_capture(taken, name):
    made = recipe(name)
    trace = read_trace(taken.out)
    pages = expand_pages(trace)
    report = json.loads(taken.said)
    assert report["requests"] == len(trace) and 50 < len(trace) <= sum(phase.requests for phase in made.phases) == 250
    assert (report["page_accesses"], report["distinct_pages"]) == (len(pages.page_ids), pages.n_pages)
    events = json.loads(trace.meta.extra["events"])
    assert not any(events[kind] for kind in ("failed", "requeued", "unmatched_issue"))
    assert (trace.latency_us >= 0).all() and np.median(trace.latency_us) > 0
    assert any(user.startswith(ISSUERS.get(name, (name,))) for user in trace.user.names), trace.user.names
    assert trace.volume.names == ("loop",)
    assert (trace.offset + trace.size).max() <= made.disk_mib << 20
    if name == "sqlite":  # its data lie behind what is laid out first
        assert np.median(trace.offset) > 100 << 20
    meta = trace.meta
    assert (meta.trace_id, meta.category, meta.source_format, meta.licence) == ("t", "tiny", "capture", "CC0-1.0")
    assert json.loads(meta.extra["recipe"]) == made.model_dump(mode="json", exclude_none=True)
    versions = json.loads(meta.extra["programs"])
    assert len(versions) >= 2 and all(any(letter.isdigit() for letter in said) for said in versions.values())
    phases = json.loads(meta.extra["phases"])
    assert [phase["first_request"] for phase in phases] == sorted(phase["first_request"] for phase in phases)
    assert len(phases) == 2


@needs
@slow
def test_a_program_that_fails_is_the_captures_failure_and_leaves_nothing(tmp_path, monkeypatch):
    def broken(self, phase, number):
        return [self.player("broken", ["/bin/sh", "-c", "echo no such thing; exit 3"])]

    monkeypatch.setattr(NginxSite, "play", broken)
    with pytest.raises(CaptureError, match=r"broken failed with status 3: no such thing"):
        capture(recipe("nginx"), tmp_path / "t.parquet", silent)
    assert list(tmp_path.iterdir()) == []


@needs
@slow
def test_a_program_that_ends_before_its_phase_is_the_captures_failure(tmp_path, monkeypatch):
    monkeypatch.setattr(NginxSite, "play", lambda self, phase, number: [self.player("short", ["/bin/true"])])
    with pytest.raises(CaptureError, match="short ended before its phase did"):
        capture(recipe("nginx"), tmp_path / "t.parquet", silent)
    assert list(tmp_path.iterdir()) == []


@needs
def test_users_who_are_stopped_before_their_program_began_are_no_failure(tmp_path, monkeypatch):
    """On a busy machine a short warm-up ends before the last user's dbench is started."""
    monkeypatch.setattr(dbench, "PLAY", "sleep 60")
    made = recipe("dbench")
    with Sandbox(made.disk_mib, made.memory_mib, made.readahead_kib, tmp_path) as box:
        load = PROGRAMS["dbench"](made, box)
        load.prepare()
        load.end(load.play(made.phases[1], -1))


@needs
@slow
@pytest.mark.parametrize(
    ("program", "number"),
    [("git", signal.SIGTERM), pytest.param("postmark", signal.SIGINT, marks=pytest.mark.long)],
)
def test_a_signal_under_load_ends_in_one_line_and_leaves_nothing(tmp_path, program, number):
    """With programs that the clients started, and with stopped ones."""
    phase = {"mix": {PROGRAMS[program].operations[0]: 1}, "theta": 0.5, "requests": 10**6, "pages": 10**7}
    made = recipe(program, phases=[{**phase, "seconds": 300}], warmup_pages=0)
    (tmp_path / "r.yaml").write_text(json.dumps(made.model_dump(mode="json", exclude_none=True)))
    begun = [sys.executable, "-m", "tools.capture", str(tmp_path / "r.yaml"), "-o", str(tmp_path / "t.parquet")]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    environment = {**os.environ, "PYTHONPATH": f"{ROOT / 'src'}:{ROOT}"}
    with running(begun, env=environment, **pipes) as process:
        wait_for_requests(process)
        process.send_signal(number)
        out, errors = process.communicate(timeout=120)
    assert (process.returncode, out) == (130 if number == signal.SIGINT else 1, ""), errors
    lines = [line for line in errors.splitlines() if line.startswith("cachezoo: ")]
    assert lines == [f"cachezoo: interrupted by {number.name}; nothing was written"]
    assert [path.name for path in tmp_path.iterdir()] == ["r.yaml"]
