"""Requests per second of labelling, features, flash cache and three-queue manager on one trace of zipf and scans."""

import argparse
import resource
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np
from timing import least

from cachezoo.coded import Coded
from cachezoo.features.sequence import Memory, raw_columns
from cachezoo.io import write_json
from cachezoo.kernels import manager
from cachezoo.kernels.episodes import find_episodes, range_costs
from cachezoo.kernels.flash import Prefetch, simulate_rejectx
from cachezoo.kernels.segments import Geometry, SegmentAccesses, expand_segments
from cachezoo.labels.benefit import Worth, decided_hits, reach_of, run_of, tags_of
from cachezoo.labels.part import Part
from cachezoo.labels.tags import BELADY, Tags, teacher_names
from cachezoo.serving.requests import batch_of
from cachezoo.settings.page_cache import BenefitLabel
from cachezoo.traces.pages import PageAccesses, capacity_pages, expand_pages
from cachezoo.traces.table import PAGE_BYTES, Trace, TraceMeta

REQUESTS = 1_200_000
OBJECTS = 300_000
SKEW = 1.0
SCAN_SHARE = 0.1
SCAN_PAGES = 4
WRITE_SHARE = 0.3
LABEL = BenefitLabel(oracle="benefit", horizons=[1, 3, 10], capacities=[0.05, 0.10, 0.20])
TEACHER = "benefit_3"  # of what is measured with one
MIDDLE = 0.10  # capacity of what is measured at one
EVICTION_AGE = 100_000  # requests
REPEATS = 3
MEMORY = Memory(1 << 20, 65536, 1 << 20, 16, 6.0)
PERIOD = 5  # capacities
PERCENT = 20


def zipf_and_scan(n: int, seed: int) -> Trace:
    """Requests of one or two pages by zipf, and a sequential scan of four pages each over and over its own range."""
    rng = np.random.default_rng(seed)
    weights = np.cumsum(1 / np.arange(1, OBJECTS + 1) ** SKEW)
    place = rng.permutation(OBJECTS)[np.searchsorted(weights / weights[-1], rng.random(n))]
    count = rng.integers(1, 3, n)
    scan = rng.random(n) < SCAN_SHARE
    place[scan] = OBJECTS + SCAN_PAGES * np.arange(int(scan.sum())) % (2 * OBJECTS)
    count[scan] = SCAN_PAGES
    return Trace(
        time_us=np.cumsum(rng.integers(1, 2000, n)),
        op=(rng.random(n) < WRITE_SHARE).astype(np.uint8),
        offset=place.astype(np.int64) * PAGE_BYTES,
        size=count.astype(np.int64) * PAGE_BYTES,
        volume=Coded.constant("0", n),
        meta=TraceMeta("zipf_and_scan", "none", "synthetic", "0" * 64),
    )


@dataclass(frozen=True)
class Work:
    """A trace and what the measured functions read; `Work.of(n)` makes a small one for the compiler."""

    trace: Trace
    pages: PageAccesses
    segments: SegmentAccesses

    @classmethod
    def of(cls, n: int) -> "Work":
        """Everything that is not measured."""
        trace = zipf_and_scan(n, 1)
        segments = expand_segments(trace.volume.codes, trace.offset, trace.size, Geometry())
        return cls(trace, expand_pages(trace), segments)

    def capacity(self, fraction: float) -> int:
        """Pages of a cache."""
        return capacity_pages(fraction, self.pages.n_pages)

    @cached_property
    def part(self) -> Part:
        """The trace as the oracles take it, with service times of a disk and of an SSD."""
        rng = np.random.default_rng(2)
        hdd, ssd = rng.uniform(2000, 12000, len(self.trace)), rng.uniform(60, 200, len(self.trace))
        return Part.of(self.trace.op, self.pages, hdd, ssd)

    @cached_property
    def worths(self) -> dict[str, Worth]:
        """Worth of each page access at the middle capacity, by teacher, found beforehand."""
        worths = {teacher: self.worth(teacher, MIDDLE) for teacher in (TEACHER, BELADY)}
        for worth in worths.values():
            list(worth)
        return worths

    @cached_property
    def queues(self) -> np.ndarray:
        """int32[n, 1]: the queues that an oracle's tags decide on."""
        tags = self.label(TEACHER, MIDDLE)
        return np.where(tags.cached, np.maximum(tags.duration, manager.SOON), manager.ABSENT).astype(np.int32)[:, None]

    def reach(self, teacher: str, fraction: float) -> int:
        """Page accesses ahead within which a use counts."""
        return reach_of(teacher, self.capacity(fraction), len(self.pages.page_ids), LABEL)

    def worth(self, teacher: str, fraction: float) -> Worth:
        """A teacher's worth of each page access."""
        return Worth(self.part, teacher, self.reach(teacher, fraction))

    def simulate(self, teacher: str) -> object:
        """The oracle cache alone."""
        return run_of(self.part, teacher, self.worths[teacher], self.capacity(MIDDLE))

    def label(self, teacher: str, fraction: float) -> Tags:
        """All that the label stage does for one teacher at one capacity: worth, run, tags, the decided cache."""
        part, capacity, worth = self.part, self.capacity(fraction), self.worth(teacher, fraction)
        run = run_of(part, teacher, worth, capacity)
        tags = tags_of(part, teacher, run, capacity, self.reach(teacher, fraction))
        decided_hits(part, tags, worth, capacity)
        return tags

    def features(self, fractions: list[float]) -> object:
        """The caching model's raw inputs."""
        trace, pages = self.trace, self.pages
        return raw_columns(batch_of(trace), pages, [self.capacity(fraction) for fraction in fractions], MEMORY)

    def serve(self, requeue: bool) -> object:
        """The three-queue manager on decisions known beforehand."""
        pages, n_pages, capacity = self.pages, self.pages.n_pages, self.capacity(MIDDLE)
        limits = np.array([[capacity, PERIOD * capacity, PERCENT, 1, int(requeue), 0]], np.int64)
        outcome = np.empty((1, len(pages.page_ids)), np.uint8)
        manager.serve_all(
            manager.make(n_pages, limits), pages.request_start, pages.page_ids, self.trace.op, self.queues.copy(),
            outcome, np.empty((len(self.trace), 1, 2), np.int64),
        )  # fmt: skip
        return outcome

    def episodes(self) -> object:
        """Episodes of a given eviction age."""
        return find_episodes(self.segments, self.trace.op == 0, EVICTION_AGE)

    def ranges(self) -> object:
        """What the episodes cost with prefetch of their OPT-Range, and the episodes themselves."""
        return range_costs(self.segments, find_episodes(self.segments, self.trace.op == 0, EVICTION_AGE))

    def rejectx(self, whole_block: bool) -> object:
        """The flash cache behind RejectX, where a miss fetches its whole block or what is missing alone."""
        n, capacity = len(self.trace), self.capacity(MIDDLE)
        whole = Prefetch(np.zeros(n, np.int32), np.full(n, self.segments.per_block, np.int32))
        prefetch = whole if whole_block else None
        return simulate_rejectx(self.segments, self.trace.op == 0, EVICTION_AGE, capacity, prefetch=prefetch)


