"""Postmark as a mail server: a postmark for each domain, all paced by visits whose share over the domains drifts.

Postmark has no rate and draws evenly from its pool of messages. So each domain has a postmark and a pool of its own,
made before anything is recorded, and is stopped but for its visits (`pacer.py`). Popularity is Zipf over the domains,
its order moves on from day to day, and the domains' working hours differ.
"""

import json
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from cachezoo.capture.disk import call, last_line
from cachezoo.capture.loads import MailLoad
from cachezoo.capture.programs import program, version_line
from cachezoo.capture.recipe import Recipe
from cachezoo.capture.sandbox import Sandbox, stop_process
from cachezoo.capture.schedule import Job, Segment
from cachezoo.capture.workloads.base import Workload
from cachezoo.capture.workloads.scans import back_up, compact, search
from cachezoo.errors import CaptureError
from cachezoo.seeds import derive_seed

PACER = Path(__file__).with_name("pacer.py")
KIB = 1024
BLOCK = 4096
FOLDERS = 8
LEAST_MESSAGES = 50
NO_BIAS, MORE_MAIL = -1, 6
READY = b"Performing transactions"
READY_S = 120.0
END_S = 30.0
TRANSACTIONS = 2_000_000_000
CONFIG = """set location {folder}
set number {messages}
set size {low} {high}
set subdirectories {folders}
set read {block}
set write {block}
set buffering false
set bias read {read_bias}
set bias create {create_bias}
set transactions {transactions}
set seed {seed}
run
quit
"""


def domains_of(load: MailLoad, seed: int) -> list[dict[str, int]]:
    """The domains: how many messages, of which sizes in bytes, with which biases of postmark's (1 to 10, -1 none).

    Domains that are no archives get more mail than they delete: postmark ends when its pool is empty, and keeps it
    below twice its size.

    Args:
        load: the recipe's part.
        seed: of the draw.
    """
    rng = np.random.default_rng(derive_seed(seed, "capture_domains"))
    parts = np.exp(rng.normal(0.0, load.pool_sigma, load.domains))
    counts = np.maximum(LEAST_MESSAGES, load.messages * parts / parts.sum()).astype(np.int64)
    middle = load.mean_kib * KIB * np.exp(rng.normal(-0.5 * load.size_sigma**2, load.size_sigma, load.domains))
    archive = rng.permutation(load.domains) < round(load.archives * load.domains)
    shift = rng.integers(-1, 2, load.domains)
    rows = zip(counts.tolist(), middle.tolist(), shift.tolist(), archive.tolist(), strict=True)
    return [
        {
            "messages": count,
            "low": max(256, int(0.25 * mean)),
            "high": max(512, int(1.75 * mean)),
            "read_bias": min(10, max(1, load.read_bias + more)),
            "create_bias": NO_BIAS if kept else MORE_MAIL,
        }
        for count, mean, more, kept in rows
    ]


def shares(load: MailLoad, seed: int, days: float) -> "np.ndarray[tuple[int], np.dtype[np.float64]]":
    """Share of the visits that each domain gets at a time; sums to 1.

    A domain's rank rises by `drift_domains` a day until it is the first, and then it is the last; its activity has a
    peak at an hour of its own.

    Args:
        load: the recipe's part.
        seed: of the order and the hours.
        days: when, in days from the start.
    """
    rng = np.random.default_rng(derive_seed(seed, "capture_shares"))
    rank = (rng.permutation(load.domains) - load.drift_domains * days) % load.domains
    hour = rng.random(load.domains)
    weight = (rank + 1) ** -load.theta * (1 + load.hours * np.cos(2 * np.pi * (days - hour)))
    return np.asarray(weight / weight.sum())


def visits_of(load: MailLoad, seed: int, segment: Segment) -> list[list[float | int]]:
    """The visits of a segment by rising time: when in seconds, which domain, how many calls.

    Visits come as a Poisson process at the segment's rate; calls are geometric with mean `visit_calls`.

    Args:
        load: the recipe's part.
        seed: of the domains' order and hours.
        segment: its rate is in calls a second.
    """
    rng = np.random.default_rng(segment.seed)
    count = int(rng.poisson(segment.rate * segment.seconds / load.visit_calls))
    times = np.sort(rng.random(count)) * segment.seconds
    domains = rng.choice(load.domains, count, p=shares(load, seed, segment.elapsed_days))
    calls = rng.geometric(1 / load.visit_calls, count)
    return [list(row) for row in zip(times.tolist(), domains.tolist(), calls.tolist(), strict=True)]


