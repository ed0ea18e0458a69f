"""SQLite in the processes of its clients, in a closed loop."""

import sqlite3
import sys

from tools.capture.clients.sqlite import fill
from tools.capture.loads import SqliteLoad
from tools.capture.programs.base import Closed, Player
from tools.capture.recipe import Phase, Recipe
from tools.capture.sandbox import Sandbox


class Sqlite(Closed[SqliteLoad]):
    """SQLite in the processes of its clients."""

    program = "sqlite"
    operations = ("lookups", "updates", "ranges", "recents", "orders", "scans")

    def __init__(self, recipe: Recipe, box: Sandbox) -> None:
        super().__init__(recipe, box)
        self.file = box.mount / "shop" / "shop.db"

    def prepare(self) -> None:
        """Make the file and its tables."""
        self.file.parent.mkdir()
        fill(str(self.file), self.load.accounts, self.load.filler, self.load.ledger_rows, self.load.journal)

    def play(self, phase: Phase, number: int) -> list[Player]:
        """Start the clients."""
        values = {
            "file": str(self.file),
            "accounts": self.load.accounts,
            "cache_kib": self.load.cache_kib,
            "ledger": self.load.ledger_rows,
        }
        return self.clients("sqlite", phase, number, values)

    @classmethod
    def versions(cls) -> dict[str, str]:
        """SQLite and Python."""
        return {"sqlite": sqlite3.sqlite_version, "python": sys.version.split()[0]}
