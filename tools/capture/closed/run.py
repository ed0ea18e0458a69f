"""Runs a closed-loop recipe: prepares, warms up, plays its phases, joins the events, writes the trace."""

import hashlib
import json
import os
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from cachezoo.capture.live import build_trace
from cachezoo.capture.tracefs import Recorder, mounted_tracefs
from cachezoo.console import Advance
from cachezoo.errors import CaptureError
from cachezoo.traces.events import JoinedRequests, match_requests
from cachezoo.traces.pages import expand_pages
from cachezoo.traces.source import Source
from cachezoo.traces.store import write_trace
from cachezoo.traces.table import TraceMeta
from tools.capture.closed.base import ClosedWorkload, Player
from tools.capture.closed.programs import closed_class
from tools.capture.closed.recipe import ClosedRecipe, Phase, check_phases
from tools.capture.disk import MIB
from tools.capture.events import parse_events
from tools.capture.programs import version_line
from tools.capture.run import LICENCE, check_rights, machine_facts, orderly_signals
from tools.capture.sandbox import WORK_ROOT, Sandbox
from tools.capture.workloads import check_packages

POLL_S = 0.02
SECTORS_OF_A_PAGE = 8
QUIET_POLLS = 25
QUIET_S = 60.0


@dataclass(frozen=True)
class ClosedReport:
    """What a closed-loop capture gave, for people."""

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
        requests: of all phases.
        volumes: device to the name of its volume.
        machine: what it was.
        phases: for each phase where its requests begin and how many seconds it took.
    """

    requests: JoinedRequests
    volumes: dict[int, str]
    machine: dict[str, Any]
    phases: list[dict[str, Any]]


def served(box: Sandbox) -> tuple[int, int]:
    """Requests and pages that the sandbox's disks have read and written since they were made."""
    requests = pages = 0
    for disk in box.disks.values():
        fields = [int(word) for word in (disk.sysfs / "stat").read_text().split()]
        requests += fields[0] + fields[4]
        pages += (fields[2] + fields[6]) // SECTORS_OF_A_PAGE
    return requests, pages


def await_quiet(box: Sandbox) -> None:
    """Wait until the disks have had nothing under way for a while.

    Raises:
        CaptureError: they always have.
    """
    quiet, deadline = 0, time.monotonic() + QUIET_S
    while quiet < QUIET_POLLS:
        if time.monotonic() > deadline:
            message = f"the disk was still busy {QUIET_S:.0f} s after the last phase; lower the recipe's memory_mib"
            raise CaptureError(message)
        time.sleep(POLL_S)
        flying = sum(int(word) for disk in box.disks.values() for word in (disk.sysfs / "inflight").read_text().split())
        quiet = 0 if flying else quiet + 1


def _await_limits(box: Sandbox, players: list[Player], phase: Phase) -> None:
    first = served(box)
    deadline = time.monotonic() + phase.seconds
    while time.monotonic() < deadline:
        requests, pages = (now - then for now, then in zip(served(box), first, strict=True))
        if requests >= phase.requests or pages >= phase.pages:
            return
        for player in players:
            if player.process.poll() is not None:
                box.finish(player.process, player.name, player.log, 1)
                message = f"{player.name} ended before its phase did; see the recipe's limits"
                raise CaptureError(message)
        time.sleep(POLL_S)


def _play(workload: ClosedWorkload, phase: Phase, number: int) -> tuple[float, float]:
    """Play a phase to its end; when it began and when it had reached its limit, by the monotonic clock."""
    began = time.monotonic()
    players = workload.play(phase, number)
    _await_limits(workload.box, players, phase)
    reached = time.monotonic()
    workload.end(players)
    return began, reached


