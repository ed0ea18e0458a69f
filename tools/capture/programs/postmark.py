"""Postmark as a mail server: a postmark for each domain, which runs for its visits alone.

Postmark has no rate and draws evenly from its pool of messages. So each domain has a postmark and a pool of its own,
made before anything is recorded, and is stopped but for its visits. By a schedule (`clients/pacer.py`) popularity is
Zipf over the domains, its order moves on from day to day, and the domains' working hours differ; in a closed loop
(`clients/visits.py`) a few domains are visited at once.
"""

import json
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import ClassVar

import numpy as np

from cachezoo.errors import CaptureError
from cachezoo.seeds import derive_seed
from tools.capture.clients import pacer
from tools.capture.disk import call, last_line
from tools.capture.installed import program, version_line
from tools.capture.loads import PostmarkLoad
from tools.capture.programs.base import Closed, Paced, Player
from tools.capture.programs.jobs import back_up, compact, endless_backup, search
from tools.capture.recipe import Phase, Recipe, given
from tools.capture.sandbox import Sandbox, stop_process
from tools.capture.schedule import Job, Segment

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


def domains_of(load: PostmarkLoad, seed: int) -> list[dict[str, int]]:
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
            "create_bias": NO_BIAS if kept else load.arriving or MORE_MAIL,
        }
        for count, mean, more, kept in rows
    ]


def shares(load: PostmarkLoad, seed: int, days: float) -> "np.ndarray[tuple[int], np.dtype[np.float64]]":
    """Share of the visits that each domain gets at a time; sums to 1.

    A domain's rank rises by `drift` a day until it is the first, and then it is the last; its activity has a
    peak at an hour of its own.

    Args:
        load: the recipe's part.
        seed: of the order and the hours.
        days: when, in days from the start.
    """
    pace = given(load.paced)
    rng = np.random.default_rng(derive_seed(seed, "capture_shares"))
    rank = (rng.permutation(load.domains) - pace.drift * days) % load.domains
    hour = rng.random(load.domains)
    weight = (rank + 1) ** -pace.theta * (1 + pace.hours * np.cos(2 * np.pi * (days - hour)))
    return np.asarray(weight / weight.sum())


def visits_of(load: PostmarkLoad, seed: int, segment: Segment) -> list[list[float | int]]:
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


