"""Records the block requests of one device of this machine, whatever runs on it: `cachezoo trace capture --device`.

The device is only watched. The kernel's block events come through a tracefs instance of our own, which is removed at
the end however that comes. Devices that have requests (disks, NVMe, loop devices) say when one is issued and completed.
Those without, such as dm, md and zram, hand on what they are given; there the events of bios stand for requests.
"""

import hashlib
import json
import os
import platform
import shutil
import signal
import stat
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from types import FrameType

import numpy as np

from cachezoo.capture.tracefs import EVENTS, PREFIX, Recorder, mounted_tracefs, sweep
from cachezoo.coded import Coded
from cachezoo.console import Advance
from cachezoo.errors import CaptureError, ConfigError, InterruptedCaptureError
from cachezoo.io import beside, check_file
from cachezoo.kernels.match import ISSUE, QUEUE
from cachezoo.traces.event_text import scan
from cachezoo.traces.events import EVENT_BYTES, EventLog, Events, JoinedRequests, match_requests
from cachezoo.traces.memory import memory_left
from cachezoo.traces.reading import SECTOR_BYTES
from cachezoo.traces.source import Source
from cachezoo.traces.store import write_trace
from cachezoo.traces.table import Trace, TraceMeta

SYSFS = Path("/sys/dev/block")
BIO_EVENTS = ("block_bio_queue", "block_bio_complete")
BUFFER_KIB = 8192
LOOK_S = 0.2
SETTLE_S = 0.3
LINE_BYTES = 70  # of the shortest event in text
LEAST_FREE = 512 << 20
PROGRESS_BYTES = 100  # of an event in text, about
CTRL_C = "Ctrl-C"
NOTHING = "interrupted; nothing was recorded"
JOINING = "joining; the first time this compiles for some 20 s"  # of the kernels, which are kept in .cache


@dataclass(frozen=True)
class Clock:
    """The machine's own clock; or another, so that what is to come in an hour need not be waited for."""

    now: Callable[[], float] = time.monotonic  # seconds, which only ever rise
    sleep: Callable[[float], None] = time.sleep  # lets so many of them pass

    def sleep_until(self, moment: float) -> None:
        """Wait for a moment; not at all where it has passed."""
        self.sleep(max(0.0, moment - self.now()))


MACHINE = Clock()


@dataclass(frozen=True)
class Watched:
    """A block device, and how its events are told from others."""

    name: str  # of the volume in the trace, as the kernel calls it
    number: int  # that events have, major << 20 | minor; of a partition its disk's
    first: int  # sector of the disk at which it begins
    sectors: int  # its size, of 512 bytes
    requests: bool  # whether the kernel makes requests for it; else there are bios alone
    rotational: bool  # whether it says so of itself
    partition: bool  # whether it is one

    @property
    def within(self) -> tuple[int, int] | None:
        """Sectors of the disk, where the device is a part of it."""
        return (self.first, self.first + self.sectors) if self.partition else None


@dataclass(frozen=True)
class Live:
    """What a recording gave, for people."""

    trace: str  # the file
    device: str  # that was watched
    requests: int  # of the trace
    seconds: float  # that were recorded
    ended: str  # what ended it: `time`, `Ctrl-C`, or what there was too little of
    lost_events: int  # that the kernel could not keep
    counts: dict[str, int]  # events left out or not joined


def check_rights(path: Path) -> None:
    """See that this process may record a device's requests.

    Args:
        path: of the device, for the message.

    Raises:
        CaptureError: it is not root's.
    """
    if os.geteuid() != 0:
        raise CaptureError(f"{path}: recording its requests needs root (tracefs); run it with sudo")


def watched(path: Path, sysfs: Path = SYSFS) -> Watched:
    """Look a device up.

    Args:
        path: such as /dev/sda, /dev/nvme0n1p2 or /dev/mapper/vg-home.
        sysfs: where the kernel lists block devices by number.

    Raises:
        ConfigError: there is none, or it is no block device.
    """
    try:
        found = path.stat()
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror}; name a block device, `lsblk` lists them") from error
    if not stat.S_ISBLK(found.st_mode):
        raise ConfigError(f"{path}: is no block device; name one, `lsblk` lists them")
    folder = (sysfs / f"{os.major(found.st_rdev)}:{os.minor(found.st_rdev)}").resolve()
    partition = (folder / "partition").exists()
    disk = folder.parent if partition else folder
    major, minor = (disk / "dev").read_text().split(":")
    return Watched(
        name=folder.name.replace("!", "/"),
        number=int(major) << 20 | int(minor),
        first=int((folder / "start").read_text()) if partition else 0,
        sectors=int((folder / "size").read_text()),
        requests=(disk / "mq").is_dir(),
        rotational=(disk / "queue/rotational").read_text().strip() == "1",
        partition=partition,
    )


