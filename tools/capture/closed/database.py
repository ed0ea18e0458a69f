"""Databases in a closed loop: PostgreSQL, MariaDB, RocksDB and SQLite."""

import sqlite3
import sys
from typing import ClassVar

from tools.capture.closed.base import ClosedWorkload, Player
from tools.capture.closed.clients.sqlite import fill
from tools.capture.closed.loads import MariadbLoad, PostgresLoad, RocksdbLoad, SqliteLoad
from tools.capture.closed.recipe import ClosedRecipe, Phase
from tools.capture.programs import program, version_line
from tools.capture.sandbox import Sandbox
from tools.capture.workloads.database import SCRIPTS
from tools.capture.workloads.mariadb import KINDS
from tools.capture.workloads.mariadb_server import REPORT_STEP_ROWS, Mariadb
from tools.capture.workloads.postgres import PAGE_KIB, Postgres

STEP_PAGES = 64
# A scan of the ledger by one client, which begins again at its end.
SCAN = (
    "SELECT sum(amount) FROM ledger WHERE ctid >= '(:first,0)'::tid AND ctid < '(:next,0)'::tid;\n"
    "\\set first :next % :blocks\n"
    "\\set next :first + :step\n"
)
LEAST_THETA = 1.001
KEYRANGE = {"a": 14.18, "b": -2.917, "c": 0.0164, "d": -0.08082}
ENDLESS_S = 3600


class PostgresWorkload(ClosedWorkload):
    """PostgreSQL under pgbench."""

    program = "postgres"
    title = "PostgreSQL and pgbench: skewed transactions and scans of a ledger"
    packages: ClassVar[dict[str, str]] = Postgres.packages
    operations = (*SCRIPTS, "scans")

    def __init__(self, recipe: ClosedRecipe, box: Sandbox) -> None:
        super().__init__(recipe, box)
        assert isinstance(recipe.load, PostgresLoad)
        self.load = recipe.load
        self.server = Postgres(box, self.load.scale, self.load.ledger_mib, self.load.shared_buffers_mib)

    def prepare(self) -> None:
        """Make the cluster and load its tables."""
        self.server.write_scripts({**SCRIPTS, "scans": SCAN})
        self.server.prepare()

    def start(self) -> None:
        """Start the server in the memory group."""
        self.server.start()

    def play(self, phase: Phase, number: int) -> list[Player]:
        """Start pgbench with the phase's transactions; pgbench's own draw wants an exponent above 1."""
        variables = {
            "groups": self.server.groups,
            "theta": max(LEAST_THETA, phase.theta),
            "hot": int(phase.move * self.server.groups),
            "layout": self.recipe.seed,
            "ledger": self.server.ledger_rows,
            "blocks": self.load.ledger_mib * 1024 // PAGE_KIB,
            "step": STEP_PAGES,
            "first": 0,
            "next": STEP_PAGES,
        }
        options = ["-n", "-c", str(self.load.clients), "-j", "1", "-T", str(ENDLESS_S)]
        options.append(f"--random-seed={self.seed(number)}")
        for name, value in variables.items():
            options += ["-D", f"{name}={value}"]
        for name, weight in phase.mix.items():
            options += ["-f", f"{self.box.work / name}.sql@{weight}"]
        return [self.player(f"pgbench-{number}", self.server.pgbench(*options), limited=False)]

    def stop(self) -> None:
        """Stop the server with a last checkpoint."""
        self.server.stop()

    @staticmethod
    def versions() -> dict[str, str]:
        """PostgreSQL and pgbench."""
        return Postgres.versions()


class MariadbClosed(ClosedWorkload):
    """MariaDB under sysbench."""

    program = "mariadb"
    title = "MariaDB and sysbench: skewed transactions, ranges and scans of a ledger"
    packages: ClassVar[dict[str, str]] = Mariadb.packages
    operations = (*KINDS, "scans")

    def __init__(self, recipe: ClosedRecipe, box: Sandbox) -> None:
        super().__init__(recipe, box)
        assert isinstance(recipe.load, MariadbLoad)
        self.load = recipe.load
        self.server = Mariadb(box, self.load.accounts, self.load.ledger_mib, self.load.buffer_pool_mib)

    def prepare(self) -> None:
        """Make the data folder and load the tables."""
        self.server.prepare()

    def start(self) -> None:
        """Start the server in the memory group."""
        self.server.start()

    def play(self, phase: Phase, number: int) -> list[Player]:
        """Start sysbench with the phase's transactions, and one that scans where the mix has scans."""
        hot = int(phase.move * self.server.groups)
        common: dict[str, object] = {"time": 0, "events": 0}
        shop = self.server.shop(self.seed(number), phase.theta, hot, self.recipe.seed)
        weights = {kind: phase.mix.get(kind, 0) for kind in KINDS}
        players = []
        if any(weights.values()):
            options = common | shop | weights | {"threads": self.load.clients}
            players.append(self.player(f"sysbench-{number}", self.server.sysbench(options), limited=False))
        if "scans" in phase.mix:
            options = common | {"mode": "report", "threads": 1, "step": REPORT_STEP_ROWS}
            options["ledger"] = self.server.ledger_rows
            players.append(self.player(f"scans-{number}", self.server.sysbench(options), limited=False))
        return players

    def stop(self) -> None:
        """Stop the server in order, with the pages that it still has to write."""
        self.server.stop()

    @staticmethod
    def versions() -> dict[str, str]:
        """MariaDB and sysbench."""
        return Mariadb.versions()


