"""A PostgreSQL server in the sandbox, with pgbench's accounts and a ledger."""

import shutil
import signal
import subprocess
from typing import ClassVar

from cachezoo.errors import CaptureError
from tools.capture.programs import program, version_line
from tools.capture.sandbox import Sandbox, stop_process

USER = "postgres"
ACCOUNTS_PER_SCALE = 100_000
ACCOUNTS_PER_PAGE = 61
PAGE_KIB = 8
LEDGER_ROWS_PER_MIB = 5_900
START_TRIES = 300
JOB_S = 600.0
LEDGER = (
    "CREATE TABLE ledger (id bigserial, aid int, amount int, note text);"
    "INSERT INTO ledger (aid, amount, note) SELECT 1 + i %% 100000, i, repeat('n', 100)"
    " FROM generate_series(1, {rows}) i;"
    "ALTER TABLE ledger ADD PRIMARY KEY (id); VACUUM ANALYZE ledger;"
).replace("%%", "%")
SETTINGS = {
    "listen_addresses": "''",
    "autovacuum": "off",
    "max_wal_size": "64MB",
    "min_wal_size": "32MB",
    "checkpoint_timeout": "30s",
    "checkpoint_completion_target": "0.7",
    "wal_compression": "on",
    "max_parallel_workers_per_gather": "0",
    "huge_pages": "off",
    "jit": "off",
    "track_counts": "off",
    "vacuum_cost_delay": "5ms",
    "max_connections": "100",
}


class Postgres:
    """The server and its clients' command lines.

    Attributes:
        packages: program to the Debian package that has it.
    """

    packages: ClassVar[dict[str, str]] = {
        "postgres": "postgresql",
        "initdb": "postgresql",
        "pgbench": "postgresql",
        "psql": "postgresql",
    }

    def __init__(self, box: Sandbox, scale: int, ledger_mib: int, shared_buffers_mib: int) -> None:
        """Describe the server; nothing happens yet.

        Args:
            box: the sandbox.
            scale: pgbench's.
            ledger_mib: size of the ledger.
            shared_buffers_mib: the server's own cache.
        """
        self.box = box
        self.scale = scale
        self.ledger_rows = ledger_mib * LEDGER_ROWS_PER_MIB
        self.groups = scale * ACCOUNTS_PER_SCALE // ACCOUNTS_PER_PAGE
        self._shared_buffers_mib = shared_buffers_mib
        self.data = box.mount / "pgdata"
        self.socket = box.work / "run"
        self.log = box.work / "postgres.log"
        self._server: subprocess.Popen[bytes] | None = None

    def prepare(self) -> None:
        """Make the cluster and load its tables, without the limit and without waiting for the disk."""
        for folder in (self.data, self.socket):
            folder.mkdir(mode=0o700)
            shutil.chown(folder, USER, USER)
        options = ["--wal-segsize=4", "--auth=trust", "--locale=C", "-E", "UTF8", "-N"]
        self.box.run([program("initdb"), "-D", str(self.data), *options], self.log, limited=False, user=USER)
        self._serve(limited=False, loading=True)
        self.bench("-i", "-q", "-I", "dtgvp", "-s", str(self.scale))
        self.sql(LEDGER.format(rows=self.ledger_rows))
        self.sql("CHECKPOINT;")
        self.stop()

    def start(self) -> None:
        """Start the server in the memory group."""
        self._serve(limited=True, loading=False)

    def _serve(self, limited: bool, loading: bool) -> None:
        buffers = 256 if loading else self._shared_buffers_mib
        settings = {**SETTINGS, "shared_buffers": f"{buffers}MB", "unix_socket_directories": f"'{self.socket}'"}
        if loading:
            settings |= {"fsync": "off", "max_wal_size": "2GB"}
        options = [part for key, value in settings.items() for part in ("-c", f"{key}={value.strip(chr(39))}")]
        self._server = self.box.spawn([program("postgres"), "-D", str(self.data), *options], self.log, limited, USER)
        ready = [program("pg_isready"), "-q", "-h", str(self.socket)]
        for _ in range(START_TRIES):
            if self._server.poll() is not None:
                self.box.finish(self._server, "postgres", self.log, 1)
            if subprocess.run(ready, capture_output=True, check=False).returncode == 0:
                return
            self.box.closing.wait(0.1)
        message = f"postgres did not answer within {START_TRIES / 10:.0f} s"
        raise CaptureError(message)

    def pgbench(self, *options: str) -> list[str]:
        """The command line of a pgbench."""
        return [program("pgbench"), "-h", str(self.socket), "-U", USER, *options, USER]

    def bench(self, *options: str) -> None:
        """Run pgbench to its end.

        Raises:
            CaptureError: it fails.
        """
        self.box.run(self.pgbench(*options), self.box.work / "pgbench.log", limited=False, timeout_s=JOB_S)

    def sql(self, text: str) -> None:
        """Run statements, each on its own.

        Raises:
            CaptureError: one fails.
        """
        command = [program("psql"), "-h", str(self.socket), "-U", USER, "-v", "ON_ERROR_STOP=1", "-q", "-c"]
        for statement in filter(None, text.split(";")):
            self.box.run([*command, statement, USER], self.box.work / "psql.log", limited=False, timeout_s=JOB_S)

    def write_scripts(self, scripts: dict[str, str]) -> None:
        """Write scripts of pgbench's to the work folder, as NAME.sql."""
        for name, text in scripts.items():
            (self.box.work / f"{name}.sql").write_text(text)

    def stop(self) -> None:
        """Stop the server with a last checkpoint; harmless when it does not run."""
        if self._server is not None:
            stop_process(self._server, signal.SIGINT)
            self._server = None

    @staticmethod
    def versions() -> dict[str, str]:
        """PostgreSQL and pgbench."""
        return {"postgres": version_line("postgres", "--version"), "pgbench": version_line("pgbench", "--version")}
