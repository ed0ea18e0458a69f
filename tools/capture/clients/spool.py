"""A mail server's day, for some of its users: messages through a queue into mailboxes, and what users do with them.

Each arriving message is a file of the queue first, on the disk before its sender is told so; then it goes to its
mailbox, and its file goes. Some do not go through at once: they stay until the next run of the queue. All comes at the
times of the plan, or as soon as what came before is done.
"""

import imaplib
import json
import os
import random
import sys
import time
from collections import OrderedDict
from concurrent.futures import ProcessPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

from tools.capture.clients.common import zipf_rank
from tools.capture.clients.imap import AGE_THETA, login
from tools.capture.clients.messages import message

CONNECTIONS = 8
ACTIVE, DEFERRED = "active", "deferred"
ARCHIVE = "Archive"


def user_of(file: Path) -> int:
    """The user to whom a file of the queue goes."""
    return int(file.name.partition(".")[0])


class Spool:
    """The users' connections and the queue.

    Attributes:
        connections: of the users seen last.
    """

    def __init__(self, plan: dict[str, Any]) -> None:
        """Take the plan over: `port`, `queue`, `seed`, `users`, `visits`."""
        self.plan = plan
        self.random = random.Random(plan["seed"])
        self.connections: OrderedDict[int, imaplib.IMAP4] = OrderedDict()
        self._queue = Path(plan["queue"])
        self._arrived = 0

    def _connection(self, user: int) -> imaplib.IMAP4:
        if user not in self.connections:
            if len(self.connections) == CONNECTIONS:
                self.connections.popitem(last=False)[1].logout()
            self.connections[user] = login(self.plan["port"], user)
        self.connections.move_to_end(user)
        return self.connections[user]

    def _count(self, user: int) -> int:
        # The server's answer holds how many messages there are by now.
        return int(self._connection(user).select("INBOX")[1][0] or 0)

    def _accept(self, user: int, size: int, folder: str) -> Path:
        self._arrived += 1
        number = self.plan["seed"] * 1_000_000 + self._arrived
        file = self._queue / folder / f"{user}.{number}"
        with file.open("wb") as opened:
            opened.write(message(self.random, number, size))
            opened.flush()
            os.fsync(opened.fileno())
        return file

    def _pass_on(self, file: Path) -> None:
        self._connection(user_of(file)).append("INBOX", "", None, file.read_bytes())
        file.unlink()

    def deliver(self, user: int, size: int) -> None:
        """A message arrives and goes to its mailbox."""
        self._pass_on(self._accept(user, size, ACTIVE))

    def defer(self, user: int, size: int) -> None:
        """A message arrives and stays in the queue for now."""
        self._accept(user, size, DEFERRED)

    def run_queue(self) -> None:
        """Pass on what stayed in the queue for this client's users."""
        for file in sorted((self._queue / DEFERRED).iterdir()):
            if user_of(file) not in self.plan["users"]:
                continue
            # The clients of the segment before may still be at it.
            taken = self._take(file)
            if taken is not None:
                self._pass_on(taken)

    def _take(self, file: Path) -> Path | None:
        with suppress(FileNotFoundError):
            return file.rename(self._queue / ACTIVE / file.name)
        return None

    def _one(self, user: int) -> str | None:
        """A message of the inbox, rather a new one."""
        count = self._count(user)
        return str(count - zipf_rank(self.random.random(), count, AGE_THETA)) if count else None

    def read(self, user: int, _size: int) -> None:
        """Fetch a message, which is seen then."""
        found = self._one(user)
        if found is not None:
            self._connection(user).fetch(found, "(BODY[])")

    def flag(self, user: int, _size: int) -> None:
        """Flag a message."""
        found = self._one(user)
        if found is not None:
            self._connection(user).store(found, "+FLAGS", "(\\Flagged)")

    def discard(self, user: int, _size: int) -> None:
        """Delete a message."""
        found = self._one(user)
        if found is not None:
            self._connection(user).store(found, "+FLAGS", "(\\Deleted)")
            self._connection(user).expunge()

    def expire(self, user: int, kept: int) -> None:
        """Delete the oldest messages but for so many newer ones."""
        old = self._count(user) - kept
        if old > 0:
            self._connection(user).store(f"1:{old}", "+FLAGS", "(\\Deleted)")
            self._connection(user).expunge()

    def close(self) -> None:
        """Log out."""
        while self.connections:
            self.connections.popitem()[1].logout()

    def run(self) -> dict[str, float]:
        """Run the queue, then make the visits; how many, and how many seconds behind its time the last one was."""
        start, late = time.monotonic(), 0.0
        try:
            self.run_queue()
            for due, kind, user, size in self.plan["visits"]:
                late = time.monotonic() - start - due
                time.sleep(max(0.0, -late))
                getattr(self, kind)(user, size)
        finally:
            self.close()
        return {"made": len(self.plan["visits"]), "late_s": max(0.0, late)}


def play(plan: Path) -> dict[str, float]:
    """Play a plan to its end."""
    return Spool(json.loads(plan.read_text())).run()


if __name__ == "__main__":
    with ProcessPoolExecutor(len(sys.argv) - 1) as clients:
        for report in clients.map(play, map(Path, sys.argv[1:])):
            sys.stdout.write(json.dumps(report) + "\n")
