"""RocksDB under db_bench, in a closed loop."""

from typing import ClassVar

from tools.capture.installed import program
from tools.capture.loads import RocksdbLoad
from tools.capture.programs.base import Closed, Player
from tools.capture.recipe import Phase

KEYRANGE = {"a": 14.18, "b": -2.917, "c": 0.0164, "d": -0.08082}
ENDLESS_S = 3600


class Rocksdb(Closed[RocksdbLoad]):
    """RocksDB under db_bench's mixgraph, whose keys have a popularity by a power law."""

    program = "rocksdb"
    packages: ClassVar[dict[str, str]] = {"db_bench": "rocksdb-tools"}
    asks: ClassVar[dict[str, tuple[str, ...]]] = {"db_bench": ("--version",)}
    operations = ("gets", "puts", "seeks")

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
