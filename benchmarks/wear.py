"""Placements of writes side by side, and what caches' admissions wear out.

Run as `.venv/bin/python benchmarks/wear.py [FILE ...]`. A file is a whole trace, cut into three cycles. Without
files the captured traces, those of data/corpus, and the public ones of CACHEZOO_PUBLIC_TRACES that write
are run. Figures count the last cycle, at 11 %. `chosen` is the combination of FIOS's features that is best on the cycle
before the last; `best` is the best on the last cycle itself, which nobody can know beforehand. `as many`: an equal
partition into as many streams as FIOS's own choice uses. `--caches` runs the caches. `--partial` shows how much of a
gain is of flash pages that one request ends in and the next begins in: each drive as it is, with a buffer that holds
back a page write which the very next one overwrites, and with flash pages of 4 KiB; `ends`: a rule that learns nothing,
the last page of each request in a stream of its own.
"""

import argparse
import os
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import numpy.typing as npt

from cachezoo.errors import CachezooError
from cachezoo.flash_cache.policies import rejectx
from cachezoo.flash_drive.placements import Placement
from cachezoo.flash_drive.run import wear
from cachezoo.flash_drive.writes import DriveWrites
from cachezoo.kernels.flash import simulate_flash, simulate_rejectx
from cachezoo.policies.simulate import Simulator
from cachezoo.questions.flash.model import decide, open_bundles
from cachezoo.questions.flash.options import FlashOptions, WriteRate, flash_problem_of, geometry_by_reads
from cachezoo.questions.wear.cache import CacheWrites, cache_tables, flash_cache_writes, page_cache_writes
from cachezoo.questions.wear.options import WearOptions, cycles_of
from cachezoo.questions.wear.table import Placing, writes_of
from cachezoo.settings.wear import Drive
from cachezoo.sizes import PAGE_BYTES, Size
from cachezoo.traces.pages import expand_pages
from cachezoo.traces.read import read_any
from cachezoo.traces.store import read_trace
from cachezoo.traces.table import OP_WRITE, Trace
from cachezoo.zoo.streams.bench import Bench
from cachezoo.zoo.streams.cluster import COMBINATIONS

ROLES = ("train", "validation", "test")
CATEGORIES = ("database", "fileserver", "mail", "web")
WHOLE = ("ledger", "spool")
STREAMS = 16
BYTES_PER_PAGE = 8192
SHARES = (0.07, 0.11, 0.28)
PARTIAL = ("legacy", "equal", "autostream", "sepbit", "lifetime", "oracle")
PAGE_POLICIES = ("lru", "rejectx+lru", "larc", "sieve", "s3fifo", "wtinylfu")
HEAD = (
    f"{'trace':28} {'MiB':>6} {'times':>6} {'legacy':>7} {'equal':>6} {'as many':>7} {'auto':>6} {'chosen':>7} "
    f"{'best':>6} {'autostr':>7} {'sepbit':>6} {'forest':>6} {'oracle':>6}  {'to gain':>7} {'reached':>7}  "
    "automatic, chosen, best"
)


def captured() -> Iterator[tuple[str, list[Trace]]]:
    """The pipeline's categories: a capture a cycle, or one that is cut."""
    for category in CATEGORIES:
        folder = Path("data/requests") / category
        yield category, [read_trace(folder / f"{category}_{role}.parquet") for role in ROLES]
    for name in WHOLE:
        path = Path("data/raw/captured") / f"{name}.parquet"
        if path.exists():
            trace = read_any(path)
            cuts = [int(len(trace) * part) for part in (0, 0.4, 0.7, 1)]
            yield name, [trace.rows(a, b) for a, b in pairwise(cuts)]


def whole(files: Sequence[Path]) -> Iterator[tuple[str, list[Trace]]]:
    """Traces that are cut into three; those that write nothing are left out."""
    for path in files:
        trace = read_any(path)
        if (trace.op == OP_WRITE).any():
            yield path.name, cycles_of([trace], None)


