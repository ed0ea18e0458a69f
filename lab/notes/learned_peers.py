"""LRB-like and 3L-Cache-like next to their authors' programs, on public traces of pages.

    CACHEZOO_PUBLIC_TRACES=FOLDER learned_peers.py [--trace OLTP] [--share 0.01] [--policy threelcache]

The authors' are those in libCacheSim 0.3.5, as its wheel has them: 3L-Cache's authors gave theirs to it, LRB is a copy
of github.com/sunnyszy/lrb whose memory window is fixed at 2^26 accesses. Both minimise misses of objects, all of one
size. A cache holds a share of the distinct pages; miss ratios are of all accesses from an empty cache, differences
in points, ours less theirs. `nearer` is ours with what its parameters can take of theirs: rows of a training, how often
pages are marked, the forest, features, and when 3L-Cache reviews its window. LRB's window stays: ours does not train
before a page has left it, which in 2^26 accesses none does. What else is apart is in the tables of the modules
`cachezoo.kernels.evict.lrb` and `threelcache`. Six minutes for 3L-Cache, half an hour for LRB on a busy core.
"""

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "benchmarks"))

import libcachesim as lcs
from peers import PUBLIC, Ids, traces

from cachezoo.kernels.outcome import HIT
from cachezoo.policies.evictions import learned
from cachezoo.policies.registry import policy

SHARES = (0.01, 0.05, 0.10)
THEIRS = {"lrb": lcs.LRB, "threelcache": lcs.ThreeLCache}
REVIEWED = 10**6  # accesses between reviews of 3L-Cache's window in the authors' program


def nearer(policy_id: str) -> str:
    """Ours with the parameters of theirs."""
    if policy_id == "threelcache":
        return "threelcache(rows=65536, sample_every=1)"
    return "lrb(rows=131072, sample_every=1, trees=32, deltas=31, counters=10, patience=0)"


def misses(text: str, trace: Ids, capacity: int) -> float:
    """Miss ratio of ours."""
    return float((policy(text).hits(trace.page_ids, trace.n_pages, capacity) != HIT).mean())


def row(policy_id: str, trace: Ids, capacity: int) -> str:
    """A line of the table."""
    ours = misses(policy_id, trace, capacity)
    was = learned.REVIEW
    learned.REVIEW = max(1, REVIEWED // capacity)
    alike = misses(nearer(policy_id), trace, capacity)
    learned.REVIEW = was
    trace.reader.reset()
    cache = THEIRS[policy_id](capacity, hashpower=20, objective="object-miss-ratio")
    theirs = float(cache.process_trace(trace.reader)[0])
    apart = f"{100 * (ours - theirs):+.2f} | {alike:.4f} | {100 * (alike - theirs):+.2f}"
    return f"| {trace.name} | {capacity:,} | {policy_id} | {ours:.4f} | {theirs:.4f} | {apart} |"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trace", action="append", choices=list(PUBLIC), help="OLTP and cloudphysics by default")
    parser.add_argument("--share", action="append", type=float, help="capacity as a part of the distinct pages")
    parser.add_argument("--policy", action="append", choices=list(THEIRS))
    given = parser.parse_args()
    print("| trace | pages | policy | ours | theirs | apart | nearer | apart |")
    print("|---|---|---|---|---|---|---|---|")
    with traces(*(given.trace or ("OLTP", "cloudphysics"))) as found:
        for trace in found:
            for share in given.share or SHARES:
                for policy_id in given.policy or THEIRS:
                    print(row(policy_id, trace, int(share * trace.n_pages)), flush=True)


if __name__ == "__main__":
    main()
