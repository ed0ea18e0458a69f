"""The flash drive: page writes a second, the referee, what settings move, real traces under streams by true lifetime.

Run as `.venv/bin/python benchmarks/ftl.py [FILE ...]`. A file is a whole trace, cut into three cycles; without files
the captured traces are run, whose cycles are train, validation and test. Figures of traces count the last cycle.
"""

import argparse
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import numpy as np
import numpy.typing as npt
from timing import least

from cachezoo.errors import CachezooError
from cachezoo.kernels.ftl import FlashDrive, run_ftl
from cachezoo.kernels.placing import SepBit
from cachezoo.seeds import derive_seed
from cachezoo.settings.wear import Drive
from cachezoo.traces.read import read_any
from cachezoo.traces.store import read_trace
from cachezoo.traces.table import Trace
from cachezoo.wear.run import wear
from cachezoo.wear.writes import NEVER, DriveWrites, drive_writes

REFEREE_WRITES = 568_270
REFEREE = {1: 3.359, 2: 3.243}
ROLES = ("train", "validation", "test")


def hot_and_cold(n: int, pages: int, name: str) -> npt.NDArray[np.int32]:
    """Nine tenths of the writes to half of the pages."""
    rng = np.random.default_rng(derive_seed(0, "benchmark ftl", name))
    hot = rng.random(n) < 0.9
    return np.where(hot, rng.integers(0, pages // 2, n), rng.integers(pages // 2, pages, n)).astype(np.int32)


def speed(n: int = 20_000_000) -> None:
    """Page writes of the host a second of one core, over drives of 1 and 8 GiB."""
    print("page writes a second of one core (CPU time, best of three)")
    for gib in (1, 8):
        pages = gib * 131_072
        for share, kind in ((0.5, "hot and cold"), (0.28, "hot and cold"), (0.11, "hot and cold"), (0.11, "in order")):
            blocks = int(pages / (1 - share) / 63)
            written = (
                hot_and_cold(n, pages, f"speed {gib}")
                if kind == "hot and cold"
                else (np.arange(n) % pages).astype(np.int32)
            )
            streams = (written >= pages // 2).astype(np.uint8)
            drive = FlashDrive(blocks, 63, pages, 8, streams=2)
            best, run = least(partial(run_ftl, written, streams, drive, bounds=np.array([0, n])), 3)
            flash = n * run.waf() / best / 1e6
            print(
                f"  {gib} GiB, {share:.0%} over-provisioning, {kind}: {n / best / 1e6:.1f} M/s by the host, "
                f"{flash:.1f} M/s on flash, WAF {run.waf():.2f}"
            )


def referee() -> None:
    """MQSim's two figures; what is assumed stands in tests/unit/kernels/test_ftl.py."""
    drive = FlashDrive(2048, 64, round(2048 * 64 * 0.93 * 0.9), 20, streams=2)
    pages = hot_and_cold(2 * REFEREE_WRITES, drive.logical_pages, "referee")
    by_half = (pages >= drive.logical_pages // 2).astype(np.uint8)
    for streams, known in REFEREE.items():
        bounds = np.array([REFEREE_WRITES, 2 * REFEREE_WRITES])
        found = run_ftl(pages, by_half if streams == 2 else None, drive, bounds=bounds).waf()
        print(f"referee, {streams} streams: WAF {found:.3f}, MQSim {known} ({found / known - 1:+.1%})")


def by_lifetime(writes: DriveWrites, streams: int) -> npt.NDArray[np.uint8]:
    """The true lifetime's quantile; stream 0 lives longest."""
    life = np.where(writes.lifetimes == NEVER, np.iinfo(np.int64).max, writes.lifetimes)
    cuts = np.sort(life)[np.arange(1, streams) * len(life) // streams]
    return (streams - 1 - np.searchsorted(cuts, life, side="right")).astype(np.uint8)


def show(name: str, cycles: Sequence[Trace]) -> None:
    """Write amplification in the last cycle: legacy, SepBIT, streams by true lifetime, and other settings."""
    writes = drive_writes(cycles)
    times = len(writes) / writes.footprint
    print(f"{name}: {len(writes):,} page writes, {times:.1f} times their {writes.footprint * 8 / 1024:,.0f} MiB")
    for share in (0.07, 0.11, 0.28):
        own = Drive(over_provisioning=share)
        line = []
        for streams in (1, 2, 4, 16):
            try:
                found = wear(writes, by_lifetime(writes, streams), own, n_streams=streams)
                line.append(f"{streams} {found.waf:.3f}")
            except CachezooError as error:
                line.append(f"{streams} refused ({error})")
        placed = wear(writes, None, own, rule=SepBit())
        print(f"  {share:.0%}: streams by true lifetime {', '.join(line)}; SepBIT {placed.waf:.3f}")
    for setting in (
        {},
        {"gc_free_blocks": 2},
        {"gc_free_blocks": 20},
        {"victim": "wear"},
        {"victim": "wear", "wear_slack": 2},
    ):
        one, two = (wear(writes, by_lifetime(writes, k), Drive(**setting), n_streams=k) for k in (1, 2))
        spread = f"erases {one.erases.min()} to {one.erases.max()}"
        print(f"  11% with {setting}: 1 {one.waf:.3f}, 2 {two.waf:.3f}; legacy's {spread}")


def main() -> None:
    """Print them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="*", type=Path)
    files = parser.parse_args().files
    speed()
    referee()
    for path in files:
        trace = read_any(path)
        cuts = np.arange(4) * len(trace) // 3
        show(path.name, [trace.rows(a, b) for a, b in zip(cuts[:-1].tolist(), cuts[1:].tolist(), strict=True)])
    if not files:
        for category in ("database", "fileserver", "mail", "web"):
            folder = Path("data/requests") / category
            show(category, [read_trace(folder / f"{category}_{role}.parquet") for role in ROLES])


if __name__ == "__main__":
    main()
