"""An application with the cache to itself: its queues' moves once, then every size and setting from them."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from cachezoo.arrays import I32
from cachezoo.kernels.outcome import HIT
from cachezoo.kernels.virtual.queues import Moves, moves
from cachezoo.kernels.virtual.vrm import Served, Settings, simulate
from cachezoo.policies.registry import policy
from cachezoo.traces.store import read_pages
from lab.virtual.disk import LATENCIES_US, Disk
from lab.virtual.document import Busy, Heat, Kind, Loop, Parameter, Profile, Queue
from lab.virtual.paper import DECAY, LOOPING, MB_PAGES, QUANTUM, QUEUE_MB, RUNS, SIZES_MB
from lab.virtual.traces import references

STANDARD = Settings(fragment=MB_PAGES, f=RUNS, alpha=DECAY, q=QUANTUM, cost=0.0)
SWEEPS: dict[Parameter, tuple[float, ...]] = {
    "f": (1, 2, 4, 8, 16),
    "alpha": (0.0, 0.5, 0.8, 0.95, 0.99, 1.0),
    "q": (500, 1000, 2000, 4000, 8000, 16000),
    "n": (256, 512, 1024, 2048),
    "cost": (0.0, 0.25, 0.5, 1.0),
}
"""Fig. 8's parameters, and two that are ours: MB of the queue, and what a page that enters a run is charged."""
SWEPT_MB = (32, 128)
PARTS = (1 / 16, 1 / 8, 1 / 4, 1 / 2)
"""Of an application's pages; of Table 2's mean working set they are 29 to 236 MB."""
LONGEST_MB = int(max(SWEEPS["n"]))
DISK_MB = 32
PLAIN = {"lfu": "inlfu", "arc": "arc"}  # the policies whose queues these are, as `cachezoo.policies` calls them
HEATED = {"lu": 4, "pnetcdf": 8, "database_test": 8, "web_test": 8}
"""Whose queues are shown over time, and MB of a row; lu's 256 MB are the paper's Fig. 2."""
HEAT_ROWS, HEAT_STEPS = 64, 60
LOOP_PAGES, LOOP_CAPACITY, LOOP_PASSES, LOOP_QUEUE = 900, 128, 100, 1024
LOOP_SETTINGS = STANDARD._replace(fragment=16)


class Source(NamedTuple):
    """An application.

    Attributes:
        name: of Table 2, or a captured trace's.
        kind: made or captured.
        path: of a captured trace's requests; None of one that is made.
        seed: the project's, of one that is made.
        swept: whether Fig. 8's parameters are moved.
    """

    name: str
    kind: Kind
    path: Path | None
    seed: int
    swept: bool

    def page_ids(self) -> I32:
        """int32[m], its references.

        Raises:
            TraceError: a captured trace is missing or damaged.
        """
        return references(self.name, self.seed) if self.path is None else read_pages(self.path).page_ids


class Measured(NamedTuple):
    """A cache's figures, per reference: hit ratio of the plain policy and under VRM, pages read beside misses."""

    plain: float
    hits: float
    allocation: float
    fragmentation: float


@dataclass
class Alone:
    """What came of an application.

    Attributes:
        source: which.
        sizes: by queue and MB of the cache.
        parts: of an LRU queue, by the part of its pages that the cache has.
        sweeps: by parameter, its value and MB.
        heat: where it is shown.
        disk: where it is one of Fig. 9's.
    """

    source: Source
    sizes: dict[tuple[Queue, int], Measured] = field(default_factory=dict)
    parts: dict[float, Measured] = field(default_factory=dict)
    sweeps: dict[tuple[Parameter, float, int], Measured] = field(default_factory=dict)
    heat: Heat | None = None
    disk: list[Busy] = field(default_factory=list)

    def profiles(self) -> list[Profile]:
        """Its LRU queue at every size."""
        return [
            Profile(application=self.source.name, kind=self.source.kind, megabytes=size, **one._asdict())
            for (queue, size), one in self.sizes.items()
            if queue == "lru"
        ]


def shortened(longer: Moves, n: int) -> Moves:
    """The moves of an LRU queue of n pages from those of a longer one, which holds the same pages in the same order."""
    position = np.where(longer.position < n, longer.position, np.int32(-1)).astype(np.int32)
    return Moves(position, np.minimum(longer.vacated, np.int32(n - 1)), longer.filled)


def measured(served: Served, plain: npt.NDArray[Any]) -> Measured:
    """The figures of a cache.

    Args:
        served: under VRM.
        plain: bool[m] hits of the plain policy.
    """
    count = len(plain)
    return Measured(
        float(plain.mean()), float(served.hit.mean()), served.allocation / count, served.fragmentation / count
    )


def moves_file(folder: Path, name: str) -> Path:
    """Where the moves of an application's LRU queue of 1 GB wait for the workloads that it is in."""
    return folder / f"{name}.npy"


