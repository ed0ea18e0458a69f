"""Policies by capacities by traces, in processes, and what the best cache could reach."""

import os
from collections.abc import Sequence
from concurrent.futures import as_completed
from dataclasses import replace
from pathlib import Path

import numpy as np

from cachezoo.console import Advance, progress
from cachezoo.contest.counting import SECOND_HALF
from cachezoo.errors import ConfigError, TraceError
from cachezoo.jobs import scheduler
from cachezoo.jobs import workers as pool_of
from cachezoo.kernels.outcome import HIT
from cachezoo.policies.bounds import BELADY_BYPASS, STATIC_HINDSIGHT, weighted_bounds
from cachezoo.policies.long import LongSimulator
from cachezoo.policies.registry import OPTIMUM, policy
from cachezoo.policies.simulate import Simulator
from cachezoo.questions.page.bench import Bench, Options, Row, Run, Simulates
from cachezoo.remote import Remote
from cachezoo.sizes import Size
from cachezoo.traces.long import LongTrace, is_long, opened
from cachezoo.traces.objects import ObjectTrace
from cachezoo.traces.pages import expand_pages
from cachezoo.traces.read import OF_OBJECTS, TraceFiles
from cachezoo.traces.sampling import SampledTrace
from cachezoo.traces.store import NO_ADDRESSES
from cachezoo.traces.table import Trace

# The bench that this process used last, with its trace's file and how it was made: one trace at a time is in memory.
_held: list[tuple[tuple[str, int, int], Options, Bench]] = []


def taken(trace: Trace, first: int | None) -> Trace:
    """So many of a trace's first requests; None: all."""
    return trace if first is None or first >= len(trace) else trace.rows(0, first)


def files_of(path: Path, options: Options) -> TraceFiles:
    """What to read of a trace, and how."""
    return TraceFiles([path], options.reading[0], options=dict(options.reading[1]))


def simulator_of(trace: Trace | LongTrace, options: Options) -> Simulates:
    """A trace ready to be simulated as the options say: how much of it, writes, pages and admission units."""
    if isinstance(trace, LongTrace):
        with progress(f"reading {trace.files.paths[0].name}", 1) as advance:
            return LongSimulator(trace, options.writes, options.unit, options.page_bytes, options.count, advance)
    own = taken(trace, options.first)
    return Simulator(own, expand_pages(own, options.page_bytes), options.writes, options.unit)


def bench_of(trace: Trace | SampledTrace | LongTrace, options: Options) -> Bench:
    """A trace, or a sample of one, ready to be simulated as the options say."""
    if isinstance(trace, SampledTrace):
        simulator = Simulator(trace.trace, trace.pages, options.writes, options.unit)
        return Bench.of(simulator, options.device, options.count, trace)
    return Bench.of(simulator_of(trace, options), options.device, options.count)


def check_sampled(policy_id: str) -> None:
    """Refuse a policy whose cache a sample cannot stand for.

    Raises:
        ConfigError: it is one: it looks at other pages than those requested.
    """
    spec = policy(policy_id).spec
    if spec is not None and (spec.is_virtual or spec.prefetch.id != "none"):
        raise ConfigError(f"policy {policy_id}: no sample of the pages stands for its neighbours; give --sample exact")


def _as_it_is(path: Path) -> tuple[str, int, int]:
    """What tells a file from another, and from what it was before."""
    there = path.stat()
    return str(path.resolve()), there.st_mtime_ns, there.st_size


def _job(
    path: Path, policy_id: str, capacities: Sequence[Size], options: Options, quiet: bool,
    long: LongSimulator | None = None, size: int | None = None,
) -> list[Run]:  # fmt: skip
    """Run a policy at each capacity on a trace; `size` is of its file where the job was made, perhaps elsewhere."""
    if size is not None and path.stat().st_size != size:
        raise TraceError(f"{path}: is another file on a worker; share the folder with it, or name an s3:// place")
    # What a bench does not depend on; of a long trace it does on a time.
    count = SECOND_HALF if options.count.wait_us is None else options.count
    made = replace(options, count=count, decision_us=0.0, quiet=False)
    file = _as_it_is(path)
    if not _held or _held[0][:2] != (file, made):
        _held.clear()
        if long is None:
            trace = opened(files_of(path, options), options.sample, options.page_bytes, options.first, quiet=quiet)
            if isinstance(trace, ObjectTrace):
                raise TraceError(f"{path}: {NO_ADDRESSES}; {OF_OBJECTS}")
            bench = bench_of(trace, made)
        else:
            bench = Bench.of(long, options.device)
        _held.append((file, made, bench))
    bench = _held[0][2].counting(options.count)
    if bench.sample is not None:
        check_sampled(policy_id)
    return [bench.run(policy_id, bench.size(own), options.decision_us) for own in capacities]


def _is_long(path: Path, options: Options) -> bool:
    """Whether a trace is long, and read exactly."""
    return options.sample == "exact" and is_long(files_of(path, options), options.first)


def _read_long(path: Path, options: Options) -> LongSimulator:
    runs = simulator_of(LongTrace(files_of(path, options), options.first), options)
    assert isinstance(runs, LongSimulator)
    return runs


