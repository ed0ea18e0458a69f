"""Dovecot as a mail server that is written to all day: a queue in front of mailboxes, discarded and expired mail.

Messages of very different lifetimes share one filesystem: a file of the queue lives for moments, or until the next run
of the queue; a message until its user discards it or it expires at night; the archive until a purge moves what shares a
file with a message that is gone. Beside them are Dovecot's indexes and the filesystem's journal, which each delivery
and flag writes.
"""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

import cachezoo
from cachezoo.errors import CaptureError
from cachezoo.seeds import derive_seed
from tools.capture.closed.clients.spool import ACTIVE, ARCHIVE, DEFERRED, fill
from tools.capture.loads import SpoolLoad
from tools.capture.programs import program
from tools.capture.recipe import Recipe
from tools.capture.sandbox import Sandbox
from tools.capture.schedule import Job, Segment
from tools.capture.workloads.base import Workload
from tools.capture.workloads.dovecot import Dovecot
from tools.capture.workloads.office import lognormal_sizes

SOURCES = f"{Path(__file__).parents[3]}:{Path(cachezoo.__file__).parents[1]}"
CLIENT = "tools.capture.closed.clients.spool"
VISITS = ("deliver", "defer", "read", "flag", "discard")
LEAST_MESSAGES = 5
END_S = 60.0
LATE_S = 30.0
JOB_S = 300.0
Visit = list[float | int | str]


def mailboxes(load: SpoolLoad, seed: int) -> dict[str, list[list[int]]]:
    """Sizes in bytes of the messages that each user has at the start, in the inbox and in the archive."""
    rng = np.random.default_rng(derive_seed(seed, "capture_users"))
    parts = np.exp(rng.normal(0.0, load.user_sigma, load.users))
    folders = {}
    for name, messages in (("INBOX", load.messages), (ARCHIVE, load.archived)):
        counts = np.maximum(LEAST_MESSAGES, messages * parts / parts.sum()).astype(np.int64)
        draws = derive_seed(seed, "capture_sizes", name)
        sizes = lognormal_sizes(load.median_kib, load.sigma, load.max_kib, int(counts.sum()), draws)
        folders[name] = [part.tolist() for part in np.split(sizes, np.cumsum(counts)[:-1])]
    return folders


def visits_of(load: SpoolLoad, seed: int, segment: Segment) -> list[Visit]:
    """The visits of a segment by rising time: when in seconds, what, whose, and an arriving message's bytes.

    They come as a Poisson process at the segment's rate; users are Zipf, in an order that moves on by the day.

    Args:
        load: the recipe's part.
        seed: of the users' order.
        segment: its rate is in visits a second.
    """
    order = np.random.default_rng(derive_seed(seed, "capture_order")).permutation(load.users)
    rng = np.random.default_rng(segment.seed)
    count = int(rng.poisson(segment.rate * segment.seconds))
    times = np.sort(rng.random(count)) * segment.seconds
    popularity = np.arange(1, load.users + 1) ** -load.theta
    ranks = rng.choice(load.users, count, p=popularity / popularity.sum())
    users = order[(ranks + int(segment.elapsed_days * load.drift_users)) % load.users]
    weights = np.array([getattr(load, name) for name in VISITS], np.float64)
    kinds = rng.choice(VISITS, count, p=weights / weights.sum())
    sizes = lognormal_sizes(
        load.median_kib, load.sigma, load.max_kib, count, derive_seed(segment.seed, "capture_sizes")
    )
    rows = zip(times.tolist(), kinds.tolist(), users.tolist(), sizes.tolist(), strict=True)
    return [list(row) for row in rows]


