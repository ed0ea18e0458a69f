"""Write the tiny traces, seeded CSVs: loops and skew tell policies apart; gamma is of objects; alpha has a corpus."""

from pathlib import Path

import numpy as np

REQUESTS = 3000
BLOCKS = {"alpha": 700, "beta": 400}
CORPUS = {"alpha": ("one_a", "one_c", "two_a")}
WRITES, WRITTEN_CHUNKS = 24_000, 700
OBJECT_READS, OBJECTS, OBJECT_BYTES, VOLUMES = 1500, 60, 1 << 20, 3


def write(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for j, role in enumerate(("learn", "test")):
        for k, blocks in enumerate(BLOCKS.values()):
            write_pages(folder / f"{list(BLOCKS)[k]}_{role}.csv", np.random.default_rng([k, j]), blocks)
        write_objects(folder / f"gamma_{role}.csv", np.random.default_rng([len(BLOCKS), j]))
    write_overwrites(folder / "delta.csv", np.random.default_rng([len(BLOCKS) + 2]))
    for k, (category, keys) in enumerate(CORPUS.items()):
        (folder / "corpus" / category).mkdir(parents=True, exist_ok=True)
        for j, key in enumerate(keys):
            rng = np.random.default_rng([len(BLOCKS) + 1, k, j])
            write_pages(folder / "corpus" / category / f"{key}.csv", rng, BLOCKS[category])


def write_pages(path: Path, rng: np.random.Generator, blocks: int) -> None:
    hot = rng.zipf(1.3, REQUESTS) % blocks
    scan = np.arange(REQUESTS) % (3 * blocks) + blocks
    block = np.where(rng.random(REQUESTS) < 0.7, hot, scan)
    op = np.where(rng.random(REQUESTS) < 0.25, "W", "R")
    size = 4096 * rng.integers(1, 5, REQUESTS)
    time = np.cumsum(rng.integers(500, 4000, REQUESTS))
    rows = zip(time, op, block * 16384, size, strict=True)
    lines = ["time_us,op,offset,size", *(f"{t},{o},{b},{s}" for t, o, b, s in rows)]
    path.write_text("\n".join(lines) + "\n")


def write_overwrites(path: Path, rng: np.random.Generator) -> None:
    """Nine writes in ten to every fourth chunk of 32 KiB: hot and cold lie in between each other; a tenth reads."""
    hot = rng.random(WRITES) < 0.9
    chunk = np.where(hot, 4 * rng.integers(0, WRITTEN_CHUNKS // 4, WRITES), rng.integers(0, WRITTEN_CHUNKS, WRITES))
    op = np.where(rng.random(WRITES) < 0.9, "W", "R")
    time = np.cumsum(rng.integers(500, 4000, WRITES))
    rows = zip(time, op, chunk * 32768 + 8192 * rng.integers(0, 4, WRITES), strict=True)
    path.write_text("\n".join(["time_us,op,offset,size", *(f"{t},{o},{b},8192" for t, o, b in rows)]) + "\n")


def write_objects(path: Path, rng: np.random.Generator) -> None:
    """Reads of a quarter of an object, the quarters of one often in a row; a tenth writes."""
    lines, time, quarter = ["time_us,op,offset,size,volume"], 0, OBJECT_BYTES // 4
    chosen, at = 0, 4
    for _ in range(OBJECT_READS):
        if at == 4 or rng.random() < 0.1:
            chosen, at = int(rng.zipf(1.3)) % (OBJECTS * VOLUMES), 0
        time += int(rng.integers(5_000, 40_000))
        op = "W" if rng.random() < 0.1 else "R"
        offset = chosen // VOLUMES * OBJECT_BYTES + at * quarter
        lines.append(f"{time},{op},{offset},{quarter},disk{chosen % VOLUMES}")
        at += 1
    path.write_text("\n".join(lines) + "\n")
