"""MariaDB under sysbench: skewed transactions, ranges, reports, batches, purges and rebuilds.

The schema: accounts in the order of their key (InnoDB keeps a table as its primary key's tree; a group of accounts is
about one page of it), a history (append only, purged by age), and a ledger whose recent rows are read most, with an
index by account. The page cache is in play: InnoDB's files are opened without O_DIRECT.
"""

import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar

from tools.capture.installed import program
from tools.capture.loads import MariadbLoad
from tools.capture.programs.base import Closed, Paced, Player
from tools.capture.programs.servers import Server
from tools.capture.recipe import Phase, Recipe, given
from tools.capture.sandbox import Sandbox
from tools.capture.schedule import Job, Segment

USER = "mysql"
SHOP = "shop"
SCRIPT = Path(__file__).with_name("sysbench.lua")
KINDS = ("lookups", "updates", "recents", "ranges", "orders")
ACCOUNTS_PER_GROUP = 70
LEDGER_ROWS_PER_MIB = 5_500
STEP_ROWS = 2_000
PURGE_ROWS = 500
LOG_MIB = 64
JOB_S = 600.0
TABLES = (
    "CREATE DATABASE shop",
    "CREATE TABLE shop.accounts (id INT PRIMARY KEY, balance INT NOT NULL, filler CHAR(200) NOT NULL) CHARSET latin1",
    "CREATE TABLE shop.history (id BIGINT AUTO_INCREMENT PRIMARY KEY, account INT NOT NULL, delta INT NOT NULL)",
    "CREATE TABLE shop.ledger (id BIGINT AUTO_INCREMENT PRIMARY KEY, account INT NOT NULL, amount INT NOT NULL,"
    " note VARCHAR(100) NOT NULL, KEY (account)) CHARSET latin1",
    "INSERT INTO shop.accounts SELECT seq, 0, REPEAT('f', 200) FROM shop.seq_1_to_{accounts}",
    "INSERT INTO shop.ledger (account, amount, note) SELECT 1 + seq * 7919 % {accounts}, seq, REPEAT('n', 100)"
    " FROM shop.seq_1_to_{ledger}",
)
SETTINGS = {
    "skip-networking": "ON",
    "innodb-flush-method": "fsync",
    "innodb-io-capacity": "200",
    "innodb-buffer-pool-dump-at-shutdown": "OFF",
    "innodb-buffer-pool-load-at-startup": "OFF",
    "innodb-stats-auto-recalc": "OFF",
    "performance-schema": "OFF",
    "max-connections": "100",
    "key-buffer-size": "1M",
    "aria-pagecache-buffer-size": "1M",
}
LOADING = {
    "innodb-buffer-pool-size": "512M",
    "innodb-flush-log-at-trx-commit": "0",
    "innodb-doublewrite": "OFF",
}


