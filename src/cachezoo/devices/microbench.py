"""Requests that show what a device is: designed over distance, size and operation, one at a time.

Both halves of a sequence hold the same cells with other addresses, so that a model can be fitted on one and tested on
the other. Cells come in random order, because a disk warms up and a drive tires; within a run the order is the point.
"""

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Literal

import numpy as np

from cachezoo.arrays import I64, U8
from cachezoo.coded import Coded
from cachezoo.devices.fio.contract import ReplayTarget
from cachezoo.devices.fio.replay import Settings, replay
from cachezoo.devices.samples import Samples
from cachezoo.errors import DeviceError
from cachezoo.seeds import derive_seed
from cachezoo.traces.table import Trace, TraceMeta

Kind = Literal["hdd", "ssd"]
Rows = list[tuple[int, int, int]]

BLOCK = 4096
KIB, MIB = 1 << 10, 1 << 20
FEWEST = 200
REPEATS = 15  # of a cell in each half: the rotation averages out over both
DISTANCES = 12  # ranges of them, log-spaced
HDD_SIZES = (4 * KIB, 16 * KIB, 64 * KIB, 256 * KIB, MIB)
SSD_SIZES = (4 * KIB, 8 * KIB, 16 * KIB, 32 * KIB, 64 * KIB, 128 * KIB, 256 * KIB, 512 * KIB, MIB)
ZONES = (0.0, 0.475, 0.95)  # where the outer, middle and inner zone begin, as parts of the capacity
ZONE = 0.05  # and how much of it they are
RUN = 16
RUN_BYTES = 64 * KIB
BURST_BYTES = MIB
BURST_SHARE = 0.4  # of the requests to an SSD that may be written to
LEAST_BYTES = 64 * MIB
BETWEEN_US = 20.0  # what fio takes from the end of a request to the next


@dataclass(frozen=True)
class Design:
    """Requests to be issued one at a time, in this order."""

    offset: I64  # int64[n] bytes
    size: I64  # int64[n] bytes
    write: U8  # uint8[n], 1 for writes

    def __len__(self) -> int:
        """How many requests."""
        return int(self.offset.size)


class _Maker:
    """Draws requests within a capacity, at whole blocks."""

    def __init__(self, capacity_bytes: int, seed: int) -> None:
        self.capacity = capacity_bytes // BLOCK * BLOCK
        self.random = np.random.default_rng(seed)

    def within(self, begin: float, end: float, size: int) -> int:
        """An address between two parts of the capacity, from which so many bytes fit."""
        first = int(begin * self.capacity) // BLOCK
        last = min(int(end * self.capacity), self.capacity - size) // BLOCK
        return int(self.random.integers(first, max(last, first) + 1)) * BLOCK

    def walk(self, least: int, most: int, steps: int, write: int) -> Rows:
        """Small requests, each so far from the end of the one before, to either side as the capacity allows.

        Distances are drawn anew for each: over one and the same, the wait for the rotation would be always the same.
        """
        rows = [(self.within(0.0, 1.0, BLOCK), BLOCK, write)]
        for _ in range(steps):
            head = rows[-1][0] + BLOCK
            distance = int(least * (most / least) ** self.random.random()) // BLOCK * BLOCK
            sides = [side for side in (-1, 1) if 0 <= head + side * distance <= self.capacity - BLOCK]
            if sides:
                rows.append((head + int(self.random.choice(sides)) * distance, BLOCK, write))
            else:
                rows.append((self.within(0.0, 1.0, BLOCK), BLOCK, write))
        return rows

    def inside(self, zone: float, size: int, count: int, write: int) -> Rows:
        """Requests of a size at random in a zone: short seeks, long transfers."""
        return [(self.within(zone, zone + ZONE, size), size, write) for _ in range(count)]

    def run(self, zone: float, size: int, count: int, write: int) -> Rows:
        """Requests of a size one after the other."""
        start = self.within(zone, zone + ZONE, size * count)
        return [(start + k * size, size, write) for k in range(count)]

    def anywhere(self, size: int, count: int, write: int) -> Rows:
        """Requests of a size at random."""
        return [(self.within(0.0, 1.0, size), size, write) for _ in range(count)]


