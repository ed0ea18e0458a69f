"""The whole demo: a trace, the answer, and every cache of a short list at work on the trace."""

import shutil
import signal
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np

from cachezoo.arrays import F64
from cachezoo.console import Advance
from cachezoo.demo import in_process, mounted, workload
from cachezoo.demo.answer import Answer, answer, promised
from cachezoo.demo.replay import fill, replay
from cachezoo.errors import ConfigError
from cachezoo.runtime import RuntimeFault, abi
from cachezoo.serve import found as places
from cachezoo.serve.words import ServeError
from cachezoo.sizes import PAGE_BYTES
from cachezoo.traces.pages import expand_pages

REQUESTS = 5_000
WAIT_S = 0.001
"""What a read of the demo's disk takes longer than one of its SSD: about a tenth of what a hard disk takes."""
NO_CACHE, USUAL, LEARNED = "no cache", "lru", "reuse.follow"
BY_NBDKIT, BY_LIBRARY = "nbdkit and the filter", "libcachezoo in this process"
PREFIX = "cachezoo-demo-"
ROOM = 2 * workload.PAGES * PAGE_BYTES


@dataclass(frozen=True)
class Row:
    """A policy at work.

    Attributes:
        policy: its text, or a bundle's id.
        promised: share of accesses that hit in the simulation; None without a cache.
        measured: the same of the cache that ran.
        read_us: float64 response times of reads, µs.
    """

    policy: str
    promised: float | None
    measured: float | None
    read_us: F64

    def values(self) -> dict[str, Any]:
        """As JSON and CSV have it."""
        return {
            "policy": self.policy,
            "hits_promised": self.promised,
            "hits_measured": self.measured,
            "mean_us": float(self.read_us.mean()),
            "p99_us": float(np.quantile(self.read_us, 0.99)),
        }


@dataclass(frozen=True)
class Demo:
    """What the demo shows: the answer, who served, and a row a policy, all of the second half of the trace."""

    answer: Answer
    by: str
    requests: int
    rows: tuple[Row, ...]

    def values(self) -> dict[str, Any]:
        """As JSON has it."""
        own = self.answer
        return {
            "answer": list(own.lines), "policy": own.policy, "pages": own.pages, "writes": own.writes,
            "command": own.command, "by": self.by, "requests": self.requests,
            "rows": [row.values() for row in self.rows],
        }  # fmt: skip


@contextmanager
def _folder() -> Iterator[Path]:
    """A temporary folder, gone on every way out that a process can notice; SIGTERM and SIGHUP are such."""

    def end(number: int, _: FrameType | None) -> None:
        raise SystemExit(128 + number)

    before = {number: signal.signal(number, end) for number in (signal.SIGTERM, signal.SIGHUP)}
    try:
        with tempfile.TemporaryDirectory(prefix=PREFIX) as name:
            yield Path(name)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _server() -> str:
    """Who is to serve.

    Raises:
        ConfigError: neither nbdkit with the filter nor libcachezoo is there.
    """
    if mounted.possible():
        return BY_NBDKIT
    with _faults():
        there = abi.library() is not None
    if not there:
        what = "the demo needs libcachezoo, or nbdkit with the filter, and finds neither"
        raise ConfigError(f"{what}: run make demo, which builds the library; make runtime builds both")
    return BY_LIBRARY


def _learned() -> str | None:
    """The bundle of a learned cache where there is one that can be used."""
    try:
        return places.policy(LEARNED)[1]
    except ServeError:
        return None


@contextmanager
def _faults() -> Iterator[None]:
    """What libcachezoo refuses is an error like any other."""
    try:
        yield
    except RuntimeFault as fault:
        raise ConfigError(str(fault)) from fault


def show(requests: int = REQUESTS, wait_s: float = WAIT_S, advance: Advance | None = None) -> Demo:
    """Run the demo.

    Args:
        requests: of the trace.
        wait_s: what a read of the disk takes longer.
        advance: progress, as a part of the work.

    Raises:
        CachezooError: nothing is there that could serve, there is no room, or what served failed.
    """
    report = advance or (lambda done, note="": None)
    by = _server()
    trace = workload.database(requests)
    pages = expand_pages(trace)
    report(0.0, "recommending")
    own = answer(trace)
    listed: dict[str, str | None] = {NO_CACHE: None, USUAL: USUAL, own.policy: own.policy}
    if (learned := _learned()) is not None:
        listed[LEARNED] = learned
    rows = list[Row]()
    serve = mounted.mounted if by == BY_NBDKIT else in_process.cached
    with _folder() as folder, _faults():
        if shutil.disk_usage(folder).free < ROOM:
            raise ConfigError(f"{folder}: the demo needs {ROOM >> 20} MiB there; make room, or set TMPDIR")
        disk, ssd = folder / "disk", folder / "ssd"
        for name, policy in listed.items():
            report((1 + len(rows)) / (1 + len(listed)), name)
            fill(disk, workload.PAGES)
            with serve(policy, own.pages, own.writes, disk, ssd, wait_s) as served:
                found = replay(served, trace, workload.PAGES)
            said = None if policy is None else promised(trace, pages, policy, own.pages, own.writes)
            rows.append(Row(name, said, None if policy is None else found.counted.share, found.read_us))
    return Demo(own, by, requests, tuple(rows))