def public() -> list[Path]:
    """The public block traces."""
    folder = os.environ.get("CACHEZOO_PUBLIC_TRACES")
    return sorted(path for path in (Path(folder) / "block").iterdir() if path.is_file()) if folder else []


def show(name: str, cycles: list[Trace]) -> None:
    """A line of the table."""
    drive = Drive()
    try:
        writes = writes_of(cycles, drive)
        bench = Bench(writes, drive)
        placing, before = Placing(bench, cycles, 0), writes.cycles - 2

        def run(placement: Placement, counted: int = -1) -> float:
            return bench.run(placement, counted).waf

        legacy, equal, oracle = (run(placing.of(one, STREAMS)) for one in ("legacy", "equal", "oracle"))
        combos = {letters: placing.of(f"fios:{letters}", STREAMS) for letters in COMBINATIONS}
        wafs = {letters: run(placement) for letters, placement in combos.items()}
        chosen = min(combos, key=lambda letters: run(combos[letters], before))
        auto = placing.of("fios", STREAMS)
        used = bench.run(auto).streams_used
        as_many = run(placing.of("equal", used)) if used > 1 else legacy
        rivals = [run(placing.of(one, STREAMS)) for one in ("autostream", "sepbit", "lifetime")]
    except CachezooError as error:
        print(f"{name:28} refused: {error}", flush=True)
        return
    best = min(wafs, key=lambda letters: wafs[letters])
    gain = legacy - oracle
    reached = f"{(legacy - wafs[chosen]) / gain:7.0%}" if gain > 0.01 else f"{'-':>7}"
    part = writes.cycle(-1)
    times = (part.stop - part.start) / writes.footprint
    print(
        f"{name:28} {writes.footprint * BYTES_PER_PAGE / 2**20:6.0f} {times:6.1f} "
        f"{legacy:7.3f} {equal:6.3f} {as_many:7.3f} {run(auto):6.3f} {wafs[chosen]:7.3f} {wafs[best]:6.3f} "
        f"{rivals[0]:7.3f} {rivals[1]:6.3f} {rivals[2]:6.3f} {oracle:6.3f}  {1 - oracle / legacy:7.0%} {reached}  "
        f"{auto.parameters['features'] or 'none'}, {chosen}, {best}",
        flush=True,
    )


def buffered(writes: DriveWrites) -> DriveWrites:
    """Without the page writes that the very next one overwrites."""
    kept = writes.lifetimes != 1
    starts = np.append(0, np.cumsum(kept))[writes.starts]
    columns = (writes.pages, writes.time_us, writes.request)
    pages, time_us, request = (column[kept] for column in columns)
    return DriveWrites(pages, writes.address, time_us, request, starts, writes.page_bytes)


def ends(writes: DriveWrites) -> npt.NDArray[np.uint8]:
    """uint8[n]: 1 for the last page of a request of several."""
    heads = np.flatnonzero(writes.begins)
    lengths = np.diff(np.append(heads, len(writes)))
    found = np.zeros(len(writes), np.uint8)
    found[(heads + lengths - 1)[lengths > 1]] = 1
    return found