class Postmark(Closed[PostmarkLoad], Paced[PostmarkLoad]):
    """A postmark for each domain.

    Attributes:
        domains: as `domains_of` draws them.
        servers: the processes, once they are started; all are stopped.
    """

    program = "postmark"
    packages: ClassVar[dict[str, str]] = {"postmark": "postmark", "tar": "tar", "grep": "grep", "sed": "sed"}
    jobs = ("backup", "search", "compact")
    operations = ("visits",)
    beside = ("backup",)

    def __init__(self, recipe: Recipe, box: Sandbox) -> None:
        super().__init__(recipe, box)
        self.spool = box.mount / "spool"
        self.domains = domains_of(self.load, recipe.seed)
        self.servers: list[subprocess.Popen[bytes]] = []
        self._state = box.work / "allowed.json"

    def _folder(self, domain: int) -> Path:
        """Where a domain's messages lie."""
        return self.spool / f"d{domain:03d}"

    def prepare(self) -> None:
        """Make the domains' folders and postmark's orders; the messages are postmark's to make."""
        for domain, values in enumerate(self.domains):
            self._folder(domain).mkdir(parents=True)
            fixed = {"folder": self._folder(domain), "folders": FOLDERS, "block": BLOCK, "transactions": TRANSACTIONS}
            seed = derive_seed(self.recipe.seed, "capture_postmark", domain)
            text = CONFIG.format(**values, **fixed, seed=seed)
            (self.box.work / f"postmark-{domain}.cfg").write_text(text)

    def start(self) -> None:
        """Start each domain's postmark in the memory group, wait for its messages, and stop it there.

        Raises:
            CaptureError: one makes no messages.
        """
        for domain in range(len(self.domains)):
            log = self.log(f"postmark-{domain}")
            command = [program("postmark"), str(self.box.work / f"postmark-{domain}.cfg")]
            process = self.box.spawn(command, log)
            deadline = time.monotonic() + READY_S
            while READY not in log.read_bytes():
                if process.poll() is not None or time.monotonic() > deadline:
                    stop_process(process)
                    end = last_line(log.read_text(errors="replace"))
                    raise CaptureError(f"postmark made no messages for domain {domain}: {end}")
                time.sleep(0.002)
            process.send_signal(signal.SIGSTOP)
            self.servers.append(process)
        call(["sync", "-f", str(self.spool)])
        self._state.write_text("[]")

    def stop(self) -> None:
        """End the postmarks; they clean up nothing."""
        while self.servers:
            stop_process(self.servers.pop(), signal.SIGKILL)

    def _check_servers(self) -> None:
        """See that no postmark has ended.

        Raises:
            CaptureError: one has.
        """
        for domain, server in enumerate(self.servers):
            if server.poll() is not None and not self.box.closing.is_set():
                end = last_line(self.log(f"postmark-{domain}").read_text(errors="replace"))
                raise CaptureError(f"postmark of domain {domain} ended: {end}")

    def _pids(self) -> list[int]:
        return [server.pid for server in self.servers]

    def segment(self, segment: Segment) -> Player:
        """Start the pacer with the segment's visits."""
        visits = visits_of(self.load, self.recipe.seed, segment)
        values = {"state": str(self._state), "pids": self._pids(), "seconds": segment.seconds, "visits": visits}
        name = f"pacer-{segment.index}"
        return self.player(name, [sys.executable, "-I", pacer.__file__, str(self.plan(name, values))], limited=False)

    def check_segment(self, segment: Segment, player: Player) -> None:
        """See that the domains are no more calls behind than a segment has at the mean rate."""
        self._check_servers()
        self.finish(player, END_S)
        report = json.loads(player.log.read_text())
        if report["owed"] > self.schedule.rate * segment.seconds and not self.box.closing.is_set():
            message = f"postmark: {report['owed']} calls behind its schedule; lower the rate, or give it a faster disk"
            raise CaptureError(message)

    def job(self, job: Job) -> None:
        """Back up the first domains, the same each day; search or compact some, others from job to job."""
        log, pace = self.log(f"{job.kind}-{job.start_s:.0f}"), given(self.load.paced)
        if job.kind == "backup":
            names = [self._folder(domain).name for domain in range(self._part(pace.backup_share))]
            back_up(self.box, self.spool, names, pace.backup_mib_s, log)
            return
        rng = np.random.default_rng(derive_seed(self.recipe.seed, f"capture_{job.kind}", int(job.start_s * 1000)))
        share = pace.search_share if job.kind == "search" else pace.compact_share
        chosen = np.sort(rng.choice(self.load.domains, self._part(share), replace=False)).tolist()
        folders = [(path, size) for domain in chosen for path, size in self._folders(domain)]
        (search if job.kind == "search" else compact)(self.box, folders, pace.search_mib_s, log)

    def _part(self, share: float) -> int:
        return max(1, round(share * self.load.domains))

    def _folders(self, domain: int) -> list[tuple[Path, float]]:
        """A domain's folders and about how many bytes each holds."""
        values = self.domains[domain]
        size = values["messages"] * (values["low"] + values["high"]) / 2 / FOLDERS
        return [(self._folder(domain) / f"s{part}", size) for part in range(FOLDERS)]

    def play(self, phase: Phase, number: int) -> list[Player]:
        """Start the client that lets postmarks run, and a backup where the phase has one."""
        own = {"pids": self._pids(), "at_once": given(self.load.clients), "calls": self.load.visit_calls}
        name = f"visits-{number}"
        plan = self.plan(name, {**self.drawn(phase), **own, "seed": self.seed(number)})
        players = [self.player(name, self.client("visits", plan), limited=False)]
        if "backup" in phase.beside:
            names = [self._folder(domain).name for domain in range(max(1, self.load.domains // 4))]
            players.append(self.player(f"tar-{number}", endless_backup(self.spool, names)))
        return players

    def check(self, player: Player) -> None:
        """See that the program ended well and that no postmark ended."""
        self._check_servers()
        super().check(player)

    @classmethod
    def versions(cls) -> dict[str, str]:
        """Postmark and tar."""
        return {"postmark": version_line("postmark", "/dev/null"), "tar": version_line("tar", "--version")}
