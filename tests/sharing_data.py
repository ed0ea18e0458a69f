"""Small applications that share a cache."""

from dataclasses import replace

import numpy as np

from cachezoo.questions.share.mix import Application, Mix, mix_pages
from cachezoo.traces.table import Trace, TraceMeta
from tests.page_data import seeded_trace


def named_trace(name: str, n: int, pages: int, seed: int, **changed) -> Trace:
    """A seeded trace under a name of its own."""
    return replace(seeded_trace(n, pages, seed, **changed), meta=TraceMeta(name, "web", "test", "0" * 64))


def numbered(trace: Trace) -> Trace:
    """The trace with row numbers in place of times."""
    return replace(trace, time_us=np.arange(len(trace), dtype=np.int64))


def small_mix(length: int = 3000) -> Mix:
    """A loop that just fits a cache of 24 pages, skewed reuse, and a scan that nothing serves."""
    rng = np.random.default_rng(1)
    return mix_pages([
        Application("loop", (np.arange(length) % 16).astype(np.int32), 16),
        Application("skewed", dense(rng.zipf(1.3, length) % 200), 200),
        Application("scan", np.arange(length, dtype=np.int32), length),
    ])  # fmt: skip


def dense(values: np.ndarray) -> np.ndarray:
    """Page ids by first appearance."""
    known: dict[int, int] = {}
    return np.array([known.setdefault(int(value), len(known)) for value in values], np.int32)