def sweep(
    traces: Sequence[Path], policies: Sequence[str], capacities: Sequence[Size], options: Options,
    workers: int | None = None, advance: Advance | None = None,
) -> list[Row]:  # fmt: skip
    """Run every policy at every capacity on every trace: the rows of `runs`, each with its `trace`."""
    found, each = runs(traces, policies, capacities, options, workers, advance), len(policies) * len(capacities)
    return [{"trace": traces[place // each].name, **run.values()} for place, run in enumerate(found)]


def runs(
    traces: Sequence[Path], policies: Sequence[str], capacities: Sequence[Size], options: Options,
    workers: int | None = None, advance: Advance | None = None, ready: Bench | None = None,
) -> list[Run]:  # fmt: skip
    """Run every policy at every capacity on every trace.

    Args:
        traces: canonical or raw files; each worker holds one in memory at a time.
        policies: ids or compositions.
        capacities: of the cache; shares are of each trace's distinct pages.
        options: how.
        workers: processes; None takes one for each processor. No figure depends on it but `requests_per_s`.
        advance: progress, in policies.
        ready: of a single trace, where it is at hand: a long one is not read again.

    Returns:
        By trace, policy and capacity in the order given.

    Raises:
        CachezooError: what a run raises; the other runs are ended, as they are by an interrupt.
    """
    for policy_id in policies:
        policy(policy_id)
    # What is doubtful of a trace is printed by the first process that reads it alone.
    jobs = [(path, own, options.quiet or k > 0) for path in traces for k, own in enumerate(policies)]
    count, here = min(workers or os.cpu_count() or 1, len(jobs)), scheduler() is None
    known = ready.runs if ready is not None and isinstance(ready.runs, LongSimulator) else None
    if count <= 1 and here:
        ran = list[Run]()
        for done, (path, policy_id, quiet) in enumerate(jobs):
            ran += _job(path, policy_id, capacities, options, quiet, known)
            if advance is not None:
                advance(done + 1, policy_id)
        return ran
    # A long trace is read once, and its files are mapped by all processes of this machine; the next one comes after it.
    long = [path for path in traces if here and (known is not None or _is_long(path, options))]
    found: list[list[Run]] = [[] for _ in jobs]
    done = 0
    with pool_of(count) as pool:
        for alone in (None, *long):
            read = None if alone is None else known or _read_long(alone, options)
            futures = {
                pool.submit(_job, path, own, capacities, options, quiet, read, None if here else _size(path)): k
                for k, (path, own, quiet) in enumerate(jobs)
                if path == alone or (alone is None and path not in long)
            }
            for future in as_completed(futures):
                found[futures[future]] = future.result()
                done += 1
                if advance is not None:
                    advance(done, jobs[futures[future]][1])
    return [run for each in found for run in each]


def _size(path: Path) -> int | None:
    """Bytes of a file that other machines may have another of; None of an object of S3, which is one."""
    return None if isinstance(path, Remote) else path.stat().st_size


def bounds_row(bench: Bench, capacity: Size) -> Row:
    """What the best cache could reach at one capacity: by pages, by bytes, and by the disk time that hits save.

    Args:
        bench: the trace, with its response times where a device is given.
        capacity: of the cache.

    Returns:
        JSON values: `capacity`, in pages of `page_bytes`; `warmup`; `optimum` and `static_hindsight`, page hit ratios;
        `byte_hit_ratio_lower` and `byte_hit_ratio_upper`, between which the best cache's lies; `time_saved_lower` and
        `time_saved_upper`, the same of the time that hits save, as a share of what an SSD for everything would. There
        each page hit saves its part of its request's time, so the upper one also bounds a cache whose requests are fast
        only if all their pages are resident; None without a device. A lower one is what a run attains: the better of
        the greedy one of `cachezoo.kernels.bounds.pfoo` and the optimum of page hits. Sources:
        `cachezoo.policies.bounds`.

    Raises:
        ConfigError: a capacity or warm-up that cannot be.
    """
    size = bench.size(capacity)
    first = bench.case(size).first
    stream = bench.simulator.stream(policy(OPTIMUM))
    counted = np.arange(len(stream)) >= first
    row: Row = {"capacity": size, "page_bytes": bench.pages.page_bytes, "warmup": first}
    hits = BELADY_BYPASS.simulate(stream, size).outcome == HIT
    row["optimum"] = float(hits[first:].mean())
    row["static_hindsight"] = float((STATIC_HINDSIGHT.simulate(stream, size).outcome[first:] == HIT).mean())
    worths = {"byte_hit_ratio": stream.page_bytes.astype(np.float64)}
    if bench.times is not None:
        counts = np.diff(bench.pages.request_start)
        worths["time_saved"] = np.repeat(np.maximum(bench.times.hdd_us - bench.times.ssd_us, 0) / counts, counts)
    for name in ("byte_hit_ratio", "time_saved"):
        row |= {f"{name}_lower": None, f"{name}_upper": None}
    for name, worth in worths.items():
        found, total = weighted_bounds(stream, worth * counted, size), max(float(worth[first:].sum()), 1e-9)
        attained = float(worth[hits & counted].sum())
        lower = max(found.lower, min(attained, found.upper))  # rounding may put the attained one above the upper one
        row |= {f"{name}_lower": lower / total, f"{name}_upper": found.upper / total}
    return row
