"""Replay a trace with fio, several times, and give each request the median of its times."""

import json
import platform
import re
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime

import numpy as np

from cachezoo.arrays import F64
from cachezoo.console import Advance, err, progress
from cachezoo.devices.fio import command as commands
from cachezoo.devices.fio import logs
from cachezoo.devices.fio.command import Mode, Way
from cachezoo.devices.fio.contract import ReplayTarget
from cachezoo.devices.fio.iolog import SENTINELS, Cleaning, ReplayRows, Rules, Writes, clean, framed, write_iolog
from cachezoo.devices.fio.program import TIMEOUT, Program, find_fio, moved_bytes, run
from cachezoo.devices.fio.scratch import scratch_folder
from cachezoo.errors import DeviceError
from cachezoo.settings.device import RealDevice
from cachezoo.traces.table import OP_WRITE, Trace

LEAD_IN = 4
PART_ROWS = 1 << 18
# At queue depth n the last n - 1 to complete are not logged; where one of the trace's own is so slow that the sentinels
# overtake it, there must be more of them.
MORE_SENTINELS = 16
TRIES = 3
FALL = 0.1


@dataclass(frozen=True)
class Settings:
    """How to replay; `conf/device` says the same of the first six."""

    logical_block_bytes: int = 512  # offsets and sizes are rounded to it
    writes: Writes = "refuse"  # `refuse`, `as_reads` or `replay`
    fold: bool = False  # let addresses past the end wrap around
    repetitions: int = 3  # whose medians are taken
    chunk_requests: int = 0  # fio reads the iolog of a longer trace in chunks of its own; 0: at once
    timeout_s: float = 3600.0  # of one replay
    mode: Mode = "service"  # `service`, `closed` or `response`, see `command.Way`
    depth: int = 1  # queue depth
    lead_in: int = LEAD_IN  # reads before the trace that take the cost of a start
    timeout_word: str = TIMEOUT  # what, for an error, sets `timeout_s`

    @classmethod
    def of(cls, device: RealDevice, mode: Mode = "service", depth: int = 1) -> "Settings":
        """The settings of a configured real device."""
        return cls(
            logical_block_bytes=device.logical_block_bytes,
            writes=device.writes,
            fold=device.fold,
            repetitions=device.repetitions,
            chunk_requests=device.chunk_requests,
            timeout_s=device.timeout_s,
            mode=mode,
            depth=depth,
        )


@dataclass(frozen=True)
class Measured:
    """What a replay measured."""

    # float64[n], above 0, in the order of the trace: each request's median over the repetitions. A request without a
    # length is not replayed and has the least time of all
    times_us: F64
    spread: float  # the median over the requests of (longest - shortest) / median of a request's times
    means_us: tuple[float, ...]  # mean time of each repetition
    cleaning: Cleaning  # how many rows were changed
    provenance: dict[str, str]  # where, when and how it was measured


def replay(trace: Trace, target: ReplayTarget, settings: Settings) -> Measured:
    """Measure every request of a trace on a target.

    Args:
        trace: the requests; volumes share the one target.
        target: what passed its checks, see `target.open_target`.
        settings: how.

    Raises:
        DeviceError: no fio or one too old, a trace that does not fit, a device that fails or hangs, or logs that do
            not answer the requests.
    """
    job, requests, cleaning = _planned(trace, target, settings)
    started = datetime.now(UTC)
    with target.held(requests.writes) as held:
        job = replace(job, target=held)
        times = _repeated(job, requests)
        provenance = _provenance(job, requests, started)
    middle, spread = _medians(times)
    means = tuple(float(mean) for mean in times.mean(axis=1))
    whole = np.full(len(trace), middle.min())
    whole[requests.row] = middle
    return Measured(whole, spread, means, cleaning, provenance | _warned(means, target.label))


def _repeated(job: "_Job", requests: ReplayRows) -> F64:
    """float64[repetitions, requests] µs."""
    repetitions = job.settings.repetitions
    times = np.empty((repetitions, len(requests)))
    with progress(f"replay on {job.target.label}", repetitions) as advance:
        for number in range(repetitions):
            times[number] = job.once(requests, number, advance)
    return times


def _warned(means: tuple[float, ...], label: str) -> dict[str, str]:
    """What a record says where repetitions became faster: the device may have kept what it read the first time."""
    if min(means) > (1 - FALL) * means[0]:
        return {}
    text = (
        f"requests took {means[0]:.4g} µs on average the first time and {min(means):.4g} later: the device may have "
        "answered from its cache; replay a longer trace, or one repetition alone"
    )
    err().print(f"warning: {label}: {text}", soft_wrap=True, markup=False)
    return {"warning": text}


def check_replay(trace: Trace, target: ReplayTarget, settings: Settings) -> None:
    """Refuse what `replay` would refuse before it begins; for who replays on several targets.

    Raises:
        DeviceError: no fio or one too old, or a trace that does not fit.
    """
    _planned(trace, target, settings)


