"""Misses of each policy next to libCacheSim's on the public traces; status 1 where one is out of its limit."""

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from peers import PUBLIC, Ids, traces

from cachezoo.kernels.outcome import HIT
from cachezoo.policies.registry import OPTIMUM, classics, policy

SHARES = (0.01, 0.05, 0.10, 0.20)
# (policy, libCacheSim's name for it here, how far the miss ratios may be apart in points; 0 is equal misses, None any).
COMPARED = (
    *((own, own, 0.0) for own in ("fifo", "lru", "clock", "sieve", "s3fifo", "inlfu", "belady")),
    *((own, own, 0.3) for own in ("twoq", "arc", "lirs")),
    ("wtinylfu(sample=32, libcachesim=1)", "wtinylfu", 0.3),
    ("wtinylfu", "wtinylfu", None),
    ("cacheus", "cacheus", None),
)


def misses(policy_id: str, trace: Ids, capacity: int) -> int:
    """How often a policy misses."""
    return int((policy(policy_id).hits(trace.page_ids, trace.n_pages, capacity) != HIT).sum())


def compare(trace: Ids, capacity: int) -> list[str]:
    """Print a row for each pair; returns what is out of its limit, or below the optimum."""
    m, failed, ours = len(trace.page_ids), [], {}
    for own, peer_id, limit in COMPARED:
        ours[own] = misses(own, trace, capacity)
        theirs = trace.peer(peer_id, capacity)
        points = 100 * (ours[own] / m - theirs)
        off = limit is not None and (round(theirs * m) != ours[own] if limit == 0 else abs(points) > limit)
        said = {None: "", 0.0: "equal"}.get(limit, f"{limit}")
        print(f"| {trace.name} | {capacity:,} | {own} | {ours[own] / m:.4f} | {theirs:.4f} | {points:+.2f} | {said}"
              f"{' **out**' if off else ''} |", flush=True)  # fmt: skip
        failed += [f"{own} on {trace.name} at {capacity:,}"] if off else []
    ours |= {own: misses(own, trace, capacity) for own in [*classics(), OPTIMUM] if own not in ours}
    return failed + [
        f"{own} misses less than {OPTIMUM} on {trace.name} at {capacity:,}"
        for own, count in ours.items() if count < ours[OPTIMUM]
    ]  # fmt: skip


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trace", action="append", choices=list(PUBLIC))
    parser.add_argument("--share", action="append", type=float, help="capacity as a part of the distinct pages")
    given = parser.parse_args()
    failed = []
    print("| trace | capacity | policy | miss ratio | libCacheSim | difference, points | limit |")
    print("|---|---|---|---|---|---|---|")
    with traces(*(given.trace or PUBLIC)) as found:
        for trace in found:
            for share in given.share or SHARES:
                failed += compare(trace, max(1, round(share * trace.n_pages)))
    well = f"All within their limits, and none of {len(classics())} classics misses less than {OPTIMUM}."
    print(f"\n{'; '.join(failed) or well}")
    sys.exit(bool(failed))


if __name__ == "__main__":
    main()
