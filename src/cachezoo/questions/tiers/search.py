"""The search: every point that a budget buys in miniature, and the best of them in full.

A point is a hierarchy with its sizes. All points of some budgets are simulated on a sample of the trace's pages, which
says where reads are served, and about how long the disk takes. The best few of each budget are then simulated with all
pages and replayed on the devices. As these say how far the sample is off, the others are ranked anew.

All of it looks at the first half of the trace alone: the second judges what was chosen.
"""

import hashlib
import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Executor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal

import numpy as np

from cachezoo.console import progress
from cachezoo.errors import CachezooError, ConfigError
from cachezoo.io import parsed_json
from cachezoo.jobs import processes
from cachezoo.questions.tiers.bench import Bench, Scored
from cachezoo.questions.tiers.budget import ROUNDING, Market, Point, nearby, ram_sizes
from cachezoo.questions.tiers.hierarchy import Hierarchy, parse_hierarchy
from cachezoo.questions.tiers.miniature import Miniature, Shares, Times
from cachezoo.questions.tiers.response import DRAM_US, Tiered
from cachezoo.traces.table import Trace

By = Literal["amat", "disk"]
What = Literal["sampled", "simulated", "judged"]
Row = dict[str, Any]
MOST_ACCESSES = 30_000
"""Page accesses of the half that chooses above which points are simulated on a sample first."""
FEW_ACCESSES = 500_000
"""Page accesses of a trace up to which processes take longer to begin than they save."""
KIND, HEAD = "cachezoo size", "what"
ANCHORS = 4
"""Points replayed first, to correct the sample by."""
FINE = (2, 4)
"""Parts of a doubling by which the RAM of the best points is varied, in turn."""
VARIED = 3
"""Hierarchies of a budget whose RAM is varied."""
ROUNDS = 8
"""Times that the best are confirmed at most: what is replayed says more of the others, and may put one first."""
TIE = 0.01
"""Part by which a point's estimate has to be better than the best that was simulated in full, to be so too."""
RIVAL = 1.2
"""Times the least of all, up to which a hierarchy that was not yet simulated in full may be the best."""
SPENT = 0.9
"""Of a budget, what has to be spent."""


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
    if workers == 1 or len(halves.judges.ts) <= FEW_ACCESSES:
        yield Runner(halves)
        return
    with processes(workers, partial(_hold, halves)) as pool:
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

    point: Point
    cost: float  # dollars for RAM and SSD
    sampled: Shares | None  # where reads are served by the sample; None where only all pages were simulated
    full: Tiered | None  # its figures by all pages; None where these were not simulated
    amat_us: float  # mean time of a page read: replayed, else estimated from the sample

    @property
    def dhr(self) -> float:
        """Of the page reads, those that the disk serves."""
        known = self.full or self.sampled
        assert known is not None
        return known.dhr

    def merit(self, by: By) -> float:
        """What is to be small."""
        return self.amat_us if by == "amat" else self.dhr