Step = Callable[[Work], Any]


def steps() -> Iterator[tuple[str, str, Step]]:
    """(what, capacities in percent of the pages, the call) of each row."""
    middle, every = f"{MIDDLE:.0%}", ", ".join(f"{c:.0%}" for c in LABEL.capacities)
    yield "oracle simulate, benefit", middle, partial(Work.simulate, teacher=TEACHER)
    yield "oracle simulate, belady", middle, partial(Work.simulate, teacher=BELADY)
    for teacher in teacher_names(LABEL):
        for fraction in LABEL.capacities:
            yield f"labels, {teacher}", f"{fraction:.0%}", partial(Work.label, teacher=teacher, fraction=fraction)
    yield "request features", middle, partial(Work.features, fractions=[MIDDLE])
    yield "request features", every, partial(Work.features, fractions=LABEL.capacities)
    yield "manager, hits stay", middle, partial(Work.serve, requeue=False)
    yield "manager, hits requeue", middle, partial(Work.serve, requeue=True)
    yield "episodes", "", Work.episodes
    yield "episodes and their ranges", "", Work.ranges
    yield "flash cache, RejectX", middle, partial(Work.rejectx, whole_block=False)
    yield "same, all_on_miss", middle, partial(Work.rejectx, whole_block=True)


def peak_mib() -> float:
    """Most memory that the process has held so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main() -> None:
    """Print the table; `--json PATH` also writes its rows."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path, help="write the rows here")
    path = parser.parse_args().json
    small, work = Work.of(500), Work.of(REQUESTS)
    n, m = len(work.trace), len(work.pages.page_ids)
    print(
        f"{n:,} requests, {m:,} accesses to {work.pages.n_pages:,} pages, zipf {SKEW} and {SCAN_SHARE:.0%} scan; "
        f"best of {REPEATS}; the first call compiles, on a small trace; peak memory is the process's so far"
    )
    print(f"{'step':<26}{'capacity':>14}{'M requests/s':>14}{'M accesses/s':>14}{'first call s':>14}{'peak MiB':>10}")
    rows, firsts = [], [least(partial(step, small), 1, time.perf_counter)[0] for _, _, step in steps()]
    _ = work.part, work.worths, work.queues
    for first, (name, capacity, step) in zip(firsts, steps(), strict=True):
        best, _ = least(partial(step, work), REPEATS, time.perf_counter)
        row = {"step": name, "capacity": capacity, "requests_per_s": n / best, "accesses_per_s": m / best}
        rows.append({**row, "first_call_s": first, "peak_mib": peak_mib()})
        print(
            f"{name:<26}{capacity:>14}{n / best / 1e6:>14.1f}{m / best / 1e6:>14.1f}{first:>14.2f}{peak_mib():>10.0f}",
            flush=True,
        )
    if path is not None:
        write_json(path, rows)


if __name__ == "__main__":
    main()