class SpoolWorkload(Workload):
    """The mail server that is written to."""

    id = "spool"
    title = "Dovecot behind a queue: deliveries, flags, discards, expiry, purges, beside an archive"
    packages: ClassVar[dict[str, str]] = Dovecot.packages
    jobs: ClassVar[tuple[str, ...]] = ("expire", "purge")

    def __init__(self, recipe: Recipe, box: Sandbox) -> None:
        super().__init__(recipe, box)
        if recipe.spool is None:
            message = "the recipe lacks its section spool"
            raise CaptureError(message)
        self.load: SpoolLoad = recipe.spool
        self.server = Dovecot(box, self.load.format)
        self.queue = box.mount / "queue"
        self._boxes = mailboxes(self.load, recipe.seed)

    def prepare(self) -> None:
        """Deliver what users have to Dovecot itself, without the limit and without waiting for the disk."""
        for folder in (ACTIVE, DEFERRED):
            (self.queue / folder).mkdir(parents=True)
        self.server.prepare()
        fill(self.server.port, self._boxes, self.recipe.seed)
        self.server.stop()

    def start(self) -> None:
        """Start Dovecot in the memory group."""
        self.server.start()

    def _plan(self, name: str, seed: int, client: int, visits: list[Visit]) -> str:
        """Write a client's plan; its visits are those of the client's own users."""
        plan: dict[str, Any] = {"port": self.server.port, "queue": str(self.queue), "seed": seed}
        plan["users"] = list(range(client, self.load.users, self.load.clients))
        plan["visits"] = [visit for visit in visits if visit[2] in plan["users"]]
        path = self.box.work / f"{name}-{client}.json"
        path.write_text(json.dumps(plan))
        return str(path)

    def _clients(self, name: str, seed: int, visits: list[Visit]) -> "subprocess.Popen[bytes]":
        seeds = [derive_seed(seed, "capture_client", client) for client in range(self.load.clients)]
        plans = [self._plan(name, own, client, visits) for client, own in enumerate(seeds)]
        command = ["env", f"PYTHONPATH={SOURCES}", sys.executable, "-m", CLIENT, *plans]
        return self.box.spawn(command, self._log(name))

    def _log(self, name: str) -> Path:
        return self.box.work / f"{name}.log"

    def segment(self, segment: Segment) -> "subprocess.Popen[bytes]":
        """Start the clients with the segment's visits, each with users of its own."""
        visits = visits_of(self.load, self.recipe.seed, segment)
        return self._clients(f"segment-{segment.index}", segment.seed, visits)

    def check(self, segment: Segment, process: "subprocess.Popen[bytes]") -> None:
        """See that the clients ended well and are not far behind their visits' times."""
        log = self._log(f"segment-{segment.index}")
        self.box.finish(process, "the mail clients", log, END_S)
        if self.box.closing.is_set():
            return
        late = max(json.loads(line)["late_s"] for line in log.read_text().splitlines())
        if late > LATE_S:
            message = f"the mail clients are {late:.0f} s behind; lower the rate, or give it a faster disk"
            raise CaptureError(message)

    def job(self, job: Job) -> None:
        """Expire what inboxes have above what they began with; purge what no mailbox holds any more (mdbox alone)."""
        name = f"{job.kind}-{job.start_s:.0f}"
        if job.kind == "expire":
            visits: list[Visit] = [[0.0, "expire", user, len(box)] for user, box in enumerate(self._boxes["INBOX"])]
            seed = derive_seed(self.recipe.seed, "capture_expire", int(job.start_s * 1000))
            self.box.finish(self._clients(name, seed, visits), "the mail clients", self._log(name), JOB_S)
            return
        for user in range(self.load.users):
            if self.box.closing.is_set():
                return
            command = [program("doveadm"), "-c", str(self.server.config), "purge", "-u", f"u{user:04d}"]
            self.box.run(command, self._log(name))

    def stop(self) -> None:
        """Stop Dovecot."""
        self.server.stop()

    @staticmethod
    def versions() -> dict[str, str]:
        """Dovecot and Python, whose imaplib the clients use."""
        return {"dovecot": Dovecot.version(), "python": sys.version.split()[0]}
