"""Dovecot as a mail server that is written to all day: a queue in front of mailboxes, discarded and expired mail.

Messages of very different lifetimes share one filesystem: a file of the queue lives for moments, or until the next run
of the queue; a message until its user discards it or it expires at night; the archive until a purge moves what shares a
file with a message that is gone. Beside them are Dovecot's indexes and the filesystem's journal, which each delivery
and flag writes.
"""

import json
import sys
from typing import ClassVar

import numpy as np

from cachezoo.errors import CaptureError
from cachezoo.seeds import derive_seed
from tools.capture.clients.imap import fill
from tools.capture.clients.spool import ACTIVE, ARCHIVE, DEFERRED
from tools.capture.installed import program
from tools.capture.loads import SpoolLoad
from tools.capture.programs.base import Paced, Player
from tools.capture.programs.dovecot import PACKAGES, Dovecot
from tools.capture.programs.draws import lognormal_sizes
from tools.capture.programs.mail import message_sizes
from tools.capture.recipe import Recipe
from tools.capture.sandbox import Sandbox
from tools.capture.schedule import Job, Segment

VISITS = ("deliver", "defer", "read", "flag", "discard")
LATE_S = 30.0
JOB_S = 300.0
Visit = list[float | int | str]


def mailboxes(load: SpoolLoad, seed: int) -> dict[str, list[list[int]]]:
    """Sizes in bytes of the messages that each user has at the start, in the inbox and in the archive."""
    folders = {"INBOX": load.messages, ARCHIVE: load.archived}
    return {name: message_sizes(load, messages, load.user_sigma, seed, name) for name, messages in folders.items()}


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
    popularity = np.arange(1, load.users + 1) ** -load.paced.theta
    ranks = rng.choice(load.users, count, p=popularity / popularity.sum())
    users = order[(ranks + int(segment.elapsed_days * load.paced.drift)) % load.users]
    weights = np.array([load.paced.mix.get(name, 0) for name in VISITS], np.float64)
    kinds = rng.choice(VISITS, count, p=weights / weights.sum())
    sizes = lognormal_sizes(load, count, derive_seed(segment.seed, "capture_sizes"))
    rows = zip(times.tolist(), kinds.tolist(), users.tolist(), sizes.tolist(), strict=True)
    return [list(row) for row in rows]


class Spool(Paced[SpoolLoad]):
    """The mail server that is written to."""

    program = "spool"
    packages: ClassVar[dict[str, str]] = PACKAGES
    asks: ClassVar[dict[str, tuple[str, ...]]] = {"dovecot": ("--version",)}
    transactions = VISITS
    jobs = ("expire", "purge")
    server: Dovecot

    def __init__(self, recipe: Recipe, box: Sandbox) -> None:
        super().__init__(recipe, box)
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

    def _clients(self, name: str, seed: int, visits: list[Visit]) -> Player:
        """Start the clients, each with the visits of users of its own."""
        plans = []
        for client in range(self.load.clients):
            users = list(range(client, self.load.users, self.load.clients))
            own = {"users": users, "visits": [visit for visit in visits if visit[2] in users]}
            drawn = {"seed": derive_seed(seed, "capture_client", client)}
            fixed = {"port": self.server.port, "queue": str(self.queue)}
            plans.append(self.plan(f"{name}-{client}", {**fixed, **drawn, **own}))
        return self.player(name, self.client("spool", *plans))

    def segment(self, segment: Segment) -> Player:
        """Start the clients with the segment's visits."""
        visits = visits_of(self.load, self.recipe.seed, segment)
        return self._clients(f"mail-{segment.index}", segment.seed, visits)

    def check_segment(self, segment: Segment, player: Player) -> None:
        """See that the clients ended well and are not far behind their visits' times."""
        self.finish(player)
        if self.box.closing.is_set():
            return
        late = max(json.loads(line)["late_s"] for line in player.log.read_text().splitlines())
        if late > LATE_S:
            raise CaptureError(f"the mail clients are {late:.0f} s behind; lower the rate, or give it a faster disk")

    def job(self, job: Job) -> None:
        """Expire what inboxes have above what they began with; purge what no mailbox holds any more (mdbox alone)."""
        name = f"{job.kind}-{job.start_s:.0f}"
        if job.kind == "expire":
            visits: list[Visit] = [[0.0, "expire", user, len(box)] for user, box in enumerate(self._boxes["INBOX"])]
            seed = derive_seed(self.recipe.seed, "capture_expire", int(job.start_s * 1000))
            self.finish(self._clients(name, seed, visits), JOB_S)
            return
        for user in range(self.load.users):
            if self.box.closing.is_set():
                return
            command = [program("doveadm"), "-c", str(self.server.config), "purge", "-u", f"u{user:04d}"]
            self.box.run(command, self.log(name))

    @classmethod
    def versions(cls) -> dict[str, str]:
        """Dovecot and Python, whose imaplib the clients use."""
        return {**super().versions(), "python": sys.version.split()[0]}
