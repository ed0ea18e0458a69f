"""What it takes to judge a hierarchy, and what its AMAT is in each loop.

Processor time of one thread, best of several, compilation apart, on a million requests, on the captured test traces and
on public ones. RAM holds 2 % of the pages and the SSD 20 %; the second half of a trace counts.
"""

import argparse
import os
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))

from tiers import REPEATS, drawn
from timing import compiled

from cachezoo.devices.built_in import BUILT_IN
from cachezoo.questions.tiers.hierarchy import parse_hierarchy
from cachezoo.questions.tiers.response import depth_of, response, stretch
from cachezoo.questions.tiers.run import run_tiers
from cachezoo.questions.tiers.stream import TierStream, tier_stream
from cachezoo.questions.tiers.wear import ssd_wear
from cachezoo.traces.clock import has_clock
from cachezoo.traces.read import read_any

HIERARCHIES = ("lru", "hca", "l2arc", "arc | rejectx+lru", "promotion: lru | rejectx+fifo", "inclusive: lru | lru")
RAM, SSD = 0.02, 0.2
MS = 1e3
REQUESTS = 1_000_000
CAPTURED = Path(__file__).resolve().parents[1] / "data/requests"
FILES = ("block/cloudphysics.vscsi", "block/hp_ajw.srt.gz", "block/ms_dtrs.disksim.gz")


def sizes(ts: TierStream) -> tuple[int, int]:
    """Pages of RAM and SSD."""
    return max(1, int(RAM * ts.pages.n_pages)), max(1, int(SSD * ts.pages.n_pages))


def speed(ts: TierStream, text: str) -> str:
    """Seconds of each step of judging a hierarchy."""
    hierarchy, (ram, ssd) = parse_hierarchy(text), sizes(ts)
    half = len(ts) // 2
    simulated, run = compiled(lambda: run_tiers(hierarchy, ts, ram, ssd), REPEATS)
    replayed, found = compiled(lambda: response(ts, run, BUILT_IN, half), REPEATS)
    steps: dict[str, Callable[[], Any]] = {
        "figures": lambda: replace(found).tiered,
        "wear": lambda: ssd_wear(ts, found.reduced, ssd),
        "$ per I/O": lambda: found.usd_per_io(100.0),
        "both": lambda: response(ts, run, BUILT_IN, half).tiered,
    }
    times = {"simulate": simulated, "replay": replayed}
    times |= {name: compiled(work, REPEATS)[0] for name, work in steps.items()}
    return f"| `{text}` | " + " | ".join(f"{seconds:.2f}" for seconds in times.values()) + " |"


def loops(name: str, ts: TierStream) -> Iterator[str]:
    """AMAT of every hierarchy in each loop, ms."""
    (ram, ssd), half = sizes(ts), len(ts) // 2
    factor = stretch(ts, BUILT_IN) if has_clock(ts.trace) else None
    depth = depth_of(ts)
    spread = "-" if factor is None else f"{factor:.2f}"
    for text in HIERARCHIES:
        run = run_tiers(parse_hierarchy(text), ts, ram, ssd)
        closed = response(ts, run, BUILT_IN, half, loop="closed", depth=depth).tiered
        opened = "-"
        if factor is not None:
            waiting = response(ts, run, BUILT_IN, half, loop="open", stretched=factor).tiered
            opened = f"{waiting.amat_us / MS:,.1f}"
        served = f"{100 * closed.dhr:.1f} %"
        yield f"| {name} | {depth} | {spread} | `{text}` | {served} | {closed.alone_us / MS:.2f} | " + (
            f"{closed.amat_us / MS:.2f} | {opened} |"
        )


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--speed", action="store_true", help="the first table alone")
    asked = parser.parse_args()
    print("| hierarchy | simulate, s | replay | figures | wear | $ per I/O | replay and figures |")
    print("|---|---|---|---|---|---|---|")
    ts = tier_stream(drawn().trace.rows(0, REQUESTS))
    for text in HIERARCHIES:
        print(speed(ts, text), flush=True)
    if asked.speed:
        return
    print("\n| trace | depth | spread | hierarchy | from the disk | no waiting, ms | closed | open |")
    print("|---|---|---|---|---|---|---|---|")
    public = os.environ.get("CACHEZOO_PUBLIC_TRACES")
    if public is None:
        print("public traces are left out: CACHEZOO_PUBLIC_TRACES is not set", file=sys.stderr)
    files = sorted(CAPTURED.glob("*/*_test.parquet")) + [Path(public) / name for name in FILES if public]
    for path in files:
        for line in loops(path.name, tier_stream(read_any(path))):
            print(line, flush=True)


if __name__ == "__main__":
    main()
