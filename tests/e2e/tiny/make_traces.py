"""Write the tiny traces: two categories, two CSV traces each, seeded; loops and skew, so that policies differ."""

from pathlib import Path

import numpy as np

REQUESTS = 3000
BLOCKS = {"alpha": 700, "beta": 400}


def write(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for k, (category, blocks) in enumerate(BLOCKS.items()):
        for j, role in enumerate(("learn", "test")):
            rng = np.random.default_rng([k, j])
            hot = rng.zipf(1.3, REQUESTS) % blocks
            scan = np.arange(REQUESTS) % (3 * blocks) + blocks
            block = np.where(rng.random(REQUESTS) < 0.7, hot, scan)
            op = np.where(rng.random(REQUESTS) < 0.25, "W", "R")
            size = 4096 * rng.integers(1, 5, REQUESTS)
            time = np.cumsum(rng.integers(500, 4000, REQUESTS))
            rows = zip(time, op, block * 16384, size, strict=True)
            lines = ["time_us,op,offset,size", *(f"{t},{o},{b},{s}" for t, o, b, s in rows)]
            (folder / f"{category}_{role}.csv").write_text("\n".join(lines) + "\n")
