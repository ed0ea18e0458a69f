"""The search: every point that can be bought in miniature, and the best of them in full.

A point is a hierarchy with its sizes. All points are simulated on a sample of the trace's pages, which says where reads
are served, about how long the disk takes, and how much is written to the SSD; so what a point costs a month is known
too. The best few of each sum a month are then simulated with all pages and replayed on the devices. As these say how
far the sample is off, the others are ranked anew.

All of it looks at the first half of the trace alone: the second judges what was chosen.
"""

import hashlib
import json
import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Executor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal

import numpy as np

from cachezoo.arrays import F64, Bool
from cachezoo.console import progress
from cachezoo.errors import CachezooError, ConfigError
from cachezoo.io import parsed_json
from cachezoo.jobs import scheduler
from cachezoo.jobs import workers as pool_of
from cachezoo.questions.tiers.bench import Bench, Scored
from cachezoo.questions.tiers.budget import ROUNDING, Point, nearby
from cachezoo.questions.tiers.hierarchy import Hierarchy, parse_hierarchy
from cachezoo.questions.tiers.miniature import Miniature, Shares, Times
from cachezoo.questions.tiers.purchase import Bought, Shop
from cachezoo.questions.tiers.response import DRAM_US, Tiered
from cachezoo.traces.table import PAGE_BYTES, Trace

By = Literal["amat", "disk"]
What = Literal["sampled", "simulated", "judged"]
Row = dict[str, Any]
MOST_ACCESSES = 30_000
"""Page accesses of the half that chooses above which points are simulated on a sample first."""
FEW_ACCESSES = 500_000
"""Page accesses of a trace up to which processes take longer to begin than they save."""
KIND, HEAD = "cachezoo recommend --only ram-ssd", "what"
ANCHORS = 4
"""Points replayed first, to correct the sample by."""
FINE = (1, 2, 4)
"""Parts of a doubling by which sizes of the best points are varied in turn, where any size can be had."""
VARIED = 3
"""Hierarchies of a sum whose sizes are varied."""
ROUNDS = 8
"""Times that the best are confirmed at most: what is replayed says more of the others, and may put one first."""
TIE = 0.01
"""Part by which a point's estimate has to be better than the best that was simulated in full, to be so too."""
RIVAL = 1.2
"""Times the least of all, up to which a hierarchy that was not yet simulated in full may be the best."""
SPENT = 0.5
"""Of a sum a month, what has to be spent: sums double."""
MOST_LOAD = 1.0
"""Of the trace's time, what an SSD may work for it to be able to do the load."""


@dataclass(frozen=True)
class Halves:
    """A trace to be searched: its first half chooses, the second judges; and a sample of the first."""

    chooses: Bench
    judges: Bench
    miniature: Miniature

    @classmethod
    def of(cls, bench: Bench, most: int = MOST_ACCESSES) -> "Halves":
        """Take a bench; `most` as of `Miniature.of`.

        Raises:
            TraceError: its first half has no request.
        """
        head = bench.head()
        return cls(head, bench, Miniature.of(head, most))

    def work(self, what: What, points: Sequence[Point]) -> list[Any]:
        """What points do: `Shares` by the sample, `Tiered` of the half that chooses, `Scored` of the one that judges.

        Points with the same RAM, one after another, share its simulation.

        Raises:
            TraceError: nothing is read in that half.
        """
        if what == "sampled":
            return self.miniature.shares(points)
        return [self.chooses.tiered(point) if what == "simulated" else self.judges.score(point) for point in points]


# What this process works on: one trace at a time is in memory.
_held: list[Halves] = []


def _hold(halves: Halves) -> None:
    _held[:] = [halves]


def _work(what: What, points: Sequence[Point]) -> list[Any]:
    return _held[0].work(what, points)


def by_ram(points: Iterable[Point]) -> list[list[Point]]:
    """The points in groups whose RAM runs the same, which is then simulated once."""
    groups = defaultdict(list)
    for point in points:
        groups[point.ram_key].append(point)
    return list(groups.values())


