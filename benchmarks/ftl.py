"""The flash drive: page writes a second, the referee, what settings move, real traces under streams by true lifetime.

Run as `.venv/bin/python benchmarks/ftl.py [--matrix] [FILE ...]`. A file is a whole trace, cut into three cycles; a
folder is a category's of data/requests, whose cycles are train, validation and test; without either the captured
categories are run. Figures of traces count the last cycle.

With --matrix: write amplification by victim, by where copies go, by over-provisioning, by erase unit and by placement,
with what theory says of uniform writes.
"""

import argparse
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import partial
from itertools import product
from pathlib import Path

import numpy as np
import numpy.typing as npt
from timing import least

from cachezoo.errors import CachezooError
from cachezoo.flash_drive.placements import rule
from cachezoo.flash_drive.run import wear
from cachezoo.flash_drive.theory import choices_waf, fifo_waf, full_share
from cachezoo.flash_drive.writes import NEVER, DriveWrites, drive_writes
from cachezoo.kernels.ftl import FlashDrive, run_ftl
from cachezoo.kernels.placing import SepBit
from cachezoo.seeds import derive_seed
from cachezoo.settings.wear import Copies, Drive, Victim
from cachezoo.sizes import human
from cachezoo.traces.read import read_any
from cachezoo.traces.store import read_trace
from cachezoo.traces.table import Trace

REFEREE_WRITES = 568_270
REFEREE = {1: 3.359, 2: 3.243}
ROLES = ("train", "validation", "test")
MAIN: tuple[Victim, ...] = ("greedy", "cost-benefit")
VICTIMS: tuple[tuple[Victim, int], ...] = (
    ("greedy", 1), ("wear", 1), ("cost-benefit", 1), ("cost-age-times", 1), ("d-choices", 2), ("d-choices", 10),
    ("windowed", 100), ("fifo", 1),
)  # fmt: skip
STREAMS = 16
WAYS: tuple[tuple[int, Copies], ...] = ((1, "keep"), (2, "keep"), (2, "shared"), (2, "apart"))
PLACED = {"legacy": 1, "equal": STREAMS, "autostream": STREAMS, "sepbit": 0}
SEEDS = 5
MANY = 1000  # blocks drawn, of which the emptiest is as good as the emptiest of all


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


def placed(writes: DriveWrites, drive: Drive) -> dict[str, float]:
    """WAF by placement, with the arguments that are usual; nan where the drive has no room for its streams."""
    found = {}
    for name, own in PLACED.items():
        one = rule(name, {}, STREAMS)
        streams = None if one.place is None else one.place(writes)
        try:
            found[name] = wear(writes, streams, drive, n_streams=own or None, rule=one.inside).waf
        except CachezooError:
            found[name] = float("nan")
    return found


def cells(values: Iterable[float]) -> str:
    """WAFs in columns."""
    return "".join(f"{value:>10.3f}" if value == value else f"{'-':>10}" for value in values)


