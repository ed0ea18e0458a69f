"""What a write of a cached block costs before the filter `cachezoo`, with a label and without one.

`PYTHONPATH=src python -m tests.nbd_writes` prints a line for each: one client, 4 KiB at a time, over a file and its SSD
in a folder (`--folder`, for a filesystem that reaches a device).
"""

import argparse
import random
import statistics
import sys
import tempfile
from pathlib import Path

from cachezoo.seeds import derive_seed
from tests.nbd_filter import build_filter, serve

UNIT, UNITS = 4096, 1024
TURNS, WRITES = 3, 600


def measure(filter_file: Path, folder: Path, labelled: bool, rng: random.Random) -> list[float]:
    """Times of writes in µs, each of a block that is cached."""
    folder.mkdir()
    (folder / "disk").write_bytes(rng.randbytes(UNITS * UNIT))
    options = [f"cz-ssd={folder / 'ssd'}", f"cz-size={UNITS * UNIT}", f"cz-stats={folder / 'stats.json'}"]
    options += [f"cz-label={folder / 'label'}"] if labelled else []
    times = []
    with serve(filter_file, folder, options) as server, server.disk() as disk:
        for unit in range(UNITS):
            disk.read(unit * UNIT, UNIT)
        disk.flush()
        for unit in rng.sample(range(UNITS), WRITES):
            times.append(disk.write(unit * UNIT, rng.randbytes(UNIT)))
    return times


def main() -> None:
    """Measure in turns, and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path)
    given = parser.parse_args()
    times: dict[bool, list[float]] = {False: [], True: []}
    with tempfile.TemporaryDirectory(dir=given.folder) as name:
        filter_file = build_filter(Path(name) / "build")
        for turn in range(TURNS):
            for labelled, found in times.items():
                rng = random.Random(derive_seed(turn, "writes"))
                found += measure(filter_file, Path(name) / f"{turn} {labelled}", labelled, rng)
    for labelled, found in times.items():
        p50, p99 = statistics.median(found), statistics.quantiles(found, n=100)[-1]
        name = "with a label" if labelled else "without one"
        sys.stdout.write(f"{name}: mean {statistics.mean(found):.0f}, p50 {p50:.0f}, p99 {p99:.0f} µs\n")


if __name__ == "__main__":
    main()
