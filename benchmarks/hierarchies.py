"""Hierarchies of RAM, SSD and disk on the public traces: at the same money, and with the same bytes.

RAM alone, inclusive caching, RAM's victims promoted to flash (as CacheLib does), ZFS's L2ARC, HCA, and hierarchies of
any of the zoo's policies. Each family is tuned alike, by the rules and with the freedoms of the pipeline's evaluation
(conf/policy/tiers.yaml): the first half of a trace chooses hierarchy and split of the money (its own first half warms
up), the second half judges, with the first as warm-up. Times are those of the analytic models, in a closed
loop of the captured depth, or of one request at a time where a trace has no latencies to tell it by.

A trace without a clock is given even arrivals at which the disk alone is busy for 90 % of the time, for L2ARC's feed.

With the same bytes all have RAM of 1 % and an SSD of 10 % of the first half's pages, and a transient buffer is part of
that RAM; RAM alone has its 1 %.

    python benchmarks/hierarchies.py                         # all public traces of $CACHEZOO_PUBLIC_TRACES
    python benchmarks/hierarchies.py FILE... --budgets 0.02 0.08
"""

import argparse
import os
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median

import numpy as np
from pydantic import TypeAdapter

from cachezoo.devices.profile import load_models
from cachezoo.devices.queueing import MOST_LOAD, hdd_load
from cachezoo.jobs import processes, run_all
from cachezoo.questions.tiers.bench import Bench
from cachezoo.questions.tiers.budget import Market, Point
from cachezoo.questions.tiers.columns import HCA, L2ARC, ZOO
from cachezoo.questions.tiers.hierarchy import Hierarchy
from cachezoo.questions.tiers.prices import load_prices
from cachezoo.questions.tiers.reduced import volume_trace
from cachezoo.questions.tiers.stage import Families, choose, families, served
from cachezoo.questions.tiers.stream import tier_stream
from cachezoo.settings.device import AnalyticDevice
from cachezoo.settings.tiers import TiersPolicy
from cachezoo.sizes import human
from cachezoo.traces.clock import has_clock
from cachezoo.traces.read import read_any
from cachezoo.traces.table import PAGE_BYTES, Trace
from cachezoo.yaml_file import checked, read_yaml

PUBLIC = (
    "block/cloudphysics_us.csv.gz", "block/hp_ajw.srt.gz", "block/ms_dtrs.disksim.gz", "block/postmark.disksim.gz",
    "lbn/OLTP.lis.zst", "lbn/P2.lis.zst",
)  # fmt: skip
SETTINGS = Path("conf/policy/tiers.yaml")
BUDGETS = (0.02, 0.08)
RAM_SHARE, SSD_SHARE = 0.01, 0.1
GOAL = 0.10
BYTES = "same bytes"


def with_clock(trace: Trace, device: AnalyticDevice) -> Trace:
    """A trace with even arrivals where it has none of its own."""
    if has_clock(trace):
        return trace
    every = hdd_load(volume_trace(tier_stream(trace)), device.hdd) / len(trace) / MOST_LOAD
    times = (np.arange(len(trace)) * every).astype(np.int64)
    return replace(trace, time_us=times, meta=replace(trace.meta, extra={}))


@dataclass(frozen=True)
class Row:
    """A family's choice on the second half of a trace."""

    trace: str
    budget: str  # share of what RAM for all would cost, or `BYTES`
    family: str
    point: Point  # what the first half chose
    amat_us: float  # mean time of a page read
    p99_us: float  # 99th percentile of a read request
    shares: tuple[float, float, float]  # of the reads, those that RAM, SSD and disk serve


def row_of(budget: str, family: str, point: Point, test: Bench) -> Row:
    """Run a choice."""
    found = test.tiered(point)
    return Row(test.key, budget, family, point, found.amat_us, found.p99_us, (found.rhr, found.shr, found.dhr))


def same_bytes(first: Bench, hierarchies: Sequence[Hierarchy], settings: TiersPolicy) -> Point | None:
    """What the first half chooses of a family where all have the same RAM and the same SSD."""
    ram, ssd = (max(settings.least_pages, round(share * first.footprint)) for share in (RAM_SHARE, SSD_SHARE))
    every = [
        Point(one, ram - one.buffer_pages, ssd if one.has_ssd else 0) for one in hierarchies if ram > one.buffer_pages
    ]  # fmt: skip
    best = sorted(every, key=lambda one: (first.estimate_us(one), one.key))[: settings.shortlist]
    return min(best, key=lambda one: (served([first], one).amat_us, one.key), default=None)


