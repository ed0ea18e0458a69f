"""A MariaDB server in the sandbox, with the tables of a shop."""

import shutil
import signal
import subprocess
from pathlib import Path
from typing import ClassVar

from cachezoo.errors import CaptureError
from tools.capture.programs import program, version_line
from tools.capture.sandbox import Sandbox, stop_process

USER = "mysql"
SHOP = "shop"
SCRIPT = Path(__file__).with_name("sysbench.lua")
ACCOUNTS_PER_GROUP = 70
LEDGER_ROWS_PER_MIB = 5_500
REPORT_STEP_ROWS = 2_000
LOG_MIB = 64
START_TRIES = 300
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


class Mariadb:
    """The server and its clients' command lines.

    Attributes:
        packages: program to the Debian package that has it.
    """

    packages: ClassVar[dict[str, str]] = {
        "mariadbd": "mariadb-server",
        "mariadb-install-db": "mariadb-server",
        "mariadb": "mariadb-server",
        "sysbench": "sysbench",
    }

    def __init__(
        self, box: Sandbox, accounts: int, ledger_mib: int, buffer_pool_mib: int, log_mib: int = LOG_MIB
    ) -> None:
        """Describe the server; nothing happens yet.

        Args:
            box: the sandbox.
            accounts: rows of the accounts.
            ledger_mib: size of the ledger.
            buffer_pool_mib: InnoDB's own cache.
            log_mib: size of the redo log, which is written round and round.
        """
        self.box = box
        self.accounts = accounts
        self.groups = accounts // ACCOUNTS_PER_GROUP
        self.ledger_rows = ledger_mib * LEDGER_ROWS_PER_MIB
        self._buffer_pool_mib = buffer_pool_mib
        self._log_mib = log_mib
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
        rows = {"accounts": self.accounts, "ledger": self.ledger_rows}
        for statement in TABLES:
            self.sql(statement.format(**rows))
        # With as long as it takes to write what it holds.
        self.sql("SHUTDOWN")
        if self._server is not None:
            self.box.finish(self._server, "mariadbd", self.log, JOB_S)
            self._server = None

    def _serve(self, limited: bool, settings: dict[str, str]) -> None:
        values = {**SETTINGS, "innodb-log-file-size": f"{self._log_mib}M", **settings}
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

    def sql(self, statement: str) -> None:
        """Run a statement.

        Raises:
            CaptureError: it fails.
        """
        self.box.run(self._client(statement), self.box.work / "mariadb.log", limited=False, timeout_s=JOB_S)

    def start(self) -> None:
        """Start the server in the memory group."""
        self._serve(limited=True, settings={"innodb-buffer-pool-size": f"{self._buffer_pool_mib}M"})

    def sysbench(self, options: dict[str, object]) -> list[str]:
        """The command line of a sysbench with the shop's script."""
        places = {"db-driver": "mysql", "mysql-socket": self.socket, "mysql-user": "root", "mysql-db": SHOP}
        words = [f"--{key}={value}" for key, value in {**places, **options}.items()]
        return [program("sysbench"), str(SCRIPT), *words, "run"]

    def shop(self, seed: int, theta: float, hot: int, layout: int) -> dict[str, object]:
        """The script's options for transactions on the shop.

        Args:
            seed: of the draws.
            theta: Zipf exponent over the groups, not 1.
            hot: groups by which the hot set has moved.
            layout: spreads the groups' ranks over the table.
        """
        return {
            "rand-seed": 1 + seed % (2**31 - 2),
            "groups": self.groups,
            "group_rows": ACCOUNTS_PER_GROUP,
            "theta": theta,
            "hot": hot % self.groups,
            "layout": layout,
            "ledger": self.ledger_rows,
        }

    def stop(self) -> None:
        """Stop the server in order, with the pages that it still has to write; harmless when it does not run."""
        if self._server is not None:
            stop_process(self._server, signal.SIGTERM)
            self._server = None

    @staticmethod
    def versions() -> dict[str, str]:
        """MariaDB and sysbench."""
        return {"mariadbd": version_line("mariadbd", "--version"), "sysbench": version_line("sysbench", "--version")}
