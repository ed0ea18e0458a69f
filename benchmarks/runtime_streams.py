"""What the stream of a write costs: libcachezoo's cz_placement, and numpy's batches.

Nanoseconds of a write by how many ranges the dictionary has, at random chunks: `warm` calls wait for one another,
`cold` ones come after every line of 64 MiB was changed. Rows of C are those of runtimes/c/bench/bench_streams.c.
"""

import argparse
import subprocess
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from rich.table import Table

from cachezoo.console import out
from cachezoo.zoo.streams.dictionary import CHUNK_BYTES, Dictionary, StreamsServing, TableSession

LIBRARY = Path(__file__).parents[1] / "runtimes/c"
RANGES = (1_000, 10_000, 100_000, 1_000_000)
STREAMS, BATCH, ROUNDS = 16, 100_000, 9


def by_c(folder: Path, ranges: Sequence[int]) -> list[list[str]]:
    """Rows of bench_streams: ranges, warm mean, cold median, cold p99."""
    target = folder / "bench/bench_streams"
    subprocess.run(["make", "-s", "-C", str(LIBRARY), f"BUILD={folder}", str(target)], check=True)
    done = subprocess.run([str(target), *map(str, ranges)], check=True, capture_output=True, text=True)
    return [line.split() for line in done.stdout.splitlines()[1:]]


def median_ns(run: Callable[[], object], calls: int) -> float:
    """Median over rounds of the processor's nanoseconds a call."""
    taken = []
    for _ in range(ROUNDS):
        before = time.process_time_ns()
        run()
        taken.append((time.process_time_ns() - before) / calls)
    return float(np.median(taken))


def by_numpy(ranges: int) -> tuple[float, float]:
    """Nanoseconds of a write in a batch and alone."""
    draws = np.random.default_rng(1)
    starts = np.append(0, np.cumsum(draws.integers(1, 9, ranges - 1))).astype(np.uint32)
    streams = draws.integers(0, STREAMS, ranges).astype(np.uint8)
    own = Dictionary(starts, streams, STREAMS)
    serving = StreamsServing(arch={"streams": STREAMS}, session=TableSession(own))
    offsets = draws.integers(0, int(starts[-1]) * CHUNK_BYTES, BATCH)
    one = int(offsets[0])
    alone = median_ns(lambda: [serving.placement(one) for _ in range(1000)], 1000)
    return median_ns(lambda: serving.placements(offsets), BATCH), alone


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("ranges", nargs="*", type=int, default=RANGES, help="ranges of the dictionary")
    ranges = parser.parse_args().ranges
    columns = ("ranges", "C, warm", "C, cold", "C, cold p99", "numpy, in a batch", "numpy, alone")
    table = Table(*columns, title="ns a write")
    with tempfile.TemporaryDirectory() as folder:
        for count, row in zip(ranges, by_c(Path(folder), ranges), strict=True):
            table.add_row(f"{count:,}", *row[1:], *(f"{taken:,.0f}" for taken in by_numpy(count)))
    out().print(table)


if __name__ == "__main__":
    main()