class RocksdbWorkload(ClosedWorkload):
    """RocksDB under db_bench's mixgraph, whose keys have a popularity by a power law."""

    program = "rocksdb"
    title = "RocksDB and db_bench: gets, puts and short scans of a power law's keys, with compaction"
    packages: ClassVar[dict[str, str]] = {"db_bench": "rocksdb-tools"}
    operations = ("gets", "puts", "seeks")

    def __init__(self, recipe: ClosedRecipe, box: Sandbox) -> None:
        super().__init__(recipe, box)
        assert isinstance(recipe.load, RocksdbLoad)
        self.load = recipe.load

    def _bench(self, benchmarks: str, options: dict[str, object]) -> list[str]:
        load = self.load
        common = {
            "db": self.box.mount / "rocksdb",
            "wal_dir": self.box.mount / "rocksdb",
            "num": load.keys,
            "value_size": load.value_bytes,
            "compression_type": load.compression,
            "write_buffer_size": load.write_buffer_mib << 20,
            "target_file_size_base": 4 << 20,
            "max_bytes_for_level_base": 16 << 20,
            "cache_size": load.cache_mib << 20,
            "bloom_bits": 10,
            "max_background_jobs": 2,
            "histogram": "false",
        }
        words = [f"--{key}={value}" for key, value in {**common, **options}.items()]
        return [program("db_bench"), f"--benchmarks={benchmarks}", *words]

    def prepare(self) -> None:
        """Load all keys in a random order, and compact them."""
        options: dict[str, object] = {"seed": 1 + self.recipe.seed, "disable_wal": "true"}
        self.box.run(self._bench("filluniquerandom,compact", options), self.log("fill"), limited=False)

    def play(self, phase: Phase, number: int) -> list[Player]:
        """Start db_bench with the phase's mix.

        The keys' cumulative popularity x^(1 - theta) is the continuous Zipf distribution's, for theta below 1.
        """
        power = max(0.02, 1 - phase.theta)
        whole = sum(phase.mix.values())
        ratios = {f"mix_{name[:-1]}_ratio": f"{phase.mix.get(name, 0) / whole:.6f}" for name in self.operations}
        options: dict[str, object] = {
            "use_existing_db": "true",
            "seed": 1 + self.seed(number),
            "duration": ENDLESS_S,
            "threads": self.load.clients,
            "key_dist_a": f"{self.load.keys**-power:.9g}",
            "key_dist_b": f"{power:.9g}",
            "mix_max_value_size": self.load.value_bytes * 2,
            "value_k": 0.2,
            "value_sigma": self.load.value_bytes * 0.8,
            "iter_k": 2.5,
            "iter_sigma": 14,
            "sine_mix_rate": "false",
        }
        if self.load.ranges > 1:
            options["keyrange_num"] = self.load.ranges
            options |= {f"keyrange_dist_{name}": value for name, value in KEYRANGE.items()}
        return [self.player(f"db_bench-{number}", self._bench("mixgraph", options | ratios))]

    @staticmethod
    def versions() -> dict[str, str]:
        """RocksDB's db_bench."""
        return {"db_bench": version_line("db_bench", "--version")}


class SqliteWorkload(ClosedWorkload):
    """SQLite in the processes of its clients."""

    program = "sqlite"
    title = "SQLite: skewed transactions, ranges and scans by a few processes on one file"
    packages: ClassVar[dict[str, str]] = {}
    operations = ("lookups", "updates", "ranges", "recents", "orders", "scans")

    def __init__(self, recipe: ClosedRecipe, box: Sandbox) -> None:
        super().__init__(recipe, box)
        assert isinstance(recipe.load, SqliteLoad)
        self.load = recipe.load
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

    @staticmethod
    def versions() -> dict[str, str]:
        """SQLite and Python."""
        return {"sqlite": sqlite3.sqlite_version, "python": sys.version.split()[0]}