class Mariadb(Closed[MariadbLoad], Paced[MariadbLoad]):
    """MariaDB."""

    program = "mariadb"
    packages: ClassVar[dict[str, str]] = {
        "mariadbd": "mariadb-server",
        "mariadb-install-db": "mariadb-server",
        "mariadb": "mariadb-server",
        "sysbench": "sysbench",
    }
    asks: ClassVar[dict[str, tuple[str, ...]]] = {"mariadbd": ("--version",), "sysbench": ("--version",)}
    transactions = KINDS
    jobs = ("report", "batch", "purge", "rebuild")
    operations = (*KINDS, "scans")
    server: Server

    def __init__(self, recipe: Recipe, box: Sandbox) -> None:
        super().__init__(recipe, box)
        self.server = Server(box, "mariadbd")
        self.groups = self.load.accounts // ACCOUNTS_PER_GROUP
        self.ledger_rows = self.load.ledger_mib * LEDGER_ROWS_PER_MIB
        self.data = box.mount / "mariadb"
        self.places = box.work / "run"
        self.socket = self.places / "mariadb.sock"

    def prepare(self) -> None:
        """Make the data folder and load the tables, without the limit and without waiting for the disk."""
        for folder in (self.data, self.places):
            folder.mkdir(mode=0o750)
            shutil.chown(folder, USER, USER)
        install = [program("mariadb-install-db"), "--no-defaults", f"--datadir={self.data}"]
        options = ["--skip-test-db", "--auth-root-authentication-method=normal", "--innodb-flush-method=fsync"]
        self.box.run([*install, *options], self.server.log, limited=False, user=USER)
        self._serve(LOADING, limited=False)
        for statement in TABLES:
            self._sql(statement.format(accounts=self.load.accounts, ledger=self.ledger_rows))
        # With as long as it takes to write what it holds.
        self._sql("SHUTDOWN")
        self.box.finish(given(self.server.process), "mariadbd", self.server.log, JOB_S)

    def start(self) -> None:
        """Start the server in the memory group."""
        self._serve({"innodb-buffer-pool-size": f"{self.load.buffer_pool_mib}M"}, limited=True)

    def _serve(self, settings: Mapping[str, str], limited: bool) -> None:
        values = {**SETTINGS, "innodb-log-file-size": f"{self.load.log_mib or LOG_MIB}M", **settings}
        places = {"datadir": self.data, "socket": self.socket, "pid-file": self.places / "pid", "tmpdir": self.places}
        options = [f"--{key}={value}" for key, value in {**values, **places}.items()]
        ready = self._client("SELECT 1")
        self.server.serve(
            [program("mariadbd"), "--no-defaults", *options],
            lambda: subprocess.run(ready, capture_output=True, check=False).returncode == 0,
            limited,
            USER,
        )

    def _client(self, statement: str) -> list[str]:
        options = ["--no-defaults", f"--socket={self.socket}", "--user=root", f"--execute={statement}"]
        return [program("mariadb"), *options]

    def _sql(self, statement: str) -> None:
        self.box.run(self._client(statement), self.log("mariadb"), limited=False, timeout_s=JOB_S)

    def _sysbench(self, name: str, options: Mapping[str, object]) -> Player:
        """Start a sysbench with the shop's script."""
        places = {"db-driver": "mysql", "mysql-socket": self.socket, "mysql-user": "root", "mysql-db": SHOP}
        words = [f"--{key}={value}" for key, value in {**places, **options, "ledger": self.ledger_rows}.items()]
        return self.player(name, [program("sysbench"), str(SCRIPT), *words, "run"], limited=False)

    def _transactions(
        self, number: int, options: Mapping[str, object], seed: int, mix: Mapping[str, int], theta: float, hot: int
    ) -> Player:
        """Start a sysbench with transactions by their weights."""
        shop = {
            "threads": self.load.clients,
            "rand-seed": 1 + seed % (2**31 - 2),
            "groups": self.groups,
            "group_rows": ACCOUNTS_PER_GROUP,
            "theta": theta,
            "hot": hot % self.groups,
            "layout": self.recipe.seed,
        }
        weights = {kind: mix.get(kind, 0) for kind in KINDS}
        return self._sysbench(f"sysbench-{number}", {**options, **shop, **weights})

    def segment(self, segment: Segment) -> Player:
        """Start sysbench at the segment's rate, with the hot set where it is by then."""
        pace = given(self.load.paced)
        options = {"time": segment.seconds, "rate": max(1, round(segment.rate))}
        hot = int(segment.elapsed_days * pace.drift)
        return self._transactions(segment.index, options, segment.seed, pace.mix, pace.theta, hot)

    def job(self, job: Job) -> None:
        """A report scans the ledger at its pace; a batch appends to it; a purge deletes the oldest rows.

        A rebuild writes the ledger anew to a file of its own, without the room that purged rows left, while
        transactions go on; then the old file goes.
        """
        pace = given(self.load.paced)
        if job.kind == "report":
            rate = max(1, round(pace.report_mib_s * LEDGER_ROWS_PER_MIB / STEP_ROWS))
            steps = max(1, self.ledger_rows // STEP_ROWS)
            options = {"mode": "report", "threads": 1, "time": 0, "events": steps, "rate": rate, "step": STEP_ROWS}
            self.finish(self._sysbench(f"report-{job.start_s:.0f}", options), JOB_S)
        elif job.kind == "batch":
            values = f"1 + seq * 31 % {self.load.accounts}, seq, REPEAT('b', 100)"
            rows = f"SELECT {values} FROM {SHOP}.seq_1_to_{pace.batch_rows}"
            self._sql(f"INSERT INTO {SHOP}.ledger (account, amount, note) {rows}")
        elif job.kind == "rebuild":
            self._sql(f"ALTER TABLE {SHOP}.ledger FORCE, ALGORITHM=INPLACE, LOCK=NONE")
        else:
            self._purge(pace.purge_rows)

    def _purge(self, rows: int) -> None:
        """In small transactions, as one large one would hold up the others."""
        for table in ("history", "ledger"):
            for _ in range(-(-rows // PURGE_ROWS)):
                if self.box.closing.wait(0.02):
                    return
                self._sql(f"DELETE FROM {SHOP}.{table} ORDER BY id LIMIT {PURGE_ROWS}")

    def play(self, phase: Phase, number: int) -> list[Player]:
        """Start sysbench with the phase's transactions, and one that scans where the mix has scans."""
        endless = {"time": 0, "events": 0}
        players = []
        if set(phase.mix) & set(KINDS):
            hot = int(phase.move * self.groups)
            players.append(self._transactions(number, endless, self.seed(number), phase.mix, phase.theta, hot))
        if "scans" in phase.mix:
            options = endless | {"mode": "report", "threads": 1, "step": STEP_ROWS}
            players.append(self._sysbench(f"scans-{number}", options))
        return players
