"""Writes the stored rows of a cache that two applications share: what each reference finds, and the split afterwards.

    PYTHONPATH=src:. .venv/bin/python tests/golden/make_share.py

One application has an LRU queue, the other one of ARC. The rows come from the Python kernels; libcachezoo and its
Python binding replay them. What is stored stays as it is, for all later releases.
"""

import sys
from pathlib import Path

import numpy as np

from cachezoo.kernels.virtual import gvpa, vrm
from cachezoo.kernels.virtual.queues import Moves, moves

STORED = Path(__file__).parent / "share" / "rows.csv"
QUEUES, PAGES, TOTAL, REFERENCES = ("lru", "arc"), 64, 15, 900
SETTINGS = vrm.Settings(fragment=4, f=2, alpha=0.9, q=25, cost=0.05)
STEP, REACH, FILL = 1, 3, 0.02
HEAD = "application,key,position,hit,moved,split_0,split_1"
SPREAD = 0x9E3779B97F4A7C15  # odd, so that pages have keys of their own, from all of the 64 bits


def asked() -> tuple[np.ndarray, np.ndarray]:
    """Whose each reference is, and its page: loops of growing length beside few hot pages, in stretches."""
    draws = np.random.default_rng(1)
    app = draws.integers(0, 2, REFERENCES).astype(np.int32)
    turn = np.arange(REFERENCES) // 150 % 2
    loop, hot = np.arange(REFERENCES) % (20 + np.arange(REFERENCES) // 30), draws.zipf(1.3, REFERENCES) % 70
    return app, np.where(turn == app, loop, hot).astype(np.int32)


def rows() -> list[str]:
    """The head and a line for each reference."""
    app, pages = asked()
    made = Moves(*(np.zeros(REFERENCES, np.int32) for _ in range(3)))
    for a, queue in enumerate(QUEUES):
        here = np.flatnonzero(app == a)
        for whole, part in zip(made, moves(queue, pages[here], int(pages.max()) + 1, PAGES), strict=True):
            whole[here] = part
    found = gvpa.share(app, made, len(QUEUES), TOTAL, PAGES, SETTINGS, STEP, REACH, FILL)
    after = found.splits[np.arange(1, REFERENCES + 1) // (SETTINGS.q * len(QUEUES))] * SETTINGS.fragment
    keys = [int(page) * SPREAD % 2**64 for page in pages]
    columns = (app, keys, made.position, found.hit.astype(int), found.moved, after[:, 0], after[:, 1])
    return [HEAD, *(",".join(map(str, row)) for row in zip(*columns, strict=True))]


def main() -> int:
    """Write the rows, if they are not stored."""
    if STORED.exists():
        sys.stderr.write(f"{STORED} is stored and not written again\n")
        return 1
    STORED.parent.mkdir(exist_ok=True)
    STORED.write_text("\n".join(rows()) + "\n", encoding="ascii")
    return 0


if __name__ == "__main__":
    sys.exit(main())
