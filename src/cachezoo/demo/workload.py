"""The demo's trace: a small database with reports.

Most requests read rows, some of which are read far more often than others (Zipf); which these are changes slowly. A
fifth are writes, nearly all of
them to a log that goes round in its own place and is never read. Again and again a report reads a stretch of rows in
order, once: those are what a cache should not keep.
"""

import numpy as np

from cachezoo.coded import Coded
from cachezoo.seeds import derive_seed
from cachezoo.sizes import PAGE_BYTES
from cachezoo.traces.table import OP_READ, OP_WRITE, Trace, TraceMeta

NAME = "demo"
ROWS, LOG = 6_000, 512  # pages of the table, and of the log behind it
PAGES = ROWS + LOG
SKEW = 1.1
DRIFT = 2  # ranks by which the rows that are read most often move on with each report
BETWEEN, REPORT = 150, 50  # requests between two reports, and of one
WRITES, TO_LOG = 0.2, 0.9
GAP_US = 10_000.0


def database(requests: int) -> Trace:
    """The first requests of the demo's trace, a page each; the same in every run."""
    random = np.random.default_rng(derive_seed(0, NAME))
    share = 1 / np.arange(1, ROWS + 1) ** SKEW
    place = random.permutation(ROWS)
    turns = -(-requests // (BETWEEN + REPORT))
    rank = random.choice(ROWS, (turns, BETWEEN), p=share / share.sum())
    rows = place[(rank + DRIFT * np.arange(turns)[:, None]) % ROWS]
    reports = (np.arange(turns * REPORT) % ROWS).reshape(turns, REPORT)
    page = np.concatenate([rows, reports], axis=1).ravel()[:requests]
    write = random.random((turns, BETWEEN)) < WRITES
    write = np.concatenate([write, np.zeros((turns, REPORT), np.bool_)], axis=1).ravel()[:requests]
    log = np.flatnonzero(write & (random.random(requests) < TO_LOG))
    page[log] = ROWS + np.arange(len(log)) % LOG
    return Trace(
        time_us=np.cumsum(random.exponential(GAP_US, requests)).astype(np.int64),
        op=np.where(write, OP_WRITE, OP_READ).astype(np.uint8),
        offset=page.astype(np.int64) * PAGE_BYTES,
        size=np.full(requests, PAGE_BYTES, np.int64),
        volume=Coded.constant(NAME, requests),
        meta=TraceMeta(NAME, "database", NAME, "0" * 64),
    )