@contextmanager
def _stopped_by_signals(why: dict[str, str], stop: threading.Event) -> Iterator[None]:
    """Let Ctrl-C, SIGTERM and SIGHUP end the recording, of which everything is kept."""

    def end(number: int, _frame: FrameType | None) -> None:
        why.setdefault("ended", CTRL_C if number == signal.SIGINT else signal.Signals(number).name)
        stop.set()

    before = {number: signal.signal(number, end) for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _too_little(size: int, most_bytes: int, folder: Path) -> str | None:
    """What there is too little of to go on."""
    if size > most_bytes:
        return "too little memory to join more events"
    if shutil.disk_usage(folder).free < LEAST_FREE:
        return f"too little room in {folder}"
    return None


def _watch(
    recorder: Recorder, spool: Path, folder: Path, seconds: float, advance: Advance, clock: Clock
) -> tuple[float, str]:
    """Record for so long, or until there is a reason to end; the seconds that passed, and the reason."""
    most_bytes = memory_left() // EVENT_BYTES * LINE_BYTES
    stop, why = threading.Event(), dict[str, str]()
    with _stopped_by_signals(why, stop):
        recorder.start()
        start = clock.now()
        while (passed := clock.now() - start) < seconds and not stop.wait(min(LOOK_S, seconds - passed)):
            recorder.check()
            size = spool.stat().st_size
            advance(min(passed, seconds), f"about {size // PROGRESS_BYTES:,} events")
            little = _too_little(size, most_bytes, folder)
            if little is not None:
                why.setdefault("ended", little)
                break
        passed = min(clock.now() - start, seconds)
        if not why:
            stop.wait(SETTLE_S)  # for the completions of what was issued last
        advance(passed, JOINING)
    return passed, why.get("ended", "time")


def _events(spool: Path, device: Watched) -> tuple[Events, str]:
    """The device's events in the order of time, sectors counted from its beginning; and the text's sha256."""
    log, row, digest = EventLog(device.number), 1, hashlib.sha256()
    for block in Source(spool).lines():
        digest.update(block)
        events, _, odd, row = scan(block, False, row)
        for line in odd:
            if line.lost_events is None:
                raise CaptureError(f"line {line.row} of the trace is no block event: {line.text[:100]!r}")
        log.add(events)
    found = log.close()
    return replace(found, sector=found.sector - device.first), digest.hexdigest()


def _by_name(coded: Coded) -> Coded:
    """The same column with the names that occur, in their order."""
    names, codes = np.unique(np.array(coded.names, dtype=np.str_)[coded.codes], return_inverse=True)
    return Coded(codes.astype(np.int32), tuple(str(name) for name in names))


def build_trace(requests: JoinedRequests, volumes: dict[int, str], meta: TraceMeta) -> Trace:
    """The canonical trace of captured requests, with times from the first of them.

    Args:
        requests: at least one.
        volumes: device to the volume's name.
        meta: of the trace.
    """
    devices, codes = np.unique(requests.device, return_inverse=True)
    return Trace(
        time_us=requests.time_us - requests.time_us[0],
        op=requests.op,
        offset=requests.offset,
        size=requests.size,
        latency_us=requests.latency_us,
        volume=Coded(codes.astype(np.int32), tuple(volumes[int(device)] for device in devices)),
        user=_by_name(requests.comm),
        flags=_by_name(requests.flags),
        meta=meta,
    )


def record_device(
    path: Path, seconds: float, out: Path, category: str, advance: Advance, clock: Clock = MACHINE
) -> Live:
    """Record a device's requests and write them as a trace.

    Args:
        path: the block device; nothing is written to it.
        seconds: for how long; Ctrl-C ends it sooner, and what was recorded is written.
        out: canonical Parquet file.
        category: of the trace.
        advance: progress in seconds.
        clock: of the seconds.

    Raises:
        ConfigError: the path is no block device.
        CaptureError: rights or kernel features are missing, or nothing was asked of the device.
        InterruptedCaptureError: nothing was asked of it before Ctrl-C.
        CachezooError: the file cannot be written.
    """
    check_rights(path)
    device = watched(path)
    check_file(out)
    sweep()
    name = f"{PREFIX}{os.getpid()}"
    events = EVENTS if device.requests else BIO_EVENTS
    folder = beside(out)
    # A file without a name: whatever ends this process, nothing of it stays.
    with tempfile.TemporaryFile(dir=folder) as file:
        spool = Path(f"/proc/self/fd/{file.fileno()}")
        with (
            mounted_tracefs(name) as tracefs,
            Recorder(tracefs, name, [device.number], BUFFER_KIB, spool, events, device.within) as recorder,
        ):
            passed, ended = _watch(recorder, spool, folder, seconds, advance, clock)
            lost = recorder.halt()
        found, digest = _events(spool, device)
    requests = match_requests(found, ISSUE if device.requests else QUEUE)
    if len(requests) == 0:
        if ended == CTRL_C:
            raise InterruptedCaptureError(NOTHING)
        message = f"{path}: nothing was read or written in {passed:.0f} s; nothing is written, record for longer"
        raise CaptureError(message)
    about = {
        "kernel": platform.release(),
        "device": device.name,
        "bytes": device.sectors * SECTOR_BYTES,
        "rotational": device.rotational,
        "events": "requests" if device.requests else "bios",
    }
    extra = {
        "machine": json.dumps(about, sort_keys=True),
        "events": json.dumps(requests.counts | {"lost_events": lost}, sort_keys=True),
    }
    trace = build_trace(
        requests, {device.number: device.name}, TraceMeta(out.stem, category, "capture", digest, extra=extra)
    )
    write_trace(trace, out)
    return Live(str(out), str(path), len(trace), round(passed, 1), ended, lost, requests.counts)


def on_device(out: Path, device: Watched) -> bool:
    """Whether a file lies on the disk that is watched, so that its writing is recorded too."""
    folder = os.stat(beside(out)).st_dev
    place = (SYSFS / f"{os.major(folder)}:{os.minor(folder)}").resolve()
    numbers = [place / "dev", place.parent / "dev"]
    own = {tuple(file.read_text().split(":")) for file in numbers if file.is_file()}
    return any(int(major) << 20 | int(minor) == device.number for major, minor in own)