def _hdd_cells(maker: _Maker, write: int) -> list[Rows]:
    """Seeks, sizes, runs; short pieces, because they are shuffled."""
    steps = REPEATS // 3
    edges = np.geomspace(min(MIB, maker.capacity // 64), 0.9 * maker.capacity, DISTANCES + 1).astype(np.int64).tolist()
    cells = [maker.walk(least, most, steps, write) for least, most in pairwise(edges) for _ in range(3)]
    cells += [maker.inside(zone, size, steps, write) for zone in ZONES for size in HDD_SIZES for _ in range(3)]
    cells += [maker.run(zone, RUN_BYTES, RUN, write) for zone in ZONES for _ in range(3)]
    return [*cells, *([row] for row in maker.anywhere(BLOCK, 8 * REPEATS, write))]


def _ssd_cells(maker: _Maker, write: int) -> list[Rows]:
    """Sizes at random, and runs."""
    cells = [maker.anywhere(size, REPEATS // 3, write) for size in SSD_SIZES for _ in range(6)]
    return [*cells, *(maker.run(zone, 2 * RUN_BYTES, RUN, write) for zone in ZONES)]


def _fill(maker: _Maker, kind: Kind, ops: tuple[int, ...], most: int) -> Rows:
    """Sets of cells, each in random order, the last one cut short where there are so many requests."""
    cells_of = _hdd_cells if kind == "hdd" else _ssd_cells
    rows: Rows = []
    while len(rows) < most:
        cells = [cell for op in ops for cell in cells_of(maker, op)]
        rows += [row for at in maker.random.permutation(len(cells)) for row in cells[at]]
    return rows[:most]


def _half(kind: Kind, maker: _Maker, count: int, writes: bool) -> Rows:
    """A disk's reads come before its writes: while writes wait in its buffer, reads say nothing of reads."""
    if kind == "hdd":
        written = count // 2 if writes else 0
        return _fill(maker, kind, (0,), count - written) + _fill(maker, kind, (1,), written)
    burst = int(count * BURST_SHARE) if writes else 0
    rows = _fill(maker, kind, (0, 1) if writes else (0,), count - burst)
    room = maker.capacity // BURST_BYTES
    return rows + [((k % room) * BURST_BYTES, BURST_BYTES, 1) for k in range(burst)]


def design(kind: Kind, capacity_bytes: int, requests: int = 3000, writes: bool = False, seed: int = 0) -> Design:
    """Requests that show a device's parameters.

    Args:
        kind: what the device is. For an SSD that may be written to each half ends in a sustained burst of writes,
            which shows its buffer if it is smaller than the burst.
        capacity_bytes: what may be touched.
        requests: how many; a hard disk serves some 100 a second.
        writes: also write, which destroys what the device holds.
        seed: the project's base seed.

    Returns:
        Exactly so many requests, at whole blocks of 4 KiB, within the capacity.

    Raises:
        DeviceError: too few requests, or too small a device.
    """
    if requests < FEWEST:
        raise DeviceError(f"{requests} requests do not show a device's parameters; ask for {FEWEST} at least")
    if capacity_bytes < LEAST_BYTES:
        message = f"{capacity_bytes:,} bytes are too small a target to show a device's parameters; give {LEAST_BYTES:,}"
        raise DeviceError(message)
    rows: Rows = []
    for half, count in enumerate((requests // 2, requests - requests // 2)):
        maker = _Maker(capacity_bytes, derive_seed(seed, "microbench", kind, int(writes), half))
        rows += _half(kind, maker, count, writes)
    offset, size, write = zip(*rows, strict=True)
    return Design(np.array(offset, np.int64), np.array(size, np.int64), np.array(write, np.uint8))


def measure(
    target: ReplayTarget, settings: Settings, kind: Kind, requests: int = 3000, writes: bool = False, seed: int = 0
) -> tuple[Samples, dict[str, str]]:
    """Replay designed requests on a target, one at a time and each once.

    Each once, because the median of repetitions would lie near the middle of the rotation, where no single request is.

    Args:
        target: what passed its checks.
        settings: of the replay; repetitions, writes, mode and depth are set here.
        kind: what the target is.
        requests: how many.
        writes: also write, which destroys what the target holds.
        seed: the project's base seed.

    Returns:
        The service times, and where, when and how they were measured.

    Raises:
        DeviceError: too small a target, or the replay's own.
    """
    asked = design(kind, target.data_bytes, requests, writes, seed)
    count = len(asked)
    meta = TraceMeta("microbench", "microbench", "microbench", "")
    trace = Trace(
        np.zeros(count, np.int64), asked.write, asked.offset, asked.size, Coded.constant(target.label, count), meta
    )
    once = replace(settings, repetitions=1, writes="replay" if writes else "refuse", mode="service", depth=1)
    measured = replay(trace, target, once)
    samples = Samples(asked.offset, asked.size, asked.write, measured.times_us, np.full(count, BETWEEN_US))
    return samples.check(target.label), measured.provenance
