"""Placements that a host can name and those that a drive runs by itself, side by side on the captured cycles.

Run as `.venv/bin/python benchmarks/placements.py [--speed] [NAME ...]`; names are of captures, all by default. Each row
has the write amplification in the last cycle with each victim, at 11 % over-provisioning and with 16 streams where the
host names them; arguments are those that were best in the cycle before, with the same victim, as `recommend --only
wear` chooses them. `--speed` prints instead, of a drive of 1 GiB under hot and cold writes, what a scheme takes: page
writes a second of one core, greedy, and the bytes that it keeps for each page.
"""

import argparse
from collections.abc import Sequence
from functools import partial
from itertools import pairwise
from pathlib import Path

import numpy as np
from timing import least

from cachezoo.flash_drive.names import BOUNDS, BY_DRIVE, LEGACY
from cachezoo.flash_drive.placements import INSIDE
from cachezoo.kernels.ftl import FlashDrive, run_ftl
from cachezoo.kernels.placing import BY_HOST
from cachezoo.kernels.placing.state import CLASSES
from cachezoo.questions.wear.options import PLACEMENTS
from cachezoo.questions.wear.table import Placing, writes_of
from cachezoo.seeds import derive_seed
from cachezoo.settings.wear import Drive
from cachezoo.traces.read import read_any
from cachezoo.traces.table import Trace
from cachezoo.zoo.streams.bench import Bench

RAW = Path("data/raw/captured")
CUT = ("ledger", "spool")
CAPTURES = (*CUT, "database", "fileserver", "mail")
VICTIMS = ("greedy", "cost-benefit")
STREAMS = 16


def cycles_of(name: str) -> list[Trace]:
    """A capture a cycle, or one that is cut, as the pipeline cuts it."""
    if name not in CUT:
        return [read_any(RAW / f"{name}_{role}.parquet") for role in ("train", "validation", "test")]
    trace = read_any(RAW / f"{name}.parquet")
    return [trace.rows(a, b) for a, b in pairwise(int(len(trace) * part) for part in (0, 0.4, 0.7, 1))]


def column(name: str, victim: str) -> dict[str, float]:
    """Of each placement its write amplification on a capture."""
    cycles, drive = cycles_of(name), Drive(victim=victim)
    bench = Bench(writes_of(cycles, drive), drive)
    placing = Placing(bench, cycles, 0)
    return {one: bench.run(placing.of(one, 1 if one == LEGACY else STREAMS)).waf for one in PLACEMENTS}


def show(names: Sequence[str]) -> None:
    """The table, a row a placement, with who can run it."""
    columns = {(name, victim): column(name, victim) for name in names for victim in VICTIMS}
    print(f"{'':12} {'run by':7} " + " ".join(f"{name:>13}" for name in names))
    print(f"{'':12} {'':7} " + " ".join(f"{'greedy    cb':>13}" for _ in names))
    for one in PLACEMENTS:
        who = "drive" if one in BY_DRIVE else "nobody" if one in BOUNDS else "host"
        wafs = (f"{columns[name, VICTIMS[0]][one]:6.3f} {columns[name, VICTIMS[1]][one]:6.3f}" for name in names)
        print(f"{one:12} {who:7} " + " ".join(wafs))


def speed(n: int = 3_000_000) -> None:
    """Page writes a second and bytes a page."""
    pages = 131_072
    rng = np.random.default_rng(derive_seed(0, "benchmark placements"))
    hot = rng.random(n) < 0.9
    written = np.where(hot, rng.integers(0, pages // 10, n), rng.integers(pages // 10, pages, n)).astype(np.int32)
    drive = FlashDrive(int(pages / 0.8 / 63), 63, pages, 8, streams=CLASSES)
    for name, rule in {LEGACY: BY_HOST, **{name: make() for name, make in INSIDE.items()}}.items():
        best, run = least(partial(run_ftl, written, None, drive, bounds=np.array([0, n]), rule=rule), 2)
        state = rule.start(pages, drive.blocks)
        kept = sum(array.nbytes for array in state[1:]) / pages
        print(
            f"{name:12} {n / best / 1e6:5.1f} M/s by the host, {kept:5.1f} bytes a page, WAF {run.waf():.2f}",
            flush=True,
        )


def main() -> None:
    """Print one or the other."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", default=list(CAPTURES))
    parser.add_argument("--speed", action="store_true")
    given = parser.parse_args()
    if given.speed:
        speed()
    else:
        show(given.names)


if __name__ == "__main__":
    main()