class Search:
    """Points of a trace at some prices."""

    def __init__(self, runner: Runner, ledger: Ledger, market: Market, hierarchies: Sequence[Hierarchy]) -> None:
        """Start with nothing known but what the ledger has."""
        self.market, self.hierarchies = market, hierarchies
        self._runner, self._ledger = runner, ledger
        self._sampled, self._full = dict[Point, Shares](), dict[Point, Tiered]()
        self._found: list[Found] | None = None

    @property
    def counts(self) -> tuple[int, int]:
        """Points simulated on the sample, and with all pages."""
        return len(self._sampled), len(self._full)

    def line(self, budget: float, ram: Sequence[int]) -> list[Point]:
        """All hierarchies' points for a budget, with RAM of these sizes."""
        return [point for one in self.hierarchies for point in self.market.line(one, budget, ram)]

    def sample(self, points: Iterable[Point]) -> None:
        """Simulate on the sample what was not yet."""
        new = [point for point in dict.fromkeys(points) if point not in self._sampled]
        if new:
            found = self._runner.run("sampled", new)
            self._sampled |= {point: found[point] for point in new}  # in an order that no process decides
            self._found = None

    def confirm(self, points: Iterable[Point]) -> None:
        """Simulate with all pages and replay what was not yet, here or in the ledger."""
        wanted = [point for point in dict.fromkeys(points) if point not in self._full]
        if new := [point for point in wanted if point not in self._ledger]:
            self._runner.run("simulated", new, self._ledger.put)
        self._full |= {point: self._ledger[point] for point in wanted}  # in an order that no process decides
        self._found = None

    def found(self) -> list[Found]:
        """What is known of all points; some have to be confirmed before."""
        if self._found is None:
            points = list(self._sampled)
            both = [point for point in self._full if point in self._sampled]
            times = Times.of(both, [self._sampled[point] for point in both], [self._full[point] for point in both])
            estimates = dict(zip(points, times.amat_us(points, list(self._sampled.values())), strict=True))
            self._found = []
            for point in dict.fromkeys([*points, *self._full]):
                full = self._full.get(point)
                amat_us = full.amat_us if full else estimates[point]
                self._found.append(Found(point, self.market.cost(point), self._sampled.get(point), full, amat_us))
        return self._found

    def best(self, budget: float, by: By = "amat", *, estimated: bool = False) -> list[Found]:
        """The best points that a budget buys, by rising merit: of each hierarchy its best.

        The budget is spent: in the half that chooses, room for pages that only come later cannot show its worth. With
        `estimated` points count that were simulated on the sample alone.
        """
        within = [one for one in self.found() if (estimated or one.full) and one.cost <= budget * (1 + ROUNDING)]
        within = [one for one in within if one.cost >= SPENT * budget] or within
        chosen = dict[Hierarchy, Found]()
        for one in sorted(within, key=lambda one: (one.merit(by), one.cost, one.point.key)):
            chosen.setdefault(one.point.hierarchy, one)
        return list(chosen.values())

    def survey(self, budgets: Sequence[float], by: By = "amat", closely: Sequence[float] = ()) -> None:
        """Search some budgets: at the end no point's estimate is clearly better than one simulated in full.

        At the budgets `closely`, which are some of them, every hierarchy that may be the best is simulated in full.
        """
        sizes = ram_sizes(self.market.pages)
        self.sample(point for budget in budgets for point in self.line(budget, sizes))
        if not any(point in self._sampled for point in self._full):
            self._anchor()
        rivals = list[Found]()  # the best points of hierarchies that may be the best of all
        for budget in closely:
            found = self.best(budget, by, estimated=True)
            rivals += [one for one in found if one.merit(by) <= RIVAL * found[0].merit(by)]
        self.confirm(one.point for one in rivals)
        for around in FINE:
            self.sample([point for budget in budgets for point in self._varied(budget, by, around)])
        for _ in range(ROUNDS):
            better = [one.point for budget in budgets if (one := self._better(budget, by)) is not None]
            if not better:
                return
            self.confirm(better)

    def exhaust(self, budgets: Sequence[float], steps: int) -> None:
        """Simulate every point of some budgets with all pages, as `ram_sizes` has them: the referee of `survey`."""
        sizes = ram_sizes(self.market.pages, steps)
        self.confirm([point for budget in budgets for point in self.line(budget, sizes)])

    def _anchor(self) -> None:
        """Replay points whose reads from the disk take differently long."""
        points = sorted(self._sampled, key=lambda point: (self._sampled[point].disk_us, point.key))
        disk_us = np.array([self._sampled[point].disk_us for point in points])
        wanted = np.geomspace(max(disk_us[0], DRAM_US), max(disk_us[-1], DRAM_US), ANCHORS)
        self.confirm(points[min(int(np.searchsorted(disk_us, time)), len(points) - 1)] for time in wanted)

    def _better(self, budget: float, by: By) -> Found | None:
        """The best point of a budget by its estimate, where it is clearly better than what was simulated in full."""
        every, known = self.best(budget, by, estimated=True), self.best(budget, by)
        if not every:  # the budget buys nothing
            return None
        first = every[0]
        near = known and known[0].cost >= SPENT * budget and (1 - TIE) * known[0].merit(by) <= first.merit(by)
        return None if first.full or near else first

    def _varied(self, budget: float, by: By, around: int) -> list[Point]:
        """The best points of a budget with somewhat less and more RAM."""
        points = list[Point]()
        for one in self.best(budget, by, estimated=True)[:VARIED]:
            sizes = nearby(one.point.ram_pages, around, self.market.pages)
            points += self.market.line(one.point.hierarchy, budget, sizes)
        return points

    def score(self, points: Iterable[Point]) -> dict[Point, Scored]:
        """What points do in the half that judges."""
        return self._runner.run("judged", dict.fromkeys(points))
