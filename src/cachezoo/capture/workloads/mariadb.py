"""MariaDB under sysbench: skewed transactions whose hot set drifts, range reads, report scans, batch loads, purges.

The schema: accounts in the order of their key (InnoDB keeps a table as its primary key's tree; a group of accounts is
about one page of it), a history (append only, purged by age), and a ledger whose recent rows are read most, with an
index by account. The page cache is in play: InnoDB's files are opened without O_DIRECT.
"""

import shutil
import signal
import subprocess
from pathlib import Path
from typing import ClassVar

from cachezoo.capture.loads import MariadbLoad
from cachezoo.capture.programs import program, version_line
from cachezoo.capture.recipe import Recipe
from cachezoo.capture.sandbox import Sandbox, stop_process
from cachezoo.capture.schedule import Job, Segment
from cachezoo.capture.workloads.base import Workload
from cachezoo.errors import CaptureError

USER = "mysql"
SHOP = "shop"
SCRIPT = Path(__file__).with_name("sysbench.lua")
ACCOUNTS_PER_GROUP = 70
LEDGER_ROWS_PER_MIB = 5_500
REPORT_STEP_ROWS = 2_000
PURGE_ROWS = 500
START_TRIES = 300
JOB_S = 600.0
KINDS = ("lookups", "updates", "recents", "ranges", "orders")
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
    "innodb-log-file-size": "64M",
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