def _planned(trace: Trace, target: ReplayTarget, settings: Settings) -> "tuple[_Job, ReplayRows, Cleaning]":
    program = find_fio()
    way = Way(settings.mode, settings.depth, chunked=0 < settings.chunk_requests < len(trace))
    commands.check_way(way, program, target)
    rules = Rules(
        settings.logical_block_bytes,
        target.data_offset,
        target.data_bytes,
        settings.fold,
        settings.writes,
        target.label,
    )
    requests, cleaning = clean(trace.time_us, trace.op, trace.offset, trace.size, rules)
    if requests.writes and not target.writable:
        message = (
            f"{target.label}: is no prepared scratch target; make one with cachezoo device prepare to replay writes"
        )
        raise DeviceError(message)
    return _Job(program, target, way, rules, settings), requests, cleaning


def _medians(times: F64) -> tuple[F64, float]:
    """Each column's median, and the median of the columns' relative spread; in parts, to bound the memory."""
    middle = np.empty(times.shape[1])
    spread = np.empty(times.shape[1])
    for start in range(0, times.shape[1], PART_ROWS):
        part = times[:, start : start + PART_ROWS]
        middle[start : start + PART_ROWS] = np.median(part, axis=0)
        spread[start : start + PART_ROWS] = np.ptp(part, axis=0)
    return middle, float(np.median(spread / middle))


@dataclass(frozen=True)
class _Job:
    program: Program
    target: ReplayTarget
    way: Way
    rules: Rules
    settings: Settings

    def once(self, requests: ReplayRows, number: int, advance: Advance) -> F64:
        """float64 µs of each request in one repetition."""
        sentinels = max(SENTINELS, self.way.depth) if self.way.joined else 0
        for _ in range(TRIES):
            script = framed(requests, self.rules, self.settings.lead_in, sentinels)
            times = self._run(script, number, advance)[self.settings.lead_in :][: len(requests)]
            lost = np.isnan(times)
            if not lost.any():
                return times
            sentinels *= MORE_SENTINELS
        message = (
            f"{self.target.label}: fio logged no time for {int(lost.sum())} requests, first "
            f"{requests.where(int(lost.argmax()))}; it is far slower than what follows: use queue depth 1"
        )
        raise DeviceError(message)

    def command(self, script: ReplayRows) -> list[str]:
        return commands.replay_command(self.program, self.target, self.way, int(script.size.max()), script.writes)

    def _run(self, script: ReplayRows, number: int, advance: Advance) -> F64:
        """NaN where nothing was logged."""
        # A folder for each run: fio appends to the logs of the last.
        with scratch_folder() as folder:
            command = self.command(script)
            write_iolog(script, folder / commands.IOLOG, timed=self.way.mode == "response")
            self.target.check_again(script.writes)
            start = time.monotonic()
            try:
                watch, limit = self._watch(script, number, advance), self.settings.timeout_word
                said = run(command, folder, self.settings.timeout_s, self.target.label, watch, limit)
            except DeviceError as error:
                raise _named(self.target.plain(str(error)), script) from error
            _check_result(said, self.target.label)
            advance(number + 1.0)
            spent = time.monotonic() - start
            log = logs.read_log(folder / commands.LATENCY_LOG)
            logs.check_times(log, spent, self.target.label)
            if not self.way.joined:
                return logs.service_us(log, script, self.target.label)
            submitted = logs.read_log(folder / commands.SUBMISSION_LOG)
            return logs.queued_us(log, submitted, script, self.target.label)

    def _watch(self, script: ReplayRows, number: int, advance: Advance) -> Callable[[int, float], None]:
        total = float(script.size.sum())

        def watch(pid: int, _: float) -> None:
            advance(number + min(moved_bytes(pid) / total, 1.0), f"repetition {number + 1}")

        return watch


def _check_result(said: str, label: str) -> None:
    """See fio's own word that nothing failed; the engine nbd says a line before it."""
    try:
        jobs = json.loads(said[max(said.find("{"), 0) :])["jobs"]
        failed = [int(job["error"]) for job in jobs if job["error"]]
    except (ValueError, KeyError, TypeError) as error:
        message = f"{label}: fio left no result that can be read ({type(error).__name__}); run it again"
        raise DeviceError(message) from error
    if failed or not jobs:
        message = f"{label}: fio reports error {failed[0] if failed else 'without a job'}; see dmesg for the device"
        raise DeviceError(message)


def _named(error: str, script: ReplayRows) -> DeviceError:
    """The error with the row that fio names by its offset and length, if it does."""
    found = re.search(r"offset=(\d+), buflen=(\d+)", error)
    if found is None:
        return DeviceError(error)
    same = (script.offset == int(found[1])) & (script.size == int(found[2]))
    row = f"; {script.where(int(same.argmax()))}" if same.any() else ""
    message = f"{error}{row}; see dmesg for the device"
    return DeviceError(message)


def _provenance(job: _Job, requests: ReplayRows, started: datetime) -> dict[str, str]:
    command = job.command(requests)
    return {
        **{f"target.{key}": value for key, value in job.target.describe().items()},
        "target.path": job.target.label,
        "target.data_bytes": str(job.target.data_bytes),
        "fio": job.program.text,
        "engine": job.target.engine,
        "mode": job.way.mode,
        "queue_depth": str(job.way.depth),
        "writes": "replayed" if bool((requests.op == OP_WRITE).any()) else "none",
        "repetitions": str(job.settings.repetitions),
        "command": job.target.plain(" ".join(command)),
        "kernel": platform.release(),
        "host": platform.node(),
        "date": started.isoformat(timespec="seconds"),
    }
