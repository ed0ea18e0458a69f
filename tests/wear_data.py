"""Generated writes of one volume, for the tests of what wears flash."""

from dataclasses import replace

import numpy as np

from cachezoo.coded import Coded
from cachezoo.traces.table import OP_WRITE, Trace, TraceMeta

CHUNKS, PAGE = 1200, 8192


def written(pages: np.ndarray, op: int = OP_WRITE, volume: str = "sda", key: str = "t") -> Trace:
    """A trace of requests of one flash page each, a millisecond apart."""
    n = len(pages)
    return Trace(
        np.arange(n, dtype=np.int64) * 1000, np.full(n, op, np.uint8), pages.astype(np.int64) * PAGE,
        np.full(n, PAGE, np.int64), Coded(np.zeros(n, np.int32), (volume,)), TraceMeta(key, "ledger", "csv", "0" * 64),
    )  # fmt: skip


def skewed(seed: int, n: int = 20_000, key: str = "t") -> Trace:
    """Nine writes in ten go to every fourth chunk, hot ones and cold ones lying in between each other."""
    rng = np.random.default_rng(seed)
    hot = rng.random(n) < 0.9
    chunk = np.where(hot, 4 * rng.integers(0, CHUNKS // 4, n), rng.integers(0, CHUNKS, n))
    return written(4 * chunk + rng.integers(0, 4, n), key=key)


def on_volume(trace: Trace, name: str) -> Trace:
    """The same requests on another volume."""
    return replace(trace, volume=Coded.constant(name, len(trace)))
