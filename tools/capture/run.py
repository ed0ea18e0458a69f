"""Runs a recipe: prepares its program, warms up, drives it, joins the events, writes the trace."""

import hashlib
import json
import os
import platform
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any

from cachezoo.capture.live import MACHINE, Clock, build_trace
from cachezoo.capture.tracefs import Recorder, mounted_tracefs
from cachezoo.console import Advance
from cachezoo.errors import CaptureError, InterruptedCaptureError
from cachezoo.io import beside
from cachezoo.traces.events import JoinedRequests, match_requests
from cachezoo.traces.pages import expand_pages
from cachezoo.traces.source import Source
from cachezoo.traces.store import write_trace
from cachezoo.traces.table import TraceMeta
from tools.capture.closed import Phases
from tools.capture.disk import MIB
from tools.capture.events import parse_events
from tools.capture.installed import version_line
from tools.capture.joining import join_requests
from tools.capture.paced import Schedule
from tools.capture.programs import check_packages, program_class
from tools.capture.programs.base import Program
from tools.capture.recipe import Recipe
from tools.capture.sandbox import WORK_ROOT, Sandbox

LICENCE = "CC0-1.0"
NOTE = "a loop device on a virtual disk: latencies are neither a hard disk's nor a bare SSD's"


@dataclass(frozen=True)
class Report:
    """What a capture gave, for people."""

    trace: str
    requests: int
    page_accesses: int
    distinct_pages: int
    seconds: float
    counts: dict[str, int]


@dataclass(frozen=True)
class Recorded:
    """What `record` returns.

    Attributes:
        requests: of the whole load.
        volumes: device to the name of its volume.
        extra: what the trace's metadata hold of the machine and of how the program was driven.
    """

    requests: JoinedRequests
    volumes: dict[int, str]
    extra: dict[str, str]


def check_rights() -> None:
    """See that this process may capture.

    Raises:
        CaptureError: it is not root's.
    """
    if os.geteuid() != 0:
        raise CaptureError("a capture needs root (loop device, cgroup, tracefs); run it with sudo")


@contextmanager
def orderly_signals() -> Iterator[None]:
    """Turn SIGTERM and SIGHUP into a CaptureError, so that everything is undone; outside a main thread do nothing."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(number: int, _frame: FrameType | None) -> None:
        for wanted in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
            signal.signal(wanted, signal.SIG_IGN)
        message = f"interrupted by {signal.Signals(number).name}; nothing was written"
        raise (InterruptedCaptureError if number == signal.SIGINT else CaptureError)(message)

    before = {number: signal.signal(number, stop) for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def drive_of(recipe: Recipe) -> Schedule | Phases:
    """What drives the recipe's program.

    Raises:
        ConfigError: its schedule is unusable.
    """
    return Schedule(recipe) if recipe.schedule is not None else Phases(recipe)


def record(
    recipe: Recipe,
    kind: type[Program[Any]],
    spool: Path,
    advance: Advance,
    work_root: Path = WORK_ROOT,
    clock: Clock = MACHINE,
) -> Recorded:
    """Run the program and return its requests.

    Args:
        recipe: what to run.
        kind: its program.
        spool: file for the events' text.
        advance: progress in units of the drive.
        work_root: folder on a disk for the loop devices' images.
        clock: of a schedule.

    Raises:
        CaptureError: rights, programs, kernel features or room are missing; the program failed; events were lost.
    """
    drive = drive_of(recipe)
    limits = (recipe.disk_mib, recipe.memory_mib, recipe.readahead_kib)
    with Sandbox(*limits, work_root, kind.volumes(recipe)) as box, mounted_tracefs(box.name) as tracefs:
        volumes = box.volume_names
        # Its instance is there from the first, so that another capture does not take tracefs away.
        with Recorder(tracefs, box.name, volumes, recipe.buffer_kib, spool) as recorder:
            program: Any = kind(recipe, box)  # Paced or Closed, as the drive needs it: `program_class` has looked
            advance(0, "preparing")
            _lay_out(box, recipe.place_mib)
            program.prepare()
            box.remount()
            program.start()
            machine = machine_facts(box)
            advance(0, "warming up")
            drive.warm_up(program)
            recorder.start()
            drive.play(program, advance, clock)
            recorder.stop()
        program.stop()
    requests = match_requests(parse_events(Source(spool).lines(), volumes))
    if recipe.join_us is not None:
        requests = join_requests(requests, recipe.join_us)
    extra = {"machine": json.dumps(machine, sort_keys=True)} | drive.facts(requests)
    return Recorded(drive.cut(requests), volumes, extra)


def _lay_out(box: Sandbox, place_mib: int) -> None:
    if place_mib:
        with (box.mount / ".place").open("wb") as file:
            os.posix_fallocate(file.fileno(), 0, place_mib * MIB)


def machine_facts(box: Sandbox) -> dict[str, Any]:
    """What the machine of a capture was, for the trace's metadata."""
    cpu = [
        line.split(":", 1)[1].strip() for line in Path("/proc/cpuinfo").read_text().splitlines() if "model name" in line
    ]
    memory = Path("/proc/meminfo").read_text().split()[1]
    return {
        "kernel": platform.release(),
        "cpu": cpu[0] if cpu else platform.machine(),
        "cpus": os.cpu_count(),
        "memory_mib": int(memory) // 1024,
        "backing_filesystem": box.backing_filesystem,
        "loop_direct_io": box.direct_io,
        "cgroup_version": box.group.version,
        "note": NOTE,
    }


def capture(recipe: Recipe, out: Path, advance: Advance, work_root: Path = WORK_ROOT, clock: Clock = MACHINE) -> Report:
    """Run a recipe and write the trace.

    Args:
        recipe: what to run.
        out: canonical Parquet file.
        advance: progress in units of `drive_of(recipe).length`.
        work_root: folder on a disk for the loop devices' images.
        clock: of a schedule.

    Raises:
        CaptureError: as `record` says, or a request failed; nothing is written then.
        ConfigError: the program does not have what the recipe names, or the recipe's schedule is unusable.
    """
    kind = program_class(recipe)
    drive_of(recipe)
    check_rights()
    check_packages(kind)
    spool = beside(out) / f".{out.name}.{os.getpid()}.events"
    try:
        with orderly_signals():
            recorded = record(recipe, kind, spool, advance, work_root, clock)
        digest = hashlib.sha256(spool.read_bytes()).hexdigest()
    finally:
        spool.unlink(missing_ok=True)
    requests = recorded.requests
    if len(requests) == 0 or requests.counts["failed"]:
        message = f"{requests.counts['failed']} of {len(requests)} requests failed on the device; capture again"
        raise CaptureError(message)
    extra = recorded.extra | {
        "recipe": json.dumps(recipe.model_dump(exclude_none=True, mode="json"), sort_keys=True),
        "programs": json.dumps(kind.versions() | {"mkfs.ext4": version_line("mkfs.ext4", "-V")}, sort_keys=True),
        "events": json.dumps(requests.counts, sort_keys=True),
    }
    meta = TraceMeta(out.stem, recipe.category, "capture", digest, LICENCE, extra)
    trace = build_trace(requests, recorded.volumes, meta)
    write_trace(trace, out)
    pages = expand_pages(trace)
    seconds = float(trace.time_us[-1]) / 1e6
    return Report(str(out), len(trace), len(pages.page_ids), pages.n_pages, seconds, requests.counts)