def record(recipe: ClosedRecipe, spool: Path, advance: Advance, work_root: Path = WORK_ROOT) -> Recorded:
    """Run the program and return its requests.

    Args:
        recipe: what to run.
        spool: file for the events' text.
        advance: progress in phases.
        work_root: folder on a disk for the loop device's image.

    Raises:
        CaptureError: rights, programs, kernel features or room are missing; the program failed; events were lost.
    """
    box = Sandbox(recipe.disk_mib, recipe.memory_mib, recipe.readahead_kib, work_root)
    marks = []
    with box, mounted_tracefs(box.name) as tracefs:
        workload = closed_class(recipe.program)(recipe, box)
        advance(0, "preparing")
        _lay_out(box, recipe.place_mib)
        workload.prepare()
        box.remount()
        workload.start()
        machine, volumes = machine_facts(box), box.volume_names
        with Recorder(tracefs, box.name, volumes, recipe.buffer_kib, spool) as recorder:
            if recipe.warmup_pages:
                advance(0, "warming up")
                limits = {"pages": recipe.warmup_pages, "requests": recipe.warmup_pages}
                _play(workload, recipe.phases[0].model_copy(update=limits), -1)
            recorder.start()
            for number, phase in enumerate(recipe.phases):
                advance(number, f"phase {number + 1} of {len(recipe.phases)}")
                marks.append(_play(workload, phase, number))
            await_quiet(box)
            recorder.stop()
        advance(len(recipe.phases))
        workload.stop()
    requests = match_requests(parse_events(Source(spool).lines(), volumes))
    return Recorded(_cut(requests, marks[-1][1], recipe.requests), volumes, machine, _phase_facts(requests, marks))


def _lay_out(box: Sandbox, place_mib: int) -> None:
    if place_mib:
        with (box.mount / ".place").open("wb") as file:
            os.posix_fallocate(file.fileno(), 0, place_mib * MIB)


def _cut(requests: JoinedRequests, end_s: float, most: int) -> JoinedRequests:
    """The requests up to the end of the last phase, and not more than the recipe wants."""
    kept = np.arange(min(most, int(np.searchsorted(requests.time_us, end_s * 1e6, side="right"))))
    return JoinedRequests(
        time_us=requests.time_us[kept],
        op=requests.op[kept],
        offset=requests.offset[kept],
        size=requests.size[kept],
        latency_us=requests.latency_us[kept],
        device=requests.device[kept],
        flags=requests.flags.take(kept),
        comm=requests.comm.take(kept),
        counts=requests.counts | {"after_the_last_phase": len(requests) - len(kept)},
    )


def _phase_facts(requests: JoinedRequests, marks: list[tuple[float, float]]) -> list[dict[str, Any]]:
    firsts = np.searchsorted(requests.time_us, [began * 1e6 for began, _ in marks])
    return [
        {"first_request": int(first), "seconds": round(reached - began, 1)}
        for first, (began, reached) in zip(firsts.tolist(), marks, strict=True)
    ]


def capture_closed(recipe: ClosedRecipe, out: Path, advance: Advance, work_root: Path = WORK_ROOT) -> ClosedReport:
    """Run a closed-loop recipe and write the trace.

    Args:
        recipe: what to run.
        out: canonical Parquet file.
        advance: progress in phases.
        work_root: folder on a disk for the loop device's image.

    Raises:
        CaptureError: as `record` says, or a request failed; nothing is written then.
        ConfigError: a phase wants what the program does not have.
    """
    kind = closed_class(recipe.program)
    check_phases(recipe, kind.operations, kind.jobs)
    check_rights()
    check_packages(kind.program, kind.packages)
    out.parent.mkdir(parents=True, exist_ok=True)
    spool = out.parent / f".{out.name}.{os.getpid()}.events"
    try:
        with orderly_signals():
            recorded = record(recipe, spool, advance, work_root)
        digest = hashlib.sha256(spool.read_bytes()).hexdigest()
    finally:
        spool.unlink(missing_ok=True)
    requests = recorded.requests
    if len(requests) == 0 or requests.counts["failed"]:
        message = f"{requests.counts['failed']} of {len(requests)} requests failed on the device; capture again"
        raise CaptureError(message)
    extra = {
        "recipe": json.dumps(recipe.model_dump(exclude_none=True, mode="json"), sort_keys=True),
        "programs": json.dumps(kind.versions() | {"mkfs.ext4": version_line("mkfs.ext4", "-V")}, sort_keys=True),
        "machine": json.dumps(recorded.machine, sort_keys=True),
        "phases": json.dumps(recorded.phases, sort_keys=True),
        "events": json.dumps(requests.counts, sort_keys=True),
    }
    meta = TraceMeta(out.stem, recipe.category, "capture", digest, LICENCE, extra)
    trace = build_trace(requests, recorded.volumes, meta)
    write_trace(trace, out)
    pages = expand_pages(trace)
    seconds = float(trace.time_us[-1]) / 1e6
    return ClosedReport(str(out), len(trace), len(pages.page_ids), pages.n_pages, seconds, requests.counts)
