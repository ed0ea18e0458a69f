"""Caching bundles whose models take turns, and requests that make them: made of the golden bundles."""

import shutil
import struct
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from cachezoo.coded import Coded
from cachezoo.seeds import derive_seed
from cachezoo.serving.requests import RequestBatch
from tests.bundle_data import reseal

GOLDEN = Path(__file__).parent / "golden/protocol2"
CACHING, WORKLOAD = GOLDEN / "caching.database.lstm1x8", GOLDEN / "workload.lstm8"
RULES = {"on_hit": "requeue", "queues": "single", "protected_percent": 50, "demote_capacities": 1}


def changed(
    path: Path, category: str, threshold: float, scale: float, by_capacity: Sequence[dict[str, Any]] = (), **policy: Any
) -> Path:
    """The caching bundle with other weights, rules, thresholds and category."""
    shutil.copytree(CACHING, path)

    def change(manifest: dict[str, Any]) -> None:
        manifest["category"] = category
        manifest["calibration"]["threshold"] = threshold
        if by_capacity:
            manifest["calibration"]["by_capacity"] = list(by_capacity)
        manifest["policy"] |= policy

    reseal(path, change)
    file = path / "weights.safetensors"
    content = bytearray(file.read_bytes())
    begin = 8 + struct.unpack_from("<Q", content)[0]
    weights = np.frombuffer(content, np.float32, offset=begin)
    weights *= np.float32(scale)
    file.write_bytes(content)
    reseal(path)
    return path


def monitor(path: Path) -> Path:
    """The workload bundle, to which no window is strange, and one vote of which switches."""
    shutil.copytree(WORKLOAD, path)
    reseal(path, lambda manifest: manifest["policy"].update(switch_votes=1, unknown_above={"window": 1e9, "vote": 1e9}))
    return path


def turns(folder: Path, by_capacity: Sequence[dict[str, Any]] = ()) -> list[Path]:
    """Of the monitor, of the model that begins, and of one for each category, which may decide by the cache's size."""
    return [
        monitor(folder / "monitor"),
        CACHING,
        changed(folder / "pairs", "pairs", 0.5, 1.3, by_capacity),
        changed(folder / "turns", "turns", 0.45, 0.7, by_capacity, **RULES, state="reset100"),
    ]


def requests(n: int = 2400, seed: int = 0) -> RequestBatch:
    """Runs of two kinds of load in turn: small random reads, and sequential ones that write."""
    rng = np.random.default_rng(derive_seed(seed, "taking turns"))
    calm = np.arange(n) // 300 % 2 == 0
    page = np.where(calm, np.minimum(rng.exponential(25, n), 200).astype(np.int64), 64 + np.arange(n) * 2 % 90)
    size = np.where(calm, rng.integers(1, 9, n) * 512, rng.integers(1, 40, n) * 512)
    time_us = np.cumsum(np.where(calm, rng.integers(0, 90, n), rng.integers(2_000, 40_000, n)))
    op = np.where(calm, 0, rng.random(n) < 0.5).astype(np.uint8)
    volume = Coded.of([f"v{k}" for k in rng.integers(0, 2, n)])
    return RequestBatch(time_us, op, page * 4096 + rng.integers(0, 8, n) * 512, size, volume)
