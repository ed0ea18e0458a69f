"""Answers from a sample: how often the whole trace's figures lie within the error bars, and what a long trace takes.

Whole traces are those in data/raw/captured, and with CACHEZOO_PUBLIC_TRACES the block traces there. The long one is
generated and removed; `--exact` also simulates LRU on all of it, in memory. `--share` instead splits one cache among
two to four of the whole traces, by samples of all at one rate, and runs the splits that these choose on all of them.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from ingest import write_oracle_general

from cachezoo.contest.counting import SECOND_HALF
from cachezoo.curves.curve import lru_curve
from cachezoo.devices.built_in import BUILT_IN
from cachezoo.errors import CachezooError
from cachezoo.policies.registry import OPTIMUM
from cachezoo.policies.simulate import Simulator
from cachezoo.questions.flash.options import RIVALS, FlashOptions, WriteRate, geometry_by_reads
from cachezoo.questions.flash.table import flash_tables
from cachezoo.questions.page.bench import Bench, Run
from cachezoo.questions.page.compare import with_gaps
from cachezoo.questions.share.case import Score, compare
from cachezoo.questions.share.learned import run_parts
from cachezoo.questions.share.mix import mix_drawn, mix_traces
from cachezoo.questions.share.partitioners import parse_several
from cachezoo.questions.tiers.bench import NOTHING
from cachezoo.questions.tiers.bench import Bench as TierBench
from cachezoo.questions.tiers.budget import Point
from cachezoo.questions.tiers.hierarchy import parse_hierarchy
from cachezoo.seeds import derive_seed
from cachezoo.settings.prices import BUILT_IN as PRICES
from cachezoo.sizes import Size
from cachezoo.traces.pages import expand_pages
from cachezoo.traces.read import Drawn, read_any
from cachezoo.traces.sampling import SAMPLE_BLOCK_BYTES, Plan, Samplers, sampled
from cachezoo.traces.table import PAGE_BYTES, Trace

CAPTURED = Path("data/raw/captured")
POLICIES = ("lru", "s3fifo", "arc", OPTIMUM)
SIZES = (0.03, 0.1, 0.3)
FIGURES = ("hit_ratio", "ssd_writes")
LEAST_ACCESSES, LEAST_PAGES = 50_000, 5_000
HIERARCHIES = ("lru", "lru | lru", "hcalfu | tb=64K | lru", "promotion: arc | s3fifo")
RAM, SSD = 0.03, 0.2  # of the pages
OF_REQUESTS = {"p50_us": "P50", "p99_us": "P99", "iops": "IOPS", "usd_per_io": "$ per I/O"}
FLASH = FlashOptions(
    [Size.parse("10%")], [WriteRate("25%", None, 0.25)], ("accept_all", "coin_flip", "rejectx", "opt"), RIVALS
)
OF_FLASH = ("disks_busy", "disks_busy_peak", "io_hit_ratio", "written_bytes_s", "usd_a_year")
SEEDS = 20
RATE = 0.1
SPLITS = "learned(policy=lru|s3fifo),shared,shared(policy=s3fifo),equal,proportional,ucp,static-best"
SHARED_SIZES, SHARED_FRAGMENT = (0.05, 0.2), 60  # pages, of which a sample has a whole number
TURNS, LEAST_SHARED = 2, 100_000
DAYS = 365
DAILY = 434e6 / 36 / 7  # requests of a volume of MSR Cambridge: 434 million of 36 volumes in a week


def whole_traces() -> Iterator[tuple[str, Trace]]:
    """Traces that are long enough to have a sample."""
    root = os.environ.get("CACHEZOO_PUBLIC_TRACES")
    found = [*CAPTURED.glob("*_test.parquet"), *((Path(root) / "block").iterdir() if root else ())]
    for path in sorted(found):
        try:
            trace = read_any(path, quiet=True, replay=True)
        except CachezooError:
            continue  # of objects, or with columns to be named
        pages = expand_pages(trace)
        if len(pages.page_ids) >= LEAST_ACCESSES and pages.n_pages >= LEAST_PAGES:
            yield path.name, trace


def coverage() -> None:
    """How often the bars hold, by trace and unit of the choice."""
    said = ", ".join(f"{size:.0%}" for size in SIZES)
    print(f"{SEEDS} samples of {RATE:g}, {', '.join(POLICIES)}, {said} of the pages: how often the whole trace's")
    print("figure lies within the 90 % interval, and mean errors in points\n")
    print("| trace | block | hit ratio | SSD writes | gap | hit ratio: error | its bar | request hit ratio: error |")
    print("|---|---|---|---|---|---|---|---|")
    for name, trace in whole_traces():
        pages = expand_pages(trace)
        whole = Bench.of(Simulator(trace, pages))
        sizes = [max(1, round(size * pages.n_pages)) for size in SIZES]
        truth = {(own, size): whole.run(own, size) for own in POLICIES for size in sizes}
        for block in (PAGE_BYTES, SAMPLE_BLOCK_BYTES):
            rows, errors, gaps = list[list[bool]](), list[tuple[float, ...]](), list[bool]()
            for seed in range(SEEDS):
                found = sampled(trace, Plan(RATE, None, seed, block))
                bench = Bench.of(Simulator(found.trace, found.pages), sample=found)
                runs = {key: bench.run(*key) for key in truth}
                for size in sizes:
                    gaps += gaps_held(*([each[own, size] for own in POLICIES] for each in (truth, runs)))
                for key, exact in truth.items():
                    ran = runs[key]
                    rows.append([abs(getattr(ran, one) - getattr(exact, one)) <= ran.errors[one] for one in FIGURES])
                    of_requests = abs(ran.request_hit_ratio - exact.request_hit_ratio)
                    errors.append((abs(ran.hit_ratio - exact.hit_ratio), ran.errors["hit_ratio"], of_requests))
            cells = [f"{share:.2f}" for share in (*np.mean(rows, axis=0), np.mean(gaps))]
            cells += [f"{100 * value:.2f}" for value in np.mean(errors, axis=0)]
            print(f"| {name} | {block // 1024} KiB | {' | '.join(cells)} |", flush=True)


def gaps_held(exact: Sequence[Run], found: Sequence[Run]) -> list[bool]:
    """Whether gaps from the best classic of a sample, in points, lie within its bars; exact runs are of the whole."""
    shown = with_gaps([ran.values() for ran in found], [ran.groups for ran in found])
    true, best = {ran.policy: ran.hit_ratio for ran in exact}, shown["best_classic"]
    return [
        abs(row["gap_points"] - 100 * (true[row["policy"]] - true[best])) <= row["gap_points_error_90"]
        for row in shown["rows"]
        if row["policy"] != best
    ]


def hierarchies(seeds: int) -> None:
    """The same of hierarchies: mean time of a page read, reads from the disk, and errors of what is of requests."""
    sizes = f"RAM {RAM:.0%} and SSD {SSD:.0%} of the pages"
    print(f"\n{seeds} samples of {RATE:g}; {', '.join(HIERARCHIES)}; {sizes}\n")
    read = ("AMAT: within", "error", "bar", "too long by", "over the disk alone's: error")
    titles = (*read, "from the disk: within", "error", *(f"{name}: error" for name in OF_REQUESTS.values()))
    print(f"| trace | {' | '.join(titles)} |\n{'|---' * (1 + len(titles))}|")
    for name, trace in whole_traces():
        whole = TierBench.of_trace(name, trace, BUILT_IN, PRICES)
        ram, ssd = (max(1, round(part * whole.footprint)) for part in (RAM, SSD))
        every = (parse_hierarchy(text) for text in HIERARCHIES)
        points = [NOTHING, *(Point(own, ram, ssd if own.has_ssd else 0) for own in every)]
        truth = [whole.score(point) for point in points]
        rows = list[list[float]]()
        for seed in range(seeds):
            bench = TierBench.of_trace(name, sampled(trace, Plan(RATE, None, seed, near=True)), BUILT_IN, PRICES)
            found = [bench.score(point) for point in points]
            for ours, exact in zip(found[1:], truth[1:], strict=True):
                off, bar = ours.mean / exact.mean - 1, ours.errors["amat_us"] / exact.mean
                saved = ours.mean / found[0].mean - exact.mean / truth[0].mean
                disk = abs(ours.tiered.dhr - exact.tiered.dhr)
                mine, true = ({**own.tiered.values(), "usd_per_io": own.usd_per_io} for own in (ours, exact))
                each = [abs(mine[own] / true[own] - 1) for own in OF_REQUESTS]
                within = disk <= ours.errors["dhr"]
                rows.append([abs(off) <= bar, abs(off), bar, off, abs(saved), within, disk, *each])
        cells = [f"{value:.2f}" if at in (0, 5) else f"{value:.1%}" for at, value in enumerate(np.mean(rows, axis=0))]
        print(f"| {name} | {' | '.join(cells)} |", flush=True)


def flash(seeds: int) -> None:
    """The same of flash caches: disks busy, their peak, reads hit, bytes written, $ a year, and who is named."""
    said = f"{FLASH.rates[0].text} of accept_all's writes, a cache of {FLASH.sizes[0]}"
    print(f"\n{seeds} samples of {RATE:g}; {', '.join((*FLASH.policies, 'the best kept'))}; {said}\n")
    titles = [title for name in OF_FLASH for title in (f"{name}: within", "off", "error", "bar")]
    print(f"| trace | {' | '.join(titles)} | same named |\n{'|---' * (2 + len(titles))}|")
    for name, trace in whole_traces():
        geometry = geometry_by_reads(trace)
        (whole,) = flash_tables(trace, geometry, [], FLASH, 0)
        best = whole.leads[0].rival.policy
        rows, named = list[list[list[float]]](), list[bool]()
        for seed in range(seeds):
            plan = Plan(RATE, None, seed, geometry.block_bytes, geometry.segment_bytes)
            (found,) = flash_tables(sampled(trace, plan), geometry, [], FLASH, 0)
            lead = found.leads[0]
            named.append(best in (lead.rival.policy, *lead.level))
            for ours, exact in zip(found.rows, whole.rows, strict=True):
                if not exact.usd_a_year:
                    continue
                rows.append([])
                for figure in OF_FLASH:
                    truth, bar = getattr(exact, figure), ours.errors_90[figure]
                    off = getattr(ours, figure) - truth
                    unit = 1.0 if figure == "io_hit_ratio" else max(truth, 1e-12)
                    rows[-1].append([abs(off) <= bar, off / unit, abs(off) / unit, bar / unit])
        if not rows:
            continue
        cells = []
        for held, *shares in np.mean(rows, axis=0).tolist():
            cells += [f"{held:.2f}", *(f"{share:.1%}" for share in shares)]
        print(f"| {name} | {' | '.join(cells)} | {np.mean(named):.2f} |", flush=True)


def shared(seeds: int) -> None:
    """How often the bars of partitioners hold, and what a split costs that a sample has chosen."""
    known = [(name, trace) for name, trace in whole_traces() if len(expand_pages(trace).page_ids) >= LEAST_SHARED]
    print(
        f"{seeds} samples of {RATE:g}: how often the whole run's pages read lie within the 90 % interval; what a split"
    )
    print("reads, run whole, that a sample chose, and that the whole run chose; and a sample's bar\n")
    columns = (
        "applications",
        "cache",
        "within",
        "error, mean",
        "chosen by all",
        "by a sample, mean",
        "worst",
        "its bar",
    )
    print(f"| {' | '.join((*columns, 'no worse'))} |")
    print("|---|---|---|---|---|---|---|---|---|")
    for count in (2, 3, 4):
        rng = np.random.default_rng(derive_seed(0, "share from samples", count))
        for _ in range(TURNS):
            own = [known[k] for k in sorted(rng.permutation(len(known))[:count].tolist())]
            for size in SHARED_SIZES:
                _shared_row([replace(one, meta=replace(one.meta, trace_id=name)) for name, one in own], size, seeds)


def _shared_row(traces: list[Trace], size: float, seeds: int) -> None:
    candidates = parse_several(SPLITS, SHARED_FRAGMENT)
    mix = mix_traces(traces, "lockstep")
    pages = max(int(size * mix.n_pages), 8 * mix.count * SHARED_FRAGMENT)
    whole = compare(mix, candidates, pages, "half", BUILT_IN.hdd)
    within, errors, costs, bars = list[bool](), list[float](), list[float](), list[float]()
    for seed in range(seeds):
        samplers = Samplers(Plan(RATE, None, seed))
        for key, one in enumerate(traces):
            samplers.add(key, one)
        drawn = [samplers.found[key].found(one.meta) for key, one in enumerate(traces)]
        parts = [
            Drawn(one.meta, True, ((one.meta.trace_id, own, True),)) for one, own in zip(traces, drawn, strict=True)
        ]
        found = compare(mix_drawn(parts, "lockstep"), candidates, pages, "half", BUILT_IN.hdd)
        for ran, exact in zip(found.rows, whole.rows, strict=True):
            if exact.candidate.partitioner.id != "learned":  # it has another split
                within.append(abs(ran.mean - exact.mean) <= (ran.error_90 or 0.0))
                errors.append(abs(ran.mean - exact.mean))
        learned = found.rows[0]
        split = run_parts(mix, learned.shared.splits[0].tolist(), learned.shared.policies)
        costs.append(Score.of(whole.case, learned.candidate, split).mean)
        bars.append(learned.error_90 or 0.0)
    names, best = " + ".join(one.meta.trace_id for one in traces), whole.rows[0].mean
    no_worse = np.mean([cost <= best + bar for cost, bar in zip(costs, bars, strict=True)])
    cells = [f"{np.mean(within):.2f}", *(f"{value:.4f}" for value in (
        np.mean(errors), best, np.mean(costs), max(costs), np.mean(bars))), f"{no_worse:.2f}"]  # fmt: skip
    print(f"| {names} | {100 * size:.0f} % | {' | '.join(cells)} |", flush=True)


def asked(*words: object) -> tuple[dict, float, float, float]:
    """A command's JSON values, its seconds by the clock and of the processor, and its peak MiB."""
    command = [sys.executable, "-c", "from cachezoo.cli import main; main()", *map(str, words), "--json"]
    start = time.perf_counter()
    with tempfile.TemporaryFile() as said:
        process = subprocess.Popen(command, stdout=said, stderr=subprocess.DEVNULL)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        seconds = time.perf_counter() - start
        if process.returncode:
            raise RuntimeError(f"{words} ended with {process.returncode}")
        said.seek(0)
        return json.load(said), seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def long(requests: int, exact: bool) -> None:
    """Curve and recommendation of a long trace."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "long.oracleGeneral.bin"
        write_oracle_general(path, requests)
        print(f"\n{requests:,} requests\n\n| command | s | s of CPU | M requests/s | peak MiB | rate | ± points, to |")
        print("|---|---|---|---|---|---|---|")
        values, *used = asked("curve", path, "--policy", "lru", "--policy", "arc", "--points", 8)
        rows = values["rows"]
        _row("curve", requests, *used, rows[0]["rate"], max(row["error_90"] for row in rows))
        values, *used = asked("recommend", path, "--no-models")
        _row("recommend", requests, *used, values["trace_sampled"], values["error_90"])
        year = DAYS * DAILY / (requests / used[0]) / 60
        values, *used = asked("recommend", "--only", "ram-ssd", path)
        _row("recommend --only ram-ssd", requests, *used, values["trace_sampled"], values["answer"]["errors_90"]["dhr"])
        print(f"\na year of {DAILY / 1e6:.1f} M requests a day at that speed: {year:.1f} minutes")
        if exact:
            pages = expand_pages(read_any(path, quiet=True))
            sampled = [row for row in rows if row["policy"] == "lru"]
            truth = lru_curve(pages, [row["capacity"] for row in sampled], SECOND_HALF)
            print("\n| LRU, pages | exact | from the sample |\n|---|---|---|")
            for row, ratio in zip(sampled, truth.hit_ratio.tolist(), strict=True):
                print(f"| {row['capacity']:,} | {ratio:.4f} | {row['hit_ratio']:.4f} ± {row['error_90']:.4f} |")


def _row(name: str, requests: int, seconds: float, cpu: float, peak: float, rate: float, error: float) -> None:
    speed = f"{seconds:.0f} | {cpu:.0f} | {requests / seconds / 1e6:.1f} | {peak:,.0f}"
    print(f"| {name} | {speed} | {rate:.4f} | {100 * error:.1f} |", flush=True)


def main() -> int:
    """Run from the repository's root."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--requests", type=int, default=100_000_000, help="of the long trace; 0: none")
    parser.add_argument("--seeds", type=int, default=SEEDS, help="of all but pages; 0: none")
    parser.add_argument("--tiers", action="store_true", help="the hierarchies alone")
    parser.add_argument("--flash", action="store_true", help="the flash caches alone")
    parser.add_argument("--share", action="store_true", help="a cache split among several traces alone")
    parser.add_argument("--exact", action="store_true", help="simulate LRU on all of it too")
    given = parser.parse_args()
    every = not given.tiers and not given.flash and not given.share
    if every:
        coverage()
    if given.seeds and (every or given.tiers):
        hierarchies(given.seeds)
    if given.seeds and (every or given.flash):
        flash(given.seeds)
    if given.seeds and given.share:
        shared(given.seeds)
    if every and given.requests:
        long(given.requests, given.exact)
    return 0


if __name__ == "__main__":
    sys.exit(main())