class MariadbWorkload(Workload):
    """The other database."""

    id = "mariadb"
    title = "MariaDB and sysbench: skewed, drifting transactions with ranges, reports, batches and purges"
    packages: ClassVar[dict[str, str]] = {
        "mariadbd": "mariadb-server",
        "mariadb-install-db": "mariadb-server",
        "mariadb": "mariadb-server",
        "sysbench": "sysbench",
    }
    jobs: ClassVar[tuple[str, ...]] = ("report", "batch", "purge")

    def __init__(self, recipe: Recipe, box: Sandbox) -> None:
        super().__init__(recipe, box)
        if recipe.mariadb is None:
            message = "the recipe lacks its section mariadb"
            raise CaptureError(message)
        self.load: MariadbLoad = recipe.mariadb
        self.data = box.mount / "mariadb"
        self.places = box.work / "run"
        self.socket = self.places / "mariadb.sock"
        self.log = box.work / "mariadbd.log"
        self._server: subprocess.Popen[bytes] | None = None

    def prepare(self) -> None:
        """Make the data folder and load the tables, without the limit and without waiting for the disk."""
        for folder in (self.data, self.places):
            folder.mkdir(mode=0o750)
            shutil.chown(folder, USER, USER)
        install = [program("mariadb-install-db"), "--no-defaults", f"--datadir={self.data}"]
        options = ["--skip-test-db", "--auth-root-authentication-method=normal", "--innodb-flush-method=fsync"]
        self.box.run([*install, *options], self.log, limited=False, user=USER)
        self._serve(limited=False, settings=LOADING)
        rows = {"accounts": self.load.accounts, "ledger": self.load.ledger_mib * LEDGER_ROWS_PER_MIB}
        for statement in TABLES:
            self._sql(statement.format(**rows))
        # With as long as it takes to write what it holds.
        self._sql("SHUTDOWN")
        if self._server is not None:
            self.box.finish(self._server, "mariadbd", self.log, JOB_S)
            self._server = None

    def _serve(self, limited: bool, settings: dict[str, str]) -> None:
        values = {**SETTINGS, **settings}
        places = {"datadir": self.data, "socket": self.socket, "pid-file": self.places / "pid", "tmpdir": self.places}
        options = [f"--{key}={value}" for key, value in {**values, **places}.items()]
        self._server = self.box.spawn([program("mariadbd"), "--no-defaults", *options], self.log, limited, USER)
        for _ in range(START_TRIES):
            if self._server.poll() is not None:
                self.box.finish(self._server, "mariadbd", self.log, 1)
            if subprocess.run(self._client("SELECT 1"), capture_output=True, check=False).returncode == 0:
                return
            self.box.closing.wait(0.1)
        message = f"mariadbd did not answer within {START_TRIES / 10:.0f} s"
        raise CaptureError(message)

    def _client(self, statement: str) -> list[str]:
        options = ["--no-defaults", f"--socket={self.socket}", "--user=root", f"--execute={statement}"]
        return [program("mariadb"), *options]

    def _sql(self, statement: str) -> None:
        self.box.run(self._client(statement), self._log("mariadb"), limited=False, timeout_s=JOB_S)

    def _log(self, name: str) -> Path:
        return self.box.work / f"{name}.log"

    def start(self) -> None:
        """Start the server in the memory group."""
        self._serve(limited=True, settings={"innodb-buffer-pool-size": f"{self.load.buffer_pool_mib}M"})

    def _sysbench(self, name: str, options: dict[str, object]) -> "subprocess.Popen[bytes]":
        places = {"db-driver": "mysql", "mysql-socket": self.socket, "mysql-user": "root", "mysql-db": SHOP}
        words = [f"--{key}={value}" for key, value in {**places, **options}.items()]
        return self.box.spawn([program("sysbench"), str(SCRIPT), *words, "run"], self._log(name), limited=False)

    def segment(self, segment: Segment) -> "subprocess.Popen[bytes]":
        """Start sysbench at the segment's rate, with the hot set where it is by then."""
        load = self.load
        groups = load.accounts // ACCOUNTS_PER_GROUP
        options = {
            "threads": load.clients,
            "time": segment.seconds,
            "rate": max(1, round(segment.rate)),
            "rand-seed": 1 + segment.seed % (2**31 - 2),
            "groups": groups,
            "group_rows": ACCOUNTS_PER_GROUP,
            "theta": load.theta,
            "hot": int(segment.elapsed_days * load.drift_groups) % groups,
            "layout": self.recipe.seed,
            "ledger": load.ledger_mib * LEDGER_ROWS_PER_MIB,
        }
        return self._sysbench(f"segment-{segment.index}", options | {kind: getattr(load, kind) for kind in KINDS})

    def check(self, segment: Segment, process: "subprocess.Popen[bytes]") -> None:
        """See that sysbench ended well."""
        self.box.finish(process, "sysbench", self._log(f"segment-{segment.index}"), 30)

    def job(self, job: Job) -> None:
        """A report scans the ledger at its pace; a batch appends to it; a purge deletes the oldest rows."""
        if job.kind == "report":
            self._report(job)
        elif job.kind == "batch":
            note, rows = "REPEAT('b', 100)", self.load.batch_rows
            target = f"{SHOP}.ledger (account, amount, note)"
            accounts = self.load.accounts
            self._sql(f"INSERT INTO {target} SELECT 1 + seq * 31 % {accounts}, seq, {note} FROM shop.seq_1_to_{rows}")
        else:
            self._purge()

    def _report(self, job: Job) -> None:
        rows = self.load.ledger_mib * LEDGER_ROWS_PER_MIB
        steps = max(1, rows // REPORT_STEP_ROWS)
        rate = max(1, round(self.load.report_mib_s * LEDGER_ROWS_PER_MIB / REPORT_STEP_ROWS))
        name = f"report-{job.start_s:.0f}"
        options = {"mode": "report", "threads": 1, "time": 0, "events": steps, "rate": rate, "step": REPORT_STEP_ROWS}
        self.box.finish(self._sysbench(name, options), "sysbench", self._log(name), JOB_S)

    def _purge(self) -> None:
        """In small transactions, as one large one would hold up the others."""
        for table in ("history", "ledger"):
            for _ in range(-(-self.load.purge_rows // PURGE_ROWS)):
                if self.box.closing.wait(0.02):
                    return
                self._sql(f"DELETE FROM {SHOP}.{table} ORDER BY id LIMIT {PURGE_ROWS}")

    def stop(self) -> None:
        """Stop the server in order, with the pages that it still has to write."""
        if self._server is not None:
            stop_process(self._server, signal.SIGTERM)
            self._server = None

    @staticmethod
    def versions() -> dict[str, str]:
        """MariaDB and sysbench."""
        return {"mariadbd": version_line("mariadbd", "--version"), "sysbench": version_line("sysbench", "--version")}
