"""A client of notmuch: new mail, searches by words, reads, tags, and dumps of all tags."""

import fcntl
import os
import subprocess
from pathlib import Path

from tools.capture.clients.common import Client, main, zipf_rank
from tools.capture.clients.messages import drawn_size, message, word

FOUND = 20
TAGS, TAGGED = 8, 10
COMMON_WORDS = 40


class Notmuch(Client):
    """Each operation is a command of notmuch; those that write wait for each other."""

    def _notmuch(self, *arguments: str, writes: bool = False) -> None:
        environment = {**os.environ, "NOTMUCH_CONFIG": self.plan["config"]}
        with Path(self.plan["config"]).open() as lock:
            if writes:
                fcntl.flock(lock, fcntl.LOCK_EX)
            command = [self.plan["notmuch"], *arguments]
            subprocess.run(command, env=environment, stdout=subprocess.DEVNULL, check=True)

    def _word(self) -> str:
        # In quotes, as "and" and "or" are words too.
        return f'"{word(COMMON_WORDS + zipf_rank(self.random.random(), self.plan["words"] - COMMON_WORDS, 0.5))}"'

    def _id(self) -> str:
        return f"id:{self.item(self.plan['messages'])}@example.org"

    def deliver(self) -> None:
        """Write messages to a folder and index them."""
        folder = Path(self.plan["root"]) / f"f{self.random.randrange(self.plan['folders']):02d}" / "new"
        for _ in range(self.plan["batch"]):
            number = self.random.randrange(10**9, 10**12)
            size = drawn_size(self.random, self.plan["kib"], self.plan["sigma"], self.plan["max_kib"])
            (folder / f"{number}.M1P1.host").write_bytes(message(self.random, number, size, self.plan["words"]))
        self._notmuch("new", "--quiet", writes=True)

    def searches(self) -> None:
        """Show the newest threads that have a word."""
        self._notmuch("search", f"--limit={FOUND}", self._word())

    def reads(self) -> None:
        """Show a message."""
        self._notmuch("show", "--format=json", self._id())

    def tags(self) -> None:
        """Tag some messages."""
        chosen = " or ".join(self._id() for _ in range(TAGGED))
        self._notmuch("tag", f"+t{self.random.randrange(TAGS)}", "--", chosen, writes=True)

    def scans(self) -> None:
        """Dump the tags of all messages."""
        self._notmuch("dump", "--format=batch-tag")


if __name__ == "__main__":
    main(Notmuch)
