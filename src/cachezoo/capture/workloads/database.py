"""PostgreSQL under pgbench: skewed transactions whose hot set drifts, report scans, batch loads, vacuum.

The schema: pgbench's accounts (a page of 8 KiB holds about 61; the Zipf draw is over pages of accounts, so that
popularity is a property of pages, not of rows scattered over all of them), its history (append only), and a ledger
whose recent rows are read most and which reports scan from the start.
"""

import shutil
import signal
import subprocess
from pathlib import Path
from typing import ClassVar

from cachezoo.capture.loads import DatabaseLoad
from cachezoo.capture.programs import program, version_line
from cachezoo.capture.recipe import Recipe
from cachezoo.capture.sandbox import Sandbox, stop_process
from cachezoo.capture.schedule import Job, Segment
from cachezoo.capture.workloads.base import Workload
from cachezoo.errors import CaptureError

USER = "postgres"
ACCOUNTS_PER_SCALE = 100_000
ACCOUNTS_PER_PAGE = 61
PAGE_KIB = 8
LEDGER_ROWS_PER_MIB = 5_900
REPORT_STEP_PAGES = 64
START_TRIES = 300
JOB_S = 600.0
DRAW = (
    "\\set rank random_zipfian(1, :groups, :theta)\n"
    "\\set page permute((:rank + :groups - 1 - :hot) % :groups, :groups, :layout)\n"
    "\\set aid 1 + :page * 61 + random(0, 60)\n"
)
SCRIPTS = {
    "lookups": DRAW + "SELECT abalance FROM pgbench_accounts WHERE aid = :aid;\n",
    "updates": DRAW + "\\set delta random(-5000, 5000)\n"
    "\\set bid 1 + :aid / 100001\n"
    "BEGIN;\n"
    "UPDATE pgbench_accounts SET abalance = abalance + :delta WHERE aid = :aid;\n"
    "INSERT INTO pgbench_history (tid, bid, aid, delta, mtime) VALUES (1, :bid, :aid, :delta, CURRENT_TIMESTAMP);\n"
    "END;\n",
    "recents": "\\set age random_zipfian(1, :ledger, 1.05)\n"
    "SELECT sum(amount) FROM ledger WHERE id > (SELECT max(id) FROM ledger) - :age"
    " AND id <= (SELECT max(id) FROM ledger) - :age + 40;\n",
    "orders": DRAW + "INSERT INTO ledger (aid, amount, note) SELECT :aid, i, repeat('n', 100)"
    " FROM generate_series(1, 5) i;\n",
}
REPORT = (
    "SELECT sum(amount) FROM ledger WHERE ctid >= '(:first,0)'::tid AND ctid < '(:next,0)'::tid;\n"
    "\\set first :next\n"
    "\\set next :next + :step\n"
)
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


