"""A client of an IMAP server: sessions of a few operations, each with one user's mailbox."""

import imaplib
import random

from tools.capture.clients.common import Client, main, zipf_rank
from tools.capture.clients.messages import drawn_size, message, word

ADDRESS = "127.0.0.1"
SESSION = 6
AGE_THETA = 0.9
LISTED = 25
EXPUNGED = 5
KEPT = 10
SEARCHED = 200
TIMEOUT_S = 60.0


def login(port: int, user: int) -> imaplib.IMAP4:
    """A connection with a user's mailbox selected."""
    connection = imaplib.IMAP4(ADDRESS, port, TIMEOUT_S)
    connection.login(f"u{user:04d}", "any")
    connection.select("INBOX")
    return connection


def fill(port: int, folders: dict[str, list[list[int]]], seed: int) -> None:
    """Deliver the messages that users have at the start.

    Args:
        port: the server's.
        folders: name of a folder to the sizes of each user's messages in it.
        seed: of the messages.
    """
    draw = random.Random(seed)
    left = {(user, folder): list(sizes) for folder, users in folders.items() for user, sizes in enumerate(users)}
    more = [folder for folder in folders if folder != "INBOX"]
    for user in sorted({user for user, _ in left}) if more else ():
        connection = login(port, user)
        for folder in more:
            connection.create(folder)
        connection.logout()
    number = 0
    # In rounds, so that neither a user's messages nor old and new ones lie side by side on the disk.
    while left:
        for user, folder in list(left):
            sizes, connection = left[user, folder], login(port, user)
            for _ in range(min(SESSION, len(sizes))):
                number += 1
                connection.append(folder, "(\\Seen)", None, message(draw, number, sizes.pop()))
            connection.logout()
            if not sizes:
                del left[user, folder]


class Imap(Client):
    """Operations on the mailbox of the session's user."""

    _connection: imaplib.IMAP4 | None = None
    _count = 0
    _left = 0

    def _session(self) -> imaplib.IMAP4:
        if self._connection is None or self._left == 0:
            self.close()
            self._connection = login(self.plan["port"], self.item(self.plan["users"]))
            self._left = SESSION
        self._left -= 1
        # The server's answer holds how many messages there are by now.
        self._count = int(self._connection.select("INBOX")[1][0] or 0)
        return self._connection

    def close(self) -> None:
        """Log out."""
        if self._connection is not None:
            self._connection.logout()
            self._connection = None

    def _one(self) -> str:
        return str(self._count - zipf_rank(self.random.random(), self._count, AGE_THETA))

    def deliver(self) -> None:
        """Add a message."""
        size = drawn_size(self.random, self.plan["kib"], self.plan["sigma"], self.plan["max_kib"])
        made = message(self.random, self.random.randrange(10**9), size)
        self._session().append("INBOX", "(\\Seen)", None, made)

    def listings(self) -> None:
        """Fetch what a mail program shows of the newest messages."""
        connection = self._session()
        if self._count:
            connection.fetch(f"{max(1, self._count - LISTED)}:{self._count}", "(FLAGS ENVELOPE)")

    def reads(self) -> None:
        """Fetch a message, rather a new one."""
        connection = self._session()
        if self._count:
            connection.fetch(self._one(), "(BODY.PEEK[])")

    def flags(self) -> None:
        """Flag a message."""
        connection = self._session()
        if self._count:
            connection.store(self._one(), "+FLAGS", "(\\Flagged)")

    def expunge(self) -> None:
        """Delete the oldest messages."""
        connection = self._session()
        if self._count > KEPT:
            connection.store(f"1:{min(EXPUNGED, self._count - KEPT)}", "+FLAGS", "(\\Deleted)")
            connection.expunge()

    def searches(self) -> None:
        """Look for a word in the bodies of the mailbox's messages."""
        connection = self._session()
        if self._count:
            connection.search(None, "BODY", word(SEARCHED + self.random.randrange(1000)))


if __name__ == "__main__":
    main(Imap)