class Runner:
    """Simulates points, in this process or in several."""

    def __init__(self, halves: Halves, pool: Executor | None = None) -> None:
        """Take what to work on; the processes of a pool hold it already."""
        self.halves, self._map = halves, map if pool is None else pool.map
        _hold(halves)

    def run(
        self, what: What, points: Iterable[Point], note: Callable[[Point, Any], None] | None = None
    ) -> dict[Point, Any]:
        """What each point does, see `Halves.work`; `note` has each as soon as it is done, as an interrupt may come."""
        groups, found = by_ram(points), dict[Point, Any]()
        count = sum(map(len, groups))
        with progress(f"{self.halves.judges.key}: {count} points {what}", count) as advance:
            for group, done in zip(groups, self._map(partial(_work, what), groups), strict=True):
                for point, own in zip(group, done, strict=True):
                    found[point] = own
                    if note is not None:
                        note(point, own)
                advance(len(found))
        return found


@contextmanager
def runner(halves: Halves, workers: int) -> Iterator[Runner]:
    """A runner with so many processes; of a short trace, or with one worker, none but this one."""
    if (workers == 1 and scheduler() is None) or len(halves.judges.ts) <= FEW_ACCESSES:
        yield Runner(halves)
        return
    with pool_of(workers, partial(_hold, halves)) as pool:
        yield Runner(halves, pool)


def digest(trace: Trace) -> str:
    """Of a trace's requests: 32 hex digits of BLAKE2b over its times, operations, places and sizes."""
    found = hashlib.blake2b(digest_size=16)
    for column in (trace.time_us, trace.op, trace.offset, trace.size, trace.volume.codes):
        found.update(column.tobytes())
    return found.hexdigest()


class Ledger(dict[Point, Tiered]):
    """Points that are simulated in full, also kept in a file of JSON lines, so that a long search can go on from it.

    The first line says of which trace and devices they are; a file of others is refused. A last line that is cut off,
    as an interrupt may leave it, is dropped.
    """

    def __init__(self, path: Path | None = None, what: Row | None = None) -> None:
        """Read what is there, or begin the file; `what` are the JSON values that the figures depend on.

        Raises:
            ConfigError: the file is of something else, or no such file.
        """
        self._path = path
        if path is None:
            return
        if path.exists() and path.stat().st_size:
            self._read(path, what or {})
        else:
            path.write_text(json.dumps({"kind": KIND, HEAD: what or {}}) + "\n", encoding="utf-8")

    def put(self, point: Point, found: Tiered) -> None:
        """Keep a point's figures."""
        self[point] = found
        if self._path is not None:
            with self._path.open("a", encoding="utf-8") as file:
                file.write(json.dumps([*point.key, found.values()]) + "\n")

    def _read(self, path: Path, what: Row) -> None:
        content = path.read_bytes()
        kept = content[: content.rfind(b"\n") + 1]
        try:
            head, *rows = (parsed_json(line, str(path)) for line in kept.decode("utf-8").splitlines())
            if head["kind"] != KIND:
                raise KeyError(KIND)
            written = dict(head[HEAD])
            own = {Point(parse_hierarchy(text), int(ram), int(ssd)): Tiered(**row) for text, ram, ssd, row in rows}
        except (CachezooError, ValueError, KeyError, IndexError, TypeError) as error:
            raise ConfigError(f"{path}: no file of --resume; name another, or a new one") from error
        differ = sorted(key for key in {*written, *what} if written.get(key) != what.get(key))
        if differ:
            raise ConfigError(f"{path}: its points are of another {differ[0]}; name another file, or a new one")
        self.update(own)
        if len(kept) < len(content):
            path.write_bytes(kept)


@dataclass(frozen=True)
class Found:
    """A point with what the half that chooses says of it."""

    place: int  # among all points, in the order in which they were thought of
    point: Point
    sampled: Shares | None  # where reads are served by the sample; None where only all pages were simulated
    full: Tiered | None  # its figures by all pages; None where these were not simulated
    amat_us: float  # mean time of a page read: replayed, else estimated from the sample
    written_a_day: float | None  # bytes a day to the SSD; None where the trace has no clock
    load: float | None  # part of the trace's time that the SSD works; None where it was not replayed, or no clock

    @property
    def dhr(self) -> float:
        """Of the page reads, those that the disk serves."""
        known = self.full or self.sampled
        assert known is not None
        return known.dhr

    def merit(self, by: By) -> float:
        """What is to be small."""
        return self.amat_us if by == "amat" else self.dhr


