"""MariaDB under sysbench: skewed transactions whose hot set drifts, ranges, report scans, batches, purges, rebuilds.

The schema: accounts in the order of their key (InnoDB keeps a table as its primary key's tree; a group of accounts is
about one page of it), a history (append only, purged by age), and a ledger whose recent rows are read most, with an
index by account. The page cache is in play: InnoDB's files are opened without O_DIRECT.
"""

import subprocess
from pathlib import Path
from typing import ClassVar

from cachezoo.errors import CaptureError
from tools.capture.loads import MariadbLoad
from tools.capture.recipe import Recipe
from tools.capture.sandbox import Sandbox
from tools.capture.schedule import Job, Segment
from tools.capture.workloads.base import Workload
from tools.capture.workloads.mariadb_server import (
    JOB_S,
    LEDGER_ROWS_PER_MIB,
    LOG_MIB,
    REPORT_STEP_ROWS,
    SHOP,
    Mariadb,
)

PURGE_ROWS = 500
KINDS = ("lookups", "updates", "recents", "ranges", "orders")


class MariadbWorkload(Workload):
    """The other database."""

    id = "mariadb"
    title = "MariaDB and sysbench: skewed, drifting transactions with ranges, reports, batches and purges"
    packages: ClassVar[dict[str, str]] = Mariadb.packages
    jobs: ClassVar[tuple[str, ...]] = ("report", "batch", "purge", "rebuild")

    def __init__(self, recipe: Recipe, box: Sandbox) -> None:
        super().__init__(recipe, box)
        if recipe.mariadb is None:
            message = "the recipe lacks its section mariadb"
            raise CaptureError(message)
        self.load: MariadbLoad = recipe.mariadb
        log_mib = self.load.log_mib or LOG_MIB
        self.server = Mariadb(box, self.load.accounts, self.load.ledger_mib, self.load.buffer_pool_mib, log_mib)

    def prepare(self) -> None:
        """Make the data folder and load the tables."""
        self.server.prepare()

    def start(self) -> None:
        """Start the server in the memory group."""
        self.server.start()

    def _log(self, name: str) -> Path:
        return self.box.work / f"{name}.log"

    def _sysbench(self, name: str, options: dict[str, object]) -> "subprocess.Popen[bytes]":
        return self.box.spawn(self.server.sysbench(options), self._log(name), limited=False)

    def segment(self, segment: Segment) -> "subprocess.Popen[bytes]":
        """Start sysbench at the segment's rate, with the hot set where it is by then."""
        load = self.load
        options: dict[str, object] = {
            "threads": load.clients,
            "time": segment.seconds,
            "rate": max(1, round(segment.rate)),
        }
        hot = int(segment.elapsed_days * load.drift_groups)
        options |= self.server.shop(segment.seed, load.theta, hot, self.recipe.seed)
        return self._sysbench(f"segment-{segment.index}", options | {kind: getattr(load, kind) for kind in KINDS})

    def check(self, segment: Segment, process: "subprocess.Popen[bytes]") -> None:
        """See that sysbench ended well."""
        self.box.finish(process, "sysbench", self._log(f"segment-{segment.index}"), 30)

    def job(self, job: Job) -> None:
        """A report scans the ledger at its pace; a batch appends to it; a purge deletes the oldest rows.

        A rebuild writes the ledger anew to a file of its own, without the room that purged rows left, while
        transactions go on; then the old file goes.
        """
        if job.kind == "report":
            self._report(job)
        elif job.kind == "batch":
            note, rows = "REPEAT('b', 100)", self.load.batch_rows
            target = f"{SHOP}.ledger (account, amount, note)"
            values = f"1 + seq * 31 % {self.load.accounts}, seq, {note}"
            self.server.sql(f"INSERT INTO {target} SELECT {values} FROM shop.seq_1_to_{rows}")
        elif job.kind == "rebuild":
            self.server.sql(f"ALTER TABLE {SHOP}.ledger FORCE, ALGORITHM=INPLACE, LOCK=NONE")
        else:
            self._purge()

    def _report(self, job: Job) -> None:
        steps = max(1, self.server.ledger_rows // REPORT_STEP_ROWS)
        rate = max(1, round(self.load.report_mib_s * LEDGER_ROWS_PER_MIB / REPORT_STEP_ROWS))
        name = f"report-{job.start_s:.0f}"
        options = {"mode": "report", "threads": 1, "time": 0, "events": steps, "rate": rate, "step": REPORT_STEP_ROWS}
        options["ledger"] = self.server.ledger_rows
        self.box.finish(self._sysbench(name, options), "sysbench", self._log(name), JOB_S)

    def _purge(self) -> None:
        """In small transactions, as one large one would hold up the others."""
        for table in ("history", "ledger"):
            for _ in range(-(-self.load.purge_rows // PURGE_ROWS)):
                if self.box.closing.wait(0.02):
                    return
                self.server.sql(f"DELETE FROM {SHOP}.{table} ORDER BY id LIMIT {PURGE_ROWS}")

    def stop(self) -> None:
        """Stop the server in order, with the pages that it still has to write."""
        self.server.stop()

    @staticmethod
    def versions() -> dict[str, str]:
        """MariaDB and sysbench."""
        return Mariadb.versions()
