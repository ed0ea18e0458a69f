"""Page accesses a second of hierarchies, and what RAM, the buffer's questions and the SSD each take.

Processor time of one thread, best of several, compilation apart. RAM holds 5 % and the SSD 20 % of the pages. The aim
is 10 M accesses a second for HCA.
"""

import argparse
import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

import numpy as np
from peers import PUBLIC, zipf
from timing import compiled

from cachezoo.coded import Coded
from cachezoo.questions.tiers.hierarchy import parse_hierarchy
from cachezoo.questions.tiers.run import counts, questions, run_tiers
from cachezoo.questions.tiers.stream import TierStream, tier_stream
from cachezoo.traces.read import read_any
from cachezoo.traces.table import PAGE_BYTES, Trace, TraceMeta

HIERARCHIES = (
    "hca", "hcalfu | lru", "lfu | tb=64K | lru", "inlfu | tb=64K | lru", "lru | tb=64K | lru", "lru | tb=1M | lru",
    "arc | tb=64K | rejectx+lru", "lru | tb=64K | hcalfu", "lru | arc", "lru | s3fifo", "promotion: lru | rejectx+fifo",
    "inclusive: lru | lru", "l2arc",
)  # fmt: skip
RAM, SSD = 0.05, 0.2
REPEATS = 5
GAP_US = 1000


def drawn() -> TierStream:
    """Reads of a page each by a zipf law, their pages anywhere, one each millisecond."""
    ids = zipf(1)
    place = np.random.default_rng(2).permutation(int(ids.max()) + 1).astype(np.int64)[ids]
    n = len(ids)
    return tier_stream(
        Trace(
            np.arange(n, dtype=np.int64) * GAP_US, np.zeros(n, np.uint8), place * PAGE_BYTES,
            np.full(n, PAGE_BYTES, np.int64), Coded.constant("vda", n), TraceMeta("zipf", "", "synthetic", "0" * 64),
        )
    )  # fmt: skip


def row(text: str, ts: TierStream) -> str:
    """A hierarchy's line of the table."""
    hierarchy, m = parse_hierarchy(text), len(ts)
    ram, ssd = (max(1, round(share * ts.stream.n_pages)) for share in (RAM, SSD))
    parts: list[float] = []
    if hierarchy.kind == "l2arc":
        seconds, run = compiled(lambda: run_tiers(hierarchy, ts, ram, ssd), REPEATS)
    else:
        above, l1 = compiled(lambda: hierarchy.ram_policy().simulate(ts.stream, ram), REPEATS)
        between, asked = compiled(lambda: questions(hierarchy, ts, l1), REPEATS)
        below, run = compiled(lambda: run_tiers(hierarchy, ts, ram, ssd, asked=asked), REPEATS)
        parts, seconds = [above, between, below], above + between + below
    each = " | ".join(f"{1e9 * part / m:.0f}" for part in parts) or "| | "
    found = counts(run, ts)
    return f"| {hierarchy} | {m / seconds / 1e6:.1f} | {each} | {found.rhr:.4f} | {found.shr:.4f} | {found.dhr:.4f} |"


def table(name: str, ts: TierStream, texts: list[str]) -> None:
    """Every hierarchy over one trace."""
    print(f"\n{name}: {len(ts):,} page accesses, {ts.stream.n_pages:,} pages, {ts.write.mean():.0%} writes\n")
    print("| hierarchy | M accesses/s | RAM, ns | questions, ns | SSD, ns | RHR | SHR | DHR |")
    print("|---|---|---|---|---|---|---|---|")
    for text in texts:
        print(row(text, ts), flush=True)


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("hierarchies", nargs="*", default=list(HIERARCHIES), help="as `cachezoo tiers` reads them")
    parser.add_argument("--trace", action="append", choices=["zipf", *PUBLIC])
    own = parser.parse_args()
    public = os.environ.get("CACHEZOO_PUBLIC_TRACES")
    for name in own.trace or ["zipf", *(["OLTP", "cloudphysics"] if public else [])]:
        if name == "zipf":
            table(name, drawn(), own.hierarchies)
        elif public is None:
            print(f"{name} is left out: CACHEZOO_PUBLIC_TRACES is not set")
        else:
            table(name, tier_stream(read_any(Path(public) / PUBLIC[name])), own.hierarchies)


if __name__ == "__main__":
    main()
