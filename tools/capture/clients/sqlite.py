"""A client of an SQLite file: accounts in the order of their key, a history, and a ledger whose recent rows count."""

import sqlite3
from typing import Any

from tools.capture.clients.common import Client, main, zipf_rank

GROUP = 20
STEP_ROWS = 2000
BUSY_S = 60.0
BATCH_ROWS = 10_000
AGE_THETA = 1.05


def fill(file: str, accounts: int, filler: int, ledger: int, journal: str) -> None:
    """Make the file and its tables.

    Args:
        file: its path.
        accounts: rows of the accounts.
        filler: bytes of a row beside its key and balance.
        ledger: rows of the ledger.
        journal: the kind of journal.
    """
    base = sqlite3.connect(file)
    base.execute(f"PRAGMA journal_mode={journal}")
    base.execute("PRAGMA synchronous=OFF")
    base.execute("CREATE TABLE accounts (id INTEGER PRIMARY KEY, balance INTEGER NOT NULL, filler BLOB NOT NULL)")
    base.execute("CREATE TABLE history (id INTEGER PRIMARY KEY, account INTEGER NOT NULL, delta INTEGER NOT NULL)")
    base.execute("CREATE TABLE ledger (id INTEGER PRIMARY KEY, account INTEGER NOT NULL, amount INTEGER, note TEXT)")
    base.execute("CREATE INDEX by_account ON ledger (account)")
    for table, rows, values in (
        ("accounts (id, balance, filler)", accounts, lambda row: (row + 1, 0, b"f" * filler)),
        ("ledger (account, amount, note)", ledger, lambda row: (1 + row * 7919 % accounts, row, "n" * 100)),
    ):
        for first in range(0, rows, BATCH_ROWS):
            batch = (values(row) for row in range(first, min(rows, first + BATCH_ROWS)))
            base.executemany(f"INSERT INTO {table} VALUES (?, ?, ?)", batch)
    base.commit()
    base.close()


class SqliteClient(Client):
    """One connection; a transaction that waits too long for another's fails, and the client with it."""

    def __init__(self, plan: dict[str, Any]) -> None:
        super().__init__(plan)
        self._at = 0

    def open(self) -> None:
        """Connect with the recipe's cache, commits as safe as SQLite's defaults."""
        self._base = sqlite3.connect(self.plan["file"], timeout=BUSY_S, isolation_level=None)
        self._base.execute(f"PRAGMA cache_size=-{self.plan['cache_kib']}")

    def close(self) -> None:
        """Disconnect."""
        self._base.close()

    def _account(self) -> int:
        group = self.item(self.plan["accounts"] // GROUP)
        return 1 + group * GROUP + self.random.randrange(GROUP)

    def _read(self, query: str, *values: int) -> None:
        self._base.execute(query, values).fetchall()

    def lookups(self) -> None:
        """Read an account."""
        self._read("SELECT balance FROM accounts WHERE id = ?", self._account())

    def updates(self) -> None:
        """Change an account's balance, with an entry in the history."""
        account, delta = self._account(), self.random.randrange(-5000, 5000)
        self._base.execute("BEGIN IMMEDIATE")
        self._base.execute("UPDATE accounts SET balance = balance + ? WHERE id = ?", (delta, account))
        self._base.execute("INSERT INTO history (account, delta) VALUES (?, ?)", (account, delta))
        self._base.execute("COMMIT")

    def ranges(self) -> None:
        """Read neighbouring accounts."""
        first = self._account()
        self._read("SELECT sum(balance) FROM accounts WHERE id BETWEEN ? AND ?", first, first + 6 * GROUP)

    def recents(self) -> None:
        """Read a stretch of the ledger, likely of its end."""
        age = zipf_rank(self.random.random(), self.plan["ledger"], AGE_THETA)
        last = self._base.execute("SELECT max(id) FROM ledger").fetchone()[0] - age
        self._read("SELECT sum(amount) FROM ledger WHERE id > ? AND id <= ?", last - 40, last)

    def orders(self) -> None:
        """Append five rows of an account to the ledger."""
        account = self._account()
        self._base.execute("BEGIN IMMEDIATE")
        rows = [(account, line, "n" * 100) for line in range(5)]
        self._base.executemany("INSERT INTO ledger (account, amount, note) VALUES (?, ?, ?)", rows)
        self._base.execute("COMMIT")

    def scans(self) -> None:
        """Read the next stretch of the ledger from its start on."""
        self._read("SELECT sum(amount) FROM ledger WHERE id > ? AND id <= ?", self._at, self._at + STEP_ROWS)
        self._at = (self._at + STEP_ROWS) % self.plan["ledger"]


if __name__ == "__main__":
    main(SqliteClient)