def alone(source: Source, folder: Path, *, keep: bool) -> Alone:
    """Run an application at every size, and with every setting where it is swept.

    Args:
        source: which.
        folder: where moves are kept.
        keep: whether its LRU queue's are.

    Raises:
        TraceError: a captured trace is missing or damaged.
    """
    page_ids = source.page_ids()
    n_pages, found = int(page_ids.max()) + 1, Alone(source)
    longest = moves("lru", page_ids, n_pages, LONGEST_MB * MB_PAGES)
    lru = shortened(longest, QUEUE_MB * MB_PAGES)
    if keep:
        np.save(moves_file(folder, source.name), np.stack(lru))
    for size in SIZES_MB:
        served = simulate(lru, size * MB_PAGES, QUEUE_MB * MB_PAGES, STANDARD)
        plain = _resident(lru, size * MB_PAGES)
        found.sizes["lru", size] = measured(served, plain)
        if source.name in LOOPING and size == DISK_MB:
            found.disk = _disk(source.name, served, plain)
    for part in PARTS:
        capacity = max(RUNS * MB_PAGES, round(part * n_pages))
        served = simulate(lru, capacity, QUEUE_MB * MB_PAGES, STANDARD)
        found.parts[part] = measured(served, _resident(lru, capacity))
    if source.swept:
        _sweep(found, longest, lru)
    if source.name in HEATED:
        found.heat = heat_of(source, lru.position)
    for queue in PLAIN:
        _queue(found, queue, page_ids, n_pages)  # type: ignore[arg-type]
    return found


def _resident(lru: Moves, capacity: int) -> npt.NDArray[np.bool_]:
    """bool[m]: hits of plain LRU, which holds the head of its queue."""
    return (lru.position >= 0) & (lru.position < capacity)


def _queue(found: Alone, queue: Queue, page_ids: I32, n_pages: int) -> None:
    own = moves(queue, page_ids, n_pages, QUEUE_MB * MB_PAGES)
    for size in SIZES_MB:
        plain = policy(PLAIN[queue]).hits(page_ids, n_pages, size * MB_PAGES) == HIT
        found.sizes[queue, size] = measured(simulate(own, size * MB_PAGES, QUEUE_MB * MB_PAGES, STANDARD), plain)


def settings_of(parameter: Parameter, value: float) -> Settings:
    """The standard with one parameter moved."""
    if parameter == "n":
        return STANDARD
    return STANDARD._replace(**{parameter: type(getattr(STANDARD, parameter))(value)})


def _sweep(found: Alone, longest: Moves, lru: Moves) -> None:
    for parameter, values in SWEEPS.items():
        for value in values:
            megabytes = int(value) if parameter == "n" else QUEUE_MB
            own = lru if megabytes == QUEUE_MB else shortened(longest, megabytes * MB_PAGES)
            for size in SWEPT_MB:
                served = simulate(own, size * MB_PAGES, megabytes * MB_PAGES, settings_of(parameter, value))
                found.sweeps[parameter, value, size] = measured(served, _resident(lru, size * MB_PAGES))


def _disk(name: str, served: Served, plain: npt.NDArray[np.bool_]) -> list[Busy]:
    none = np.zeros(len(plain), np.int64)
    rows = []
    for latency in LATENCIES_US:
        base = Disk(~plain, none, latency)
        demand, own = Disk(~served.hit, none, latency), Disk(~served.hit, served.moved.astype(np.int64), latency)
        rows.append(
            Busy(application=name, latency_us=latency, plain=base.busy, demand=demand.busy, busy=own.busy,
                 plain_us=base.mean_us, mean_us=own.mean_us)
        )  # fmt: skip
    return rows


def heat_of(source: Source, position: I32) -> Heat:
    """Fig. 2: the VRM's values of an LRU queue, summed over rows, at equal steps of time.

    Args:
        source: whose.
        position: int32[m] as the queue says.
    """
    row_mb = HEATED[source.name]
    row = position // (row_mb * MB_PAGES)
    inside = (position >= 0) & (row < HEAT_ROWS)
    quantum = np.arange(len(position)) // QUANTUM
    quanta = int(quantum[-1]) + 1
    counts = np.bincount(quantum[inside] * HEAT_ROWS + row[inside], minlength=quanta * HEAT_ROWS)
    value, shown = np.zeros(HEAT_ROWS), []
    steps = set(np.linspace(0, quanta - 1, min(quanta, HEAT_STEPS)).astype(int).tolist())
    for k, one in enumerate(counts.reshape(quanta, HEAT_ROWS)):
        value = DECAY * value + one
        if k in steps:
            shown.append(np.round(value).astype(int))
    return Heat(
        application=source.name, kind=source.kind, mb_a_row=row_mb, references=len(position),
        rows=np.array(shown).T.tolist(),
    )  # fmt: skip


def loop() -> Loop:
    """The loop of which a far run makes hits, and no fewer transfers."""
    page_ids = (np.arange(LOOP_PASSES * LOOP_PAGES) % LOOP_PAGES).astype(np.int32)
    own = moves("lru", page_ids, LOOP_PAGES, LOOP_QUEUE)
    served = simulate(own, LOOP_CAPACITY, LOOP_QUEUE, LOOP_SETTINGS)
    one = measured(served, _resident(own, LOOP_CAPACITY))
    transfers = 1 - one.hits + one.allocation + one.fragmentation
    return Loop(pages=LOOP_PAGES, capacity=LOOP_CAPACITY, transfers=transfers, **one._asdict())
