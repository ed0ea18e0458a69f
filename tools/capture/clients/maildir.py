"""A client of many users' Maildirs: delivers, lists, reads, flags, expunges and searches messages."""

import mailbox
import os
from pathlib import Path

from tools.capture.clients.common import Client, main, zipf_rank
from tools.capture.clients.messages import drawn_size, message

AGE_THETA = 0.9
LISTED = 25
HEADER_BYTES = 2048
EXPUNGED = 5
KEPT = 10


class Maildirs(Client):
    """Each operation opens a user's Maildir, as a program does that a user starts."""

    def _box(self) -> mailbox.Maildir:
        user = self.item(self.plan["users"])
        return mailbox.Maildir(Path(self.plan["root"]) / f"u{user:04d}", create=False)

    def _names(self, box: mailbox.Maildir) -> list[Path]:
        """The files of a user's messages, the newest first."""
        folder = Path(box._path) / "cur"
        return [folder / name for name in sorted(os.listdir(folder), reverse=True)]

    def _one(self) -> Path | None:
        names = self._names(self._box())
        return names[zipf_rank(self.random.random(), len(names), AGE_THETA)] if names else None

    def deliver(self) -> None:
        """Add a message, which the user has then seen."""
        size = drawn_size(self.random, self.plan["kib"], self.plan["sigma"], self.plan["max_kib"])
        made = mailbox.MaildirMessage(message(self.random, self.random.randrange(10**9), size))
        made.set_subdir("cur")
        self._box().add(made)

    def listings(self) -> None:
        """Read the headers of the newest messages."""
        for path in self._names(self._box())[:LISTED]:
            self._read(path, HEADER_BYTES)

    def reads(self) -> None:
        """Read a message."""
        path = self._one()
        if path is not None:
            self._read(path, -1)

    @staticmethod
    def _read(path: Path, size: int) -> None:
        try:
            with path.open("rb", buffering=0) as file:
                file.read(size)
        except FileNotFoundError:
            return  # another client has flagged or expunged it

    def flags(self) -> None:
        """Give a message a flag, which is a new name, or take it away."""
        path = self._one()
        if path is None:
            return
        name = path.name[:-1] if path.name.endswith("T") else f"{path.name}T"
        try:
            path.rename(path.with_name(name))
        except FileNotFoundError:
            return  # another client has flagged or expunged it

    def expunge(self) -> None:
        """Delete the oldest messages of a user."""
        names = self._names(self._box())
        for path in names[max(KEPT, len(names) - EXPUNGED) :]:
            path.unlink(missing_ok=True)

    def searches(self) -> None:
        """Read all messages of a user."""
        for path in self._names(self._box()):
            self._read(path, -1)


if __name__ == "__main__":
    main(Maildirs)