def compare(path: Path, budgets: Sequence[float], device_name: str) -> list[Row]:
    """All families on a trace."""
    settings = checked(TypeAdapter(TiersPolicy), read_yaml(SETTINGS), str(SETTINGS), "get it from Git")
    prices, device = load_prices(), load_models(device_name)
    trace = with_clock(read_any(path), device)
    name = path.name.partition(".")[0]
    half = trace.rows(0, len(trace) // 2)
    first, test = (Bench.of(name, tier_stream(one), device, prices) for one in (half, trace))
    market = Market.of(prices, first.footprint, settings.least_pages)
    every: Families = families(settings)
    rows = []
    for family, hierarchies in every.items():
        for share in budgets:
            made = choose([first], hierarchies, market, market.usd(share), settings)
            if made is not None:
                rows.append(row_of(f"{share:g}", family, made.point, test))
        point = same_bytes(first, hierarchies, settings)
        if point is not None:
            rows.append(row_of(BYTES, family, point, test))
    return rows


def table(rows: Sequence[Row]) -> None:
    """A line a trace, budget and family."""
    print("| trace | budget | family | chosen | RAM | SSD | RAM, SSD, disk serve | AMAT | 99 % |")
    print("|---|---|---|---|---:|---:|---|---:|---:|")
    for row in rows:
        ram, ssd = (human(pages * PAGE_BYTES) for pages in (row.point.ram_pages, row.point.ssd_pages))
        shares = ", ".join(f"{100 * share:.1f}" for share in row.shares)
        print(
            f"| {row.trace} | {row.budget} | {row.family} | `{row.point.hierarchy}` | {ram} | {ssd} | {shares} % "
            f"| {row.amat_us / 1000:.3f} ms | {row.p99_us / 1000:.2f} ms |"
        )


def savings(rows: Sequence[Row], budgets: Sequence[str]) -> None:
    """By how much the zoo's hierarchy is below each rival: median over traces and budgets, worst, and how often."""
    by_case: dict[tuple[str, str], dict[str, Row]] = {}
    for row in rows:
        by_case.setdefault((row.trace, row.budget), {})[row.family] = row
    print(f"\n| {', '.join(budgets)}: {ZOO}'s AMAT below that of | median | least | most | below in |")
    print("|---|---:|---:|---:|---:|")
    cases = [own for (_, budget), own in by_case.items() if budget in budgets and ZOO in own]
    for rival in dict.fromkeys(row.family for row in rows if row.family != ZOO):
        own = [(case[ZOO], case[rival]) for case in cases if rival in case]
        saved = [1 - zoo.amat_us / other.amat_us for zoo, other in own]
        print(
            f"| {rival} | {100 * median(saved):.1f} % | {100 * min(saved):.1f} % "
            f"| {100 * max(saved):.1f} % | {sum(one > 0 for one in saved)} of {len(saved)} |"
        )
    wins = Counter(min(case, key=lambda family: (case[family].amat_us, family)) for case in cases)
    print(f"\nfastest: {', '.join(f'{family} {count}' for family, count in wins.most_common())}")
    goal(cases)


def goal(cases: Sequence[Mapping[str, Row]]) -> None:
    """At least 10 % below both HCA and L2ARC in the median."""
    own = [1 - case[ZOO].amat_us / min(case[HCA].amat_us, case[L2ARC].amat_us)
           for case in cases if HCA in case and L2ARC in case]  # fmt: skip
    found = median(own)
    said = "reached" if found >= GOAL else "not reached"
    print(f"below the better of {HCA} and {L2ARC}: median {100 * found:.1f} % of {len(own)}; goal {GOAL:.0%}: {said}")


def main() -> None:
    """Print what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("traces", nargs="*", type=Path)
    parser.add_argument("--budgets", nargs="+", type=float, default=BUDGETS, metavar="SHARE")
    parser.add_argument("--device", default="wdredpro2tb_850pro")
    parser.add_argument("--processes", type=int, default=1)
    asked = parser.parse_args()
    root = os.environ.get("CACHEZOO_PUBLIC_TRACES")
    if not asked.traces and not root:
        parser.error(
            "set CACHEZOO_PUBLIC_TRACES to the folder of the public traces (docs/benchmarks.md), or name files"
        )
    paths = asked.traces or [Path(root or "") / name for name in PUBLIC]
    with processes(asked.processes) as pool:
        found = run_all("traces", pool, compare, [(path, asked.budgets, asked.device) for path in paths])
    rows = [row for own in found for row in own]
    table(rows)
    savings(rows, [f"{share:g}" for share in asked.budgets])
    savings(rows, [BYTES])


if __name__ == "__main__":
    main()