class MailWorkload(Workload):
    """The mail server."""

    id = "mail"
    title = "postmark: mail domains whose popularity and hours differ and drift, search, compaction, backup"
    packages: ClassVar[dict[str, str]] = {"postmark": "postmark", "tar": "tar", "grep": "grep", "sed": "sed"}
    jobs: ClassVar[tuple[str, ...]] = ("backup", "search", "compact")

    def __init__(self, recipe: Recipe, box: Sandbox) -> None:
        super().__init__(recipe, box)
        if recipe.mail is None:
            message = "the recipe lacks its section mail"
            raise CaptureError(message)
        self.load: MailLoad = recipe.mail
        self.spool = box.mount / "spool"
        self._domains = domains_of(self.load, recipe.seed)
        self._servers: list[subprocess.Popen[bytes]] = []
        self._state = box.work / "allowed.json"

    def _log(self, name: str) -> Path:
        return self.box.work / f"{name}.log"

    def _folder(self, domain: int) -> Path:
        return self.spool / f"d{domain:03d}"

    def prepare(self) -> None:
        """Make the domains' folders and postmark's orders; the messages are postmark's to make."""
        for domain, values in enumerate(self._domains):
            self._folder(domain).mkdir(parents=True)
            fixed = {"folder": self._folder(domain), "folders": FOLDERS, "block": BLOCK, "transactions": TRANSACTIONS}
            seed = derive_seed(self.recipe.seed, "capture_postmark", domain)
            text = CONFIG.format(**values, **fixed, seed=seed)
            (self.box.work / f"postmark-{domain}.cfg").write_text(text)

    def start(self) -> None:
        """Start each domain's postmark in the memory group, wait for its messages, and stop it there."""
        for domain in range(self.load.domains):
            log = self._log(f"postmark-{domain}")
            command = [program("postmark"), str(self.box.work / f"postmark-{domain}.cfg")]
            process = self.box.spawn(command, log)
            deadline = time.monotonic() + READY_S
            while READY not in log.read_bytes():
                if process.poll() is not None or time.monotonic() > deadline:
                    stop_process(process)
                    said = last_line(log.read_text(errors="replace"))
                    message = f"postmark made no messages for domain {domain}: {said}"
                    raise CaptureError(message)
                time.sleep(0.002)
            process.send_signal(signal.SIGSTOP)
            self._servers.append(process)
        call(["sync", "-f", str(self.spool)])
        self._state.write_text("[]")

    def segment(self, segment: Segment) -> "subprocess.Popen[bytes]":
        """Start the pacer with the segment's visits."""
        plan: dict[str, Any] = {
            "state": str(self._state),
            "pids": [process.pid for process in self._servers],
            "seconds": segment.seconds,
            "visits": visits_of(self.load, self.recipe.seed, segment),
        }
        path = self.box.work / f"segment-{segment.index}.json"
        path.write_text(json.dumps(plan))
        return self.box.spawn([sys.executable, "-I", str(PACER), str(path)], self._segment_log(segment), limited=False)

    def _segment_log(self, segment: Segment) -> Path:
        return self._log(f"segment-{segment.index}")

    def check(self, segment: Segment, process: "subprocess.Popen[bytes]") -> None:
        """See that the domains are no more calls behind than a segment has at the mean rate."""
        for domain, server in enumerate(self._servers):
            if server.poll() is not None and not self.box.closing.is_set():
                said = last_line(self._log(f"postmark-{domain}").read_text(errors="replace"))
                message = f"postmark of domain {domain} ended: {said}"
                raise CaptureError(message)
        log = self._segment_log(segment)
        self.box.finish(process, "the pacer", log, END_S)
        report = json.loads(log.read_text())
        if report["owed"] > self.recipe.schedule.rate * segment.seconds and not self.box.closing.is_set():
            message = f"postmark: {report['owed']} calls behind its schedule; lower the rate, or give it a faster disk"
            raise CaptureError(message)

    def job(self, job: Job) -> None:
        """Back up the first domains, the same each day; search or compact some, others from job to job."""
        log = self._log(f"{job.kind}-{job.start_s:.0f}")
        load = self.load
        if job.kind == "backup":
            names = [self._folder(domain).name for domain in range(self._part(load.backup_share))]
            back_up(self.box, self.spool, names, load.backup_mib_s, log)
            return
        rng = np.random.default_rng(derive_seed(self.recipe.seed, f"capture_{job.kind}", int(job.start_s * 1000)))
        share = load.search_share if job.kind == "search" else load.compact_share
        chosen = np.sort(rng.choice(load.domains, self._part(share), replace=False)).tolist()
        folders = [(path, size) for domain in chosen for path, size in self._folders(domain)]
        (search if job.kind == "search" else compact)(self.box, folders, load.search_mib_s, log)

    def _part(self, share: float) -> int:
        return max(1, round(share * self.load.domains))

    def _folders(self, domain: int) -> list[tuple[Path, float]]:
        """A domain's folders and about how many bytes each holds."""
        values = self._domains[domain]
        size = values["messages"] * (values["low"] + values["high"]) / 2 / FOLDERS
        return [(self._folder(domain) / f"s{part}", size) for part in range(FOLDERS)]

    def stop(self) -> None:
        """End the postmarks; they clean up nothing."""
        while self._servers:
            stop_process(self._servers.pop(), signal.SIGKILL)

    @staticmethod
    def versions() -> dict[str, str]:
        """Postmark and tar."""
        return {"postmark": version_line("postmark", "/dev/null"), "tar": version_line("tar", "--version")}