class Simulated:
    """Points of a trace, whatever they cost."""

    def __init__(self, runner: Runner, ledger: Ledger) -> None:
        """Start with nothing known but what the ledger has."""
        self.halves = runner.halves
        self._runner, self._ledger = runner, ledger
        self._sampled, self._full = dict[Point, Shares](), dict[Point, Tiered]()
        self._places = dict[Point, int]()
        self._found: list[Found] | None = None

    @property
    def counts(self) -> tuple[int, int]:
        """Points simulated on the sample, and with all pages."""
        return len(self._sampled), len(self._full)

    def sample(self, points: Iterable[Point]) -> None:
        """Simulate on the sample what was not yet."""
        new = [point for point in dict.fromkeys(points) if point not in self._sampled]
        if new:
            found = self._runner.run("sampled", new)
            self._sampled |= {point: found[point] for point in new}  # in an order that no process decides
            self._found = None
        if self._sampled and not any(point in self._sampled for point in self._full):
            self._anchor()

    def confirm(self, points: Iterable[Point]) -> None:
        """Simulate with all pages and replay what was not yet, here or in the ledger."""
        wanted = [point for point in dict.fromkeys(points) if point not in self._full]
        if new := [point for point in wanted if point not in self._ledger]:
            self._runner.run("simulated", new, self._ledger.put)
        self._full |= {point: self._ledger[point] for point in wanted}  # in an order that no process decides
        self._found = None

    def score(self, points: Iterable[Point]) -> dict[Point, Scored]:
        """What points do in the half that judges."""
        return self._runner.run("judged", dict.fromkeys(points))

    def found(self) -> list[Found]:
        """What is known of all points; some have to be confirmed before."""
        if self._found is None:
            points = list(self._sampled)
            both = [point for point in self._full if point in self._sampled]
            times = Times.of(both, [self._sampled[point] for point in both], [self._full[point] for point in both])
            estimates = dict(zip(points, times.amat_us(points, list(self._sampled.values())), strict=True))
            for point in (*points, *self._full):
                self._places.setdefault(point, len(self._places))
            self._found = [self._of(place, point, estimates) for point, place in self._places.items()]
        return self._found

    def _of(self, place: int, point: Point, estimates: dict[Point, float]) -> Found:
        bench, full, sampled = self.halves.chooses, self._full.get(point), self._sampled.get(point)
        if full is not None:
            written, load = bench.written_a_day(full), bench.load(full.ssd_busy, full)
            return Found(place, point, sampled, full, full.amat_us, written, load)
        assert sampled is not None
        pages = sampled.written * self.halves.miniature.reads
        estimate = None if bench.days is None else pages * PAGE_BYTES / bench.days
        return Found(place, point, sampled, None, estimates[point], estimate, None)

    def _anchor(self) -> None:
        """Replay points whose reads from the disk take differently long."""
        points = sorted(self._sampled, key=lambda point: (self._sampled[point].disk_us, point.key))
        disk_us = np.array([self._sampled[point].disk_us for point in points])
        wanted = np.geomspace(max(disk_us[0], DRAM_US), max(disk_us[-1], DRAM_US), ANCHORS)
        self.confirm(points[min(int(np.searchsorted(disk_us, time)), len(points) - 1)] for time in wanted)


