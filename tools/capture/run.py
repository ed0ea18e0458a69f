"""Runs a recipe: prepares, warms up, records the schedule, joins the events, writes the trace."""

import hashlib
import json
import os
import platform
import signal
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np

from cachezoo.capture.clock import MACHINE, Clock
from cachezoo.capture.live import build_trace
from cachezoo.capture.tracefs import Recorder, mounted_tracefs
from cachezoo.console import Advance
from cachezoo.errors import CaptureError, ConfigError, InterruptedCaptureError
from cachezoo.io import beside
from cachezoo.traces.events import JoinedRequests, match_requests
from cachezoo.traces.source import Source
from cachezoo.traces.store import write_trace
from cachezoo.traces.table import TraceMeta
from tools.capture.events import parse_events
from tools.capture.joining import join_requests
from tools.capture.programs import version_line
from tools.capture.recipe import Recipe, load_recipe, parse_recipe
from tools.capture.sandbox import WORK_ROOT, Sandbox
from tools.capture.schedule import Job, Schedule, Segment, build_schedule
from tools.capture.workloads import check_programs, workload_class
from tools.capture.workloads.base import Workload

RECIPES = Path(__file__).with_name("recipes")
LICENCE = "CC0-1.0"
SETTLE_S = 1.0
NOTE = "a loop device on a virtual disk: latencies are neither a hard disk's nor a bare SSD's"


@dataclass(frozen=True)
class Report:
    """What a capture gave, for people: counts of the join and the rate over time."""

    trace: str
    requests: int
    seconds: float
    mean_iops: float
    peak_to_mean: float
    counts: dict[str, int]


def check_rights() -> None:
    """See that this process may capture.

    Raises:
        CaptureError: it is not root's.
    """
    if os.geteuid() != 0:
        message = "a capture needs root (loop device, cgroup, tracefs); run it with sudo"
        raise CaptureError(message)


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


class _Jobs:
    """Jobs in threads of their own; the first failure is kept for the main thread."""

    def __init__(self, workload: Workload) -> None:
        self._workload = workload
        self._threads: list[threading.Thread] = []
        self._failure: BaseException | None = None

    def start(self, job: Job) -> None:
        thread = threading.Thread(target=self._run, args=(job,), name=f"capture-{job.kind}", daemon=True)
        self._threads.append(thread)
        thread.start()

    def _run(self, job: Job) -> None:
        try:
            self._workload.job(job)
        except Exception as error:  # noqa: BLE001 - handed to the main thread by `check`
            self._failure = self._failure or error

    def check(self) -> None:
        if self._failure is not None:
            raise self._failure

    def join(self, timeout_s: float) -> None:
        for thread in self._threads:
            thread.join(timeout_s)


def _drive(workload: Workload, schedule: Schedule, advance: Advance, clock: Clock) -> None:
    """Play the schedule: each segment's program starts at its second, jobs at theirs."""
    jobs, waiting = _Jobs(workload), list(schedule.jobs)
    running: list[tuple[Segment, subprocess.Popen[bytes]]] = []
    start = clock.now()
    for segment in schedule.segments:
        while waiting and waiting[0].start_s < segment.start_s:
            job = waiting.pop(0)
            clock.sleep_until(start + job.start_s)
            jobs.start(job)
        clock.sleep_until(start + segment.start_s)
        jobs.check()
        running.append((segment, workload.segment(segment)))
        while len(running) > 2:
            workload.check(*running.pop(0))
        advance(segment.start_s, f"{segment.rate:.0f}/s")
    for job in waiting:
        clock.sleep_until(start + job.start_s)
        jobs.start(job)
    for entry in running:
        workload.check(*entry)
    clock.sleep_until(start + schedule.seconds)
    workload.box.closing.set()
    jobs.check()
    advance(schedule.seconds)
    jobs.join(SETTLE_S)


def _warm_up(workload: Workload, schedule: Schedule, seconds: int, rate: float) -> None:
    if seconds:
        first = schedule.segments[0]
        segment = Segment(-1, 0, seconds, rate, 0.0, first.seed ^ 1)
        workload.check(segment, workload.segment(segment))


def record(
    recipe: Recipe, spool: Path, advance: Advance, work_root: Path = WORK_ROOT, clock: Clock = MACHINE
) -> tuple[JoinedRequests, dict[int, str], dict[str, Any]]:
    """Run the workload and return its requests, the names of their devices, and what the machine was.

    Args:
        recipe: what to run.
        spool: file for the events' text.
        advance: progress in seconds of the schedule.
        work_root: folder on a disk for the loop device's image.
        clock: of the schedule.

    Raises:
        CaptureError: rights, programs, kernel features or room are missing; the workload failed; events were lost.
    """
    schedule = build_schedule(recipe.schedule, recipe.seed)
    with (
        _sandbox(recipe, work_root) as box,
        mounted_tracefs(box.name) as tracefs,
    ):
        workload = workload_class(recipe.workload)(recipe, box)
        advance(0, "preparing")
        workload.prepare()
        box.remount()
        workload.start()
        machine = machine_facts(box)
        volumes = box.volume_names
        with Recorder(tracefs, box.name, volumes, recipe.buffer_kib, spool) as recorder:
            advance(0, "warming up")
            _warm_up(workload, schedule, recipe.warmup_s, recipe.schedule.rate)
            recorder.start()
            _drive(workload, schedule, advance, clock)
            clock.sleep(SETTLE_S)
            recorder.stop()
        workload.stop()
    requests = match_requests(parse_events(Source(spool).lines(), volumes))
    if recipe.join_us is not None:
        requests = join_requests(requests, recipe.join_us)
    return requests, volumes, machine


