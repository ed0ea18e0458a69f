"""PostgreSQL under pgbench: skewed transactions, reports, batches and vacuum.

The schema: pgbench's accounts (a page of 8 KiB holds about 61; the Zipf draw is over pages of accounts, so that
popularity is a property of pages, not of rows scattered over all of them), its history (append only), and a ledger
whose recent rows are read most and which reports scan from the start.
"""

import shutil
import signal
import subprocess
from collections.abc import Mapping
from typing import ClassVar

from tools.capture.installed import program
from tools.capture.loads import PostgresLoad
from tools.capture.programs.base import Closed, Paced, Player
from tools.capture.programs.servers import Server
from tools.capture.recipe import Phase, Recipe, given
from tools.capture.sandbox import Sandbox
from tools.capture.schedule import Job, Segment

USER = "postgres"
ACCOUNTS_PER_SCALE = 100_000
ACCOUNTS_PER_PAGE = 61
PAGE_KIB = 8
LEDGER_ROWS_PER_MIB = 5_900
STEP_PAGES = 64
JOB_S = 600.0
ENDLESS_S = 3600
LEAST_THETA = 1.001
LEDGER = (
    "CREATE TABLE ledger (id bigserial, aid int, amount int, note text);"
    "INSERT INTO ledger (aid, amount, note) SELECT 1 + i % 100000, i, repeat('n', 100)"
    " FROM generate_series(1, {rows}) i;"
    "ALTER TABLE ledger ADD PRIMARY KEY (id); VACUUM ANALYZE ledger;"
)
BATCH = (
    "INSERT INTO ledger (aid, amount, note) SELECT 1 + i % 100000, i, repeat('b', 100)"
    " FROM generate_series(1, {rows}) i"
)
SETTINGS = {
    "listen_addresses": "",
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
LOADING = {"shared_buffers": "256MB", "fsync": "off", "max_wal_size": "2GB"}
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
STEP = "SELECT sum(amount) FROM ledger WHERE ctid >= '(:first,0)'::tid AND ctid < '(:next,0)'::tid;\n"
# A report scans the ledger once; a scan of it by one client begins again at its end.
REPORT = STEP + "\\set first :next\n\\set next :next + :step\n"
SCAN = STEP + "\\set first :next % :blocks\n\\set next :first + :step\n"


class Postgres(Closed[PostgresLoad], Paced[PostgresLoad]):
    """PostgreSQL."""

    program = "postgres"
    packages: ClassVar[dict[str, str]] = {
        "postgres": "postgresql",
        "initdb": "postgresql",
        "pgbench": "postgresql",
        "psql": "postgresql",
    }
    asks: ClassVar[dict[str, tuple[str, ...]]] = {"postgres": ("--version",), "pgbench": ("--version",)}
    transactions = tuple(SCRIPTS)
    jobs = ("report", "vacuum", "batch")
    operations = (*SCRIPTS, "scans")
    server: Server

    def __init__(self, recipe: Recipe, box: Sandbox) -> None:
        super().__init__(recipe, box)
        self.server = Server(box, "postgres", signal.SIGINT)
        self.data = box.mount / "pgdata"
        self.socket = box.work / "run"
        self.ledger_rows = self.load.ledger_mib * LEDGER_ROWS_PER_MIB
        self.ledger_pages = self.load.ledger_mib * 1024 // PAGE_KIB
        self.groups = self.load.scale * ACCOUNTS_PER_SCALE // ACCOUNTS_PER_PAGE

    def prepare(self) -> None:
        """Make the cluster and load its tables, without the limit and without waiting for the disk."""
        for name, text in {**SCRIPTS, "report": REPORT, "scans": SCAN}.items():
            (self.box.work / f"{name}.sql").write_text(text)
        for folder in (self.data, self.socket):
            folder.mkdir(mode=0o700)
            shutil.chown(folder, USER, USER)
        options = ["--wal-segsize=4", "--auth=trust", "--locale=C", "-E", "UTF8", "-N"]
        self.box.run([program("initdb"), "-D", str(self.data), *options], self.server.log, limited=False, user=USER)
        self._serve(LOADING, limited=False)
        self._bench("-i", "-q", "-I", "dtgvp", "-s", str(self.load.scale))
        self._sql(LEDGER.format(rows=self.ledger_rows))
        self._sql("CHECKPOINT;")
        self.server.stop()

    def start(self) -> None:
        """Start the server in the memory group."""
        self._serve({"shared_buffers": f"{self.load.shared_buffers_mib}MB"}, limited=True)

    def _serve(self, settings: Mapping[str, str], limited: bool) -> None:
        values = {**SETTINGS, **settings, "unix_socket_directories": str(self.socket)}
        options = [part for key, value in values.items() for part in ("-c", f"{key}={value}")]
        ready = [program("pg_isready"), "-q", "-h", str(self.socket)]
        self.server.serve(
            [program("postgres"), "-D", str(self.data), *options],
            lambda: subprocess.run(ready, capture_output=True, check=False).returncode == 0,
            limited,
            USER,
        )

    def check_books(self) -> None:
        """See that the balances of all accounts are the sum of their changes.

        Raises:
            CaptureError: they are not, or a page of the tables cannot be read.
        """
        balances, changes = "(SELECT sum(abalance) FROM pgbench_accounts)", "(SELECT sum(delta) FROM pgbench_history)"
        # A statement that fails where they differ: 1 is divided by 0.
        self._sql(f"SELECT 1 / CASE WHEN {balances} = coalesce({changes}, 0) THEN 1 ELSE 0 END")

    def _pgbench(self, *options: str, **variables: object) -> list[str]:
        defined = [part for name, value in variables.items() for part in ("-D", f"{name}={value}")]
        return [program("pgbench"), "-h", str(self.socket), "-U", USER, *options, *defined, USER]

    def _bench(self, *options: str, **variables: object) -> None:
        command = self._pgbench(*options, **variables)
        self.box.run(command, self.log("pgbench"), limited=False, timeout_s=JOB_S)

    def _sql(self, text: str) -> None:
        """Run statements, each on its own."""
        command = [program("psql"), "-h", str(self.socket), "-U", USER, "-v", "ON_ERROR_STOP=1", "-q", "-c"]
        for statement in filter(None, text.split(";")):
            self.box.run([*command, statement, USER], self.log("psql"), limited=False, timeout_s=JOB_S)

    def _transactions(
        self, name: str, options: list[str], seed: int, mix: Mapping[str, int], theta: float, hot: int, **more: int
    ) -> Player:
        """Start a pgbench with transactions by their weights."""
        scripts = [part for kind, weight in mix.items() for part in ("-f", f"{self.box.work / kind}.sql@{weight}")]
        shop = {"groups": self.groups, "theta": theta, "hot": hot, "layout": self.recipe.seed}
        words = ["-n", "-c", str(self.load.clients), "-j", "1", *options, f"--random-seed={seed}", *scripts]
        return self.player(name, self._pgbench(*words, **shop, ledger=self.ledger_rows, **more), limited=False)

    def segment(self, segment: Segment) -> Player:
        """Start pgbench at the segment's rate, with the hot set where it is by then."""
        pace = given(self.load.paced)
        hot = int(segment.elapsed_days * pace.drift) % self.groups
        options = ["-T", str(segment.seconds), "--rate", f"{segment.rate:.3f}"]
        return self._transactions(f"pgbench-{segment.index}", options, segment.seed, pace.mix, pace.theta, hot)

    def job(self, job: Job) -> None:
        """A report scans the ledger at its pace; a batch appends to it; vacuum cleans the accounts."""
        pace = given(self.load.paced)
        if job.kind == "report":
            rate = pace.report_mib_s * 1024 / PAGE_KIB / STEP_PAGES
            count = max(1, self.ledger_pages // STEP_PAGES)
            options = ["-n", "-c", "1", "-t", str(count), "--rate", f"{rate:.3f}", "-f", f"{self.box.work}/report.sql"]
            self._bench(*options, first=0, next=STEP_PAGES, step=STEP_PAGES)
        elif job.kind == "batch":
            self._sql(BATCH.format(rows=pace.batch_rows))
        else:
            self._sql("VACUUM pgbench_accounts")

    def play(self, phase: Phase, number: int) -> list[Player]:
        """Start pgbench with the phase's transactions; pgbench's own draw wants an exponent above 1."""
        theta, hot = max(LEAST_THETA, phase.theta), int(phase.move * self.groups)
        scan = {"blocks": self.ledger_pages, "step": STEP_PAGES, "first": 0, "next": STEP_PAGES}
        # It is cut off, and has said by then how it went.
        options, name = ["-T", str(ENDLESS_S), "--progress", "1"], f"pgbench-{number}"
        return [self._transactions(name, options, self.seed(number), phase.mix, theta, hot, **scan)]
