"""libCacheSim on the ids that our kernels see, and the traces that both are run on."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import libcachesim as lcs
import numpy as np

from cachezoo.errors import ConfigError
from cachezoo.kernels.bounds.following import next_access
from cachezoo.traces.pages import expand_pages
from cachezoo.traces.read import read_any

HASHPOWERS = (14, 16, 18, 20)  # a small table suits a small cache; the peer gets its best
PEERS: dict[str, Any] = {
    "fifo": lcs.FIFO, "lru": lcs.LRU, "clock": lcs.Clock, "sieve": lcs.Sieve, "s3fifo": lcs.S3FIFO,
    "clock2qplus": lcs.Clock2QPlus, "twoq": lcs.TwoQ, "arc": lcs.ARC, "lirs": lcs.LIRS, "inlfu": lcs.LFU,
    "wtinylfu": lcs.WTinyLFU, "cacheus": lcs.Cacheus, "belady": lcs.Belady,
}  # fmt: skip
PUBLIC = {"OLTP": "lbn/OLTP.lis.zst", "P2": "lbn/P2.lis.zst", "cloudphysics": "block/cloudphysics.vscsi"}
ZIPF_ACCESSES, ZIPF_OBJECTS, ZIPF_SKEW = 5_000_000, 500_000, 1.0


@dataclass(frozen=True)
class Ids:
    """A trace as dense page ids, numbered by first appearance, and where libCacheSim finds the same."""

    name: str
    page_ids: np.ndarray
    folder: Path

    @cached_property
    def n_pages(self) -> int:
        """Distinct pages."""
        return int(self.page_ids.max()) + 1

    @cached_property
    def reader(self) -> lcs.TraceReader:
        """The ids as libCacheSim's binary format: u32 time, u64 id, u32 size, i64 next access (-1 none)."""
        record = np.dtype([("time", "<u4"), ("id", "<u8"), ("size", "<u4"), ("next", "<i8")])
        rows = np.zeros(len(self.page_ids), record)
        rows["id"], rows["size"] = self.page_ids, 1
        following = next_access(self.page_ids, self.n_pages)
        rows["next"] = np.where(following < len(self.page_ids), following, -1)
        path = self.folder / f"{self.name}.oracleGeneral.bin"
        rows.tofile(path)
        parameters = lcs.ReaderInitParam(ignore_obj_size=True)
        return lcs.TraceReader(str(path), lcs.TraceType.ORACLE_GENERAL_TRACE, parameters)

    def peer(self, policy_id: str, capacity: int, hashpower: int = 20) -> float:
        """LibCacheSim's miss ratio."""
        self.reader.reset()
        cache = PEERS[policy_id](cache_size=capacity, hashpower=hashpower)
        return float(cache.process_trace(self.reader)[0])


def zipf(seed: int) -> np.ndarray:
    """Dense ids of a zipf trace, numbered by first appearance."""
    weights = 1 / np.arange(1, ZIPF_OBJECTS + 1) ** ZIPF_SKEW
    draws = np.searchsorted(np.cumsum(weights) / weights.sum(), np.random.default_rng(seed).random(ZIPF_ACCESSES))
    _, first, inverse = np.unique(draws, return_index=True, return_inverse=True)
    rank = np.empty(len(first), np.int32)
    rank[np.argsort(first)] = np.arange(len(first), dtype=np.int32)
    return rank[inverse]


@contextmanager
def traces(*names: str) -> Iterator[list[Ids]]:
    """The traces of those names: ``zipf``, or public ones, which lie where CACHEZOO_PUBLIC_TRACES says.

    Raises:
        ConfigError: a public trace is asked for and the variable is not set.
    """
    root = os.environ.get("CACHEZOO_PUBLIC_TRACES")
    if root is None and any(name in PUBLIC for name in names):
        raise ConfigError("set CACHEZOO_PUBLIC_TRACES to the folder of the public traces (docs/benchmarks.md)")
    with TemporaryDirectory() as folder:
        own = []
        for name in names:
            ids = expand_pages(read_any(Path(root or "") / PUBLIC[name])).page_ids if name in PUBLIC else zipf(1)
            own.append(Ids(name, ids, Path(folder)))
        yield own