def _sandbox(recipe: Recipe, work_root: Path) -> Sandbox:
    volumes = workload_class(recipe.workload).volumes(recipe)
    limits = (recipe.disk_mib, recipe.memory_mib, recipe.readahead_kib)
    return Sandbox(*limits, work_root, volumes)


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


def _peak_to_mean(time_us: "np.ndarray[Any, np.dtype[np.int64]]", window_s: int) -> float:
    counts = np.bincount((time_us - time_us[0]) // (window_s * 1_000_000))[:-1]
    return float(counts.max() / counts.mean()) if len(counts) > 1 else 1.0


def choose_recipe(path: Path, seed: int | None, seconds: int | None) -> Recipe:
    """A recipe, with another seed or length where asked for.

    Args:
        path: of its file.
        seed: instead of the recipe's.
        seconds: of load instead of the recipe's days.

    Raises:
        ConfigError: unusable recipe.
    """
    recipe = load_recipe(path)
    if seed is not None:
        recipe = parse_recipe(recipe.model_dump() | {"seed": seed}, "--seed")
    return recipe if seconds is None else recipe.lasting(seconds)


def check_recipe(recipe: Recipe) -> None:
    """See that the workload knows every job of the schedule.

    Raises:
        ConfigError: a job that it does not know.
    """
    known = workload_class(recipe.workload).jobs
    unknown = sorted({job.kind for job in recipe.schedule.jobs} - set(known))
    if unknown:
        message = f"schedule.jobs: {recipe.workload} knows no {', '.join(unknown)}; it has {', '.join(known)}"
        raise ConfigError(message)


def capture(recipe: Recipe, out: Path, advance: Advance, work_root: Path = WORK_ROOT, clock: Clock = MACHINE) -> Report:
    """Run a recipe and write the trace.

    Args:
        recipe: what to run.
        out: canonical Parquet file.
        advance: progress in seconds of the schedule.
        work_root: folder on a disk for the loop device's image.
        clock: of the schedule.

    Raises:
        CaptureError: as `record` says, or a request failed; nothing is written then.
        ConfigError: the recipe's schedule is unusable.
    """
    check_recipe(recipe)
    schedule = build_schedule(recipe.schedule, recipe.seed)
    check_rights()
    check_programs(workload_class(recipe.workload))
    spool = beside(out) / f".{out.name}.{os.getpid()}.events"
    try:
        with orderly_signals():
            requests, volumes, machine = record(recipe, spool, advance, work_root, clock)
        digest = hashlib.sha256(spool.read_bytes()).hexdigest()
    finally:
        spool.unlink(missing_ok=True)
    if len(requests.time_us) == 0 or requests.counts["failed"]:
        message = f"{requests.counts['failed']} of {len(requests.time_us)} requests failed on the device; capture again"
        raise CaptureError(message)
    workload = workload_class(recipe.workload)
    extra = {
        "recipe": json.dumps(recipe.model_dump(exclude_none=True), sort_keys=True),
        "programs": json.dumps(workload.versions() | {"mkfs.ext4": version_line("mkfs.ext4", "-V")}, sort_keys=True),
        "machine": json.dumps(machine, sort_keys=True),
        "schedule": json.dumps(_schedule_facts(recipe, schedule), sort_keys=True),
        "events": json.dumps(requests.counts, sort_keys=True),
        "time_scale": f"{schedule.time_scale:.6g}",
    }
    trace = build_trace(requests, volumes, TraceMeta(out.stem, recipe.category, "capture", digest, LICENCE, extra))
    write_trace(trace, out)
    seconds = float(trace.time_us[-1]) / 1e6
    peak = _peak_to_mean(trace.time_us, recipe.schedule.segment_s)
    return Report(str(out), len(trace), seconds, len(trace) / max(seconds, 1e-6), peak, requests.counts)


def _schedule_facts(recipe: Recipe, schedule: Schedule) -> dict[str, Any]:
    facts = {
        "days": recipe.schedule.days,
        "day_s": recipe.schedule.day_s,
        "peak_to_mean": round(schedule.peak_to_mean, 3),
    }
    return facts | {"jobs": [asdict(job) for job in schedule.jobs], "time_scale": f"{schedule.time_scale:.6g}"}