def partial(name: str, cycles: list[Trace]) -> None:
    """Three lines: as it is, with a buffer of a page, with pages of 4 KiB. The forest is not run with the buffer."""
    small = Drive(page_bytes=BYTES_PER_PAGE // 2, pages_per_block=128, metadata_pages=2)
    for how, drive in (("as is", Drive()), ("buffer", Drive()), ("4 KiB", small)):
        try:
            writes = writes_of(cycles, drive)
            part = writes.cycle(-1)
            at_once = float((writes.lifetimes[part] == 1).mean())
            own = buffered(writes) if how == "buffer" else writes
            bench = Bench(own, drive)
            placing = Placing(bench, cycles, 0)
            names = [one for one in PARTIAL if one != "lifetime" or own is writes]
            wafs = [f"{one} {bench.run(placing.of(one, STREAMS)).waf:.3f}" for one in names]
            rule = wear(own, ends(own), drive, n_streams=STREAMS).waf
        except CachezooError as error:
            print(f"{name:20} {how:6} refused: {error}", flush=True)
            return
        print(f"{name:20} {how:6} dies at once {at_once:5.1%}  {' '.join(wafs)} ends {rule:.3f}", flush=True)


def tell(name: str, caches: list[CacheWrites], capacity: int) -> None:
    """Erases of each cache's SSD."""
    options = WearOptions(("legacy",), (1,), SHARES, Drive(), 0)
    try:
        tables = cache_tables(caches, capacity, options, lambda done, note="": None)
    except CachezooError as error:
        print(f"{name}: refused: {error}", flush=True)
        return
    print(f"{name}: {capacity * PAGE_BYTES / 2**20:,.0f} MiB", flush=True)
    for cache, table in zip(caches, tables, strict=True):
        line = "; ".join(
            f"{row.over_provisioning:.0%}: WAF {row.waf:.2f}, {row.erases:,} erases "
            f"({row.erases / first.erases - 1 if first.erases else 0:+.0%})"
            for row, first in zip(table.rows, tables[0].rows, strict=True)
        )
        less = table.host_pages / tables[0].host_pages - 1
        print(f"  {cache.policy:24} hits {cache.hit_ratio:6.1%}, {table.host_pages:9,} pages ({less:+.0%}); {line}")


def page_caches(name: str, trace: Trace, size: str) -> None:
    """Page caches of the policies that people run."""
    simulator = Simulator(trace, expand_pages(trace))
    capacity = Size.parse(size).pages(simulator.pages.n_pages)
    tell(f"{name}, page cache", [page_cache_writes(simulator, one, capacity, 3) for one in PAGE_POLICIES], capacity)


def flash_cache(category: str, trace: Trace, size: str) -> None:
    """Baleen's flash cache: AcceptAll, RejectX at a quarter of its writes, and the model as shipped."""
    folder = Path("models/bundles") / f"admission.{category}.lgbm"
    models = open_bundles([folder]) if folder.exists() else []
    options = FlashOptions([Size.parse(size)], [WriteRate("25%", None, 0.25)], ["rejectx"])
    geometry = models[0].geometry if models else geometry_by_reads(trace)
    problem = flash_problem_of(trace, geometry, options.sizes[0], options)
    everything = np.ones(len(trace), np.bool_)
    runs = {"accept_all": simulate_flash(problem.accesses, problem.read, everything, problem.capacity, note_slots=True)}
    window = int(rejectx(replace(problem, budget=problem.budget / 4)).knob)
    runs["rejectx"] = simulate_rejectx(problem.accesses, problem.read, window, problem.capacity, note_slots=True)
    for model in models:
        found = decide(model, trace)
        admit = found.scores >= found.thresholds["none"]
        runs[found.name] = simulate_flash(problem.accesses, problem.read, admit, problem.capacity, note_slots=True)
    caches = [flash_cache_writes(problem, own, run, trace.time_us, 3) for own, run in runs.items()]
    tell(f"{category}, flash cache", caches, problem.capacity * problem.geometry.segment_bytes // PAGE_BYTES)


def main() -> None:
    """Print them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="*", type=Path)
    parser.add_argument("--caches", action="store_true")
    parser.add_argument("--partial", action="store_true")
    parser.add_argument("--capacity", default="30%", help="of the caches")
    given = parser.parse_args()
    if given.caches:
        for category, cycles in captured():
            for run in (page_caches, flash_cache):
                try:
                    run(category, cycles[-1], given.capacity)
                except CachezooError as error:
                    print(f"{category}: refused: {error}", flush=True)
        return
    if not given.partial:
        print(HEAD)
    if given.files:
        found = whole(given.files)
    else:
        corpus = sorted(Path("data/corpus").glob("*/*.parquet"))
        found = (case for cases in (captured(), whole(public()), whole(corpus)) for case in cases)
    for name, cycles in found:
        (partial if given.partial else show)(name, cycles)


if __name__ == "__main__":
    main()
