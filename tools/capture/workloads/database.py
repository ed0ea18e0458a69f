"""PostgreSQL under pgbench: skewed transactions whose hot set drifts, report scans, batch loads, vacuum.

The schema: pgbench's accounts (a page of 8 KiB holds about 61; the Zipf draw is over pages of accounts, so that
popularity is a property of pages, not of rows scattered over all of them), its history (append only), and a ledger
whose recent rows are read most and which reports scan from the start.
"""

import subprocess
from pathlib import Path
from typing import ClassVar

from cachezoo.errors import CaptureError
from tools.capture.loads import DatabaseLoad
from tools.capture.recipe import Recipe
from tools.capture.sandbox import Sandbox
from tools.capture.schedule import Job, Segment
from tools.capture.workloads.base import Workload
from tools.capture.workloads.postgres import PAGE_KIB, Postgres

REPORT_STEP_PAGES = 64
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


class DatabaseWorkload(Workload):
    """The database."""

    id = "database"
    title = "PostgreSQL and pgbench: skewed, drifting transactions with reports, batches and vacuum"
    packages: ClassVar[dict[str, str]] = Postgres.packages
    jobs: ClassVar[tuple[str, ...]] = ("report", "vacuum", "batch")

    def __init__(self, recipe: Recipe, box: Sandbox) -> None:
        super().__init__(recipe, box)
        if recipe.database is None:
            message = "the recipe lacks its section database"
            raise CaptureError(message)
        self.load: DatabaseLoad = recipe.database
        self.server = Postgres(box, self.load.scale, self.load.ledger_mib, self.load.shared_buffers_mib)

    def prepare(self) -> None:
        """Make the cluster and load its tables."""
        self.server.write_scripts({**SCRIPTS, "report": REPORT})
        self.server.prepare()

    def start(self) -> None:
        """Start the server in the memory group."""
        self.server.start()

    def segment(self, segment: Segment) -> "subprocess.Popen[bytes]":
        """Start pgbench at the segment's rate, with the hot set where it is by then."""
        load = self.load
        variables = {
            "groups": self.server.groups,
            "theta": load.theta,
            "hot": int(segment.elapsed_days * load.drift_pages) % self.server.groups,
            "layout": self.recipe.seed,
            "ledger": self.server.ledger_rows,
        }
        options = ["-n", "-c", str(load.clients), "-j", "1"]
        options += ["-T", str(segment.seconds), "--rate", f"{segment.rate:.3f}", f"--random-seed={segment.seed}"]
        for name, value in variables.items():
            options += ["-D", f"{name}={value}"]
        for name in SCRIPTS:
            options += ["-f", f"{self.box.work / name}.sql@{getattr(load, name)}"]
        return self.box.spawn(self.server.pgbench(*options), self._segment_log(segment), limited=False)

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
            self.server.bench(*options, "-f", f"{self.box.work}/report.sql")
        elif job.kind == "batch":
            rows = self.load.batch_rows
            self.server.sql(
                "INSERT INTO ledger (aid, amount, note) SELECT 1 + i % 100000, i, repeat('b', 100)"
                f" FROM generate_series(1, {rows}) i"
            )
        else:
            self.server.sql("VACUUM pgbench_accounts")

    def stop(self) -> None:
        """Stop the server with a last checkpoint."""
        self.server.stop()

    @staticmethod
    def versions() -> dict[str, str]:
        """PostgreSQL and pgbench."""
        return Postgres.versions()
