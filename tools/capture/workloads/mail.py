"""Postmark as a mail server: a postmark for each domain, all paced by visits whose share over the domains drifts.

Postmark has no rate and draws evenly from its pool of messages. So each domain has a postmark and a pool of its own,
made before anything is recorded, and is stopped but for its visits (`pacer.py`). Popularity is Zipf over the domains,
its order moves on from day to day, and the domains' working hours differ.
"""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from cachezoo.errors import CaptureError
from cachezoo.seeds import derive_seed
from tools.capture.loads import MailLoad
from tools.capture.programs import version_line
from tools.capture.recipe import Recipe
from tools.capture.sandbox import Sandbox
from tools.capture.schedule import Job, Segment
from tools.capture.workloads.base import Workload
from tools.capture.workloads.postmark import FOLDERS, Postmarks
from tools.capture.workloads.scans import back_up, compact, search

PACER = Path(__file__).with_name("pacer.py")
END_S = 30.0


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
    packages: ClassVar[dict[str, str]] = {**Postmarks.packages, "tar": "tar", "grep": "grep", "sed": "sed"}
    jobs: ClassVar[tuple[str, ...]] = ("backup", "search", "compact")

    def __init__(self, recipe: Recipe, box: Sandbox) -> None:
        super().__init__(recipe, box)
        if recipe.mail is None:
            message = "the recipe lacks its section mail"
            raise CaptureError(message)
        self.load: MailLoad = recipe.mail
        self.postmarks = Postmarks(box, self.load, recipe.seed)
        self._state = box.work / "allowed.json"

    def _log(self, name: str) -> Path:
        return self.box.work / f"{name}.log"

    def prepare(self) -> None:
        """Make the domains' folders and postmark's orders."""
        self.postmarks.prepare()

    def start(self) -> None:
        """Start each domain's postmark in the memory group; they wait, with their messages made."""
        self.postmarks.start()
        self._state.write_text("[]")

    def segment(self, segment: Segment) -> "subprocess.Popen[bytes]":
        """Start the pacer with the segment's visits."""
        plan: dict[str, Any] = {
            "state": str(self._state),
            "pids": [process.pid for process in self.postmarks.servers],
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
        self.postmarks.check()
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
            names = [self.postmarks.folder(domain).name for domain in range(self._part(load.backup_share))]
            back_up(self.box, self.postmarks.spool, names, load.backup_mib_s, log)
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
        values = self.postmarks.domains[domain]
        size = values["messages"] * (values["low"] + values["high"]) / 2 / FOLDERS
        return [(self.postmarks.folder(domain) / f"s{part}", size) for part in range(FOLDERS)]

    def stop(self) -> None:
        """End the postmarks; they clean up nothing."""
        self.postmarks.stop()

    @staticmethod
    def versions() -> dict[str, str]:
        """Postmark and tar."""
        return {"postmark": Postmarks.version(), "tar": version_line("tar", "--version")}