class DatabaseWorkload(Workload):
    """The database."""

    id = "database"
    title = "PostgreSQL and pgbench: skewed, drifting transactions with reports, batches and vacuum"
    packages: ClassVar[dict[str, str]] = {
        "postgres": "postgresql",
        "initdb": "postgresql",
        "pgbench": "postgresql",
        "psql": "postgresql",
    }
    jobs: ClassVar[tuple[str, ...]] = ("report", "vacuum", "batch")

    def __init__(self, recipe: Recipe, box: Sandbox) -> None:
        super().__init__(recipe, box)
        if recipe.database is None:
            message = "the recipe lacks its section database"
            raise CaptureError(message)
        self.load: DatabaseLoad = recipe.database
        self.data = box.mount / "pgdata"
        self.socket = box.work / "run"
        self.log = box.work / "postgres.log"
        self._server: subprocess.Popen[bytes] | None = None
        self._groups = self.load.scale * ACCOUNTS_PER_SCALE // ACCOUNTS_PER_PAGE

    @property
    def _ledger_rows(self) -> int:
        return self.load.ledger_mib * LEDGER_ROWS_PER_MIB

    def prepare(self) -> None:
        """Make the cluster and load its tables, without the limit and without waiting for the disk."""
        for folder in (self.data, self.socket):
            folder.mkdir(mode=0o700)
            shutil.chown(folder, USER, USER)
        scripts = {**SCRIPTS, "report": REPORT}
        for name, text in scripts.items():
            (self.box.work / f"{name}.sql").write_text(text)
        options = ["--wal-segsize=4", "--auth=trust", "--locale=C", "-E", "UTF8", "-N"]
        self.box.run([program("initdb"), "-D", str(self.data), *options], self.log, limited=False, user=USER)
        self._serve(limited=False, loading=True)
        self._bench("-i", "-q", "-I", "dtgvp", "-s", str(self.load.scale))
        self._sql(LEDGER.format(rows=self._ledger_rows))
        self._sql("CHECKPOINT;")
        self.stop()

    def _serve(self, limited: bool, loading: bool) -> None:
        buffers = 256 if loading else self.load.shared_buffers_mib
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

    def _bench(self, *options: str) -> None:
        command = [program("pgbench"), "-h", str(self.socket), "-U", USER, *options, USER]
        self.box.run(command, self._logs("pgbench"), limited=False, timeout_s=JOB_S)

    def _sql(self, text: str) -> None:
        command = [program("psql"), "-h", str(self.socket), "-U", USER, "-v", "ON_ERROR_STOP=1", "-q", "-c"]
        for statement in filter(None, text.split(";")):
            self.box.run([*command, statement, USER], self._logs("psql"), limited=False, timeout_s=JOB_S)

    def _logs(self, name: str) -> Path:
        return self.box.work / f"{name}.log"

    def start(self) -> None:
        """Start the server in the memory group."""
        self._serve(limited=True, loading=False)

    def segment(self, segment: Segment) -> "subprocess.Popen[bytes]":
        """Start pgbench at the segment's rate, with the hot set where it is by then."""
        load = self.load
        variables = {
            "groups": self._groups,
            "theta": load.theta,
            "hot": int(segment.elapsed_days * load.drift_pages) % self._groups,
            "layout": self.recipe.seed,
            "ledger": self._ledger_rows,
        }
        command = [program("pgbench"), "-h", str(self.socket), "-U", USER, "-n", "-c", str(load.clients), "-j", "1"]
        command += ["-T", str(segment.seconds), "--rate", f"{segment.rate:.3f}", f"--random-seed={segment.seed}"]
        for name, value in variables.items():
            command += ["-D", f"{name}={value}"]
        for name in SCRIPTS:
            command += ["-f", f"{self.box.work / name}.sql@{getattr(load, name)}"]
        return self.box.spawn([*command, USER], self._segment_log(segment), limited=False)

    def _segment_log(self, segment: Segment) -> Path:
        return self.box.work / f"segment-{segment.index}.log"

    def check(self, segment: Segment, process: "subprocess.Popen[bytes]") -> None:
        """See that pgbench ended well."""
        self.box.finish(process, "pgbench", self._segment_log(segment), 30)

    def job(self, job: Job) -> None:
        """A report scans the ledger at its pace; a batch appends to it; vacuum cleans the accounts."""
        if job.kind == "report":
            step = REPORT_STEP_PAGES
            count = self.load.ledger_mib * 1024 // PAGE_KIB // step
            rate = self.load.report_mib_s * 1024 / PAGE_KIB / step
            options = ["-n", "-c", "1", "-t", str(max(1, count)), "--rate", f"{rate:.3f}"]
            variables = {"first": 0, "next": step, "step": step}
            for name, value in variables.items():
                options += ["-D", f"{name}={value}"]
            self._bench(*options, "-f", f"{self.box.work}/report.sql")
        elif job.kind == "batch":
            rows = self.load.batch_rows
            self._sql(
                "INSERT INTO ledger (aid, amount, note) SELECT 1 + i % 100000, i, repeat('b', 100)"
                f" FROM generate_series(1, {rows}) i"
            )
        else:
            self._sql("VACUUM pgbench_accounts")

    def stop(self) -> None:
        """Stop the server with a last checkpoint."""
        if self._server is not None:
            stop_process(self._server, signal.SIGINT)
            self._server = None

    @staticmethod
    def versions() -> dict[str, str]:
        """PostgreSQL and pgbench."""
        return {"postgres": version_line("postgres", "--version"), "pgbench": version_line("pgbench", "--version")}
