"""Page accesses per second of each policy, next to libCacheSim on the same ids in the same run."""

import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import libcachesim as lcs
import numpy as np

from cachezoo.kernels.classic import HIT
from cachezoo.kernels.ranked import next_access
from cachezoo.policies.registry import POLICIES

ACCESSES = 5_000_000
OBJECTS = 500_000
SKEW = 1.0
CAPACITY = 50_000
REPEATS = 3
HASHPOWERS = (14, 16, 18, 20)  # a small table suits a small cache; the peer gets its best
PEERS = {"fifo": lcs.FIFO, "lru": lcs.LRU, "arc": lcs.ARC, "belady": lcs.Belady}


def zipf(seed: int) -> np.ndarray:
    """Dense ids of a zipf trace, numbered by first appearance."""
    weights = 1 / np.arange(1, OBJECTS + 1) ** SKEW
    draws = np.searchsorted(np.cumsum(weights) / weights.sum(), np.random.default_rng(seed).random(ACCESSES))
    _, first, inverse = np.unique(draws, return_index=True, return_inverse=True)
    rank = np.empty(len(first), np.int32)
    rank[np.argsort(first)] = np.arange(len(first), dtype=np.int32)
    return rank[inverse]


def best(run: Callable[[], Any]) -> tuple[float, Any]:
    """(best seconds, result) of a few runs."""
    seconds = []
    for _ in range(REPEATS):
        start = time.perf_counter()
        result = run()
        seconds.append(time.perf_counter() - start)
    return min(seconds), result


def oracle_general(ids: np.ndarray, path: Path) -> lcs.TraceReader:
    """The ids as libCacheSim's binary format: u32 time, u64 id, u32 size, i64 next access (-1 none)."""
    record = np.dtype([("time", "<u4"), ("id", "<u8"), ("size", "<u4"), ("next", "<i8")])
    rows = np.zeros(len(ids), record)
    rows["id"], rows["size"] = ids, 1
    following = next_access(ids, int(ids.max()) + 1)
    rows["next"] = np.where(following < len(ids), following, -1)
    rows.tofile(path)
    return lcs.TraceReader(
        str(path), lcs.TraceType.ORACLE_GENERAL_TRACE, lcs.ReaderInitParam(ignore_obj_size=True)
    )


def main() -> None:
    """Print the table."""
    ids = zipf(1)
    pages = int(ids.max()) + 1
    print(f"{ACCESSES:,} accesses, {pages:,} pages, zipf {SKEW}, capacity {CAPACITY:,}; best of {REPEATS}")
    print(f"{'policy':<18}{'M/s':>8}{'miss':>9}{'peer M/s':>10}{'peer miss':>11}{'ratio':>7}")
    with tempfile.TemporaryDirectory() as folder:
        reader = oracle_general(ids, Path(folder) / "zipf.oracleGeneral.bin")
        for policy in POLICIES.values():
            policy.run(ids[:100], pages, CAPACITY)
            seconds, outcome = best(lambda run=policy.run: run(ids, pages, CAPACITY))
            line = f"{policy.id:<18}{ACCESSES / seconds / 1e6:>8.1f}{1 - (outcome == HIT).mean():>9.4f}"
            if policy.id in PEERS:
                theirs = min(best(lambda p=policy, h=power: peer(p.id, h, reader)) for power in HASHPOWERS)
                line += f"{ACCESSES / theirs[0] / 1e6:>10.1f}{theirs[1]:>11.4f}{theirs[0] / seconds:>7.1f}"
            print(line, flush=True)


def peer(policy_id: str, hashpower: int, reader: lcs.TraceReader) -> float:
    """LibCacheSim's miss ratio over the reader, from its start."""
    reader.reset()
    return float(PEERS[policy_id](cache_size=CAPACITY, hashpower=hashpower).process_trace(reader)[0])


if __name__ == "__main__":
    main()