def uniform(pages: int = 200_000, times: int = 12) -> None:
    """Uniform writes, and nine tenths of them to a tenth of the pages, at 11 %, with theory's figures."""
    print(
        f"\n{pages:,} pages at 11 %, the last third of {times} drive writes: theory of uniform writes, uniform, and "
        "90 % of writes to a tenth with copies kept and apart"
    )
    rng = np.random.default_rng(derive_seed(0, "benchmark ftl", "uniform"))
    n = pages * times
    even = rng.integers(0, pages, n).astype(np.int32)
    hot = rng.random(n) < 0.9
    skewed = np.where(hot, rng.integers(0, pages // 10, n), rng.integers(pages // 10, pages, n)).astype(np.int32)
    bounds = np.array([n * 2 // 3, n])
    blocks = int(np.ceil(pages / 0.89 / 63))
    for victim, among in VICTIMS:
        drive = FlashDrive(blocks, 63, pages, 8, victim=victim, among=among)
        share = full_share(drive)
        known = {"fifo": fifo_waf(share), "d-choices": choices_waf(share, 63, among)}
        theory = known.get(victim, choices_waf(share, 63, MANY) if victim in ("greedy", "wear") else float("nan"))
        apart = replace(drive, copies="shared")
        seconds, first = least(partial(run_ftl, even, None, drive, bounds=bounds), 2)
        found = [first.waf(), *(run_ftl(skewed, None, one, bounds=bounds).waf() for one in (drive, apart))]
        print(f"  {label(victim, among):<20}{cells([theory, *found])}   {n / seconds / 1e6:.1f} M/s of uniform writes")


def label(victim: str, among: int) -> str:
    """A victim with its knob."""
    return f"{victim} {among}" if victim in ("d-choices", "windowed") else victim


def matrix(name: str, cycles: Sequence[Trace]) -> None:
    """WAF of a trace by victim, copies, placement, over-provisioning and erase unit."""
    writes = drive_writes(cycles)
    times = (len(writes) - writes.starts[-2]) / writes.footprint
    size = writes.footprint * 8 / 1024
    print(
        f"\n{name}: the last cycle writes {times:.1f} times its {size:,.0f} MiB; WAF at 11 %, copies kept with a stream"
    )
    print(f"  {'victim':<20}{''.join(f'{one:>10}' for one in [*PLACED, 'copies', 'equal,', 'chance'])}")
    print(f"  {'':<20}{'no stream':>10}{'':>{10 * (len(PLACED) - 1)}}{'apart':>10}{'apart':>10}{'among 5':>10}")
    for victim, among in VICTIMS:
        drive = Drive(victim=victim, among=among)
        alone = drive.model_copy(update={"copies": "shared"})
        equal = rule("equal", {}, STREAMS).place
        assert equal is not None, "it places for the host"
        seeds = [wear(writes, None, drive, seed=seed).waf for seed in range(SEEDS)]
        more = [wear(writes, None, alone).waf, wear(writes, equal(writes), alone, n_streams=STREAMS).waf]
        spread = (max(seeds) - min(seeds)) / seeds[0]
        print(f"  {label(victim, among):<20}{cells([*placed(writes, drive).values(), *more])}{spread:>10.1%}")
    print(f"  {'over-provisioning, victim':<30}{''.join(f'{one:>10}' for one in PLACED)}")
    for share, victim in product((0.07, 0.11, 0.28), MAIN):
        drive = Drive(victim=victim, over_provisioning=share)
        print(f"  {f'{share:.0%}, {victim}':<30}{cells(placed(writes, drive).values())}")
    print(f"  {'erase unit, 2 free, victim':<30}{''.join(f'{one:>10}' for one in PLACED)}")
    for unit, victim in product((1 << 19, 1 << 21, 1 << 23), MAIN):
        drive = Drive(victim=victim, pages_per_block=unit // 8192, gc_free_blocks=2)
        print(f"  {f'{human(unit)}, {victim}':<30}{cells(placed(writes, drive).values())}")


def reclaim_units(gib: int = 16) -> None:
    """Erase units of 512 KiB to 1 GiB on a drive that is large enough for them: 90 % of the writes to a tenth of it."""
    pages, n = gib * 131_072, 3 * gib * 131_072
    rng = np.random.default_rng(derive_seed(0, "benchmark ftl", "units"))
    hot = rng.random(n) < 0.9
    written = np.where(hot, rng.integers(0, pages // 10, n), rng.integers(pages // 10, pages, n)).astype(np.int32)
    streams = (~hot).astype(np.uint8)
    print(
        f"\n{gib} GiB at 28 %, 3 drive writes, the last counted: one stream, hot and cold in two, copies apart as well"
    )
    for unit, victim in product((1 << 19, 1 << 24, 1 << 30), MAIN):
        each = unit // 8192 - 1
        drive = FlashDrive(int(np.ceil(pages / 0.72 / each)), each, pages, 2, victim=victim)
        found, bounds = [], np.array([2 * n // 3, n])
        for count, copies in WAYS:
            own = replace(drive, streams=count, copies=copies)
            found.append(run_ftl(written, streams if count == 2 else None, own, bounds=bounds).waf())
        print(f"  {f'{human(unit)}, {victim}':<30}{cells(found)}")


def cycles_of(path: Path) -> list[Trace]:
    """A drive's cycles: those of a category's folder, or thirds of a file."""
    if path.is_dir():
        return [read_trace(path / f"{path.name}_{role}.parquet") for role in ROLES]
    trace = read_any(path)
    cuts = np.arange(4) * len(trace) // 3
    return [trace.rows(a, b) for a, b in zip(cuts[:-1].tolist(), cuts[1:].tolist(), strict=True)]


def main() -> None:
    """Print them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="*", type=Path)
    parser.add_argument("--matrix", action="store_true")
    given = parser.parse_args()
    files = given.files or [Path("data/requests") / name for name in ("database", "fileserver", "mail", "web")]
    if given.matrix:
        uniform()
    else:
        speed()
        referee()
    for path in files:
        (matrix if given.matrix else show)(path.name, cycles_of(path))
    if given.matrix:
        reclaim_units()


if __name__ == "__main__":
    main()