class Search:
    """What can be bought for a trace at some prices."""

    def __init__(self, simulated: Simulated, shop: Shop, hierarchies: Sequence[Hierarchy]) -> None:
        """Simulate all of it on the sample."""
        self.simulated, self.shop, self.hierarchies = simulated, shop, tuple(hierarchies)
        self._bought = dict[int, tuple[float | None, Bought]]()
        self._priced: tuple[list[Found], F64, F64, Bool] | None = None
        simulated.sample(shop.points(self.hierarchies, shop.ram_sizes(), shop.ssd_sizes()))

    def bought(self, found: Found) -> Bought:
        """What a point takes, by what it writes in the half that chooses."""
        known = self._bought.get(found.place)
        if known is None or known[0] != found.written_a_day:
            known = found.written_a_day, self.shop.buy(found.point, found.written_a_day)
            self._bought[found.place] = known
        return known[1]

    def month(self, found: Found) -> float:
        """Dollars a month of it."""
        return self.bought(found).month_usd

    def able(self, found: Found) -> bool:
        """Whether its SSD lasts as long as asked and, as far as is known, can do the load."""
        return self.bought(found).lasts and (found.load is None or found.load <= MOST_LOAD)

    def best(self, month: float, by: By = "amat", *, estimated: bool = False, most: float = math.inf) -> list[Found]:
        """The best points for a sum a month, by rising merit: of each hierarchy its best.

        The sum is spent: in the half that chooses, room for pages that only come later cannot show its worth.

        Args:
            month: dollars.
            by: what is to be small.
            estimated: count points too that were simulated on the sample alone.
            most: dollars that it may cost to buy.
        """
        found, months, usd, able = self._prices()
        rows = np.flatnonzero(able & (months <= month * (1 + ROUNDING)) & (usd <= most * (1 + ROUNDING)))
        known = rows if estimated else rows[[found[row].full is not None for row in rows]] if len(rows) else rows
        spent = known[months[known] > SPENT * month]
        within = [found[row] for row in (spent if len(spent) else known)]
        chosen = dict[Hierarchy, Found]()
        for one in sorted(within, key=lambda one: (one.merit(by), self.month(one), one.point.key)):
            chosen.setdefault(one.point.hierarchy, one)
        return list(chosen.values())

    def survey(
        self, months: Sequence[float], by: By = "amat", closely: Sequence[float] = (), most: float = math.inf
    ) -> None:
        """Search some sums a month: at the end no point's estimate is clearly better than one simulated in full.

        At the sums `closely`, which are some of them, every hierarchy that may be the best is simulated in full.
        """
        rivals = list[Found]()  # the best points of hierarchies that may be the best of all
        for month in closely:
            found = self.best(month, by, estimated=True, most=most)
            rivals += [one for one in found if one.merit(by) <= RIVAL * found[0].merit(by)]
        self.simulated.confirm(one.point for one in rivals)
        for around in FINE if self.shop.terms.parts else ():
            self.simulated.sample([point for month in months for point in self._varied(month, by, around, most)])
        for _ in range(ROUNDS):
            better = [one.point for month in months if (one := self._better(month, by, most)) is not None]
            if not better:
                return
            self.simulated.confirm(better)

    def exhaust(self, steps: int) -> None:
        """Simulate every point with all pages, sizes that double in so many steps: the referee of `survey`."""
        sizes = self.shop.ram_sizes(steps), self.shop.ssd_sizes(steps)
        self.simulated.confirm(list(self.shop.points(self.hierarchies, *sizes)))

    def _prices(self) -> tuple[list[Found], F64, F64, Bool]:
        """All points with what each costs a month and to buy, and whether it is able."""
        found = self.simulated.found()
        if self._priced is None or self._priced[0] is not found:
            every = [self.bought(one) for one in found]
            months, usd = (np.array([getattr(one, name) for one in every]) for name in ("month_usd", "usd"))
            self._priced = found, months, usd, np.array([self.able(one) for one in found], bool)
        return self._priced

    def _better(self, month: float, by: By, most: float) -> Found | None:
        """The best point of a sum by its estimate, where it is clearly better than what was simulated in full."""
        every, known = self.best(month, by, estimated=True, most=most), self.best(month, by, most=most)
        if not every:  # the sum buys nothing
            return None
        first = every[0]
        near = (
            known and self.month(known[0]) > SPENT * month and (1 - TIE) * known[0].merit(by) <= first.merit(by)
        )  # fmt: skip
        return None if first.full or near else first

    def _varied(self, month: float, by: By, around: int, most: float) -> list[Point]:
        """The best points of a sum with somewhat less and more RAM, or SSD."""
        points, pages = list[Point](), self.shop.pages
        for one in self.best(month, by, estimated=True, most=most)[:VARIED]:
            own = one.point
            points += [Point(own.hierarchy, size, own.ssd_pages) for size in nearby(own.ram_pages, around, pages)]
            if own.ssd_pages:
                points += [Point(own.hierarchy, own.ram_pages, size) for size in nearby(own.ssd_pages, around, pages)]
        return points
